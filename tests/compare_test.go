package tests

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/cmd/massgen/app"
	"github.com/massgen/massgen/debugbackend"
	"github.com/massgen/massgen/internal/models/questions"
	"github.com/massgen/massgen/sessions"
	"github.com/massgen/massgen/sessions/sqlite"
	"github.com/massgen/massgen/tests/backendtest"
)

var killSeed = flag.Uint64("kill-seed", 0, "the seed of the moments at which a comparison is killed, 0 for a new one")

// comparedConfig is a panel of three members of a server, with a price.
const comparedConfig = `
agents:
  - {id: a, backend: {type: chatcompletion, model: a, base_url: URL}}
  - {id: b, backend: {type: chatcompletion, model: b, base_url: URL}}
  - {id: c, backend: {type: chatcompletion, model: c, base_url: URL}}
orchestrator:
  answer_pattern: '(?s)(.*)'
prices:
  chatcompletion/a: {input: 1, output: 2}
  chatcompletion/b: {input: 1, output: 2}
  chatcompletion/c: {input: 3, output: 4}
`

func comparedQuestions(n int) (list []questions.Question, jsonl string) {
	var b strings.Builder
	for i := range n {
		q := questions.Question{ID: fmt.Sprint(i + 1), Question: fmt.Sprintf("What is %d + %d?", i, 3*i), Expected: fmt.Sprint(4 * i)}
		list = append(list, q)
		fmt.Fprintf(&b, `{"question": %q, "expected": %q}`+"\n", q.Question, q.Expected)
	}
	return list, b.String()
}

// simulatedReply returns the replies of simulated members behind a server.
func simulatedReply(list []questions.Question) func(backendtest.Call) backendtest.Reply {
	members := map[string]backends.Backend{}
	for name, accuracy := range map[string]float64{"a": 0.8, "b": 0.6, "c": 0.7} {
		members[name] = debugbackend.NewSimulated(questions.Simulation{Questions: list, Accuracy: accuracy, Correlation: 0.3, Conformity: 0.3})
	}
	return func(c backendtest.Call) backendtest.Reply {
		req := c.Request()
		req.Key.Agent, req.Key.Round = req.Model, 2
		resp, err := backends.Collect(members[req.Model].Stream(context.Background(), req), nil)
		if err != nil {
			return backendtest.Reply{Error: &backendtest.ReplyError{Status: 400, Message: err.Error()}}
		}
		return backendtest.Reply{Text: resp.Message.Text(), ToolCalls: resp.Message.ToolCalls(), Usage: resp.Usage}
	}
}

// comparison is the part of massgen compare --json that the tests read.
type comparison struct {
	Members, Strategies []struct {
		Name        string
		Calls       int
		SharedCalls int `json:"shared_calls"`
	}
	RepeatedCalls int     `json:"repeated_calls"`
	SpentUSD      float64 `json:"spent_usd"`
}

func compareArgs(more ...string) []string {
	return append([]string{"compare", "--config", "panel.yaml", "questions.jsonl", "--state-dir", "state", "--json", "--strategies", "members,majority,blind,consensus,judge,cascade"}, more...)
}

// beginComparison makes the folder of a comparison.
func beginComparison(t *testing.T, n int) *killRun {
	list, jsonl := comparedQuestions(n)
	r := killPanel{name: "compare", reply: simulatedReply(list), config: comparedConfig}.begin(t)
	write(t, filepath.Join(r.dir, "questions.jsonl"), []byte(jsonl))
	return r
}

// compared reads the output of the last process, and returns it without what a kill changes.
func (r *killRun) compared() (c comparison, rest string) {
	r.t.Helper()
	if err := json.Unmarshal([]byte(r.stdout), &c); err != nil || r.code != app.ExitCompleted {
		r.t.Fatalf("exit status %d, %v: %s\n%s", r.code, err, r.stdout, r.stderr)
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal([]byte(r.stdout), &all); err != nil {
		r.t.Fatal(err)
	}
	for _, name := range []string{"repeated_calls", "seconds", "spent_usd"} {
		if all[name] == nil {
			r.t.Errorf("the comparison has no %s", name)
		}
		delete(all, name)
	}
	text, err := json.Marshal(all)
	if err != nil {
		r.t.Fatal(err)
	}
	return c, string(text)
}

// journaled adds up the calls of all turns in the store of a comparison, and their cost.
func (r *killRun) journaled() (calls int, usd float64) {
	r.t.Helper()
	kept, err := sqlite.Open(r.t.Context(), filepath.Join(r.dir, "state", "compare", "sessions.db"))
	if err != nil {
		r.t.Fatal(err)
	}
	defer func() {
		if err := kept.Close(); err != nil {
			r.t.Error(err)
		}
	}()
	all, err := kept.Masked(func(text string) string { return text }).List(r.t.Context(), sessions.Filter{})
	if err != nil {
		r.t.Fatal(err)
	}
	for _, s := range all {
		calls += s.Usage.Calls
		if cost := s.Usage.CostUSD; cost != nil {
			usd += *cost
		}
	}
	return calls, usd
}

// checkCalls compares the calls of a comparison with those of its journals, and with those that the server
// received.
func (r *killRun) checkCalls(c comparison) {
	r.t.Helper()
	own, shared := 0, 0
	for _, f := range slices.Concat(c.Members, c.Strategies) {
		own += f.Calls - f.SharedCalls
		shared += f.SharedCalls
	}
	if shared == 0 {
		r.t.Error("no call is shared")
	}
	if journaled, _ := r.journaled(); own+c.RepeatedCalls != journaled-shared {
		r.t.Errorf("%d calls and %d repeated ones, but the journals have %d, of them %d shared", own, c.RepeatedCalls, journaled, shared)
	}
	if n := len(r.calls()); n < own || n > own+c.RepeatedCalls {
		r.t.Errorf("the server received %d calls, %d were made and %d repeated", n, own, c.RepeatedCalls)
	}
}

// TestCompareGoesOnAfterKills: a comparison that is killed at 20 random moments has the same figures as one that is
// not disturbed, and makes no finished call again: the server receives no more calls than were made and lost. With
// -kill-everywhere it has 200 questions.
func TestCompareGoesOnAfterKills(t *testing.T) {
	t.Parallel()
	const kills = 20
	n := 40
	if *killEverywhere {
		n = 200
	}
	seed := *killSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("-kill-seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	whole := beginComparison(t, n)
	whole.run("before 0", compareArgs()...)
	undisturbed, want := whole.compared()
	if undisturbed.RepeatedCalls != 0 {
		t.Errorf("without a kill %d calls are repeated", undisturbed.RepeatedCalls)
	}
	whole.checkCalls(undisturbed)
	writes := whole.writes()

	r := beginComparison(t, n)
	for range kills {
		at := fmt.Sprintf("%s %d", []string{"before", "after"}[random.IntN(2)], 1+random.IntN(2*writes/kills))
		if !r.run(at, compareArgs()...) {
			break // the moments may reach the end
		}
	}
	r.run("before 0", compareArgs()...)
	c, got := r.compared()
	if got != want {
		t.Errorf("after kills the comparison differs:\n%s\nwithout:\n%s", got, want)
	}
	r.checkCalls(c)

	before := len(r.calls())
	r.run("before 0", "compare", "--from", "state", "--json")
	if _, again := r.compared(); again != want {
		t.Errorf("from its journals the comparison differs:\n%s\nwant\n%s", again, want)
	}
	r.run("before 0", compareArgs()...)
	if _, again := r.compared(); again != want || len(r.calls()) != before {
		t.Errorf("a comparison that is finished makes %d calls", len(r.calls())-before)
	}
}

// TestCompareKeepsToItsBudget ends with what is there, and goes on with more.
func TestCompareKeepsToItsBudget(t *testing.T) {
	t.Parallel()
	const n = 12
	whole := beginComparison(t, n)
	whole.run("before 0", compareArgs()...)
	undisturbed, _ := whole.compared()

	r := beginComparison(t, n)
	most := undisturbed.SpentUSD * 2 / 3
	r.run("before 0", compareArgs("--max-usd", fmt.Sprint(most))...)
	var part comparison
	if err := json.Unmarshal([]byte(r.stdout), &part); err != nil || r.code != app.ExitNoWinner {
		t.Fatalf("exit status %d, %v: %s\n%s", r.code, err, r.stdout, r.stderr)
	}
	if part.SpentUSD > most || !strings.Contains(r.stderr, "the budget is spent") {
		t.Errorf("$%v of $%v are spent: %s", part.SpentUSD, most, r.stderr)
	}
	r.run("before 0", compareArgs("--max-usd", "1000")...)
	if c, _ := r.compared(); !reflect.DeepEqual(c.Strategies, undisturbed.Strategies) || !reflect.DeepEqual(c.Members, undisturbed.Members) {
		t.Errorf("with more money the calls are %+v, want %+v", c, undisturbed)
	}
}

// TestCompareSharesTheCallsOfAFinishedStrategy: one that is new in --strategies takes them, also if it stands first.
func TestCompareSharesTheCallsOfAFinishedStrategy(t *testing.T) {
	t.Parallel()
	r := beginComparison(t, 5)
	args := []string{"compare", "--config", "panel.yaml", "questions.jsonl", "--state-dir", "state", "--json", "--strategies"}
	r.run("before 0", append(args, "blind")...)
	before := len(r.calls())
	r.run("before 0", append(args, "majority,blind")...)
	c, _ := r.compared()
	if n := len(r.calls()) - before; n != 0 {
		t.Errorf("majority made %d calls, whose replies blind has", n)
	}
	r.checkCalls(c)
}

// TestCompareSaysWhatAllCallsHaveCost: also those of questions that not all columns have answered.
func TestCompareSaysWhatAllCallsHaveCost(t *testing.T) {
	t.Parallel()
	const n = 12
	whole := beginComparison(t, n)
	args := []string{"compare", "--config", "panel.yaml", "questions.jsonl", "--state-dir", "state", "--json", "--concurrency", "1", "--strategies", "members,blind"}
	whole.run("before 0", args...)
	undisturbed, _ := whole.compared()

	r := beginComparison(t, n)
	r.run("before 0", append(args, "--max-usd", fmt.Sprint(undisturbed.SpentUSD*2/3))...)
	var part comparison
	if err := json.Unmarshal([]byte(r.stdout), &part); err != nil || r.code != app.ExitNoWinner {
		t.Fatalf("exit status %d, %v: %s\n%s", r.code, err, r.stdout, r.stderr)
	}
	if _, usd := r.journaled(); usd == 0 || math.Abs(part.SpentUSD-usd) > 1e-9 {
		t.Errorf("$%v are spent, but the journals have $%v", part.SpentUSD, usd)
	}
}

// TestCompareGoesOnWhenAMemberFailed: an answer that a service refused is asked for again.
func TestCompareGoesOnWhenAMemberFailed(t *testing.T) {
	t.Parallel()
	list, jsonl := comparedQuestions(4)
	reply := simulatedReply(list)
	var isDown atomic.Bool
	isDown.Store(true)
	r := killPanel{name: "compare", config: comparedConfig, reply: func(c backendtest.Call) backendtest.Reply {
		if isDown.Load() && c.Model() == "b" {
			return backendtest.Reply{Error: &backendtest.ReplyError{Status: 401, Message: "no"}}
		}
		return reply(c)
	}}.begin(t)
	write(t, filepath.Join(r.dir, "questions.jsonl"), []byte(jsonl))
	args := []string{"compare", "--config", "panel.yaml", "questions.jsonl", "--state-dir", "state", "--json", "--strategies", "members"}
	r.run("before 0", args...)
	if !strings.Contains(r.stdout, `"name":"b","accuracy":0,"interval":[0,0.4899`) || !strings.Contains(r.stdout, `"unanswered":4`) {
		t.Errorf("with a member that fails: %s\n%s", r.stdout, r.stderr)
	}
	if strings.Count(r.stderr, "b gives no answer: its status is failed; b: ") != 1 {
		t.Errorf("the reason is not said once: %s", r.stderr)
	}
	isDown.Store(false)
	r.run("before 0", args...)
	if strings.Contains(r.stdout, `"unanswered":4`) {
		t.Errorf("when it works again: %s", r.stdout)
	}
}

// TestCompareReckonsFiles: the highest price that is said before the first call counts the files of the questions.
func TestCompareReckonsFiles(t *testing.T) {
	t.Parallel()
	const bytes, tokensEach = 400_000, 100_000
	r := killPanel{name: "compare", config: comparedConfig, reply: func(backendtest.Call) backendtest.Reply {
		return backendtest.Reply{Text: "4", Usage: &backends.Usage{InputTokens: tokensEach, OutputTokens: 1}}
	}}.begin(t)
	write(t, filepath.Join(r.dir, "long.txt"), []byte(strings.Repeat("word ", bytes/5)))
	write(t, filepath.Join(r.dir, "questions.jsonl"), []byte(`{"question": "How many?", "expected": "4", "files": ["long.txt"]}`))
	r.run("before 0", "compare", "--config", "panel.yaml", "questions.jsonl", "--state-dir", "state", "--json", "--strategies", "members")
	c, _ := r.compared()
	_, said, _ := strings.Cut(r.stderr, "; $")
	said, _, _ = strings.Cut(said, " at most")
	most, err := strconv.ParseFloat(said, 64)
	if err != nil || most < c.SpentUSD {
		t.Errorf("$%v were spent, and before that %s, %v", c.SpentUSD, r.stderr, err)
	}
}
