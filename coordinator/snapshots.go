package coordinator

import (
	"fmt"

	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/coordinator/kernel"
)

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
