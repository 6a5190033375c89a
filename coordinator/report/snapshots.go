package report

import (
	"cmp"
	"fmt"

	"github.com/massgen/massgen/agents"
)

// Record is what a journal shows of a turn beside its result.
type Record struct {
	Activity
	// Final is the workspace that was kept with the turn's answer, zero if none was.
	Final agents.Snapshot
}

// Record returns the turn's record. With an error it has what could be read.
func (r *Report) Record() (record Record, err error) {
	record.Activity, err = r.activity()
	if r.machine.Over() {
		var workErr error
		record.Final, workErr = agents.ReadSnapshot(r.texts, r.machine.Result().Work)
		err = cmp.Or(err, workErr)
	}
	return record, err
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
