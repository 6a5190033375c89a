package report

import (
	"cmp"
	"fmt"

	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/internal/machine"
)

// Record is what a journal shows of a turn.
type Record struct {
	// Answers are those that stand, in the config's order; Votes and VoidVotes are as in Result.
	Answers   []ResultAnswer `json:"answers"`
	Votes     []ResultVote   `json:"votes"`
	VoidVotes []ResultVote   `json:"void_votes"`
	Activity
	// StepStates has for each agent's id what its step waits for, or how its last one ended.
	StepStates map[string]machine.StepState `json:"step_states"`
	// Final is the workspace that was kept with the turn's answer, zero if none was.
	Final agents.Snapshot `json:"-"`
}

// Record returns the turn's record. With an error it has what could be read.
func (r *Report) Record() (record Record, err error) {
	record.Activity, err = r.activity()
	record.Answers, record.Votes, record.VoidVotes = []ResultAnswer{}, []ResultVote{}, []ResultVote{}
	if !r.machine.Begun() {
		return record, err
	}
	record.StepStates = make(map[string]machine.StepState, len(r.machine.Turn().Agents))
	for i, a := range r.machine.Turn().Agents {
		record.StepStates[a.ID] = r.machine.StepState(i)
	}
	k := r.machine.Result()
	record.Votes, record.VoidVotes = r.votes(k.Votes), r.votes(k.Void)
	answers, answersErr := r.answers(k)
	record.Answers = append(record.Answers, answers...)
	err = cmp.Or(err, answersErr)
	if r.machine.Over() {
		var workErr error
		record.Final, workErr = agents.ReadSnapshot(r.texts, k.Work)
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
