package coordinator

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/coordinator/report"
	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/internal/coordination/turn"
	"github.com/massgen/massgen/internal/tools/workspace/snapshot"
)

// placed is a snapshot that is nowhere.
func placed(_ context.Context, of agents.CallInfo) (agents.Snapshot, error) {
	return agents.Snapshot{Dir: fmt.Sprintf("/%s/%d/%s/%d/%t", of.Session, of.Turn, of.Agent, of.Round, of.Final), Files: 1, Bytes: 2}, nil
}

// workspaces are folders in which agents work.
type workspaces struct {
	*testing.T
	dir     string
	storage snapshot.Storage
}

func newWorkspaces(t *testing.T) *workspaces {
	t.Helper()
	dir := t.TempDir()
	storage, err := snapshot.NewStorage(filepath.Join(dir, "kept"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := storage.Remove("s"); err != nil { // its folders are read-only
			t.Error(err)
		}
	})
	return &workspaces{t, dir, storage}
}

// give gives an agent a folder, with a tool that changes it.
func (w *workspaces) give(a *Agent) {
	w.Helper()
	dir := filepath.Join(w.dir, a.ID)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		w.Fatal(err)
	}
	keeper := w.storage.Keeper(dir, snapshot.Options{})
	a.Tools = append(a.Tools, &pen{file: filepath.Join(dir, "work.txt")})
	a.Snapshot = func(ctx context.Context, of agents.CallInfo) (agents.Snapshot, error) {
		taken, err := keeper.Keep(ctx, snapshot.Place{Session: of.Session, Turn: of.Turn, Agent: of.Agent, Round: of.Round, Final: of.Final})
		return agents.Snapshot(taken), err
	}
}

func (w *workspaces) text(dir string) string {
	w.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "work.txt"))
	if err != nil {
		w.Fatal(err)
	}
	return string(text)
}

// pen is a tool that adds a stroke to a file.
type pen struct{ file string }

func (*pen) Definition() backends.Tool {
	return backends.Tool{Name: "write", Schema: []byte(`{"type":"object"}`)}
}

func (p *pen) Call(context.Context, string) (string, error) {
	f, err := os.OpenFile(p.file, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return "", err
	}
	_, err = f.WriteString("|")
	return "written", errors.Join(err, f.Close())
}

// eye is a tool that notes what its agent is shown of its peers' work.
type eye struct {
	w    *workspaces
	seen []string
}

func (*eye) Definition() backends.Tool {
	return backends.Tool{Name: "look", Schema: []byte(`{"type":"object"}`)}
}

func (e *eye) Call(ctx context.Context, _ string) (string, error) {
	for _, a := range agents.CallInfoOf(ctx).Answers {
		work := "nothing"
		if a.Dir != "" {
			work = e.w.text(a.Dir)
		}
		e.seen = append(e.seen, a.Name+" "+work)
	}
	return "seen", nil
}

// TestPeersSeeTheWorkOfAnAnswer as it was when the answer was given, whatever its author
// has done in the live folder since.
func TestPeersSeeTheWorkOfAnAnswer(t *testing.T) {
	t.Parallel()
	w := newWorkspaces(t)
	look := &eye{w: w}
	synctest.Test(t, func(t *testing.T) {
		p, _ := panelOf(t, 3, `
rules:
  - {when: {round: 1, index: 0, agent: agent1}, reply: {tool_calls: [{id: a, name: write, arguments: {}}]}}
  - {when: {round: 1, index: 0, agent: agent2}, reply: {tool_calls: [{id: a, name: look, arguments: {}}]}}
  - {when: {round: 1}, reply: {new_answer: "{{.Agent}}"}}
  - {when: {round: 2, index: 0, agent: agent1}, reply: {tool_calls: [{id: a, name: write, arguments: {}}]}}
  - {when: {round: 2, index: 0, agent: agent2}, reply: {delay: 5s, tool_calls: [{id: a, name: look, arguments: {}}]}}
  - {when: {round: 2, agent: agent1}, reply: {delay: 9s, new_answer: "a better answer"}}
  - {when: {round: 3, index: 0, agent: agent2}, reply: {delay: 5s, tool_calls: [{id: a, name: look, arguments: {}}]}}
  - {when: {purpose: presentation, index: 0}, reply: {tool_calls: [{id: a, name: write, arguments: {}}]}}
  - {when: {purpose: presentation}, reply: {text: "a better answer"}}
  - {when: {}, reply: {vote: {agent: agent1, reason: "good"}}}
`, nil, func(o *Options) {
			o.Rules = kernel.Defaults()
			o.Rules.Final = kernel.WinnerPresent
			w.give(&o.Agents[0])
			w.give(&o.Agents[2])
			o.Agents[1].Tools = []agents.Tool{look}
			if err := os.WriteFile(filepath.Join(w.dir, "agent3", "work.txt"), []byte("third"), 0o644); err != nil {
				t.Fatal(err)
			}
		})
		turn := start(t, p, "energy")
		r := wait(t, turn)
		want := []string{"agent1 |", "agent2 nothing", "agent3 third", "agent1 ||", "agent2 nothing", "agent3 third"}
		if diff := cmp.Diff(want, look.seen); diff != "" {
			t.Errorf("what agent2 saw (-want +got):\n%s", diff)
		}
		if got := w.text(r.Snapshot); got != "|||" || r.Answer != "a better answer" {
			t.Errorf("the result's work is %q, beside %q", got, r.Answer)
		}
		for i, want := range []string{"||", "", "third"} {
			if dir := r.Answers[i].Snapshot; (dir == "") != (want == "") || dir != "" && w.text(dir) != want {
				t.Errorf("the work of %s is in %q, want %q", r.Answers[i].Agent, dir, want)
			}
		}
		w.checkTold(t, turn, r)
		kept, err := ReadRecord(t.Context(), p.opts.Store, "s", 1)
		if err != nil || kept.Final.Dir != r.Snapshot {
			t.Errorf("the journal tells of %+v, %v", kept.Final, err)
		}
	})
}

// checkTold: the answers are told with their work, and no snapshot as a tool.
func (w *workspaces) checkTold(t *testing.T, turn *Turn, r report.Result) {
	t.Helper()
	var told []string
	tell := func(agent string, work agents.Snapshot) {
		if work.Dir != "" {
			told = append(told, agent+" "+w.text(work.Dir))
		}
	}
	for ev := range turn.Events(t.Context()) {
		switch ev := ev.(type) {
		case report.Answered:
			tell(ev.Agent, ev.Snapshot)
		case report.Presented:
			tell(ev.Agent, ev.Snapshot)
		}
	}
	slices.Sort(told)
	if diff := cmp.Diff([]string{"agent1 |", "agent1 ||", "agent1 |||", "agent3 third"}, told); diff != "" {
		t.Errorf("answers with their work (-want +got):\n%s", diff)
	}
	if len(r.ToolCalls) != 6 || len(eventsOf[report.ToolStarted](t, turn)) != 6 || len(r.Warnings) > 0 {
		t.Errorf("tool calls %v, warnings %q", r.ToolCalls, r.Warnings)
	}
}

// TestWorkThatCannotBeKept costs no answer.
func TestWorkThatCannotBeKept(t *testing.T) {
	fails := func(context.Context, agents.CallInfo) (agents.Snapshot, error) {
		return agents.Snapshot{}, errors.New("no room")
	}
	panics := func(context.Context, agents.CallInfo) (agents.Snapshot, error) { panic("at the disco") }
	synctest.Test(t, func(t *testing.T) {
		p, _ := panelOf(t, 3, agree, nil, func(o *Options) {
			o.Agents[0].Snapshot, o.Agents[1].Snapshot, o.Agents[2].Snapshot = fails, panics, placed
		})
		r := wait(t, start(t, p, "energy"))
		want := []string{
			"the workspace of agent1 could not be kept with its answer: no room; peers see its words alone",
			"the workspace of agent2 could not be kept with its answer: its call panicked: at the disco; peers see its words alone",
		}
		slices.Sort(r.Warnings)
		if diff := cmp.Diff(want, r.Warnings); diff != "" {
			t.Errorf("warnings (-want +got):\n%s", diff)
		}
		if r.Status != kernel.Completed || r.Winner != "agent2" || r.Snapshot != "" || r.Answers[2].Snapshot != "/s/1/agent3/1/false" {
			t.Errorf("the result is %+v", r)
		}
	})
}

// TestSnapshotIsTakenAnewAfterAKill that came when the folder was finished and not yet in
// the journal.
func TestSnapshotIsTakenAnewAfterAKill(t *testing.T) {
	t.Parallel()
	w := newWorkspaces(t)
	change := func(o *Options) { w.give(&o.Agents[0]) }
	synctest.Test(t, func(t *testing.T) {
		p, store := panelOf(t, 3, agree, nil, change)
		pen := p.opts.Agents[0].Tools[0]
		if _, err := pen.Call(t.Context(), ""); err != nil {
			t.Fatal(err)
		}
		before := wait(t, start(t, p, "energy"))
		journal, err := store.Journal(t.Context(), "s", 1, 0)
		if err != nil {
			t.Fatal(err)
		}
		n := slices.IndexFunc(journal, func(data []byte) bool {
			ev, err := turn.Decode(data)
			done, ok := ev.(turn.ToolDone)
			return err == nil && ok && done.Key.Purpose == effect.Snapshot
		})
		if _, err := pen.Call(t.Context(), ""); err != nil {
			t.Fatal(err)
		}
		after, _ := resumeAfter(t, agree, change, journal[:n], store)
		if after.Answers[0].Snapshot != before.Answers[0].Snapshot || w.text(after.Answers[0].Snapshot) != "||" || len(timeless(after).Warnings) > 0 {
			t.Errorf("after a resume the work is %q in %s, warnings %q", w.text(after.Answers[0].Snapshot), after.Answers[0].Snapshot, after.Warnings)
		}
	})
}

// TestWorkspaceThatIsGoneWhenTheTurnIsResumed is told of.
func TestWorkspaceThatIsGoneWhenTheTurnIsResumed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p, store := panelOf(t, 3, agree, nil, func(o *Options) { o.Agents[0].Snapshot = placed })
		wait(t, start(t, p, "energy"))
		journal, err := store.Journal(t.Context(), "s", 1, 0)
		if err != nil {
			t.Fatal(err)
		}
		r, _ := resumeAfter(t, agree, func(*Options) {}, journal[:1], store)
		want := []string{"the workspace of agent1 could not be kept with its answer: the agent has none any more; peers see its words alone"}
		if diff := cmp.Diff(want, timeless(r).Warnings); diff != "" {
			t.Errorf("warnings (-want +got):\n%s", diff)
		}
	})
}

// TestWorkOfABranchIsNotKnown, and a turn without workspaces has none.
func TestWorkOfABranchIsNotKnown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, store := panelOf(t, 3, agree, nil, func(o *Options) { o.Agents[1].Snapshot = placed })
		wait(t, start(t, p, "energy"))
		if _, err := store.Branch(t.Context(), "s", 1, "branch"); err != nil {
			t.Fatal(err)
		}
		plain, _ := panelOf(t, 1, agree, nil, func(o *Options) { o.Store = store })
		other, err := plain.Start(t.Context(), "other", "energy")
		if err != nil {
			t.Fatal(err)
		}
		wait(t, other)
		for session, want := range map[string]agents.Snapshot{
			"s":      {Dir: "/s/1/agent2/1/false", Files: 1, Bytes: 2},
			"branch": {}, "other": {},
		} {
			kept, err := ReadRecord(t.Context(), store, session, 1)
			if diff := cmp.Diff(want, kept.Final); err != nil || diff != "" {
				t.Errorf("%s: the work (-want +got, %v):\n%s", session, err, diff)
			}
		}
	})
}
