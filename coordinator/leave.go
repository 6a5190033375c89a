package coordinator

import (
	"errors"

	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/internal/coordination/turn"
)

// ErrLeft is the error of a turn that its process has left.
var ErrLeft = errors.New("the process has left the turn: it can be resumed")

// Leave ends the work of this process on the turn, as if the process were lost: Panel.Resume goes on with the turn, and
// repeats the calls that are under way now. If another process plays the turn, it goes on. Leave returns at once. Wait
// returns ErrLeft, unless the turn is over.
func (t *Turn) Leave() { t.inbox.put(departure{turn: t}) }

// Stop ends the turn as Cancel does if there is an answer, else as Leave does.
func (t *Turn) Stop() { t.inbox.put(departure{turn: t, unlessAnswered: true}) }

// departure is a post: the process leaves the turn.
type departure struct {
	unheard
	turn *Turn
	// unlessAnswered ends the turn instead if it has an answer.
	unlessAnswered bool
}

// Events implements driver.Post. It ends the calls that follow the answer.
func (l departure) Events(at kernel.Time) ([]turn.Event, error) {
	m := l.turn.local.view.machine
	if m.Over() || l.unlessAnswered && len(m.Result().Answers) > 0 {
		return interrupt.Events(at)
	}
	return nil, ErrLeft
}
