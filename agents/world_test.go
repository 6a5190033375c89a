package agents_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/internal/system/blob"
	"github.com/massgen/massgen/sessions"
)

var update = flag.Bool("update", false, "write the golden files anew")

// The panel's agents by index. Models know them by their sorted ids: analyst is
// agent1, creative agent2, researcher agent3.
const (
	researcher = iota
	analyst
	creative
)

// world is a store with a turn in it.
type world struct {
	*testing.T
	store *sessions.Store
	turn  effect.Turn
}

func newWorld(t *testing.T) *world {
	w := &world{T: t, store: sessions.NewMemory()}
	w.turn = effect.Turn{
		Session: "s", Turn: 2, Question: w.put("Which is cheapest?"), Limits: effect.Limits{MaxTurns: 3, MaxAttempts: 3},
		History: w.putJSON(sessions.Link{Turn: 1, Question: w.put("What is energy?"), Answer: w.put("What moves things.")}),
	}
	for _, id := range []string{"researcher", "analyst", "creative"} {
		system := ""
		if id == "analyst" {
			system = "You count."
		}
		w.turn.Agents = append(w.turn.Agents, w.describe(id, system, &search{}))
	}
	return w
}

func (w *world) put(text string) blob.Ref {
	w.Helper()
	ref, err := w.store.Put(w.Context(), []byte(text))
	if err != nil {
		w.Fatal(err)
	}
	return ref
}

func (w *world) putJSON(v any) blob.Ref {
	w.Helper()
	ref, err := agents.PutJSON(w.Context(), w.store, v)
	if err != nil {
		w.Fatal(err)
	}
	return ref
}

func (w *world) text(ref blob.Ref) string {
	w.Helper()
	if ref == (blob.Ref{}) {
		return ""
	}
	data, err := w.store.Get(w.Context(), ref)
	if err != nil {
		w.Fatal(err)
	}
	return string(data)
}

func (w *world) describe(id, system string, tools ...agents.Tool) effect.Agent {
	w.Helper()
	temperature := 0.5
	params := backends.Params{
		Temperature: &temperature, Headers: map[string]string{"X-Secret": "hush"}, ExtraBody: map[string]any{"token": "hush too"},
	}
	a, err := agents.Describe(w.Context(), w.store, id, system, "model-of-"+id, params, tools)
	if err != nil {
		w.Fatal(err)
	}
	return a
}

// answers are those of the agents given, in their order.
func (w *world) answers(list ...int) []kernel.Answer {
	shown := []kernel.Answer{}
	for _, agent := range list {
		text := "The sun, says " + w.turn.Agents[agent].ID + "."
		shown = append(shown, kernel.Answer{Agent: agent, N: 1, Round: 1, Text: w.put(text), Hash: text})
	}
	return shown
}

// call is the first of a step in which the agent sees the answers of others.
func (w *world) call(agent int, purpose effect.Purpose, shown ...int) effect.ModelCall {
	return effect.ModelCall{
		Key:      effect.Key{Agent: agent, Round: 2, Purpose: purpose},
		Offer:    kernel.Offer{Set: len(shown), Shown: w.answers(shown...), MayAnswer: true, MayVote: shown},
		OwnTools: true,
	}
}

func (w *world) input(c effect.ModelCall) backends.Request {
	w.Helper()
	req, err := agents.NewRebuilder(w.store).Input(w.Context(), &w.turn, c)
	if err != nil {
		w.Fatal(err)
	}
	return req
}

// reply runs a model call whose backend says the events.
func (w *world) reply(c effect.ModelCall, events ...backends.Event) effect.ModelReply {
	w.Helper()
	d := agents.Doer{Blobs: w.store, Members: []agents.Member{
		{Backend: says(events), Tools: []agents.Tool{&search{}}}, {}, {},
	}}
	ev, err := d.Perform(w.Context(), &w.turn, c)
	if err != nil {
		w.Fatal(err)
	}
	reply, ok := ev.(effect.ModelReply)
	if !ok {
		w.Fatalf("a model call ended with %T", ev)
	}
	return reply
}

func (w *world) golden(name, got string) {
	w.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			w.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		w.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		w.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

// render writes a request as text: nothing of what is sent is left out.
func render(req backends.Request) string {
	var b strings.Builder
	for _, m := range req.Messages {
		fmt.Fprintf(&b, "===== %s =====\n", m.Role)
		for _, p := range m.Parts {
			switch p := p.(type) {
			case backends.Text:
				fmt.Fprintf(&b, "%s\n", p.Text)
			case backends.ToolCall:
				fmt.Fprintf(&b, "-- call %s: %s %s\n", p.ID, p.Name, p.Arguments)
			case backends.ToolResult:
				fmt.Fprintf(&b, "-- result of %s: %s, error=%t\n%s\n", p.CallID, p.Name, p.IsError, p.Content)
			case backends.Opaque:
				fmt.Fprintf(&b, "-- opaque, of %s's %s: %s\n", p.Provider, p.Model, p.Data)
			default:
				fmt.Fprintf(&b, "%#v\n", p)
			}
		}
	}
	b.WriteString("===== tools =====\n")
	for _, t := range req.Tools {
		fmt.Fprintf(&b, "%s: %s\n  %s\n", t.Name, t.Description, t.Schema)
	}
	if req.Schema != nil {
		fmt.Fprintf(&b, "===== schema of the reply =====\n%s\n", req.Schema)
	}
	return b.String()
}

// says is a backend whose model says always the same.
type says []backends.Event

func (s says) Stream(context.Context, backends.Request) iter.Seq2[backends.Event, error] {
	return func(yield func(backends.Event, error) bool) {
		for _, ev := range s {
			if !yield(ev, nil) {
				return
			}
		}
		if !s.finishes() {
			yield(backends.Finish{Reason: "stop"}, nil)
		}
	}
}

// finishes reports whether the last event is the finish.
func (s says) finishes() bool {
	if len(s) == 0 {
		return false
	}
	_, ok := s[len(s)-1].(backends.Finish)
	return ok
}

func toolCall(id, name, arguments string) backends.Event {
	return backends.ToolCall{ID: id, Name: name, Arguments: arguments}
}

// search is a tool that finds what it is asked for, and breaks in many ways.
type search struct{}

func (*search) Definition() backends.Tool {
	return backends.Tool{Name: "search", Description: "Searches.", Schema: []byte(`{"type":"object"}`)}
}

func (*search) Call(ctx context.Context, arguments string) (string, error) {
	switch arguments {
	case "own form":
		return "", fmt.Errorf("search: %w", agents.ErrorResult(`{"found":null}`))
	case "fail":
		return "half a result", errors.New("the index is\x1b[31m broken")
	case "panic":
		panic("out of bounds")
	case "control":
		return "a\x1bb\xffc", nil
	case "one NUL":
		return "a line of text\x00and another", nil
	case "binary":
		return "a\x00b", nil
	case "cancelled":
		return "late but whole", ctx.Err()
	}
	return "found " + arguments, nil
}
