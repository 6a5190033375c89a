package app

import (
	"errors"
	"fmt"
	"runtime/debug"
	"syscall"

	"github.com/massgen/massgen/coordinator/report"
	"github.com/massgen/massgen/internal/coordination/kernel"
)

// The exit statuses (DESIGN §8), as exitMeanings describes them.
const (
	ExitCompleted   = 0
	ExitUsage       = 1
	ExitFailed      = 2
	ExitNoWinner    = 3
	ExitInterrupted = 4
)

// exitMeanings says for each exit status what it means, for the help and docs/scripting.md.
func exitMeanings() []string {
	return []string{
		ExitCompleted:   "the answer that was printed won by the panel's decision rule",
		ExitUsage:       "wrong usage or config; no model was called",
		ExitFailed:      "no answer, or standard output was closed before it was written",
		ExitNoWinner:    "no consensus, or out of time, budget or turns; the best answer so far was printed",
		ExitInterrupted: "interrupted by a person",
	}
}

// exitStatus runs the program, complains of what went wrong, and returns its status.
func exitStatus(p *program, args []string) (status int) {
	defer func() {
		if r := recover(); r != nil { // what Go itself would print is not masked
			p.console.complain(fmt.Errorf("the program broke down: %v", r))
			p.console.write(printable(string(debug.Stack())))
			status = ExitFailed
		}
	}()
	err := run(p, args)
	if err == nil {
		return ExitCompleted
	}
	if !errors.Is(err, syscall.EPIPE) { // who has left wants nothing more
		p.console.complain(err)
	}
	var end exitError
	if errors.As(err, &end) {
		return end.code
	}
	return ExitUsage
}

// exitError ends the program with a status. Any other error ends it with
// ExitUsage. Without err, what there was to say has been said.
type exitError struct {
	code int
	err  error
}

func (e exitError) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}

func (e exitError) Unwrap() error { return e.err }

// withStatus is the error that ends the program with a status, nil for ExitCompleted without
// one.
func withStatus(code int, err error) error {
	if code == ExitCompleted && err == nil {
		return nil
	}
	return exitError{code, err}
}

// resultStatus is the status that a result stands for.
func resultStatus(r report.Result) int {
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
