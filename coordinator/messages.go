package coordinator

import (
	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/sessions"
)

// addMessages adds to what a turn came to the list of the messages of a panel of one,
// which sends them again in later turns. A larger panel, and one without an answer, has
// none.
func (e *engine) addMessages(kept *sessions.Ended) (err error) {
	if kept.Winner == "" || len(e.panel.opts.Agents) > 1 {
		return nil
	}
	kept.Messages, kept.MessageCount, err = agents.PutMessages(e.base, e.panel.opts.Store, e.machine.Turn(), e.report.Transcript(), kept.Answer)
	return err
}
