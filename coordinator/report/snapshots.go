package report

import (
	"cmp"
	"fmt"

	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/internal/coordination/step"
)

// Record is the content of a turn's journal, for people.
type Record struct {
	// Answers are the answers that stand, in the config's order; Votes and VoidVotes are as in
	// Result.
	Answers   []ResultAnswer `json:"answers"`
	Votes     []ResultVote   `json:"votes"`
	VoidVotes []ResultVote   `json:"void_votes"`
	// Decision is as in Result, nil before the turn's end.
	*Decision
	Activity
	// StepStates maps an agent's id to the state in which its step waits, or ended.
	StepStates map[string]step.State `json:"step_states"`
	// Final is the snapshot of the turn's answer, zero if there is none, and Citations are the
	// sources of that answer.
	Final     agents.Snapshot     `json:"-"`
	Citations []backends.Citation `json:"-"`
}

// Record returns the turn's record. With an error it has the readable part.
func (r *Report) Record() (record Record, err error) {
	record.Activity, err = r.activity()
	if !r.machine.Begun() {
		record.Answers, record.Votes, record.VoidVotes = []ResultAnswer{}, []ResultVote{}, []ResultVote{}
		return record, err
	}
	record.StepStates = make(map[string]step.State, len(r.machine.Turn().Agents))
	for i, a := range r.machine.Turn().Agents {
		record.StepStates[a.ID] = r.machine.StepState(i)
	}
	k := r.machine.Result()
	record.Votes, record.VoidVotes = r.votes(k, k.Votes), r.votes(k, k.Void)
	var answersErr error
	record.Answers, answersErr = r.answers(k)
	err = cmp.Or(err, answersErr)
	if r.machine.Over() {
		var decisionErr, workErr, citationsErr error
		record.Decision, decisionErr = r.decision(k)
		record.Final, workErr = agents.ReadSnapshot(r.texts, k.Work)
		record.Citations, citationsErr = r.citations(k.Text)
		err = cmp.Or(err, decisionErr, workErr, citationsErr)
	}
	return record, err
}

// unkeptWork names the agents whose answers have no snapshot.
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
