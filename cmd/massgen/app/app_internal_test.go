package app

import (
	"bufio"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/massgen/massgen/agents/machine"
	"github.com/massgen/massgen/configs"
	"github.com/massgen/massgen/coordinator"
	"github.com/massgen/massgen/coordinator/kernel"
	"github.com/massgen/massgen/coordinator/turn"
	"github.com/massgen/massgen/sessions"
)

func testProgram(t *testing.T) *program {
	p := newProgram(Env{
		Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: io.Discard,
		Lookup: func(string) (string, bool) { return "", false },
	})
	p.options.stateDir = t.TempDir()
	return p
}

func TestFlagsMayStandAnywhere(t *testing.T) {
	cases := map[string]invocation{
		"question":                          {words: []string{"question"}},
		"--json question":                   {rootFlags: []string{"--json"}, words: []string{"question"}},
		"question --model m --json":         {rootFlags: []string{"--model", "m", "--json"}, words: []string{"question"}},
		"-model=m question":                 {rootFlags: []string{"-model=m"}, words: []string{"question"}},
		"--json=false q":                    {rootFlags: []string{"--json=false"}, words: []string{"q"}},
		"--model --json q":                  {rootFlags: []string{"--model", "--json"}, words: []string{"q"}},
		"--json -- --model m":               {rootFlags: []string{"--json"}, words: []string{"--model", "m"}},
		"- --json":                          {rootFlags: []string{"--json"}, words: []string{"-"}},
		"inputs dir --table":                {command: "inputs", commandFlags: []string{"--table"}, words: []string{"dir"}},
		"--debug inputs --diff a b":         {command: "inputs", rootFlags: []string{"--debug"}, commandFlags: []string{"--diff"}, words: []string{"a", "b"}},
		"question inputs":                   {words: []string{"question", "inputs"}},
		"-- inputs":                         {words: []string{"inputs"}},
		"-v":                                {rootFlags: []string{"-v"}},
		"inputs --help":                     {command: "inputs", commandFlags: []string{"--help"}},
		"q --orchestrator-timeout 5 --json": {rootFlags: []string{"--orchestrator-timeout", "5", "--json"}, words: []string{"q"}},
	}
	for line, want := range cases {
		got, err := splitArgs(testProgram(t).cliApp(), strings.Fields(line))
		if err != nil {
			t.Errorf("%s: %v", line, err)
			continue
		}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(invocation{})); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", line, diff)
		}
	}
}

func TestLines(t *testing.T) {
	long := strings.Repeat("x", coordinator.MaxQuestion)
	r := bufio.NewReader(strings.NewReader("one\n\r\ntwo\r\n" + long + "\n" + long + "y\n" + long + long + "\nlast"))
	for i, want := range []string{"one", "", "two", long} {
		if got, err := readLine(r); got != want || err != nil {
			t.Fatalf("line %d has %d bytes, want %d, %v", i+1, len(got), len(want), err)
		}
	}
	// One byte more is for the coordinator to refuse; it must not be cut.
	if got, err := readLine(r); len(got) != len(long)+1 || err != nil {
		t.Fatalf("a line one byte too long has %d bytes, %v", len(got), err)
	}
	if _, err := readLine(r); !errors.Is(err, errTooLong) {
		t.Fatalf("a line twice too long: %v", err)
	}
	if got, err := readLine(r); got != "last" || err != nil {
		t.Fatalf("after it: %q, %v", got, err)
	}
	if _, err := readLine(r); !errors.Is(err, io.EOF) {
		t.Fatalf("at the end: %v", err)
	}
}

func TestRulesAreTheConfigs(t *testing.T) {
	c, err := configs.Parse("test", []byte(`
agents: [{backend: {type: demo}}, {backend: {type: demo}}, {backend: {type: demo}}]
orchestrator:
  pace: eager
  decision: majority
  max_rounds: 7
  straggler_grace: 11s
  max_new_answers_per_agent: 2
  max_new_answers_global: 5
  self_vote: false
  answer_novelty_requirement: balanced
  final_answer_strategy: synthesize
  max_turns: 4
  max_attempts: 6
  max_tool_calls: 8
  max_tool_result_bytes: 9000
timeout_settings:
  orchestrator_timeout_seconds: 100
  initial_round_timeout_seconds: 20
  subsequent_round_timeout_seconds: 30
  round_timeout_grace_seconds: 40
  tool_timeout_seconds: 2.5
`), configs.Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := kernel.Config{
		Pace: kernel.PaceEager, Decision: kernel.Majority, Final: kernel.Synthesize, MaxRounds: 7,
		StragglerGrace: 11 * time.Second, MaxNewAnswersPerAgent: 2, MaxNewAnswersGlobal: 5,
		FirstRoundLimit: 20 * time.Second, RoundLimit: 30 * time.Second, RoundGrace: 40 * time.Second, TurnLimit: 100 * time.Second,
	}
	if diff := cmp.Diff(want, rules(c)); diff != "" {
		t.Errorf("rules (-want +got)\n%s", diff)
	}
	if got := limits(c); got != (machine.Limits{MaxTurns: 4, MaxAttempts: 6, MaxToolCalls: 8, ToolLimit: 2500, ResultLimit: 9000, MaxOverlap: 700}) {
		t.Errorf("limits %+v", got)
	}
	standard := kernel.Defaults()
	standard.TurnLimit, standard.RoundGrace = 30*time.Minute, 2*time.Minute
	if diff := cmp.Diff(standard, rules(configs.Default())); diff != "" {
		t.Errorf("the default rules (-want +got)\n%s", diff)
	}
	if got := limits(configs.Default()); got != coordinator.DefaultLimits() {
		t.Errorf("the default limits are %+v", got)
	}
}

func TestUsageAddsUpOverCallsAndTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := testProgram(t)
		p.env.LocalServers = map[string]string{}
		p.options.noDisplay = true
		s, err := p.openSession(t.Context(), true)
		if err != nil {
			t.Fatal(err)
		}
		var before turn.Usage
		for range 2 {
			r, err := s.ask(t.Context(), "question", nil)
			if err != nil {
				t.Fatal(err)
			}
			kept, err := s.store.Session(t.Context(), s.id)
			if err != nil {
				t.Fatal(err)
			}
			total := turn.Usage(kept.Usage)
			if diff := cmp.Diff(before.Plus(r.Usage), total); diff != "" {
				t.Errorf("the session's usage (-want +got)\n%s", diff)
			}
			before = total
			want := turn.Usage{CostUSD: new(float64)} // the demo is free
			for _, c := range s.record.Calls() {
				want.Calls++
				want.InputTokens += c.Response.Usage.InputTokens
				want.OutputTokens += c.Response.Usage.OutputTokens
			}
			if diff := cmp.Diff(want, total); diff != "" || r.Usage.Calls < 6 {
				t.Errorf("the usage of %d calls, by the calls (-want +got)\n%s", r.Usage.Calls, diff)
			}
		}
		if err := s.close(); err != nil {
			t.Error(err)
		}
	})
}

func TestResetKeepsNothing(t *testing.T) {
	p := testProgram(t)
	p.options.backend = demoType
	s, err := p.openSession(t.Context(), true)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.ask(t.Context(), "question", nil); err != nil {
		t.Fatal(err)
	}
	id := s.id
	if err := s.command("/reset"); err != nil {
		t.Fatal(err)
	}
	journal, err := s.store.Journal(t.Context(), id, 1)
	if len(journal) > 0 || err != nil {
		t.Errorf("the journal of the old session has %d events, %v", len(journal), err)
	}
	if _, err := s.store.Session(t.Context(), id); !errors.Is(err, sessions.ErrNoSession) {
		t.Errorf("the old session: %v", err)
	}
	if diff := cmp.Diff(place{id: id}, s.place, cmp.AllowUnexported(place{})); diff != "" || len(s.record.Calls()) > 0 {
		t.Errorf("kept: %d calls, and (-want +got)\n%s", len(s.record.Calls()), diff)
	}
	if err := s.close(); err != nil {
		t.Error(err)
	}
}

// TestTopicThatCannotBeReadIsAWarning has a session whose metadata somebody else wrote.
func TestTopicThatCannotBeReadIsAWarning(t *testing.T) {
	var shown strings.Builder
	p := testProgram(t)
	p.console.err = &shown
	p.options.backend = demoType
	s, err := p.openSession(t.Context(), true)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.ask(t.Context(), "question", nil); err != nil {
		t.Fatal(err)
	}
	if err := s.store.SetMetadata(t.Context(), s.id, map[string]string{metaTopic: `{"current_topic":{"name":"x"},`}); err != nil {
		t.Fatal(err)
	}
	if err := s.moveTo(s.id); err != nil || s.topic.Current != nil || s.turns != 1 {
		t.Errorf("the session after %d turns, topic %v, %v", s.turns, s.topic.Current, err)
	}
	if !strings.Contains(shown.String(), "warning: read the topic of session default: ") {
		t.Errorf("shown is\n%s", shown.String())
	}
	if err := s.close(); err != nil {
		t.Error(err)
	}
}

// TestTurnThatAnotherResumesIsBusy has two processes that both found a turn left.
func TestTurnThatAnotherResumesIsBusy(t *testing.T) {
	ctx := t.Context()
	p := testProgram(t)
	p.options.backend = demoType
	first, err := p.openSession(ctx, true)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := first.ask(ctx, "question", nil); err != nil {
		t.Fatal(err)
	}
	if _, err := first.store.Begin(ctx, first.id, "another"); err != nil {
		t.Fatal(err)
	}
	if err := first.store.Append(ctx, first.id, 2, []byte("{}")); err != nil {
		t.Fatal(err)
	}
	if err := first.store.Leave(ctx, first.id, 2); err != nil {
		t.Fatal(err)
	}
	p.options.goOn = true
	second, err := p.openSession(ctx, true)
	if err != nil || second.unfinished == nil {
		t.Fatalf("the turn that was left: %v", err)
	}
	if _, err := first.store.Resume(ctx, first.id); err != nil {
		t.Fatal(err)
	}
	err = second.resume(ctx)
	var end exitError
	if !errors.As(err, &end) || end.code != ExitFailed || !strings.HasPrefix(err.Error(), "--continue: ") ||
		!strings.HasSuffix(err.Error(), "; massgen sessions branch default makes a copy to go on with") {
		t.Errorf("it came to %v", err)
	}
	if err := errors.Join(first.close(), second.close()); err != nil {
		t.Error(err)
	}
}

func TestOwnConfigIsNotOfTheCurrentFolder(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	var files []string
	for _, folder := range []string{".config", "xdg"} {
		file := filepath.Join(dir, folder, "massgen", "config.yaml")
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	for _, tc := range []struct{ xdg, home, want string }{
		{"", "", defaultConfig},
		{"xdg", "", defaultConfig},
		{"xdg", ".", defaultConfig},
		{"xdg", dir, files[0]},
		{filepath.Join(dir, "xdg"), "", files[1]},
		{filepath.Join(dir, "xdg"), dir, files[1]},
		{filepath.Join(dir, "none"), dir, defaultConfig},
	} {
		p := testProgram(t)
		p.env.Lookup = func(name string) (string, bool) {
			value := map[string]string{"XDG_CONFIG_HOME": tc.xdg, "HOME": tc.home}[name]
			return value, value != ""
		}
		if got := p.ownConfig(); got != tc.want {
			t.Errorf("XDG_CONFIG_HOME=%s HOME=%s: %s, want %s", tc.xdg, tc.home, got, tc.want)
		}
	}
}

// TestSilentServerIsGivenUp once it has had its time.
func TestSilentServerIsGivenUp(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	defer s.Close()
	none := func(string) (string, bool) { return "", false }
	p := testProgram(t)
	p.env = Env{Lookup: none, LocalServers: map[string]string{"vllm": s.URL + "/v1"}}
	r, err := p.resolver(none, configs.Default(), nil)
	if err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	asked := r.askLocal(t.Context())
	if len(asked) != 1 || asked[0].err == nil || time.Since(begun) < probeTime {
		t.Errorf("after %s: %+v", time.Since(begun), asked)
	}
}

func TestAutoIsDecidedOnce(t *testing.T) {
	var lists atomic.Int32
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		lists.Add(1)
		if _, err := io.WriteString(w, `{"data":[{"id":"m"}]}`); err != nil {
			t.Error(err)
		}
	}))
	defer s.Close()
	none := func(string) (string, bool) { return "", false }
	p := testProgram(t)
	p.env = Env{Lookup: none, LocalServers: map[string]string{"vllm": s.URL + "/v1"}, Slack: time.Minute}
	r, err := p.resolver(none, configs.Default(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		got, err := r.model(t.Context(), configs.Backend{Type: autoType})
		if err != nil || got.provider.name != "vllm" || got.model != "m" {
			t.Fatalf("%s %s, %v", got.provider.name, got.model, err)
		}
	}
	if lists.Load() != 1 || len(r.open) != 1 {
		t.Errorf("the models were listed %d times, and %d backends made, for three agents", lists.Load(), len(r.open))
	}
}
