package cmdline

import (
	"errors"

	"github.com/massgen/massgen/coordinator/report"
	"github.com/massgen/massgen/internal/coordination/kernel"
)

// The exit statuses (DESIGN §8), which ExitMeanings describes.
const (
	ExitCompleted   = 0
	ExitUsage       = 1
	ExitFailed      = 2
	ExitNoWinner    = 3
	ExitInterrupted = 4
)

// ExitMeanings returns the meaning of each exit status, for the help and docs/scripting.md.
func ExitMeanings() []string {
	return []string{
		ExitCompleted:   "the answer that was printed won by the panel's decision rule",
		ExitUsage:       "wrong usage or config; no model was called",
		ExitFailed:      "no answer, or standard output was closed before it was written",
		ExitNoWinner:    "no consensus, or out of time, budget or turns; the best so far was printed",
		ExitInterrupted: "interrupted by a person",
	}
}

// ExitError ends the program with a status; any other error ends it with ExitUsage. Without err the
// program prints nothing more.
type ExitError struct {
	Code int
	err  error
}

func (e ExitError) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}

func (e ExitError) Unwrap() error { return e.err }

// WithStatus returns the error that ends the program with a status, nil for ExitCompleted without an
// error.
func WithStatus(code int, err error) error {
	if code == ExitCompleted && err == nil {
		return nil
	}
	return ExitError{code, err}
}

// Status returns the exit status of an error that ends the program.
func Status(err error) int {
	var end ExitError
	switch {
	case err == nil:
		return ExitCompleted
	case errors.As(err, &end):
		return end.Code
	}
	return ExitUsage
}

// ResultStatus returns the exit status for a result.
func ResultStatus(r report.Result) int {
	switch {
	case r.Status == kernel.Cut:
		return ExitInterrupted
	case r.Winner == "":
		return ExitFailed
	case r.Status == kernel.Completed:
		return ExitCompleted
	}
	return ExitNoWinner
}

// ErrQuit reports that a person wants to leave at once.
var ErrQuit = errors.New("interrupted")
