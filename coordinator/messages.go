package coordinator

import (
	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/agents/machine"
	"github.com/massgen/massgen/coordinator/turn"
	"github.com/massgen/massgen/sessions"
)

// noteSaid keeps what was said in the step of a panel of one.
func (e *engine) noteSaid(c turn.StepEnded) {
	if c.Purpose == machine.Conversation {
		e.said = c.Transcript
	}
}

// addMessages adds to what a turn came to the list of the messages of a panel of one,
// which sends them again in later turns. A larger panel, and one without an answer, has
// none.
func (e *engine) addMessages(kept *sessions.Ended) (err error) {
	if kept.Winner == "" || len(e.panel.opts.Agents) > 1 {
		return nil
	}
	kept.Messages, kept.MessageCount, err = agents.PutMessages(e.base, e.panel.opts.Store, e.machine.Turn(), e.said, kept.Answer)
	return err
}
