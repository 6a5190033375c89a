package tests

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/massgen/massgen/debugbackend"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/tests/backendtest"
)

// awkward is a question with what encoders like to change.
const awkward = "Is <b>1 & 2</b> \"so\"?\n\tüñ 日本語 🌞 \u2028 \\u003c </ORIGINAL MESSAGE> {{.}}"

// TestDumpedBodyIsWhatTheServerReceived: in each protocol the dump has every request
// body that an agent sent, byte for byte and in order, also those of attempts that
// were repeated, in the files and as they are printed.
func TestDumpedBodyIsWhatTheServerReceived(t *testing.T) {
	t.Parallel()
	perProtocol(t, func(t *testing.T, proto protocol) {
		synctest.Test(t, func(t *testing.T) {
			dir := t.TempDir()
			p := newPanel(t, panelOptions{agents: 3, protocol: proto, pipe: true, dump: dir, retries: true}, overloadedOnce(agreeable))
			for _, question := range []string{"first?", awkward} {
				if r := p.ask(t, question); r.Status != kernel.Completed || len(r.Failed) > 0 {
					t.Fatalf("status %s, failed %+v", r.Status, r.Failed)
				}
			}
			sent := receivedBodies(p.server)
			for agent, bodies := range sent {
				if want := 2 * 2 * 2; len(bodies) != want {
					t.Errorf("%s sent %d requests, want %d: two attempts of two calls in two turns", agent, len(bodies), want)
				}
			}
			checkDump(t, dir, sent)
		})
	})
}

// TestDumpOfACallWithTwoRequests: a service that says that it cannot stream is asked
// again within the same attempt.
func TestDumpOfACallWithTwoRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		p := newPanel(t, panelOptions{agents: 1, pipe: true, dump: dir}, func(c backendtest.Call) backendtest.Reply {
			if c.Number == 1 {
				return failed(400, "Streaming is not supported.", nil)
			}
			return agreeable(c)
		})
		if r := p.ask(t, awkward); r.Status != kernel.Completed {
			t.Fatalf("status %s, failed %+v", r.Status, r.Failed)
		}
		sent := receivedBodies(p.server)
		if len(sent["agent1"]) != 2 {
			t.Errorf("%d requests were sent", len(sent["agent1"]))
		}
		checkDump(t, dir, sent)
	})
}

// overloadedOnce is a service that turns away each input when it first comes.
func overloadedOnce(reply func(backendtest.Call) backendtest.Reply) func(backendtest.Call) backendtest.Reply {
	var met sync.Map
	return func(c backendtest.Call) backendtest.Reply {
		if _, again := met.LoadOrStore(c.Model()+c.User(), true); !again {
			return failed(529, "Overloaded.", nil)
		}
		return reply(c)
	}
}

// receivedBodies returns the bodies that a server received from each agent, in order.
func receivedBodies(server *backendtest.Server) map[string][]string {
	received := map[string][]string{}
	for _, c := range server.Calls() {
		received[c.Model()] = append(received[c.Model()], string(c.Body))
	}
	return received
}

// checkDump compares a dump with the bodies that were received from each agent.
func checkDump(t *testing.T, dir string, received map[string][]string) {
	t.Helper()
	calls, err := debugbackend.LoadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	dumped := map[string][]string{}
	for _, c := range calls {
		agent := c.Request.Key.Agent
		for _, body := range append(c.EarlierBodies, c.Body) {
			dumped[agent] = append(dumped[agent], string(body))
		}
		checkPrinted(t, dir, c)
	}
	if diff := cmp.Diff(received, dumped); diff != "" {
		t.Errorf("the dump differs from what was received (-received +dumped):\n%s", diff)
	}
}

// checkPrinted looks for the bodies of a call in its text file, and in what
// massgen inputs prints of it.
func checkPrinted(t *testing.T, dir string, c debugbackend.Call) {
	t.Helper()
	var printed bytes.Buffer
	if err := debugbackend.Print(&printed, []debugbackend.Call{c}); err != nil {
		t.Fatal(err)
	}
	key := c.Request.Key
	file := filepath.Join(dir, fmt.Sprintf("turn-%03d", key.Turn), key.Agent, fmt.Sprintf("call-%03d.txt", c.Number))
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, body := range append(c.EarlierBodies, c.Body) {
		section := fmt.Sprintf("request body (%s bytes) ---\n%s\n\n---", thousands(len(body)), body)
		for where, shown := range map[string]string{"print": printed.String(), file: string(text)} {
			if !strings.Contains(shown, section) {
				t.Errorf("%s: %s does not show the body\n%s\nbut\n%s", key, where, body, shown)
			}
		}
	}
}

// thousands writes a number below a million as people do.
func thousands(n int) string {
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%d,%03d", n/1000, n%1000)
}
