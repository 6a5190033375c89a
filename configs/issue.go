package configs

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/massgen/massgen/internal/system/plain"
)

// Issue is one thing wrong with a configuration, or worth a warning, on one
// line.
type Issue struct {
	File string
	// Line and Column count from 1, in characters; 0 is unknown.
	Line, Column int
	// Message says what is wrong, and what to do about it.
	Message string
}

// String is FILE:LINE:COLUMN: MESSAGE, without the parts that are unknown.
func (i Issue) String() string { return oneLine(i.place() + ": " + i.Message) }

func (i Issue) place() string {
	place := i.File
	if i.Line > 0 {
		place += fmt.Sprintf(":%d", i.Line)
		if i.Column > 0 {
			place += fmt.Sprintf(":%d", i.Column)
		}
	}
	return oneLine(place)
}

func (i Issue) Error() string { return i.String() }

// oneLine makes control characters, which a key or a file name may hold,
// visible.
func oneLine(s string) string { return plain.Escape(s, "") }

func isControl(r rune) bool {
	return r < 0x20 || r >= 0x7f && r < 0xa0 || r == 0x2028 || r == 0x2029
}

// sortIssues brings issues into the order of the file.
func sortIssues(issues []Issue) {
	slices.SortStableFunc(issues, func(a, b Issue) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
}

// mostIssues is how many things wrong are told at once.
const mostIssues = 20

// issuesError is an error of issues in the order of the file; errors.As finds the
// first.
type issuesError []Issue

// Error has one line for each of the first issues, and one for how many more
// there are.
func (e issuesError) Error() string {
	var lines []string
	for _, issue := range e[:min(len(e), mostIssues)] {
		lines = append(lines, issue.String())
	}
	if more := len(e) - mostIssues; more > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(lines, "\n")
}

func (e issuesError) Unwrap() []error {
	errs := make([]error, len(e))
	for i, issue := range e {
		errs[i] = issue
	}
	return errs
}

// refusal is the error of a file with issues. It keeps the warnings about the same file.
type refusal struct {
	issues   issuesError
	warnings []Issue
}

func (r *refusal) Error() string { return r.issues.Error() }

func (r *refusal) Unwrap() error { return r.issues }

// Warnings returns what Config.Warnings would hold, in the order of the file.
// Warnings that follow from several keys are left out where a key could not be read.
func (r *refusal) Warnings() []Issue { return r.warnings }
