package debugbackend

import (
	"slices"
	"strings"

	"github.com/massgen/massgen/backends"
)

// matches reports whether all conditions hold. It fails if a text of the script cannot be expanded.
func (w *when) matches(req backends.Request, f facts) (bool, error) {
	if !w.matchesKey(req.Key) || !w.matchesTools(req) || !w.Answers.holds(len(f.Answers)) {
		return false, nil
	}
	last := backends.Message{}
	if n := len(req.Messages); n > 0 {
		last = req.Messages[n-1]
	}
	if w.Last != "" && w.Last != last.Role {
		return false, nil
	}
	texts := make([]string, len(f.Answers))
	for i, a := range f.Answers {
		texts[i] = a.Text
	}
	x := expander{facts: f}
	found := x.found(w.Contains, messageText(last)) &&
		x.found(w.AnswerContains, texts...) &&
		x.found(w.LastAnswerContains, texts[max(len(texts)-1, 0):]...)
	return found && x.err == nil, x.err
}

func (w *when) matchesKey(key backends.Key) bool {
	return (w.Agent == "" || w.Agent == key.Agent) &&
		(w.Purpose == "" || w.Purpose == key.Purpose) &&
		w.Turn.holds(key.Turn) && w.Round.holds(key.Round) && w.Index.holds(key.Index)
}

func (w *when) matchesTools(req backends.Request) bool {
	if w.MayAnswer != nil && *w.MayAnswer != offers(req, toolNewAnswer) {
		return false
	}
	if w.MayVote != nil && *w.MayVote != offers(req, toolVote) {
		return false
	}
	if w.Tools == nil {
		return true
	}
	for _, name := range *w.Tools {
		if !offers(req, name) {
			return false
		}
	}
	return len(*w.Tools) > 0 || len(req.Tools) == 0
}

// found reports whether one of the texts contains the words. Nil words are found in
// anything.
func (x *expander) found(w *words, texts ...string) bool {
	if w == nil {
		return true
	}
	wanted := x.text(w)
	return slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(text, wanted) })
}
