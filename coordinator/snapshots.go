package coordinator

import (
	"context"
	"fmt"
	"slices"

	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/agents/machine"
	"github.com/massgen/massgen/coordinator/kernel"
	"github.com/massgen/massgen/coordinator/turn"
)

// Work is what was kept of the agents' workspaces in a turn.
type Work struct {
	// Final is what was kept with the turn's answer, zero if nothing was.
	Final agents.Snapshot
	// Dirs are the folders of all snapshots that were taken.
	Dirs []string
}

// ReadWork reads it from the turn's journal; a branch has none of the turns before it. With
// an error it returns what it came to know.
func ReadWork(ctx context.Context, store Store, session string, number int) (Work, error) {
	work, err := readWork(ctx, store, session, number)
	if err != nil {
		return work, fmt.Errorf("what was kept of the workspaces in turn %d of session %s: %w", number, session, err)
	}
	return work, nil
}

func readWork(ctx context.Context, store Store, session string, number int) (work Work, err error) {
	var events []turn.Event
	for ev, err := range journalEvents(ctx, store, session, number) {
		if err != nil {
			return work, err
		}
		if !hasWorkspace(ev) {
			return work, nil
		}
		dir, err := keptIn(ctx, store, ev)
		if err != nil {
			return work, err
		}
		if dir != "" {
			work.Dirs = append(work.Dirs, dir)
		}
		events = append(events, ev)
	}
	m, err := played(events)
	if err == nil && m.Over() {
		work.Final, err = agents.ReadSnapshot(ctx, store, m.Result().Work)
	}
	return work, err
}

// hasWorkspace says that an event is not the beginning of a turn whose agents have no
// workspaces.
func hasWorkspace(ev turn.Event) bool {
	accepted, isFirst := ev.(turn.Accepted)
	return !isFirst || slices.ContainsFunc(accepted.Turn.Agents, func(a machine.Agent) bool { return a.Workspace })
}

// keptIn is the folder of the snapshot that an event is the result of, "" for any other.
func keptIn(ctx context.Context, store agents.Blobs, ev turn.Event) (string, error) {
	done, ok := ev.(turn.ToolDone)
	if !ok || done.Reply.Error || !done.Key.Purpose.IsSnapshot() {
		return "", nil
	}
	s, err := agents.ReadSnapshot(ctx, store, done.Reply.Result)
	return s.Dir, err
}

// snapshot reads where the work is that was kept with an answer.
func (e *engine) snapshot(work kernel.Ref) (agents.Snapshot, error) {
	s, err := agents.ReadSnapshot(e.base, e.panel.opts.Store, work)
	if err != nil {
		return s, fmt.Errorf("turn %s: %w", e.turn.ID(), err)
	}
	return s, nil
}

// toldSnapshot is what is told of the work that was kept with an answer, nil if there is
// none. What cannot be read is not told: the loop finds out itself that the store does not
// work.
func (e *engine) toldSnapshot(work kernel.Ref) *agents.Snapshot {
	s, err := e.snapshot(work)
	if err != nil || s.Dir == "" {
		return nil
	}
	return &s
}

// unkeptWork says whose answers were given without their work.
func (e *engine) unkeptWork() (list []string) {
	for _, u := range e.machine.Unkept() {
		reason, err := e.panel.opts.Store.Get(e.base, u.Reason)
		if err != nil {
			reason = []byte(err.Error())
		}
		warning := fmt.Sprintf("the workspace of %s could not be kept with its answer: %s", e.id(u.Agent), reason)
		if !u.Final {
			warning += "; peers see its words alone"
		}
		list = append(list, warning)
	}
	return list
}
