package coordinator

import (
	"context"
	"fmt"
	"iter"

	"github.com/massgen/massgen/coordinator/report"
)

// Text yields the text of the turn's answer, from its beginning, whenever it is called. The text of an agent that is
// alone, presents or synthesizes comes as the model writes it. The answer of a vote comes in one piece, because nobody
// knows the winner while the agents write. A text that does not count, such as one before a retry, ends with a line that
// begins with "(void:". As in Events, secrets are masked.
//
// The last pair has the turn's error, if there is one: the error of Wait, or the reason why the turn has no answer. The
// loop may end early; that does not end the turn.
func (t *Turn) Text(ctx context.Context) iter.Seq2[string, error] {
	return func(yield func(text string, err error) bool) {
		var answer report.AnswerText
		for ev := range t.Events(ctx) {
			if piece := answer.Apply(ev); piece != "" && !yield(piece, nil) {
				return
			}
			if answer.IsOver() {
				break
			}
		}
		result, err := t.Wait(ctx)
		if rest := answer.Finish(result.Answer); rest != "" && !yield(rest, nil) {
			return
		}
		if err == nil && result.Answer == "" {
			err = fmt.Errorf("turn %s has no answer: %s", t.ID(), result.Reason())
		}
		if err != nil {
			yield("", err)
		}
	}
}
