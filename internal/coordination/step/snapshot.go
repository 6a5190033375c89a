package step

import (
	"fmt"

	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/system/blob"
)

// act ends the step. An answer first gets a snapshot of its author's workspace: peers must
// judge the files as they were at the answer. Then it is checked.
func (s *Machine) act(o Outcome) []effect.Effect {
	if o.Answer == (blob.Ref{}) || !s.s.Task.Snapshot {
		return s.check(o)
	}
	s.s.Answer = &o
	return []effect.Effect{effect.ToolCall{Key: s.snapshotKey()}}
}

func (s *Machine) snapshotKey() effect.Key {
	return s.key(effect.Snapshot, effect.FinalSnapshot, s.s.Checked)
}

// applySnapshot takes the result of a snapshot. An answer counts even if its snapshot failed.
func (s *Machine) applySnapshot(r effect.ToolReply) ([]effect.Effect, error) {
	o := *s.s.Answer
	switch {
	case r.Index != s.snapshotKey().Index:
		return nil, fmt.Errorf("step: no tool call %d is out", r.Index)
	case s.s.Cancelled:
		o = Outcome{Kind: Stopped, Reason: "cancelled"}
	case r.Error:
		o.Unkept = r.Result
	default:
		o.Work = r.Result
	}
	s.s.Answer = nil
	return s.check(o), nil
}
