package debugbackend

import (
	"iter"
	"path/filepath"
	"time"
	"unicode/utf8"

	"github.com/massgen/massgen/backends"
)

// Call is one model call: its input exactly as it was sent, and what came back.
type Call struct {
	// Number counts the calls of an agent in a turn, from 1, in the order of their
	// start. Attempt counts those with the same key.
	Number  int `json:"number"`
	Attempt int `json:"attempt"`
	// Request is the backend's request, with the values of its headers masked.
	Request backends.Request `json:"request"`
	Chars   Chars            `json:"characters"`
	// Participants are the ids of agents by the names that they have in the input.
	Participants map[string]string `json:"participants,omitempty"`
	// Body is the request body, byte for byte, or nil if none was sent. If the adapter sent several
	// within this call, Body is the last one and EarlierBodies has the others in order.
	Body          exactBytes   `json:"body"`
	EarlierBodies []exactBytes `json:"earlier_bodies,omitempty"`
	// Raw is the body of the response as received.
	Raw    exactBytes  `json:"raw_response"`
	Events []seenEvent `json:"events"`
	// Response is the events put together.
	Response backends.Response `json:"response"`
	// Error is the error that ended the call, without its cause, or nil.
	Error   *backends.Error `json:"-"`
	Outcome Outcome         `json:"outcome"`
	// Start, FirstByte and End are in UTC. FirstByte is zero if nothing came, End if
	// the call still runs. All are zero for a call that was read from a journal, which has
	// neither times nor bytes.
	Start     time.Time `json:"start,omitzero"`
	FirstByte time.Time `json:"first_byte,omitzero"`
	End       time.Time `json:"end,omitzero"`
}

// Kept returns a call from a journal. number counts its agent's calls from 1. The outcome is empty for a
// call that never came back. failure is the reason of a failed call.
func Kept(number int, participants map[string]string, req backends.Request, resp backends.Response, o Outcome, failure string) Call {
	c := Call{
		Number: number, Attempt: 1, Request: masked(req), Chars: countChars(req.Messages), Participants: participants, Response: resp, Outcome: o,
	}
	if failure != "" {
		c.Error = &backends.Error{Message: failure}
	}
	return c
}

// Name is the call's place in a dump of its session, such as turn-001/critic/call-002.
func (c Call) Name() string {
	return filepath.ToSlash(callFolder(c.Request.Key)) + "/" + callName(c.Number)
}

// isKept reports whether the call was read from a journal.
func (c Call) isKept() bool { return c.Start.IsZero() }

// seenEvent is an event of a stream, with its time.
type seenEvent struct {
	At    time.Time `json:"at"`
	Event eventJSON `json:"event"`
}

// Outcome says how a call ended. It is empty while the call runs.
type Outcome string

// The ways in which a call ends.
const (
	OutcomeEnded    Outcome = "ended"    // the stream came to its end
	OutcomeFailed   Outcome = "failed"   // it ended with an error
	outcomeLeft     Outcome = "left"     // the reader stopped reading
	outcomePanicked Outcome = "panicked" // a panic in the backend or the reader
)

// Chars counts the characters (Unicode code points) of an input: in its system
// messages, in its user messages, and in what models and tools said (texts,
// reasoning, arguments of tool calls, tool results). Total is the sum.
type Chars struct {
	System int `json:"system"`
	User   int `json:"user"`
	Other  int `json:"other"`
	Total  int `json:"total"`
}

func countChars(messages []backends.Message) Chars {
	var c Chars
	for _, m := range messages {
		for _, p := range m.Parts {
			n := partChars(p)
			c.Total += n
			switch m.Role {
			case backends.RoleSystem:
				c.System += n
			case backends.RoleUser:
				c.User += n
			default:
				c.Other += n
			}
		}
	}
	return c
}

func partChars(p backends.Part) int {
	switch p := p.(type) {
	case backends.Text:
		return utf8.RuneCountInString(p.Text)
	case backends.Reasoning:
		return utf8.RuneCountInString(p.Text)
	case backends.ToolCall:
		return utf8.RuneCountInString(p.Arguments)
	case backends.ToolResult:
		return utf8.RuneCountInString(p.Content)
	}
	return 0
}

const mask = "[masked]"

// masked returns the request with the values of its headers masked: they may
// hold keys.
func masked(req backends.Request) backends.Request {
	if len(req.Params.Headers) == 0 {
		return req
	}
	headers := make(map[string]string, len(req.Params.Headers))
	for name := range req.Params.Headers {
		headers[name] = mask
	}
	req.Params.Headers = headers
	return req
}

func assemble(events []seenEvent) backends.Response {
	var replay iter.Seq2[backends.Event, error] = func(yield func(backends.Event, error) bool) {
		for _, e := range events {
			if !yield(e.Event.Event, nil) {
				return
			}
		}
	}
	// A replay has no error to return.
	response, _ := backends.Collect(replay, nil)
	return response
}
