package tests

import (
	"flag"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/internal/models/retry"
	"github.com/massgen/massgen/internal/models/wire"
	"github.com/massgen/massgen/tests/backendtest"
)

var update = flag.Bool("update", false, "write the tables of the documents anew")

// failed is an answer with an HTTP status that is none of success.
func failed(status int, message string, header http.Header) backendtest.Reply {
	return backendtest.Reply{Error: &backendtest.ReplyError{Status: status, Message: message, Header: header}}
}

func retryAfter(value string) http.Header { return http.Header{"Retry-After": {value}} }

// fault is a row of the table: what the service does to each request, or only to
// the first ones.
type fault struct {
	name  string
	reply backendtest.Reply
	// times is how many requests meet it; 0 is all, and never is none.
	times int
	// spare adds a second model, which answers.
	spare bool
	// open opens the breaker before the call.
	open bool
	// streams is a fault that only requests for a stream meet; again counts the second
	// call, after one that met the same.
	streams, again bool
}

const never = -1

func faults() []fault {
	const half = "the first half, and the second half"
	slow := failed(429, "Slow down.", nil)
	quota := failed(429, "You exceeded your current quota, please check your plan and billing details.", nil)
	unstreamed := failed(400, "Streaming is not supported.", nil)
	return []fault{
		{name: "none", times: never},
		{name: "429 with Retry-After: 7", reply: failed(429, "Slow down.", retryAfter("7"))},
		{name: "429 with Retry-After: 600", reply: failed(429, "Slow down.", retryAfter("600"))},
		{name: "429 without Retry-After", reply: slow},
		{name: "429, with words: try again in 9s", reply: failed(429, "Rate limit reached. Please try again in 9s.", nil)},
		{name: "429, with a reset in ten hours", reply: failed(429, "Slow down.", http.Header{"X-Ratelimit-Reset-Requests": {"10h0m0s"}})},
		{name: "429, the quota is used up", reply: quota},
		{name: "429, the request is larger than the limit", reply: failed(429, "Request too large on tokens per min: Limit 30000, Requested 35123.", nil)},
		{name: "500", reply: failed(500, "Oops.", nil)},
		{name: "500, once", reply: failed(500, "Oops.", nil), times: 1},
		{name: "529", reply: failed(529, "Overloaded.", nil)},
		{name: "reset before the first byte", reply: backendtest.Reply{Fault: backendtest.Reset}},
		{name: "hang before the first byte", reply: backendtest.Reply{Fault: backendtest.HangBefore}},
		{name: "hang in mid-stream", reply: backendtest.Reply{Text: half, Fault: backendtest.HangMidStream}},
		{name: "stream cut in its middle", reply: backendtest.Reply{Text: half, Fault: backendtest.CutStream}},
		{name: "connection dropped in mid-stream", reply: backendtest.Reply{Text: half, Fault: backendtest.AbortStream}},
		{name: "error in mid-stream", reply: backendtest.Reply{Text: half, Fault: backendtest.ErrorInStream}},
		{name: "400", reply: failed(400, "Unknown field.", nil)},
		{name: "400, the conversation is too long", reply: failed(400, "This model's maximum context length is 8192 tokens.", nil)},
		{name: "400, it takes no tools", reply: failed(400, "This model does not support tools.", nil)},
		{name: "400, it cannot stream", reply: unstreamed, streams: true},
		{name: "400, it cannot stream, in each later call", reply: unstreamed, streams: true, again: true},
		{name: "401", reply: failed(401, "Wrong key.", nil)},
		{name: "a web page in place of an answer", reply: backendtest.Reply{Fault: backendtest.HTMLPage}},
		{name: "any, while the breaker is open", open: true},
		{name: "401, with a fallback", reply: failed(401, "Wrong key.", nil), spare: true},
		{name: "529, with a fallback", reply: failed(529, "Overloaded.", nil), spare: true},
		{name: "400, with a fallback", reply: failed(400, "Unknown field.", nil), spare: true},
	}
}

// hits reports whether a request meets the fault: the spare model works.
func (f fault) hits(c backendtest.Call) bool {
	return c.Model() != "spare" && (f.times == 0 || c.Number <= f.times) && !(f.streams && isWhole(c))
}

// isWhole reports whether a request asks for no stream, as only those of OpenAI's adapter
// may.
func isWhole(c backendtest.Call) bool {
	body := string(c.Body)
	isOpenAIs := strings.Contains(body, `"messages":`) || strings.Contains(body, `"input":`)
	return isOpenAIs && !strings.Contains(body, `"stream":true`)
}

// newGate returns a gate that shares its limits with no other.
func newGate(provider string, l retry.Limits) *retry.Gate {
	return retry.NewGate(provider, l, retry.NewLimiter(l))
}

// around puts around an adapter what a program puts there, with the longest waits
// that chance can give.
func (f fault) around(t *testing.T, p protocol, adapter backends.Backend) backends.Backend {
	options := retry.Options{Random: func() float64 { return 1 }}
	gate := newGate(p.name, retry.Limits{})
	if f.open {
		openBreaker(t, p, gate)
	}
	backend := retry.New(adapter, gate, options)
	if !f.spare {
		return backend
	}
	return retry.NewFallback(p.name, backend, retry.Choice{
		Provider: "spare", Backend: retry.New(adapter, newGate("spare", retry.Limits{}), options), Model: "spare",
	})
}

// cost is what a fault comes to: for one call, and for the turn of a panel in which
// one agent meets it.
type cost struct {
	requests int
	end      string
	took     time.Duration
	turn     kernel.Status
	turnTook time.Duration
}

func (c cost) String() string {
	return fmt.Sprintf("%d | %s | %s | %s | %s", c.requests, c.end, c.took, c.turn, c.turnTook)
}

// call makes one call and returns what it cost.
func (f fault) call(t *testing.T, p protocol) (c cost) {
	synctest.Test(t, func(t *testing.T) {
		server, adapter := p.serve(t, func(c backendtest.Call) backendtest.Reply {
			if f.hits(c) {
				return f.reply
			}
			return backendtest.Reply{Text: "an answer"}
		})
		backend := f.around(t, p, adapter)
		before := 0
		if f.again {
			if err := ask(t, backend); (err == nil) != (p.kind == openAI().kind) {
				t.Errorf("the first call: %v", err)
			}
			before = len(server.Calls())
		}
		start := time.Now()
		c.end = anAnswer
		if err := ask(t, backend); err != nil {
			c.end = "error: " + strings.ReplaceAll(string(backends.KindOf(err)), "_", " ")
		}
		c.requests, c.took = len(server.Calls())-before, time.Since(start)
	})
	return c
}

const anAnswer = "an answer"

func ask(t *testing.T, backend backends.Backend) error {
	t.Helper()
	request := backends.Request{Model: "first", Messages: []backends.Message{backends.User("What is it?")}}
	_, err := backends.Collect(backend.Stream(t.Context(), request), nil)
	return err
}

// openBreaker lets calls to another server fail at the gate.
func openBreaker(t *testing.T, p protocol, gate *retry.Gate) {
	t.Helper()
	_, adapter := p.serve(t, func(backendtest.Call) backendtest.Reply { return failed(503, "Down.", nil) })
	backend := retry.New(adapter, gate, retry.Options{MaxAttempts: 1})
	for range retry.DefaultFailures {
		if err := ask(t, backend); err == nil {
			t.Error("the service that is down answers")
		}
	}
}

// rows measures a fault in every protocol. It is one row where all cost the same,
// else one for each cost, which names its protocols.
func (f fault) rows(t *testing.T) []string {
	var costs []cost
	names := map[cost][]string{}
	for _, p := range protocols() {
		c := f.call(t, p)
		c.turn, c.turnTook = f.turn(t, p, c)
		if names[c] == nil {
			costs = append(costs, c)
		}
		names[c] = append(names[c], p.name)
	}
	if len(costs) == 1 {
		return []string{fmt.Sprintf("| %s | %s |", f.name, costs[0])}
	}
	var rows []string
	for _, c := range costs {
		rows = append(rows, fmt.Sprintf("| %s (%s) | %s |", f.name, strings.Join(names[c], ", "), c))
	}
	return rows
}

// TestRequestsOfEachFault keeps the table of docs/requests.md true.
func TestRequestsOfEachFault(t *testing.T) {
	rows := make([][]string, len(faults()))
	t.Run("faults", func(t *testing.T) {
		for i, f := range faults() {
			t.Run(f.name, func(t *testing.T) {
				t.Parallel()
				rows[i] = f.rows(t)
			})
		}
	})
	checkTable(t, "requests", slices.Concat([]string{
		"| Fault | Requests | Ends with | At most | Turn | Turn at most |",
		"| --- | ---: | --- | ---: | --- | ---: |",
	}, slices.Concat(rows...)))
}

func TestDefaultsOfRequests(t *testing.T) {
	checkTable(t, "defaults", []string{
		"| What | Default |", "| --- | ---: |",
		fmt.Sprintf("| attempts of a call | %d |", retry.DefaultMaxAttempts),
		fmt.Sprintf("| time in which an attempt may follow the first | %s |", retry.DefaultMaxTime),
		fmt.Sprintf("| time for the first byte of an answer | %s |", wire.DefaultFirstByteTimeout),
		fmt.Sprintf("| silence in an answer | %s |", wire.DefaultIdleTimeout),
		fmt.Sprintf("| failures in a row that open the breaker | %d |", retry.DefaultFailures),
		fmt.Sprintf("| pause until it lets a call through | %s |", retry.DefaultPause),
	})
}

// checkTable compares lines with what docs/requests.md has between the marks of
// name, or writes them there.
func checkTable(t *testing.T, name string, lines []string) {
	t.Helper()
	path := filepath.Join("..", "docs", "requests.md")
	doc, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	begin := "<!-- " + name + ": written by tests/requests_test.go -->\n"
	before, rest, ok := strings.Cut(string(doc), begin)
	old, after, closed := strings.Cut(rest, "<!-- end of "+name+" -->")
	if !ok || !closed {
		t.Fatalf("%s has no marks for the table of %s", path, name)
	}
	table := strings.Join(lines, "\n") + "\n"
	if *update {
		after = table + "<!-- end of " + name + " -->" + after
		if err := os.WriteFile(path, []byte(before+begin+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(old, table); diff != "" {
		t.Errorf("%s differs; go test ./tests -run Requests -update writes it (-document +truth):\n%s", path, diff)
	}
}

// TestResetOverTheNetwork: a reset of a real connection costs what the table says of
// one in memory.
func TestResetOverTheNetwork(t *testing.T) {
	perProtocol(t, func(t *testing.T, p protocol) {
		server := backendtest.NewProtocolServer(t, p.wire, func(backendtest.Call) backendtest.Reply {
			return backendtest.Reply{Fault: backendtest.Reset}
		})
		options := retry.Options{Random: func() float64 { return 0 }}
		backend := retry.New(p.connect(t, server.BaseURL, &http.Transport{}), newGate("test", retry.Limits{}), options)
		if err := ask(t, backend); backends.KindOf(err) != backends.KindNetwork || len(server.Calls()) != retry.DefaultMaxAttempts {
			t.Errorf("%d requests, %v", len(server.Calls()), err)
		}
	})
}
