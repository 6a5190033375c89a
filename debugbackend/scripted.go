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
	"github.com/massgen/massgen/internal/plain"
)

const provider = "scripted"

// Scripted is a backend that answers by a script and needs no network. It sees
// nothing but the request. It is safe for concurrent use.
type Scripted struct {
	script *Script

	mu    sync.Mutex
	given map[string]turnAnswers // by session
}

// turnAnswers are the answers that were given in a session's latest turn, in
// order. They serve the votes for "own" and "most_recent": an input does not
// tell which answer is whose.
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
		p := player{ctx: ctx, trace: backends.TraceFrom(ctx), yield: yield}
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

// requestBody is the request in the form in which it would be sent. Headers are
// no part of a body, and the key is not sent at all.
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
				pieces = inJSON(pieces)
			}
			return &r.Reply, pieces, err
		}
	}
	return nil, nil, fmt.Errorf("no rule of the script matches")
}

func (s *Scripted) pieces(r *reply, key backends.Key, f facts) ([]backends.Event, error) {
	var events []backends.Event
	reasoning, err := r.Reasoning.expand(f)
	if err != nil {
		return nil, err
	}
	if reasoning != "" {
		events = append(events, backends.ReasoningDelta{Text: reasoning})
	}
	text, err := r.Text.expand(f)
	if err != nil {
		return nil, err
	}
	for _, chunk := range split(text, max(r.Chunks, 1)) {
		events = append(events, backends.TextDelta{Text: chunk})
	}
	calls, err := s.calls(r, key, f)
	for i, c := range calls {
		if c.ID == "" {
			c.ID = fmt.Sprintf("call_%d_%d", key.Index, i+1)
		}
		events = append(events, c)
	}
	return events, err
}

func (s *Scripted) calls(r *reply, key backends.Key, f facts) ([]backends.ToolCall, error) {
	var calls []backends.ToolCall
	add := func(name string, arguments map[string]string) error {
		text, err := plain.JSON(arguments)
		calls = append(calls, backends.ToolCall{Name: name, Arguments: string(text)})
		return err
	}
	if r.NewAnswer != nil {
		content, err := r.NewAnswer.expand(f)
		if err != nil {
			return nil, err
		}
		s.remember(key, content)
		if err := add(toolNewAnswer, map[string]string{"content": content}); err != nil {
			return nil, err
		}
	}
	if r.Vote != nil {
		id, err := s.pick(r.Vote, key, f)
		if err != nil {
			return nil, err
		}
		reason, err := r.Vote.Reason.expand(f)
		if err != nil {
			return nil, err
		}
		if err := add(toolVote, map[string]string{"agent_id": id, "reason": reason}); err != nil {
			return nil, err
		}
	}
	for _, c := range r.ToolCalls {
		text, err := c.Arguments.expand(f)
		if err != nil {
			return nil, err
		}
		calls = append(calls, backends.ToolCall{ID: c.ID, Name: c.Name, Arguments: text})
	}
	return calls, nil
}

// inJSON has the calls of a reply as a model without tools writes them, in place of
// its text: as objects of JSON. A reply without calls stays as it is.
func inJSON(pieces []backends.Event) []backends.Event {
	isCall := func(ev backends.Event) bool { _, ok := ev.(backends.ToolCall); return ok }
	if !slices.ContainsFunc(pieces, isCall) {
		return pieces
	}
	var events []backends.Event
	for _, ev := range pieces {
		switch ev := ev.(type) {
		case backends.TextDelta:
		case backends.ToolCall:
			fields := strings.TrimPrefix(ev.Arguments, "{")
			events = append(events, backends.TextDelta{Text: `{"action":{"name":"` + ev.Name + `",` + fields + `}`})
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
func (s *Scripted) pick(v *vote, key backends.Key, f facts) (string, error) {
	if v.Containing != nil {
		return pickContaining(v.Containing, f)
	}
	if strings.HasPrefix(string(v.Agent), "agent") {
		return string(v.Agent), nil
	}
	if len(f.Answers) == 0 {
		return "", fmt.Errorf("a vote for %s: no answer is shown", v.Agent)
	}
	switch v.Agent {
	case pickFirst:
		return f.Answers[0].ID, nil
	case pickLast:
		return f.Answers[len(f.Answers)-1].ID, nil
	}
	return s.pickGiven(v.Agent, key, f)
}

func pickContaining(w *words, f facts) (string, error) {
	text, err := w.expand(f)
	if err != nil {
		return "", err
	}
	for _, a := range f.Answers {
		if strings.Contains(a.Text, text) {
			return a.ID, nil
		}
	}
	return "", fmt.Errorf("a vote for an answer containing %q: none is shown", text)
}

// pickGiven finds the newest answer, of the voter or of anybody, among those
// shown. Equal texts are one answer to it.
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
