package openai

import (
	"slices"
	"strings"
)

// The marks between which gpt-oss writes its messages ("OpenAI Harmony Response Format"). A server that does not
// know them sends them as text: <|channel|>analysis<|message|>…<|end|><|start|>assistant<|channel|>final<|message|>….
const (
	startMark   = "<|start|>"
	channelMark = "<|channel|>"
	messageMark = "<|message|>"
)

// endMarks end a message. Some servers leave them out, so the beginning of the next message ends one too.
func endMarks() []string { return []string{"<|end|>", "<|return|>", "<|call|>"} }

func startMarks() []string { return []string{startMark, channelMark} }

// maxHeader is the most bytes between the beginning of a message and its text.
const maxHeader = 256

// harmony parts the reasoning from the text in a stream of such messages. Calls of tools stay in the text with
// their marks: those who read calls from texts know them.
type harmony struct {
	held string
	body harmonyBody
	// isFresh reports whether nothing of the message's text has come.
	isFresh       bool
	thoughts, say strings.Builder // of the piece that is being read
	// hasThought and hasSaid report whether there was any reasoning or text.
	hasThought, hasSaid bool
}

// harmonyBody is the kind of the message whose text comes next.
type harmonyBody int

const (
	noBody harmonyBody = iota // between two messages
	analysisBody
	finalBody
	callBody
)

// split takes the next piece, and returns the reasoning and the text that are certain by now.
func (h *harmony) split(piece string) (reasoning, text string) {
	h.held += piece
	for h.step() {
	}
	reasoning, text = h.thoughts.String(), h.say.String()
	h.thoughts.Reset()
	h.say.Reset()
	return reasoning, text
}

// step reads the next part of what is held. It returns false if more has to come first.
func (h *harmony) step() bool {
	if h.body == noBody {
		return h.between()
	}
	at, mark := firstMark(h.held)
	if mark == "" {
		safe := len(h.held) - partialMark(h.held)
		h.put(h.held[:safe])
		h.held = h.held[safe:]
		return false
	}
	h.put(h.held[:at])
	if h.held = h.held[at:]; slices.Contains(endMarks(), mark) {
		if h.body == callBody {
			h.put(mark)
		}
		h.held = h.held[len(mark):]
	}
	h.body = noBody
	return true
}

// between reads the header of a message. A text without one is the answer.
func (h *harmony) between() bool {
	h.held = strings.TrimLeft(h.held, " \t\r\n")
	rest := h.held
	if role := "assistant"; strings.HasPrefix(rest, role) {
		rest = rest[len(role):]
	} else if strings.HasPrefix(role, rest) {
		return false // also if nothing is held
	}
	at, mark := firstMark(rest)
	switch {
	case mark != "" && at == 0 && slices.Contains(endMarks(), mark):
		h.held = rest[len(mark):]
		return true
	case mark != "" && at == 0:
		return h.header(rest, mark)
	case partialMark(rest) == len(rest):
		return false
	}
	h.body = finalBody
	return true
}

// header reads the header with which text begins.
func (h *harmony) header(text, mark string) bool {
	at := strings.Index(text[:min(len(text), maxHeader)], messageMark)
	switch {
	case at < 0 && len(text) < maxHeader:
		return false
	case at < 0: // it is no header
		h.body = finalBody
		h.put(mark)
		h.held = text[len(mark):]
		return true
	}
	h.body, h.isFresh = bodyOf(text[:at]), true
	if h.body == callBody {
		h.put(text[:at+len(messageMark)])
	}
	h.held = text[at+len(messageMark):]
	return true
}

// bodyOf returns the kind of the message with this header.
func bodyOf(header string) harmonyBody {
	role, channel, hasChannel := strings.Cut(header, channelMark)
	role = strings.TrimSpace(strings.TrimPrefix(role, startMark))
	isOthers := role != "" && !strings.HasPrefix(role, "assistant")
	switch words := strings.FieldsFunc(channel, func(r rune) bool { return strings.ContainsRune(" \t\r\n<", r) }); {
	case isOthers: // the model plays a user or a tool
		return analysisBody
	case strings.Contains(header, "to="):
		return callBody
	case hasChannel && len(words) > 0 && (words[0] == "analysis" || words[0] == "commentary"):
		return analysisBody
	}
	return finalBody
}

// put adds a piece of the present message. A blank line parts it from the message of its kind before.
func (h *harmony) put(piece string) {
	out, said := &h.say, &h.hasSaid
	if h.body == analysisBody {
		out, said = &h.thoughts, &h.hasThought
	}
	if h.isFresh && h.body != callBody {
		piece = strings.TrimLeft(piece, " \t\r\n")
	}
	if piece == "" {
		return
	}
	if h.isFresh && h.body != callBody && *said {
		out.WriteString("\n\n")
	}
	out.WriteString(piece)
	h.isFresh, *said = false, true
}

// end returns what was held back. The beginning of a header behind a message is no text.
func (h *harmony) end() (reasoning, text string) {
	held := h.held
	h.held = ""
	switch {
	case h.body == analysisBody:
		return held, ""
	case h.body == noBody && (h.hasThought || h.hasSaid) && isHeaderOnly(held):
		return "", ""
	}
	return "", held
}

// isHeaderOnly reports whether text is the beginning of a header, without anything that the model said.
func isHeaderOnly(text string) bool {
	text = text[:len(text)-partialMark(text)]
	words := strings.Fields(strings.NewReplacer(startMark, " ", channelMark, " ").Replace(text))
	return !slices.ContainsFunc(words, func(w string) bool {
		return !slices.Contains([]string{"assistant", "analysis", "commentary", "final"}, w) && !strings.HasPrefix("assistant", w)
	})
}

// firstMark returns the first mark in text that begins or ends a message, and where it stands.
func firstMark(text string) (at int, mark string) {
	for at := 0; ; at++ {
		next := strings.Index(text[at:], "<|")
		if next < 0 {
			return 0, ""
		}
		at += next
		for _, mark := range slices.Concat(startMarks(), endMarks()) {
			if strings.HasPrefix(text[at:], mark) {
				return at, mark
			}
		}
	}
}

// partialMark returns how many bytes at the end of text may become a mark.
func partialMark(text string) int {
	at := strings.LastIndexByte(text, '<')
	if at >= 0 && beginsMark(text[at:], slices.Concat(startMarks(), endMarks())) {
		return len(text) - at
	}
	return 0
}

// beginsMark reports whether text is the beginning of one of the marks.
func beginsMark(text string, marks []string) bool {
	return slices.ContainsFunc(marks, func(mark string) bool { return strings.HasPrefix(mark, text) })
}
