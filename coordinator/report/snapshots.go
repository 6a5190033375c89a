package report

import (
	"cmp"
	"fmt"

	"github.com/massgen/massgen/agents"
)

// Record is what a journal shows of a turn beside its result.
type Record struct {
	Activity
	Work Work
}

// Record returns the turn's record. With an error it has what could be read.
func (r *Report) Record() (Record, error) {
	activity, err := r.activity()
	work, workErr := r.work()
	return Record{activity, work}, cmp.Or(err, workErr)
}

// Work is what was kept of the agents' workspaces in a turn.
type Work struct {
	// Final is what was kept with the turn's answer, zero if nothing was.
	Final agents.Snapshot
	// Dirs are the folders of all snapshots that were taken.
	Dirs []string
}

func (r *Report) work() (work Work, err error) {
	for _, ref := range r.snapshots {
		taken, err := agents.ReadSnapshot(r.texts, ref)
		if err != nil {
			return work, err
		}
		work.Dirs = append(work.Dirs, taken.Dir)
	}
	if r.machine.Over() {
		work.Final, err = agents.ReadSnapshot(r.texts, r.machine.Result().Work)
	}
	return work, err
}

// unkeptWork says whose answers were given without their work.
func (r *Report) unkeptWork() (list []string) {
	for _, u := range r.machine.Unkept() {
		warning := fmt.Sprintf("the workspace of %s could not be kept with its answer: %s", r.id(u.Agent), r.textOf(u.Reason))
		if !u.Final {
			warning += "; peers see its words alone"
		}
		list = append(list, warning)
	}
	return list
}
