package server

import (
	"slices"
	"strings"
)

// channel puts the texts of several agents, which come at the same time, one after another: the text that began first
// streams, and the others wait for its end. The zero value is an empty channel.
type channel struct {
	// texts are the texts that were not returned whole, in the order in which they began.
	texts []*toldText
}

// toldText is a text of an agent, or a paragraph of nobody.
type toldText struct {
	agent, heading string
	text           strings.Builder
	// shown is how many bytes of text were returned.
	shown int
	// last is a paragraph after the text, "" after a paragraph of nobody.
	last   string
	isOver bool
}

// open returns the unfinished text of an agent, nil if it has none.
func (c *channel) open(agent string) *toldText {
	i := slices.IndexFunc(c.texts, func(t *toldText) bool { return t.agent == agent && !t.isOver })
	if i < 0 {
		return nil
	}
	return c.texts[i]
}

// say adds a whole paragraph.
func (c *channel) say(text string) {
	t := &toldText{isOver: true}
	t.text.WriteString(text)
	c.texts = append(c.texts, t)
}

// write adds a piece to the unfinished text of an agent. If it has none, a new text begins below the heading.
func (c *channel) write(agent, heading, piece string) {
	t := c.open(agent)
	if t == nil {
		t = &toldText{agent: agent, heading: heading + "\n\n"}
		c.texts = append(c.texts, t)
	}
	t.text.WriteString(piece)
}

// complete adds the missing part of an agent's text, and reports whether the whole text is the channel's. If its pieces
// belong to another text, they are void.
func (c *channel) complete(agent, whole string) bool {
	t := c.open(agent)
	if t == nil {
		return false
	}
	rest, goesOn := strings.CutPrefix(strings.TrimSpace(whole), strings.TrimSpace(t.text.String()))
	if !goesOn && whole != "" {
		c.void(agent, "another text counts")
		return false
	}
	t.text.WriteString(rest)
	return true
}

// end ends the unfinished text of an agent, if it has one, with a last paragraph.
func (c *channel) end(agent, last string) {
	if t := c.open(agent); t != nil {
		t.isOver, t.last = true, last
	}
}

// void ends the unfinished text of an agent with the reason why it does not count. It drops a text that was not shown.
func (c *channel) void(agent, why string) {
	if t := c.open(agent); t != nil && t.heading != "" {
		c.texts = slices.DeleteFunc(c.texts, func(other *toldText) bool { return other == t })
	}
	c.end(agent, strings.TrimSpace(void(why)))
}

// voidAll ends all unfinished texts as void does.
func (c *channel) voidAll(why string) {
	for _, t := range slices.Clone(c.texts) {
		if !t.isOver {
			c.void(t.agent, why)
		}
	}
}

// next returns the new text of the channel.
func (c *channel) next() string {
	var out strings.Builder
	for len(c.texts) > 0 {
		t := c.texts[0]
		out.WriteString(t.heading + t.text.String()[t.shown:])
		t.heading, t.shown = "", t.text.Len()
		if !t.isOver {
			break
		}
		out.WriteString("\n\n")
		if t.last != "" {
			out.WriteString(t.last + "\n\n")
		}
		c.texts = c.texts[1:]
	}
	return out.String()
}
