package tests

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/cmd/massgen/app"
	"github.com/massgen/massgen/coordinator"
	"github.com/massgen/massgen/debugbackend"
	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/internal/coordination/turn"
	"github.com/massgen/massgen/internal/system/blob"
	"github.com/massgen/massgen/sessions"
)

var updateRecordings = flag.Bool("update-recordings", false, "record the sessions below replay anew")

// TestRecord makes the recordings, for who asks for it, and spoils copies of one:
// go test ./tests -run Record -update-recordings. The files replay/past_*.jsonl stay: a
// program that let a step go on past its limits made them, and none does so any more.
func TestRecord(t *testing.T) {
	if !*updateRecordings {
		return
	}
	for name, script := range map[string]string{"consensus": consensus, "improvement": improvement, "tools": searching} {
		write(t, "replay/"+name+".jsonl", encodeDump(t, record(t, name, script, 3)))
	}
	write(t, "replay/alone.jsonl", encodeDump(t, record(t, "alone", talking, 1)))
	for name, spoil := range spoilers() {
		dump := record(t, "tools", searching, 3)
		spoil(t, dump)
		write(t, "replay/must_fail/"+name+".jsonl", encodeDump(t, dump))
	}
}

// TestRecordingsReplay replays what was recorded once, below replay. Such a file is made
// with massgen sessions export; it stays as it is when the program changes, unless it is
// the inputs that are meant to.
func TestRecordingsReplay(t *testing.T) {
	for _, file := range recordings(t, "replay/*.jsonl") {
		t.Run(file, func(t *testing.T) {
			if status, report := replayFile(file); status != app.ExitCompleted {
				t.Errorf("exit status %d\n%s", status, report)
			}
		})
	}
}

// TestSpoiledRecordingsDoNotReplay: each says where it was spoiled.
func TestSpoiledRecordingsDoNotReplay(t *testing.T) {
	for _, file := range recordings(t, "replay/must_fail/*.jsonl") {
		t.Run(file, func(t *testing.T) {
			status, report := replayFile(file)
			if status != app.ExitFailed {
				t.Errorf("exit status %d", status)
			}
			golden := strings.TrimSuffix(file, ".jsonl") + ".golden"
			if *updateRecordings {
				write(t, golden, []byte(report))
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), report); diff != "" {
				t.Errorf("the report (-want +got):\n%s", diff)
			}
		})
	}
}

func recordings(t *testing.T, pattern string) []string {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) < 3 {
		t.Fatalf("%s are %d files, %v", pattern, len(files), err)
	}
	return files
}

// TestContinueStopsAtAnotherInput, and shows both; --fresh is the way out.
func TestContinueStopsAtAnotherInput(t *testing.T) {
	dump := record(t, "left", consensus, 3)
	spoilers()["changed_prompt"](t, dump)
	dump.Turns[1] = sessions.Turn{Number: 2, Question: "the wind", Status: sessions.Running, Started: dump.Turns[1].Started}
	dump.Journals[1] = dump.Journals[1][:5] // all have answered, and one has voted
	dir := t.TempDir()
	file, config := filepath.Join(dir, "left.jsonl"), filepath.Join(dir, "panel.yaml")
	write(t, file, encodeDump(t, dump))
	write(t, config, []byte("agents:\n  - {id: researcher, backend: {type: demo, model: scripted}}\n  - {id: analyst, backend: {type: demo, model: scripted}}\n  - {id: creative, backend: {type: demo, model: scripted}}\n"))
	if status, report := massgen("sessions", "import", file, "--state-dir", dir); status != app.ExitCompleted {
		t.Fatalf("import: exit status %d\n%s", status, report)
	}
	status, report := massgen("--state-dir", dir, "--config", config, "--continue", "--automation")
	for _, want := range []string{
		"- You are the analyst.\n+ You are the analyst, and count.\n", "the input of turn 2, analyst, round 1, coordination 0 is not the one that was sent",
		"; --continue --fresh starts the turn over\n",
	} {
		if status != app.ExitUsage || !strings.Contains(report, want) {
			t.Errorf("--continue: exit status %d, without %q\n%s", status, want, report)
		}
	}
	if status, report := massgen("--state-dir", dir, "--config", config, "--continue", "--fresh", "--automation", "--json"); status != app.ExitCompleted || !strings.Contains(report, `"turn":3,"question":"the wind","status":"completed"`) {
		t.Errorf("--fresh: exit status %d\n%s", status, report)
	}
}

// replayFile runs massgen replay, and returns what it prints.
func replayFile(file string) (status int, report string) {
	return massgen("replay", file)
}

// massgen runs the program without an environment, and returns all that it prints.
func massgen(args ...string) (status int, printed string) {
	var out bytes.Buffer
	status = app.Main(append([]string{"massgen"}, args...), app.Env{
		Stdin: strings.NewReader(""), Stdout: &out, Stderr: &out,
		Lookup:     func(string) (string, bool) { return "", false },
		Interrupts: make(chan os.Signal), LocalServers: map[string]string{},
	})
	return status, out.String()
}

const (
	votes     = "  - {when: {}, reply: {vote: {agent: agent1, reason: \"it is true\"}}}\n"
	consensus = `
rules:
  - {when: {round: 1}, reply: {new_answer: "{{.Agent}} on {{.Question}}"}}
` + votes
	improvement = `
rules:
  - {when: {round: 1, index: 0}, reply: {vote: {agent: agent1, reason: "nobody has answered"}}}
  - {when: {round: 1, index: 1}, reply: {text: "{{.Agent}} only talks"}}
  - {when: {round: 1}, reply: {new_answer: "{{.Agent}} on {{.Question}}"}}
  - {when: {round: 2, agent: analyst}, reply: {new_answer: "a better answer"}}
` + votes
	searching = `
rules:
  - {when: {round: 1, index: 0}, reply: {tool_calls: [{id: a, name: search, arguments: {for: "{{.Question}}"}}, {id: b, name: search, arguments: {for: more}}]}}
  - {when: {round: 1}, reply: {new_answer: "{{.Agent}} on {{.Question}}"}}
` + votes
	talking = `
rules:
  - {when: {index: 0}, reply: {tool_calls: [{id: a, name: search, arguments: {for: "{{.Question}}"}}]}}
  - {when: {}, reply: {text: "It is {{.Question}}."}}
`
)

// record runs two turns and returns their session.
func record(t *testing.T, id, script string, agentCount int) *sessions.Dump {
	t.Helper()
	parsed, err := debugbackend.ParseScript([]byte(script))
	if err != nil {
		t.Fatal(err)
	}
	store := sessions.NewMemory()
	opts := coordinator.Options{Store: store, Rules: kernel.Defaults()}
	opts.Rules.Final = kernel.WinnerPresent
	for _, name := range []string{"researcher", "analyst", "creative"}[:agentCount] {
		opts.Agents = append(opts.Agents, coordinator.Agent{
			ID: name, SystemMessage: "You are the " + name + ".", Model: "scripted",
			Backend: debugbackend.NewScripted(parsed), Tools: []agents.Tool{finder{}},
		})
	}
	panel, err := coordinator.New(opts)
	if err != nil {
		t.Fatal(err)
	}
	for _, question := range []string{"the sun", "the wind"} {
		running, err := panel.Start(t.Context(), id, question)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := running.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	panel.Wait()
	var exported bytes.Buffer
	if err := store.Export(t.Context(), id, &exported); err != nil {
		t.Fatal(err)
	}
	dump, err := sessions.ReadDump(&exported)
	if err != nil {
		t.Fatal(err)
	}
	return dump
}

// finder finds what it is asked for.
type finder struct{}

func (finder) Definition() backends.Tool {
	return backends.Tool{Name: "search", Description: "Searches.", Schema: []byte(`{"type":"object"}`)}
}

func (finder) Call(_ context.Context, arguments string) (string, error) {
	return "found " + arguments, nil
}

func encodeDump(t *testing.T, dump *sessions.Dump) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := dump.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func write(t *testing.T, file string, data []byte) {
	t.Helper()
	if err := os.WriteFile(file, data, 0o644); err != nil {
		t.Fatal(err)
	}
}

// spoilers spoil the second turn of a recording, each in one way.
func spoilers() map[string]func(*testing.T, *sessions.Dump) {
	return map[string]func(*testing.T, *sessions.Dump){
		"changed_prompt": func(t *testing.T, d *sessions.Dump) {
			change(t, d, 1, func(ev turn.Accepted) turn.Accepted {
				ev.Turn.Agents[1].System = put(d, "You are the analyst, and count.")
				return ev
			})
		},
		"changed_question": func(t *testing.T, d *sessions.Dump) {
			change(t, d, 1, func(ev turn.Accepted) turn.Accepted {
				ev.Turn.Question = put(d, "the rain")
				return ev
			})
		},
		"changed_history":    changeHistory,
		"missing_event":      func(_ *testing.T, d *sessions.Dump) { d.Journals[1] = without(d.Journals[1], 5) },
		"missing_last_event": func(_ *testing.T, d *sessions.Dump) { d.Journals[1] = without(d.Journals[1], len(d.Journals[1])-1) },
		"doubled_result": func(_ *testing.T, d *sessions.Dump) {
			d.Journals[1] = append(append([][]byte{}, d.Journals[1][:3]...), d.Journals[1][2:]...)
		},
		"result_of_no_call": func(t *testing.T, d *sessions.Dump) {
			change(t, d, 2, func(ev turn.ModelDone) turn.ModelDone {
				ev.Key.Index = 7
				return ev
			})
		},
		"result_of_no_agent": func(t *testing.T, d *sessions.Dump) {
			change(t, d, 2, func(ev turn.ModelDone) turn.ModelDone {
				ev.Key.Agent = 9
				return ev
			})
		},
		"other_tool_result": func(t *testing.T, d *sessions.Dump) {
			change(t, d, 1, func(ev turn.ToolDone) turn.ToolDone {
				ev.Reply.Result = put(d, "found nothing")
				return ev
			})
		},
		"other_meaning": func(t *testing.T, d *sessions.Dump) {
			changeIf(t, d, func(ev turn.ModelDone) bool {
				return len(ev.Reply.Calls) == 1 && ev.Reply.Calls[0].Name == effect.Vote
			},
				func(ev turn.ModelDone) turn.ModelDone {
					ev.Reply.Calls[0].Target = 2
					return ev
				})
		},
		"other_answer": changeAnswer,
		"other_usage": func(_ *testing.T, d *sessions.Dump) {
			d.Turns[1].Usage.InputTokens++
		},
	}
}

// changeHistory has turn 2 begin with another answer of turn 1, which is a text that the
// turn names.
func changeHistory(t *testing.T, d *sessions.Dump) {
	change(t, d, 1, func(ev turn.Accepted) turn.Accepted {
		ev.Turn.History = putLink(t, d, sessions.Link{Turn: 1, Question: put(d, "the sun"), Answer: put(d, "the wind")})
		return ev
	})
}

// changeAnswer changes what is stored of turn 2, and leaves its journal.
func changeAnswer(t *testing.T, d *sessions.Dump) {
	last := &d.Turns[1]
	last.Answer = "Another answer."
	last.Link = putLink(t, d, sessions.Link{
		Previous: d.Turns[0].Link, Turn: 2, Messages: last.Messages,
		Question: put(d, last.Question), Answer: put(d, last.Answer),
	})
}

func putLink(t *testing.T, d *sessions.Dump, l sessions.Link) blob.Ref {
	t.Helper()
	data, err := l.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return put(d, string(data))
}

// put adds a text to a dump.
func put(d *sessions.Dump, text string) blob.Ref {
	ref := sessions.RefOf([]byte(text))
	d.Texts[ref] = []byte(text)
	return ref
}

func without(journal [][]byte, i int) [][]byte {
	return append(append([][]byte{}, journal[:i]...), journal[i+1:]...)
}

// change changes event number n, from 1, of those of its type in the second turn.
func change[E turn.Event](t *testing.T, d *sessions.Dump, n int, by func(E) E) {
	t.Helper()
	seen := 0
	changeIf(t, d, func(E) bool {
		seen++
		return seen == n
	}, by)
}

// changeIf changes the first event of its type in the second turn that fits.
func changeIf[E turn.Event](t *testing.T, d *sessions.Dump, fits func(E) bool, by func(E) E) {
	t.Helper()
	for i, data := range d.Journals[1] {
		ev, err := turn.Decode(data)
		if err != nil {
			t.Fatal(err)
		}
		e, ok := ev.(E)
		if !ok || !fits(e) {
			continue
		}
		if d.Journals[1][i], err = turn.Encode(by(e)); err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Fatal(fmt.Errorf("the journal has no such event"))
}
