package talk

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/massgen/massgen/cmd/massgen/app/wording"
	"github.com/massgen/massgen/internal/coordination/topic"
	"github.com/massgen/massgen/internal/system/plain"
)

// topicUsage is the form of /topic: a name, then details behind semicolons.
const topicUsage = "/topic NAME; location: PLACE; era: TIME sets it, and /topic - forgets it"

// The words of /topic for a pending topic (seed 002).
const (
	topicYes = "yes"
	topicNo  = "no"
)

// setTopic shows, sets or forgets what the conversation is about.
func (d *dialogue) setTopic(text string) error {
	ctx := context.Background()
	state, err := d.s.asked.panel.Topic(ctx, d.s.chat.id)
	if err != nil {
		return fmt.Errorf("/topic: %w", err)
	}
	var next, said string
	switch text {
	case "":
		d.showTopic(state)
		return nil
	case topicYes, topicNo:
		if state.Pending == nil {
			return fmt.Errorf("/topic %s: no topic waits for its confirmation: %s", text, topicUsage)
		}
		if text == topicYes {
			next, _ = state.Confirm()
			said = wording.Printable(state.Current.String()) + "\nAsked again: " + wording.Quoted(next)
			break
		}
		state.Decline()
		said = "The topic stays as it is."
	case "-":
		state.Clear()
		said = "There is no topic any more."
	default:
		t, err := parseTopic(d.s.console.Secrets.Redact(text))
		if err != nil {
			return fmt.Errorf("/topic: %w: %s", err, topicUsage)
		}
		state.Set(t)
		said = wording.Printable(t.String())
	}
	if err := d.s.asked.panel.SetTopic(ctx, d.s.chat.id, state); err != nil {
		return fmt.Errorf("/topic: %w", err)
	}
	d.s.console.Say("%s", said)
	if next != "" {
		d.next = next
		d.s.asked.panel.ConfirmTopic(d.s.chat.id, next)
	}
	return nil
}

func (d *dialogue) showTopic(state topic.State) {
	if state.Current == nil {
		d.s.console.Say("There is no topic: %s.", topicUsage)
	} else {
		d.s.console.Say("%s", wording.Printable(state.Current.String()))
	}
	if p := state.Pending; p != nil {
		d.s.console.Say("%s", pendingText(*p))
	}
}

// pendingText returns how a person confirms or drops a pending topic.
func pendingText(p topic.Pending) string {
	return fmt.Sprintf("pending: %s; /topic yes goes over to it and asks again: %s; /topic no forgets it", plain.Line(p.Topic.Name), wording.Quoted(p.Question))
}

// parseTopic reads "Tyburn; location: London; era: 1196-1783".
func parseTopic(text string) (topic.Topic, error) {
	name, details, _ := strings.Cut(text, ";")
	t := topic.Topic{Name: strings.TrimSpace(name)}
	if t.Name == "" {
		return t, errors.New("it has no name")
	}
	for detail := range strings.SplitSeq(details, ";") {
		if strings.TrimSpace(detail) == "" {
			continue
		}
		key, value, found := strings.Cut(detail, ":")
		if key = strings.ToLower(strings.TrimSpace(key)); !found || key == "" {
			return t, fmt.Errorf("%q is no detail", wording.Shortened(strings.TrimSpace(detail), 40))
		}
		if t.Details == nil {
			t.Details = map[string]string{}
		}
		t.Details[key] = strings.TrimSpace(value)
	}
	return t, nil
}
