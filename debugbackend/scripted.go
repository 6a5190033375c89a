package debugbackend

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/internal/system/plain"
)

const provider = "scripted"

// Scripted is a backend that answers by a script and needs no network. It sees
// nothing but the request. It is safe for concurrent use.
type Scripted struct {
	script *Script

	mu    sync.Mutex
	given map[string]turnAnswers // by session
}

// turnAnswers has the answers of a session's latest turn, in order. Votes for "own" and "most_recent" need
// them: an input does not show the author of an answer.
type turnAnswers struct {
	turn    int
	answers []givenAnswer
}

type givenAnswer struct{ agent, text string }

// NewScripted returns a backend that follows the script.
func NewScripted(script *Script) *Scripted {
	return &Scripted{script: script, given: map[string]turnAnswers{}}
}

// Stream implements backends.Backend. A request that no rule matches, or whose
// reply cannot be made, ends with a bad_request error that names its key. When
// the script gives no usage, a token is counted for every four characters. The
// body that it reports to a trace is the request in JSON, without key and
// headers; the raw response is one line of JSON for each event.
func (s *Scripted) Stream(ctx context.Context, req backends.Request) iter.Seq2[backends.Event, error] {
	return func(yield func(backends.Event, error) bool) {
		p := player{provider: provider, ctx: ctx, trace: backends.TraceFrom(ctx), yield: yield}
		body, err := requestBody(req)
		if err != nil {
			p.fail(backends.KindBadRequest, err.Error())
			return
		}
		p.trace.SentRequest(body)
		r, pieces, err := s.answer(req)
		if err != nil {
			p.fail(backends.KindBadRequest, fmt.Sprintf("%s: %v", req.Key, err))
			return
		}
		if p.play(pieces, time.Duration(r.Delay)) {
			p.end(r, body)
		}
	}
}

// requestBody returns the body of the request. Headers are no part of a body, and the key is never sent.
func requestBody(req backends.Request) ([]byte, error) {
	params := req.Params
	params.Headers = nil
	return plain.JSON(struct {
		Model    string             `json:"model"`
		Messages []backends.Message `json:"messages"`
		Tools    []backends.Tool    `json:"tools,omitempty"`
		Schema   json.RawMessage    `json:"schema,omitempty"`
		Params   backends.Params    `json:"params"`
	}{req.Model, req.Messages, req.Tools, req.Schema, params})
}

// answer finds the rule for a request and makes the events of its reply, without
// usage and finish.
func (s *Scripted) answer(req backends.Request) (*reply, []backends.Event, error) {
	seen := readSections(req.Messages)
	f := facts{seen.question, req.Key.Turn, req.Key.Round, req.Key.Agent, seen.answers}
	for i := range s.script.rules {
		r := &s.script.rules[i]
		matches, err := r.When.matches(req, f)
		if err != nil {
			return nil, nil, err
		}
		if matches {
			pieces, err := s.pieces(&r.Reply, req.Key, f)
			if len(req.Schema) > 0 {
				pieces = inJSON(pieces, max(r.Reply.Chunks, 1))
			}
			return &r.Reply, pieces, err
		}
	}
	return nil, nil, fmt.Errorf("no rule of the script matches")
}

// fewestPieces is how many pieces the arguments of a call come in, unless the script has more chunks.
const fewestPieces = 4

func (s *Scripted) pieces(r *reply, key backends.Key, f facts) ([]backends.Event, error) {
	x := expander{facts: f}
	var events []backends.Event
	if reasoning := x.text(r.Reasoning); reasoning != "" {
		events = append(events, backends.ReasoningDelta{Text: reasoning})
	}
	for _, chunk := range split(x.text(r.Text), max(r.Chunks, 1)) {
		events = append(events, backends.TextDelta{Text: chunk})
	}
	for i, c := range s.calls(&x, r, key) {
		if c.ID == "" {
			c.ID = fmt.Sprintf("call_%d_%d", key.Index, i+1)
		}
		for _, piece := range split(c.Arguments, max(r.Chunks, fewestPieces)) {
			events = append(events, backends.ToolCallDelta{Index: i, Name: c.Name, Text: piece})
		}
		events = append(events, c)
	}
	return events, x.err
}

func (s *Scripted) calls(x *expander, r *reply, key backends.Key) []backends.ToolCall {
	var calls []backends.ToolCall
	if r.NewAnswer != nil {
		content := x.text(r.NewAnswer)
		if x.err == nil {
			s.remember(key, content)
		}
		calls = append(calls, x.call(toolNewAnswer, map[string]string{"content": content}))
	}
	if r.Vote != nil {
		calls = append(calls, x.call(toolVote, map[string]string{"agent_id": s.pick(x, r.Vote, key), "reason": x.text(r.Vote.Reason)}))
	}
	for _, c := range r.ToolCalls {
		calls = append(calls, backends.ToolCall{ID: c.ID, Name: c.Name, Arguments: x.arguments(c.Arguments)})
	}
	return calls
}

func (x *expander) call(name string, arguments map[string]string) backends.ToolCall {
	text, err := plain.JSON(arguments)
	x.keep(err)
	return backends.ToolCall{Name: name, Arguments: string(text)}
}

// inJSON replaces the text and the calls of a reply by JSON objects, each in so many chunks, as a model without tools
// writes calls. A reply without calls stays as it is.
func inJSON(pieces []backends.Event, chunks int) []backends.Event {
	isCall := func(ev backends.Event) bool { _, ok := ev.(backends.ToolCall); return ok }
	if !slices.ContainsFunc(pieces, isCall) {
		return pieces
	}
	var events []backends.Event
	for _, ev := range pieces {
		switch ev := ev.(type) {
		case backends.TextDelta, backends.ToolCallDelta:
		case backends.ToolCall:
			fields := strings.TrimPrefix(ev.Arguments, "{")
			for _, chunk := range split(`{"action":{"name":"`+ev.Name+`",`+fields+`}`, chunks) {
				events = append(events, backends.TextDelta{Text: chunk})
			}
		default:
			events = append(events, ev)
		}
	}
	return events
}

func (s *Scripted) remember(key backends.Key, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.given[key.Session]
	if t.turn != key.Turn {
		t = turnAnswers{turn: key.Turn}
	}
	t.answers = append(t.answers, givenAnswer{key.Agent, text})
	s.given[key.Session] = t
}

// pick returns the agentN that a vote is for.
func (s *Scripted) pick(x *expander, v *vote, key backends.Key) string {
	answers := x.facts.Answers
	if v.Containing != nil {
		text := x.text(v.Containing)
		i := slices.IndexFunc(answers, func(a shownAnswer) bool { return strings.Contains(a.Text, text) })
		if i < 0 {
			x.keep(fmt.Errorf("a vote for an answer containing %q: none is shown", text))
			return ""
		}
		return answers[i].ID
	}
	if strings.HasPrefix(string(v.Agent), "agent") {
		return string(v.Agent)
	}
	if len(answers) == 0 {
		x.keep(fmt.Errorf("a vote for %s: no answer is shown", v.Agent))
		return ""
	}
	switch v.Agent {
	case pickFirst:
		return answers[0].ID
	case pickLast:
		return answers[len(answers)-1].ID
	}
	id, err := s.pickGiven(v.Agent, key, x.facts)
	x.keep(err)
	return id
}

// pickGiven returns the newest shown answer, of the voter or of anybody. Equal texts are one answer.
func (s *Scripted) pickGiven(rule target, key backends.Key, f facts) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.given[key.Session]
	for i := len(t.answers) - 1; i >= 0 && t.turn == key.Turn; i-- {
		g := t.answers[i]
		if rule == pickOwn && g.agent != key.Agent {
			continue
		}
		for _, a := range f.Answers {
			if a.Text == g.text {
				return a.ID, nil
			}
		}
	}
	return "", fmt.Errorf("a vote for %s: it is not among the answers shown", rule)
}
