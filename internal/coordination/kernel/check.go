package kernel

import (
	"fmt"
	"slices"
)

// CheckMode says what a failed check of an answer means (rule 20).
type CheckMode string

// The modes of a check. While an answer has passed, CheckRequired lets only such answers be shown,
// voted for and win. CheckShown only shows the outcome beside the answer.
const (
	CheckRequired CheckMode = "required"
	CheckShown    CheckMode = "shown"
)

func (c Config) validateCheck() error {
	if !slices.Contains([]CheckMode{"", CheckRequired, CheckShown}, c.Check) {
		return fmt.Errorf("check mode %q: it is required or shown", c.Check)
	}
	return nil
}

// eligible returns the standing answers that may win.
func (m *Machine) eligible() []Answer {
	list := m.standingAnswers()
	if m.cfg.Check != CheckRequired {
		return list
	}
	passed := slices.DeleteFunc(slices.Clone(list), func(a Answer) bool { return a.FailedCheck })
	if len(passed) == 0 {
		return list
	}
	return passed
}
