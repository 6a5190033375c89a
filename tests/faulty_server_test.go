package tests

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/tests/backendtest"
)

// A hanging server is named in failed however the turn goes on without it.
func TestHangingServerIsNamedInEveryPace(t *testing.T) {
	t.Parallel()
	for name, rules := range map[string]func(*kernel.Config){
		"rounds, grace":      func(*kernel.Config) {},
		"rounds, turn limit": func(c *kernel.Config) { c.TurnLimit = 30 * time.Second },
		"eager, grace":       func(c *kernel.Config) { c.Pace = kernel.PaceEager },
		"eager, turn limit":  func(c *kernel.Config) { c.Pace, c.TurnLimit = kernel.PaceEager, 30*time.Second },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newPanel(t, panelOptions{agents: 3, pipe: true, rules: rules}, func(call backendtest.Call) backendtest.Reply {
					if call.Model() == "agent3" {
						return backendtest.Reply{Fault: backendtest.HangBefore}
					}
					return agreeable(call)
				})
				r := p.ask(t, "energy?")
				if r.Answer == "" || len(r.Failed) != 1 || r.Failed[0].Agent != "agent3" || !strings.Contains(r.Failed[0].Error, "had not come back") {
					t.Errorf("answer %q, status %s, failed %+v", r.Answer, r.Status, r.Failed)
				}
			})
		})
	}
}

// A hanging, failing, cut, silent or lying server for one of three agents still
// gives the answer of the other two, and names the failed one.
func TestFaultyServerForOneAgent(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name   string
		reply  backendtest.Reply
		failed string // part of the error
	}{
		{"hangs before the first byte", backendtest.Reply{Fault: backendtest.HangBefore}, "had not come back"},
		{"falls silent in mid-stream", backendtest.Reply{Text: "I think that", Fault: backendtest.HangMidStream}, "timeout"},
		{"fails", backendtest.Reply{Error: &backendtest.ReplyError{Status: 500, Message: "internal trouble"}}, "internal trouble"},
		{"refuses the key", backendtest.Reply{Error: &backendtest.ReplyError{Status: 401, Message: "wrong key"}}, "auth"},
		{"cuts the stream", backendtest.Reply{Text: "I think that", Fault: backendtest.CutStream}, "network"},
		{"drops the connection", backendtest.Reply{Text: "I think that", Fault: backendtest.AbortStream}, "network"},
		{"resets the connection", backendtest.Reply{Fault: backendtest.Reset}, "network"},
		{"sends an error in the stream", backendtest.Reply{Text: "I think that", Fault: backendtest.ErrorInStream}, "openai: "},
		{"sends a web page", backendtest.Reply{Fault: backendtest.HTMLPage}, "openai: "},
		{"sends nothing", backendtest.Reply{}, "neither answered nor voted"},
		{"lies about its tools", toolCall("launch_missiles", `{}`), "neither answered nor voted"},
		{"sends broken arguments", toolCall("new_answer", `{"content": `), "neither answered nor voted"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				// Without another grace, a stream's silence and the grace would end at once.
				grace := func(k *kernel.Config) { k.StragglerGrace = 90 * time.Second }
				p := newPanel(t, panelOptions{agents: 3, pipe: true, rules: grace}, func(call backendtest.Call) backendtest.Reply {
					if call.Model() == "agent3" {
						return c.reply
					}
					return agreeable(call)
				})
				began := time.Now()
				r := p.ask(t, "energy?")
				if r.Status != kernel.Completed || r.Winner != "agent2" || r.Answer != "the answer of agent2" {
					t.Errorf("status %s, winner %q, answer %q", r.Status, r.Winner, r.Answer)
				}
				if len(r.Failed) != 1 || r.Failed[0].Agent != "agent3" || !strings.Contains(r.Failed[0].Error, c.failed) {
					t.Errorf("failed: %+v, agents %+v; want agent3 with %q", r.Failed, r.Agents, c.failed)
				}
				if took := time.Since(began); took > 3*time.Minute {
					t.Errorf("it took %s", took)
				}
			})
		})
	}
}
