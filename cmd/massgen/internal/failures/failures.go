// Package failures words the failures of a turn so that each reason stands once, however many calls failed for it.
package failures

import (
	"fmt"
	"slices"
	"strings"

	"github.com/massgen/massgen/coordinator/report"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/internal/system/plain"
)

// The kinds of news about failed calls.
const (
	failed   = "failed"
	fellBack = "fell_back"
	retrying = "retrying"
)

// Is reports whether a sentence is about a failed call.
func Is(n report.News) bool { return n.Kind == failed || n.Kind == fellBack || n.Kind == retrying }

// Merged returns the news of a turn with one sentence for all failures that have the same reason, in the place of the
// first of them.
func Merged(s *report.State, list []report.News) (merged []report.News) {
	type cause struct{ kind, reason string }
	causeOf := func(n report.News) cause {
		_, reason, _ := strings.Cut(n.Text, ": ")
		return cause{n.Kind, reason}
	}
	equal := map[cause][]report.News{}
	for _, n := range list {
		if Is(n) {
			equal[causeOf(n)] = append(equal[causeOf(n)], n)
		}
	}
	for _, n := range list {
		if Is(n) {
			all := equal[causeOf(n)]
			if n.Number != all[0].Number {
				continue
			}
			if len(all) > 1 {
				n.Text, n.Figures = sentence(s, all), ""
			}
		}
		merged = append(merged, n)
	}
	return merged
}

// sentence returns the sentence of failures with one reason. It names the agents in the config's order.
func sentence(s *report.State, equal []report.News) string {
	first := equal[0]
	if first.Kind != failed {
		return fmt.Sprintf("%s (%d calls)", first.Text, len(equal))
	}
	var names []string
	for _, a := range s.Agents {
		if slices.ContainsFunc(equal, func(n report.News) bool { return n.Agent == a.ID }) {
			names = append(names, a.ID)
		}
	}
	return plain.List(names) + strings.TrimPrefix(first.Text, first.Agent)
}

// Lines returns a line for each reason why agents failed, with their names.
func Lines(list []report.FailedAgent) (lines []string) {
	var reasons []string
	names := map[string][]string{}
	for _, f := range list {
		if names[f.Error] == nil {
			reasons = append(reasons, f.Error)
		}
		names[f.Error] = append(names[f.Error], f.Agent)
	}
	for _, reason := range reasons {
		lines = append(lines, plain.List(names[reason])+" failed: "+reason)
	}
	return lines
}

// EndedEarly reports whether a turn ended before its agents were done.
func EndedEarly(r report.Result) bool {
	return r.Status == kernel.Cut || r.Status == kernel.Budget || r.Status == kernel.Timeout || r.Status == kernel.MaxTurns
}

// Explain reports whether the failures of a turn are the reason why it has no answer. Then the lines about its result
// have all of their reasons.
func Explain(r report.Result) bool { return r.Winner == "" && !EndedEarly(r) && len(r.Failed) > 0 }

// IsRepeated reports whether the lines about a result have the reason of a sentence. Mask hides secrets.
func IsRepeated(r report.Result, n report.News, mask func(text string) string) bool {
	if !Explain(r) {
		return false
	}
	return n.Kind == fellBack || n.Kind == failed && slices.ContainsFunc(r.Failed, func(f report.FailedAgent) bool {
		return n.Text == plain.Line(mask(f.Agent+" failed: "+f.Error))
	})
}
