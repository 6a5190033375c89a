package backends

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"reflect"
	"strings"

	"github.com/massgen/massgen/internal/models/finish"
)

// Backend calls one model of one provider. Adapters are safe for concurrent use:
// all agents of a panel may share one.
type Backend interface {
	// Stream sends the request and yields what comes back, in order. An error
	// ends the stream and is an *Error. A stream that ends without an error has
	// yielded exactly one Finish. Breaking out of the loop, or cancelling ctx,
	// closes the connection.
	Stream(ctx context.Context, req Request) iter.Seq2[Event, error]
}

// Request is all that one model call sends, apart from credentials. Nobody
// changes a Request once it was given to a backend.
type Request struct {
	Key      Key       `json:"key"`
	Model    string    `json:"model"`
	Messages []Message `json:"messages"`
	Tools    []Tool    `json:"tools,omitempty"`
	// Schema, if it is not empty, is the JSON Schema that the reply's text must
	// fit. It goes with no tools.
	Schema json.RawMessage `json:"schema,omitempty"`
	// Lenient reports whether the caller checks the reply. A model or a service that cannot enforce
	// the whole Schema then enforces as much as it can.
	Lenient bool   `json:"lenient,omitempty"`
	Params  Params `json:"params"`
	// History tells people which part of the conversation and of the step the messages contain,
	// if they do not contain all of it. Like the key, it is never sent to a model.
	History string `json:"history,omitempty"`
	// ToolTimes tells people how long the tools took whose results are in the messages,
	// in their order. It is never sent either.
	ToolTimes []ToolTime `json:"tool_times,omitempty"`
}

// ToolTime is how long one call of a tool took.
type ToolTime struct {
	CallID string `json:"call_id"`
	Name   string `json:"name"`
	MS     int64  `json:"ms"`
}

// Key names a model call for people, dumps and mocks. It is never sent to a
// model. Its fields are the effect key of DESIGN §1.
type Key struct {
	Session string `json:"session,omitempty"`
	Turn    int    `json:"turn"`
	Agent   string `json:"agent"`
	Round   int    `json:"round"`
	Purpose string `json:"purpose"`
	Index   int    `json:"index"`
}

// String names the call for people. One that belongs to no agent has a purpose only.
func (k Key) String() string {
	if k.Agent == "" {
		return fmt.Sprintf("turn %d, %s", k.Turn, k.Purpose)
	}
	return fmt.Sprintf("turn %d, %s, round %d, %s %d", k.Turn, k.Agent, k.Round, k.Purpose, k.Index)
}

// Tool describes a tool to a model. Schema is the JSON Schema of the
// arguments, sent as it stands.
type Tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Schema      json.RawMessage `json:"schema"`
	// Forwarded reports whether the client that asked the question runs the tool. Only the step that
	// writes the turn's answer is offered it, and a call may take any time.
	Forwarded bool `json:"forwarded,omitempty"`
}

// Params are the settings of a call. A nil pointer or an empty value is not
// sent, so that the provider's own default holds.
type Params struct {
	Temperature     *float64 `json:"temperature,omitempty"`
	TopP            *float64 `json:"top_p,omitempty"`
	MaxTokens       *int     `json:"max_tokens,omitempty"`
	Stop            []string `json:"stop,omitempty"`
	Seed            *int64   `json:"seed,omitempty"`
	ReasoningEffort string   `json:"reasoning_effort,omitempty"`
	// ReasoningSummary is how people see what the model thinks: auto, concise, detailed, or "none",
	// which hides it. Where a service has one way only, the first three are the same.
	ReasoningSummary string `json:"reasoning_summary,omitempty"`
	// ReasoningTokens is the most that the model may think, in place of an effort, which then does not
	// count.
	ReasoningTokens *int `json:"reasoning_tokens,omitempty"`
	// Verbosity is how much the model writes: low, medium or high.
	Verbosity string `json:"verbosity,omitempty"`
	// CacheTTL is how long Claude keeps a prompt in its cache: 5m, which is the default, or 1h. The
	// adapters of other services ignore it.
	CacheTTL  string            `json:"cache_ttl,omitempty"`
	Headers   map[string]string `json:"headers,omitempty"`
	ExtraBody map[string]any    `json:"extra_body,omitempty"`
	// Hosted are the tools that the provider runs. They do not go with a schema.
	Hosted HostedTools `json:"hosted,omitzero"`
}

// AreDefault reports whether no setting is made, so that the JSON of p is an empty object.
func (p Params) AreDefault() bool { return reflect.ValueOf(&p).Elem().IsZero() }

// Reasons reports whether the settings ask the model to reason.
func (p Params) Reasons() bool {
	return p.ReasoningTokens != nil || p.ReasoningEffort != "" && p.ReasoningEffort != "none"
}

// CachesForHour reports whether the settings ask Claude to keep the prompt in its cache for an hour.
func (p Params) CachesForHour() bool { return p.CacheTTL == "1h" }

// WantsSummary reports whether the settings ask to see what the model thinks.
func (p Params) WantsSummary() bool { return p.ReasoningSummary != "" && p.ReasoningSummary != "none" }

// Event is one thing that a stream yields. The set is closed: TextDelta,
// ReasoningDelta, ToolCallDelta, ToolCall (whole), HostedCall, Citation, Opaque, Usage,
// Finish.
type Event interface{ event() }

// TextDelta is the next piece of the model's text.
type TextDelta struct{ Text string }

// ReasoningDelta is the next piece of the model's readable thinking.
type ReasoningDelta struct{ Text string }

// ToolCallDelta is the next piece of the text of a tool call's arguments. Index counts the message's calls from 0. The
// whole ToolCall follows, and alone counts: a delta is for people who watch. A call that comes whole may have none. The
// pieces of a call are its Arguments, unless the adapter repairs these.
type ToolCallDelta struct {
	Index      int
	Name, Text string
}

// Usage is what the provider says the call cost, in tokens. Input counts all
// input tokens: those read from a cache, those written to one and all others. A
// provider may repeat it; the last one counts.
type Usage struct {
	InputTokens       int `json:"input_tokens"`
	OutputTokens      int `json:"output_tokens"`
	CachedInputTokens int `json:"cached_input_tokens"`
	// ReasoningTokens counts the part of OutputTokens that the model spent on thinking, 0 where the
	// provider does not say.
	ReasoningTokens int `json:"reasoning_tokens,omitempty"`
	// CacheWriteTokens are those input tokens that were written to a cache, where a
	// provider has a price of its own for that.
	CacheWriteTokens int `json:"cache_write_tokens,omitempty"`
	// CacheHourTokens counts the part of CacheWriteTokens that the cache keeps for an hour. Its
	// price is higher.
	CacheHourTokens int `json:"cache_hour_tokens,omitempty"`
	// WebSearches and CodeRuns are the uses of hosted tools that the provider bills: searches, and
	// containers for code.
	WebSearches int `json:"web_searches,omitempty"`
	CodeRuns    int `json:"code_runs,omitempty"`
	// CostUSD is what that comes to in US dollars, nil where it is unknown. Adapters
	// leave it nil; package prices fills it in.
	CostUSD *float64 `json:"cost_usd,omitempty"`
}

// Plus returns the sum of two usages, whose cost is known if both are.
func (u Usage) Plus(v Usage) Usage {
	sum := Usage{
		InputTokens:       u.InputTokens + v.InputTokens,
		OutputTokens:      u.OutputTokens + v.OutputTokens,
		CachedInputTokens: u.CachedInputTokens + v.CachedInputTokens,
		ReasoningTokens:   u.ReasoningTokens + v.ReasoningTokens,
		CacheWriteTokens:  u.CacheWriteTokens + v.CacheWriteTokens,
		CacheHourTokens:   u.CacheHourTokens + v.CacheHourTokens,
		WebSearches:       u.WebSearches + v.WebSearches,
		CodeRuns:          u.CodeRuns + v.CodeRuns,
	}
	if u.CostUSD != nil && v.CostUSD != nil {
		cost := *u.CostUSD + *v.CostUSD
		sum.CostUSD = &cost
	}
	return sum
}

// Finish is the last event of a stream that was not cut. Reason is the
// provider's word ("stop", "tool_calls", "length", …), or empty when only an
// end mark came.
type Finish struct{ Reason string }

// Paused reports whether the provider paused the answer. It goes on when it receives its own words
// again. Claude pauses after many uses of its own tools.
func (f Finish) Paused() bool { return f.Reason == "pause_turn" }

func (TextDelta) event()      {}
func (ReasoningDelta) event() {}
func (ToolCallDelta) event()  {}
func (ToolCall) event()       {}
func (Opaque) event()         {}
func (Usage) event()          {}
func (Finish) event()         {}

// Response is a whole stream put together.
type Response struct {
	Message Message `json:"message"`
	// Usage is nil when the provider reported no usage: unknown, which is not zero.
	Usage  *Usage `json:"usage,omitempty"`
	Finish string `json:"finish"`
}

// Truncated reports whether the answer was cut at its limit of tokens.
func (r Response) Truncated() bool { return finish.Of(r.Finish) == finish.AtLimit }

// Collect reads a stream to its end and puts it together. Each event passes
// observe, if it is not nil, before the next is read. On an error the response
// holds what had come until then.
func Collect(stream iter.Seq2[Event, error], observe func(Event)) (Response, error) {
	var b responseBuilder
	for ev, err := range stream {
		if err != nil {
			return b.response(), err
		}
		if observe != nil {
			observe(ev)
		}
		b.add(ev)
	}
	return b.response(), nil
}

type responseBuilder struct {
	parts  []Part
	hosted hostedParts
	text   strings.Builder
	isText bool // what text holds: Text, else Reasoning
	usage  *Usage
	finish string
}

func (b *responseBuilder) add(ev Event) {
	switch ev := ev.(type) {
	case TextDelta:
		b.append(ev.Text, true)
	case ReasoningDelta:
		b.append(ev.Text, false)
	case ToolCall:
		b.flush()
		b.parts = append(b.parts, ev)
	case Opaque:
		b.flush()
		b.parts = append(b.parts, ev)
	case HostedCall:
		b.hosted.addCall(ev)
	case Citation:
		b.hosted.addCitation(ev)
	case Usage:
		b.usage = &ev
	case Finish:
		b.finish = ev.Reason
	}
}

func (b *responseBuilder) append(text string, isText bool) {
	if b.isText != isText {
		b.flush()
	}
	b.isText = isText
	b.text.WriteString(text)
}

func (b *responseBuilder) flush() {
	if b.text.Len() == 0 {
		return
	}
	if b.isText {
		b.parts = append(b.parts, Text{b.text.String()})
	} else {
		b.parts = append(b.parts, Reasoning{b.text.String()})
	}
	b.text.Reset()
}

func (b *responseBuilder) response() Response {
	b.flush()
	return Response{Message: Message{RoleAssistant, append(b.parts, b.hosted.parts()...)}, Usage: b.usage, Finish: b.finish}
}
