package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/png"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/massgen/massgen/coordinator/report"
	"github.com/massgen/massgen/sessions"
	"github.com/massgen/massgen/sessions/sqlite"
	"github.com/massgen/massgen/tests/backendtest"
)

// scenario is a session that every engine and store must produce in the same way.
type scenario struct {
	name  string
	reply func(backendtest.Call) backendtest.Reply
	// config has the lines of the panel beside its agents, turns the models in the order
	// in which they answer.
	config []string
	agents int
	turns  []string
	// backend is what each agent's backend has beside its model (see toolScenarios).
	backend string
	// files are written into the folder SHARED before the turns, and flags are of each client.
	files map[string][]byte
	flags []string
	// together is how many models are asked before the first one answers, where chance would
	// else decide whose call is journaled first.
	together int
	// historyLimit makes the turn go on as new runs of its workflow.
	historyLimit int
	// check looks at the last result.
	check func(t testing.TB, r report.Result)
}

func scenarios() []scenario {
	return []scenario{
		{name: "consensus", agents: 3, reply: agreeable, turns: []string{
			"agent3 agent1 agent2 agent2 agent3 agent1", "agent1 agent2 agent3 agent3 agent2 agent1",
		}, check: completed("agent2")},
		{name: "improvement", agents: 3, reply: improving, turns: []string{
			"agent2 agent1 agent3 agent1 agent3 agent2 agent3 agent2 agent1",
		}, check: completed("agent1")},
		{name: "idle talk", agents: 2, reply: talking, turns: []string{"agent1 agent1 agent2 agent1 agent2 agent1"}, check: completed("agent2")},
		{name: "alone", agents: 1, reply: alone, turns: []string{"agent1", "agent1"}, check: completed("agent1")},
		{name: "new runs", agents: 3, reply: improving, historyLimit: 20, turns: []string{
			"agent2 agent1 agent3 agent1 agent3 agent2 agent3 agent2 agent1",
		}, check: completed("agent1")},
	}
}

// questionScenarios ask questions that have more than a text.
func questionScenarios(t testing.TB) []scenario {
	t.Helper()
	picture := image.NewGray(image.Rect(0, 0, 1500, 1500)) // noise: more than a message to the server can have
	for i := range picture.Pix {
		picture.Pix[i] = byte(rand.Uint32())
	}
	var drawn bytes.Buffer
	ok(t, png.Encode(&drawn, picture))
	turns := []string{"agent3 agent1 agent2 agent2 agent3 agent1", "agent1 agent2 agent3 agent3 agent2 agent1"}
	return []scenario{
		{name: "files", agents: 3, reply: agreeable, turns: turns, files: map[string][]byte{"noise.png": drawn.Bytes(), "notes.txt": []byte("the notes")},
			flags: []string{"--attach", "SHARED/noise.png", "--attach", "SHARED/notes.txt"}, check: func(t testing.TB, r report.Result) {
				completed("agent2")(t, r)
				if !strings.Contains(r.Question, "[Attached: noise.png (image/png, ") {
					t.Errorf("the question is %q", r.Question)
				}
			}},
		{name: "schema", agents: 3, reply: inJSON, turns: turns, files: map[string][]byte{"city.json": []byte(`{"type":"object","properties":{"city":{"type":"string"}},"required":["city"],"additionalProperties":false}`)},
			flags: []string{"--schema", "SHARED/city.json"}, check: func(t testing.TB, r report.Result) {
				completed("agent2")(t, r)
				if r.Answer != `{"city":"Rome, says agent2"}` {
					t.Errorf("the answer is %s", r.Answer)
				}
			}},
	}
}

// inJSON answers by an object.
func inJSON(c backendtest.Call) backendtest.Reply {
	if isBlind(c) {
		return act("new_answer", `{"content":{"city":"Rome, says %s"}}`, c.Model())
	}
	return agreeable(c)
}

func completed(winner string) func(testing.TB, report.Result) {
	return func(t testing.TB, r report.Result) {
		if r.Status != "completed" || r.Winner != winner {
			t.Errorf("%s, %s has won", r.Status, r.Winner)
		}
	}
}

// improving has agent1 give a better answer in round 2.
func improving(c backendtest.Call) backendtest.Reply {
	switch {
	case isBlind(c):
		return act("new_answer", `{"content":"the answer of %s"}`, c.Model())
	case c.Model() == "agent1" && !strings.Contains(c.User(), "a better answer"):
		return act("new_answer", `{"content":"a better answer"}`)
	}
	return act("vote", `{"agent_id":"agent1","reason":"it is the clearest"}`)
}

// talking has agent1 write text where it should act, once.
func talking(c backendtest.Call) backendtest.Reply {
	if c.Model() == "agent1" && isBlind(c) && len(c.Messages()) < 4 {
		return backendtest.Reply{Text: "I think about it."}
	}
	return agreeable(c)
}

func alone(c backendtest.Call) backendtest.Reply {
	return backendtest.Reply{Text: fmt.Sprintf("It is %s, after %d messages.", c.User(), len(c.Messages()))}
}

// TestEnginesAndStoresDoTheSame plays each scenario here, on SQLite, and on Temporal with
// two workers, on PostgreSQL. The services give their answers in the same order.
func TestEnginesAndStoresDoTheSame(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, s := range slices.Concat(scenarios(), toolScenarios(), decidingScenarios(), questionScenarios(t)) {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			w.of(t).playBoth(s)
		})
	}
}

// playBoth plays a scenario here and on Temporal, and compares what both leave.
func (w *world) playBoth(s scenario) {
	w.t.Helper()
	here, atHome := w.playHere(s)
	there, byWorkers := w.playThere(s)
	s.check(w.t, here)
	if diff := cmp.Diff(atHome, byWorkers); diff != "" {
		w.t.Errorf("the transcripts (-here +on Temporal):\n%s", diff)
	}
	if diff := cmp.Diff(timelessResult(here), timelessResult(there), cmp.AllowUnexported(report.Decision{})); diff != "" {
		w.t.Errorf("the results (-here +on Temporal):\n%s", diff)
	}
}

// of is the world of a part of a test, with a database and a folder of its own.
func (w *world) of(t testing.TB) *world {
	t.Helper()
	own := *w
	own.t, own.dir, own.database = t, t.TempDir(), newDatabase(t)
	return &own
}

func (w *world) playHere(s scenario) (report.Result, []string) {
	w.t.Helper()
	folder := filepath.Join(w.dir, "state")
	store, err := sqlite.Open(w.t.Context(), filepath.Join(folder, "sessions.db"))
	ok(w.t, err)
	r := w.playTurns(s, store, nil, "--engine", "local", "--state-dir", folder)
	var b bytes.Buffer
	ok(w.t, store.Export(w.t.Context(), "s", &b))
	ok(w.t, store.Close())
	return r, transcript(w.t, &b)
}

func (w *world) playThere(s scenario) (report.Result, []string) {
	w.t.Helper()
	w.settings.HistoryLimit = s.historyLimit
	store := w.store()
	r := w.playTurns(s, store, func(config string) {
		w.worker("worker1", config)
		w.worker("worker2", config)
	})
	var b bytes.Buffer
	ok(w.t, store.Export(w.t.Context(), "s", &b))
	w.checkHistories(s.name)
	return r, transcript(w.t, &b)
}

// playTurns plays the turns of a scenario and returns the last result.
func (w *world) playTurns(s scenario, store journals, work func(config string), flags ...string) (r report.Result) {
	w.t.Helper()
	o := &order{t: w.t, together: s.together}
	server := newService(w.t, func(c backendtest.Call) backendtest.Reply {
		o.wait(c.Model())
		return s.reply(c)
	})
	d := newDesk(w.t)
	d.before = func(what string) {
		if what == waits {
			w.until("the others are done", func() bool { return o.tools() == 1 })
		}
	}
	shared := w.share()
	places := strings.NewReplacer("SHARED", shared, "DESK", d.server())
	var lines []string
	for _, line := range server.agents(s.agents, s.config...) {
		if before, model, found := strings.Cut(line, "model: "); found && s.backend != "" {
			id, after, _ := strings.Cut(model, "}")
			line = before + "model: " + id + ", " + strings.ReplaceAll(s.backend, "AGENT", id) + "}" + after
		}
		lines = append(lines, places.Replace(line))
	}
	config := w.config(lines...)
	for name, data := range s.files {
		ok(w.t, os.WriteFile(filepath.Join(shared, name), data, 0o600))
	}
	for _, flag := range s.flags {
		flags = append(flags, places.Replace(flag))
	}
	if work != nil {
		work(config)
	}
	for i, models := range s.turns {
		o.begin(store, i+1, models)
		r = w.result(w.ask(config, fmt.Sprintf("question %d", i+1), flags...))
	}
	return r
}

// share makes a folder that all workers see, at the same path for all engines: what was left
// there goes.
func (w *world) share() string {
	w.t.Helper()
	dir := filepath.Join(w.dir, "shared")
	remove := func() {
		// Snapshots are for reading only.
		err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
			if err == nil && d.IsDir() {
				err = os.Chmod(name, 0o700)
			}
			return err
		})
		if !errors.Is(err, fs.ErrNotExist) {
			ok(w.t, errors.Join(err, os.RemoveAll(dir)))
		}
	}
	remove()
	ok(w.t, os.Mkdir(dir, 0o700))
	w.t.Cleanup(remove)
	return dir
}

// transcript returns a session without its times.
func transcript(t testing.TB, exported *bytes.Buffer) []string {
	t.Helper()
	dump, err := sessions.ReadDump(exported)
	ok(t, err)
	var lines []string
	for i, journal := range dump.Journals {
		kept := dump.Turns[i]
		lines = append(lines, fmt.Sprintf("turn %d: %q, %s, %s by %s, %d calls", kept.Number, kept.Question, kept.Status, kept.Answer, kept.Winner, kept.Usage.Calls))
		for _, ev := range inOrder(journal) {
			lines = append(lines, timeless(t, ev))
		}
	}
	return lines
}

// inOrder is a journal in which the agents that begin a round at once reserve their calls in
// one order: it is left to chance which one comes first.
func inOrder(journal [][]byte) [][]byte {
	isReserving := func(ev []byte) bool { return bytes.HasPrefix(ev, []byte(`{"type":"reserving"`)) }
	journal = slices.Clone(journal)
	for from := 0; from < len(journal); from++ {
		to := from
		for to < len(journal) && isReserving(journal[to]) {
			to++
		}
		slices.SortFunc(journal[from:to], func(a, b []byte) int {
			return bytes.Compare(a[bytes.Index(a, []byte(`"key"`)):], b[bytes.Index(b, []byte(`"key"`)):])
		})
		from = max(from, to-1)
	}
	return journal
}

// timeless is JSON without what only the clock has put there.
func timeless(t testing.TB, data []byte) string {
	t.Helper()
	var v any
	ok(t, json.Unmarshal(data, &v))
	text, err := json.MarshalIndent(without(v, "at", "took", "started", "duration_ms"), "", "  ")
	ok(t, err)
	return string(text)
}

func without(v any, keys ...string) any {
	switch v := v.(type) {
	case map[string]any:
		for _, key := range keys {
			delete(v, key)
		}
		for key := range v {
			v[key] = without(v[key], keys...)
		}
	case []any:
		for i := range v {
			v[i] = without(v[i], keys...)
		}
	}
	return v
}

func timelessResult(r report.Result) report.Result {
	r.DurationMS = 0
	for i := range r.ToolCalls {
		r.ToolCalls[i].DurationMS = 0
	}
	return r
}
