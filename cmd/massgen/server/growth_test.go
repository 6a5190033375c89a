package server_test

import (
	"context"
	"iter"
	"net/http"
	"testing"

	"github.com/massgen/massgen"
	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/cmd/massgen/server"
)

// chatty is a model whose answer comes in many pieces.
type chatty struct{ pieces int }

// Stream implements backends.Backend.
func (c chatty) Stream(context.Context, backends.Request) iter.Seq2[backends.Event, error] {
	return func(yield func(backends.Event, error) bool) {
		for range c.pieces {
			if !yield(backends.TextDelta{Text: "abcd efg "}, nil) {
				return
			}
		}
		if yield(backends.Usage{InputTokens: 2, OutputTokens: c.pieces}, nil) {
			yield(backends.Finish{Reason: "stop"}, nil)
		}
	}
}

// TestLongAnswersCostWhatTheirLengthSays: four times the pieces take no 16 times the work.
func TestLongAnswersCostWhatTheirLengthSays(t *testing.T) {
	for name, test := range map[string]struct{ path, body string }{
		"chat":               {"/v1/chat/completions", `{"model":"one","messages":[{"role":"user","content":"?"}]}`},
		"chat stream":        {"/v1/chat/completions", `{"model":"one","stream":true,"messages":[{"role":"user","content":"?"}]}`},
		"response":           {"/v1/responses", `{"model":"one","input":"?"}`},
		"stream of response": {"/v1/responses", `{"model":"one","stream":true,"input":"?"}`},
		"session":            {"/sessions", `{"model":"one","question":"?"}`},
	} {
		cost := func(pieces int) uint64 {
			s := serve(t, func(s *server.Settings) {
				s.Models = []server.Model{{ID: "one", Open: func(ctx context.Context) (*massgen.Panel, error) {
					return massgen.New(ctx, []massgen.Agent{{ID: "ada", Backend: chatty{pieces}}}, massgen.WithStore(s.Store))
				}}}
			})
			return allocated(func() {
				if r := s.send(t, http.MethodPost, test.path, test.body); r.status != http.StatusOK {
					t.Errorf("%s: status %d: %.200s", name, r.status, r.body)
				}
			})
		}
		const few = 4000
		if less, more := cost(few), cost(4*few); more > 7*less {
			t.Errorf("%s: %d pieces take %d MB, %d take %d MB", name, few, less>>20, 4*few, more>>20)
		}
	}
}
