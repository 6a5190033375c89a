package debugbackend

import (
	"strings"

	"github.com/massgen/massgen/backends"
)

// matches says whether all conditions hold. An error is a text of the script
// that cannot be expanded.
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
	conditions := []struct {
		wanted *words
		in     []string
	}{
		{w.Contains, []string{messageText(last)}},
		{w.AnswerContains, texts},
		{w.LastAnswerContains, texts[max(len(texts)-1, 0):]},
	}
	for _, c := range conditions {
		found, err := c.wanted.foundIn(c.in, f)
		if err != nil || !found {
			return false, err
		}
	}
	return true, nil
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

// foundIn says whether one of the texts contains the words. Nil words are
// found in anything.
func (w *words) foundIn(texts []string, f facts) (bool, error) {
	if w == nil {
		return true, nil
	}
	wanted, err := w.expand(f)
	if err != nil {
		return false, err
	}
	for _, text := range texts {
		if strings.Contains(text, wanted) {
			return true, nil
		}
	}
	return false, nil
}
