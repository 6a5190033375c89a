package tests

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/massgen/massgen/cmd/massgen/app"
	"github.com/massgen/massgen/coordinator/report"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/tests/backendtest"
)

var killEverywhere = flag.Bool("kill-everywhere", false, "end the program at each write of the store, and not only at some")

// killPanel is a panel whose program is killed.
type killPanel struct {
	name   string
	reply  func(backendtest.Call) backendtest.Reply
	config string
	// wires are the protocols of its models, in the order of URL1 and URL2 in the config; none
	// says that they are all behind one server of chat completions, which is URL.
	wires []backendtest.Protocol
	// agents are the models of the agents, in the order of the config; helpers are those of
	// the calls that belong to none, by purpose.
	agents  []string
	helpers map[string]string
	// hasty is set if chance decides what agents see, and so in which round they vote.
	hasty bool
	// sources is how many each answer names.
	sources int
	// first is the question of a turn that has ended before, "" if there is none.
	first string
	// again are moments at which each process of a turn may die: late enough for all of them
	// together to come to an end.
	again []string
}

const killThree = `
agents:
  - {id: a, backend: {type: chatcompletion, model: a, base_url: URL, cwd: work/a}}
  - {id: b, backend: {type: chatcompletion, model: b, base_url: URL, cwd: work/b}}
  - {id: c, backend: {type: chatcompletion, model: c, base_url: URL, cwd: work/c}}
`

func killPanels() []killPanel {
	three := []string{"a", "b", "c"}
	return []killPanel{
		{name: "rounds", reply: inRounds, agents: three, again: []string{"before 7", "after 8"},
			config: killThree + "orchestrator: {max_turns: 50}\n"},
		{name: "eager", reply: inHaste, agents: three, hasty: true, again: []string{"before 7", "after 8"},
			config: killThree + "orchestrator: {pace: eager, max_turns: 50}\n"},
		{name: "budget", reply: inRounds, agents: three, again: []string{"before 14", "after 15"}, config: killThree + `
orchestrator: {final_answer_strategy: winner_present, decision: unanimous, max_turns: 50}
budget: {max_usd: 1, max_tokens: 3_000_000, max_calls: 150, session: {max_calls: 200}}
prices: {chatcompletion/a: &p {input: 1, output: 2}, chatcompletion/b: *p, chatcompletion/c: *p}
`},
		{name: "reasoning", reply: inThought, agents: []string{"gpt-5.4"}, wires: []backendtest.Protocol{backendtest.Responses()}, again: []string{"before 7", "after 6"}, config: `
orchestrator: {max_turns: 50}
agent: {id: a, backend: {type: openai, model: gpt-5.4, base_url: URL1, cwd: work/a, reasoning: {effort: medium, summary: auto}}}
`},
		{name: "hosted", reply: withHosted, sources: 3, agents: []string{"gpt-5", "claude-opus-4-6", "gemini-3.5-flash"}, again: []string{"before 7", "after 8"},
			wires: []backendtest.Protocol{backendtest.Responses(), backendtest.Messages(), backendtest.GenerateContent()}, config: `
agents:
  - {id: a, backend: {type: openai, model: gpt-5, base_url: URL1, api: responses, cwd: work/a, enable_web_search: true, enable_code_interpreter: true}}
  - {id: b, backend: {type: claude, model: claude-opus-4-6, base_url: URL2, cwd: work/b, enable_web_search: true, enable_code_execution: true}}
  - {id: c, backend: {type: gemini, model: gemini-3.5-flash, base_url: URL3, cwd: work/c, enable_web_search: true, enable_code_execution: true}}
orchestrator: {max_turns: 50}
budget: {max_usd: 10, max_calls: 150}
`},
		// The first stage's verdict is a no, the second is checked, and the judge writes the answer.
		{name: "judged", reply: withJudge, agents: append(slices.Clip(three), "j"), again: []string{"before 7", "after 8"}, config: killThree + `
orchestrator:
  strategy: cascade
  cascade: [[a, b], all]
  agree: verdict
  then: judge
  final: synthesize
  judge: {backend: {type: chatcompletion, model: j, base_url: URL}}
  check: {pattern: 'draft of [bc]|Written'}
  max_turns: 50
`},
		{name: "alone", reply: byItself, agents: []string{"a"}, helpers: map[string]string{"topic": "topics", "facts": "facts"},
			first: "What was there before?", again: []string{"before 7", "after 5"}, config: `
orchestrator: {max_turns: 50}
agent:
  id: a
  backend: {type: chatcompletion, model: a, base_url: URL, cwd: work/a, mcp_servers: {own: {command: SELF, env: {GORACE: atexit_sleep_ms=10, KILLED_ROLE: tools, KILLED_ECHOES: DIR/echoes}}}}
topic: {detect: true, backend: {type: chatcompletion, model: topics, base_url: URL}}
memory: {extract: true, backend: {type: chatcompletion, model: facts, base_url: URL}}
`},
	}
}

// TestKill9 ends the program with SIGKILL at the writes of its store, right before a
// transaction is committed and right after, and has massgen --continue finish the turn.
// Each ends with the result of a turn that nobody killed, and no model was asked again
// what it had said already, as far as that was on disk.
func TestKill9(t *testing.T) {
	for _, p := range killPanels() {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			whole := p.begin(t)
			whole.run("before 0", whole.question()...)
			want := whole.outcome()
			atEachPoint(t, whole.writes(), func(t *testing.T, at string) { p.killedOnce(t, at, want) })
		})
	}
}

// atEachPoint runs a test for each moment at which the program may die, or for some of
// them.
func atEachPoint(t *testing.T, writes int, test func(*testing.T, string)) {
	first, stride := 14, 29
	if *killEverywhere {
		first, stride = 0, 1
	}
	if writes < 8 {
		t.Errorf("the program has written %d times", writes)
	}
	points := 0
	for i := first; i < 2*writes; i += stride {
		points++
		at := fmt.Sprintf("%s %d", []string{"before", "after"}[i%2], i/2+1)
		t.Run(at, func(t *testing.T) {
			t.Parallel()
			test(t, at)
		})
	}
	t.Logf("%d points of %d writes", points, writes)
}

// killedOnce ends a process at a point, and compares what another makes of what is left.
func (p killPanel) killedOnce(t *testing.T, at string, want outcome) {
	r := p.begin(t)
	if killed := r.run(at, r.question()...); !killed {
		r.endedBefore(at)
	} else {
		r.bury()
		r.resume("before 0")
	}
	r.check(want)
}

// endedBefore wants a process that nobody killed to have written less often than the moment
// at which it was to die: what happens at one time is one write.
func (r *killRun) endedBefore(at string) {
	r.t.Helper()
	_, number, _ := strings.Cut(at, " ")
	if n := r.writes(); n >= atoi(r.t, number) {
		r.t.Fatalf("the process ended by itself after %d writes, and not %s: %s", n, at, r.stderr)
	}
}

func atoi(t *testing.T, text string) int {
	t.Helper()
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestKill9AgainAndAgain ends each process of a turn after a few writes, until one comes to
// the end.
func TestKill9AgainAndAgain(t *testing.T) {
	panels := killPanels()
	if !*killEverywhere {
		panels = panels[:1]
	}
	for _, p := range panels {
		for _, at := range p.again {
			t.Run(p.name+" "+at, func(t *testing.T) {
				t.Parallel()
				whole := p.begin(t)
				whole.run("before 0", whole.question()...)
				r := p.begin(t)
				processes := 1
				for killed := r.run(at, r.question()...); killed; processes++ {
					if processes > 200 {
						t.Fatal("the turn does not end")
					}
					r.bury()
					killed = r.resume(at)
				}
				r.check(whole.outcome())
				t.Logf("%d processes", processes)
			})
		}
	}
}

// TestKill9KeepsToTheBudget: a process that is killed gives the next one no room to send
// more requests than the turn may have.
func TestKill9KeepsToTheBudget(t *testing.T) {
	t.Parallel()
	const most = 12
	p := killPanel{name: "tight", reply: inRounds, agents: []string{"a", "b", "c"}, config: killThree + fmt.Sprintf("budget: {max_calls: %d}\n", most)}
	whole := p.begin(t)
	whole.run("before 0", whole.question()...)
	if result := whole.result(app.ExitNoWinner); result.Status != kernel.Budget || len(whole.calls()) != most {
		t.Fatalf("%s, after %d requests", result.Status, len(whole.calls()))
	}
	atEachPoint(t, whole.writes(), func(t *testing.T, at string) {
		r := p.begin(t)
		if r.run(at, r.question()...) {
			r.bury()
			r.resume("before 0")
		}
		r.checkRequests()
		sent := len(r.calls())
		if sent > most {
			t.Errorf("%d requests were sent of %d", sent, most)
		}
		if r.ended() {
			return
		}
		result := r.result(app.ExitNoWinner, app.ExitFailed)
		if b := result.Budget; result.Status != kernel.Budget || b.SpentCalls != most {
			t.Errorf("%s, after %d requests: %+v", result.Status, sent, b)
		}
	})
}

// killRun is a turn, over all its processes.
type killRun struct {
	t       *testing.T
	panel   killPanel
	dir     string
	servers []*backendtest.Server
	// limit is how many bytes a file may have that a process writes, "" for any number.
	limit string
	// stdout and stderr are those of the last process, code is its exit status.
	stdout, stderr string
	code           int
	graves         []grave
}

// begin makes the folder of a session, and its models.
func (p killPanel) begin(t *testing.T) *killRun {
	t.Helper()
	r := &killRun{t: t, panel: p, dir: t.TempDir()}
	r.serve()
	if p.first != "" {
		if r.run("before 0", r.ask(p.first)...); r.code != app.ExitCompleted {
			t.Fatalf("the turn before: exit status %d: %s", r.code, r.stderr)
		}
		r.serve() // those of the turn have met nobody
		if err := os.Remove(filepath.Join(r.dir, "echoes")); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

func (r *killRun) serve() {
	r.t.Helper()
	self, err := os.Executable()
	if err != nil {
		r.t.Fatal(err)
	}
	wires, names := r.panel.wires, []string{"SELF", self, "DIR", r.dir}
	if wires == nil {
		wires = []backendtest.Protocol{backendtest.ChatCompletions()}
	}
	r.servers = nil
	for i, wire := range wires {
		server, name := backendtest.NewProtocolServer(r.t, wire, r.panel.reply), "URL"
		if r.panel.wires != nil {
			name = fmt.Sprint(name, i+1)
		}
		r.servers, names = append(r.servers, server), append(names, name, strconv.Quote(server.BaseURL))
	}
	write(r.t, filepath.Join(r.dir, "panel.yaml"), []byte(strings.NewReplacer(names...).Replace(r.panel.config)))
}

// calls returns the calls that all servers received, each server's in the order of arrival.
func (r *killRun) calls() (calls []backendtest.Call) {
	for _, server := range r.servers {
		calls = append(calls, server.Calls()...)
	}
	return calls
}

const killSession = "Ann|app_u1|x"

func (r *killRun) ask(question string) []string {
	return append(r.goOn(), "--session-id", killSession, question)
}

func (r *killRun) question() []string { return r.ask("What became of it?") }

func (r *killRun) goOn() []string {
	return []string{"--config", "panel.yaml", "--state-dir", "state", "--json"}
}

// run starts the program, which dies at a moment or ends by itself.
func (r *killRun) run(at string, args ...string) (killed bool) {
	r.t.Helper()
	self, err := os.Executable()
	if err != nil {
		r.t.Fatal(err)
	}
	cmd := exec.CommandContext(r.t.Context(), self, args...)
	var stdout, stderr bytes.Buffer
	cmd.Dir, cmd.Stdout, cmd.Stderr = r.dir, &stdout, &stderr
	cmd.Env = append(os.Environ(), killedRole+"="+roleProgram, killedAt+"="+at, killedLimit+"="+r.limit, killedWrites+"="+filepath.Join(r.dir, "writes"), "HOME="+r.dir, "TMPDIR="+r.dir,
		"GORACE=atexit_sleep_ms=10") // the race detector lets a program end a second later
	err = cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		r.t.Fatal(err)
	}
	r.stdout, r.stderr, r.code = stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()
	return r.code == -1
}

// resume finishes the turn, or asks the question anew if there was nothing on disk of it.
func (r *killRun) resume(at string) (killed bool) {
	r.t.Helper()
	if !r.graves[len(r.graves)-1].accepted {
		return r.run(at, r.question()...)
	}
	return r.run(at, append(r.goOn(), "--session-id", killSession, "--continue", "--automation")...)
}

// echoes are the calls of the tool that notes them.
func (r *killRun) echoes() string {
	data, err := os.ReadFile(filepath.Join(r.dir, "echoes"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // not every panel has it
		r.t.Fatal(err)
	}
	return string(data)
}

func (r *killRun) writes() int {
	r.t.Helper()
	data, err := os.ReadFile(filepath.Join(r.dir, "writes"))
	if err != nil {
		r.t.Fatal(err)
	}
	n, err := strconv.Atoi(string(data))
	if err != nil {
		r.t.Fatal(err)
	}
	return n
}

// result is what the last process has printed, which must have ended with one of the
// statuses.
func (r *killRun) result(statuses ...int) (result report.Result) {
	r.t.Helper()
	if err := json.Unmarshal([]byte(r.stdout), &result); err != nil || !slices.Contains(statuses, r.code) {
		r.t.Fatalf("exit status %d, %v: %s\n%s", r.code, err, r.stdout, r.stderr)
	}
	return result
}
