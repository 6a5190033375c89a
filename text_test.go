package massgen_test

import (
	"context"
	"errors"
	"iter"
	"strings"
	"sync"
	"testing"

	"github.com/massgen/massgen"
	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/coordinator/report"
	"github.com/massgen/massgen/internal/coordination/effect"
)

// drafting is a model that writes half of its answer, and the rest when open is closed. As a member of a panel it then
// votes for the first answer.
type drafting struct{ open chan struct{} }

func (m drafting) Stream(ctx context.Context, req backends.Request) iter.Seq2[backends.Event, error] {
	return func(yield func(backends.Event, error) bool) {
		ended := func() bool { return yield(backends.Finish{Reason: "stop"}, nil) }
		isAlone := req.Key.Purpose == string(effect.Conversation)
		switch {
		case !isAlone && req.Key.Round > 1:
			_ = yield(backends.ToolCall{ID: "1", Name: effect.Vote, Arguments: `{"agent_id":"agent1","reason":"It is good."}`}, nil) && ended()
			return
		case isAlone && !yield(backends.TextDelta{Text: "The sun"}, nil):
			return
		case !isAlone && !yield(backends.ToolCallDelta{Name: effect.NewAnswer, Text: `{"content":"The sun`}, nil):
			return
		}
		select {
		case <-m.open:
		case <-ctx.Done():
			yield(nil, ctx.Err())
			return
		}
		if isAlone {
			_ = yield(backends.TextDelta{Text: ", says " + req.Key.Agent}, nil) && ended()
			return
		}
		rest := ", says " + req.Key.Agent
		_ = yield(backends.ToolCallDelta{Name: effect.NewAnswer, Text: rest + `"}`}, nil) &&
			yield(backends.ToolCall{ID: "1", Name: effect.NewAnswer, Arguments: `{"content":"The sun` + rest + `"}`}, nil) && ended()
	}
}

// asked asks the agents of a new panel a question.
func asked(t *testing.T, ids []string, model backends.Backend) *massgen.Turn {
	t.Helper()
	var list []massgen.Agent
	for _, id := range ids {
		list = append(list, massgen.Agent{ID: id, Backend: model})
	}
	turn, err := made(t)(massgen.New(t.Context(), list)).Ask(t.Context(), "s", "What is cheap?")
	if err != nil {
		t.Fatal(err)
	}
	return turn
}

// TestEventsStreamTheAnswer: an event has half of the answer before the model writes the other half.
func TestEventsStreamTheAnswer(t *testing.T) {
	open := make(chan struct{})
	turn := asked(t, []string{"ada", "bob"}, drafting{open})
	release := sync.OnceFunc(func() { close(open) })
	written := map[string]string{}
	for ev := range turn.Events(t.Context()) {
		if piece, ok := ev.(report.TextDelta); ok && piece.Act == effect.NewAnswer {
			written[piece.Agent] += piece.Text
			if written["ada"] == "The sun" {
				release()
			}
		}
	}
	if written["ada"] != "The sun, says ada" || written["bob"] != "The sun, says bob" {
		t.Errorf("the events have %q", written)
	}
}

// TestTextIsTheWinners: it streams if one agent writes it, and comes in one piece if a panel elects it. A late listener
// gets all of it.
func TestTextIsTheWinners(t *testing.T) {
	for _, tc := range []struct {
		agents []string
		want   string
	}{{[]string{"ada"}, "The sun|, says ada"}, {[]string{"ada", "bob"}, "The sun, says ada"}} {
		open := make(chan struct{})
		turn := asked(t, tc.agents, drafting{open})
		if len(tc.agents) > 1 {
			close(open)
		}
		for range 2 {
			var pieces []string
			for piece, err := range turn.Text(t.Context()) {
				if err != nil {
					t.Error(err)
				}
				pieces = append(pieces, piece)
				if len(pieces) == 1 && len(tc.agents) == 1 {
					select {
					case <-open: // the second time
					default:
						close(open)
					}
				}
			}
			if got := strings.Join(pieces, "|"); got != tc.want {
				t.Errorf("%v: the text is %q, want %q", tc.agents, got, tc.want)
			}
		}
	}
}

// TestTextEndsWithTheError of the turn, or of its context.
func TestTextEndsWithTheError(t *testing.T) {
	refuses := modelFunc(func(context.Context, backends.Request) backends.Event {
		return backends.Finish{Reason: "content_filter"}
	})
	text := func(ctx context.Context, turn *massgen.Turn) (text string, errs []error) {
		for piece, err := range turn.Text(ctx) {
			text += piece
			if err != nil {
				errs = append(errs, err)
			}
		}
		return text, errs
	}
	said, errs := text(t.Context(), asked(t, []string{"ada"}, refuses))
	if said != "" || len(errs) != 1 || !strings.Contains(errs[0].Error(), "turn s/1 has no answer: its status is failed; ada: ") {
		t.Errorf("the text is %q, the errors are %v", said, errs)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, errs := text(ctx, asked(t, []string{"ada"}, modelFunc(hanging))); len(errs) != 1 || !errors.Is(errs[0], context.Canceled) {
		t.Errorf("the errors are %v", errs)
	}
}

// TestTextHasNoSecrets, whether it streams or comes in one piece.
func TestTextHasNoSecrets(t *testing.T) {
	const key = "sk-0123456789abcdef"
	t.Setenv("OPENAI_API_KEY", key)
	leaks := modelFunc(func(_ context.Context, req backends.Request) backends.Event {
		switch {
		case req.Key.Purpose == string(effect.Conversation):
			return backends.TextDelta{Text: "It is " + key + "."}
		case req.Key.Round > 1:
			return backends.ToolCall{ID: "1", Name: effect.Vote, Arguments: `{"agent_id":"agent1","reason":"?"}`}
		}
		return backends.ToolCall{ID: "1", Name: effect.NewAnswer, Arguments: `{"content":"It is ` + key + `, says ` + req.Key.Agent + `."}`}
	})
	for _, tc := range []struct {
		agents []string
		want   string
	}{{[]string{"ada"}, "It is ***."}, {[]string{"ada", "bob"}, "It is ***, says ada."}} {
		got := ""
		for piece, err := range asked(t, tc.agents, leaks).Text(t.Context()) {
			if err != nil {
				t.Error(err)
			}
			got += piece
		}
		if got != tc.want {
			t.Errorf("%v: the text is %q", tc.agents, got)
		}
	}
}
