// Package app is the program massgen: it reads flags and configurations, makes
// panels, and shows what they come to. Only this package and tests name concrete
// backends.
package app

import (
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	"time"
)

// The exit statuses (DESIGN §8).
const (
	ExitCompleted   = 0 // there is an answer, by consensus
	ExitUsage       = 1 // flags, question or configuration are wrong, or --output-file cannot be written
	ExitFailed      = 2 // there is no answer
	ExitUndecided   = 3 // no consensus, or out of time or budget: the best so far was printed
	ExitInterrupted = 4 // a person ended it
)

// Env is what the program meets of the world.
type Env struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// Lookup finds a variable of the environment.
	Lookup func(name string) (value string, set bool)
	// Interrupts delivers a person's Ctrl+C. Nil means the signals of the process.
	Interrupts <-chan os.Signal
	// LocalServers are the model servers that type auto looks for: base URLs by
	// backend type. Nil means the types' default addresses.
	LocalServers map[string]string
	// Slack is added to the moments within which something counts as quick: a model server
	// of this machine that answers, steps that start together, an interrupt after a turn that
	// was interrupted. It is for tests, which also run on machines that are slow.
	Slack time.Duration
	// Cluster is where turns are played if not here; nil plays all of them here.
	Cluster Cluster

	tty *tty // nil where it is not the program's own
}

// System is the Env of a real process.
func System() Env {
	return Env{Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Lookup: os.LookupEnv}
}

// Main runs the program with args, whose first is its own name, and returns the
// exit status. All goroutines have ended when it returns, except after an
// interrupt that is there to leave at once, which is the second of a turn and any
// outside of turns and prompts, and for a read of standard input that nothing can
// end.
func Main(args []string, env Env) int {
	ownsProcess := env.Interrupts == nil
	if ownsProcess {
		signals := make(chan os.Signal, 2)
		signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
		defer signal.Stop(signals)
		env.Interrupts = signals
		env.tty = &tty{interrupt: func(key os.Signal) {
			select {
			case signals <- key:
			default: // others are waiting
			}
		}}
		defer env.tty.leave()
		// A reader of standard error who has left is no reason to lose the answer.
		signal.Ignore(syscall.SIGPIPE)
	}
	p := newProgram(env)
	if ownsProcess { // net/http logs what a service says unasked, which may be a key
		log.SetOutput(p.console.err)
		defer log.SetOutput(os.Stderr)
	}
	p.watch = newWatch(env.Interrupts)
	ended := make(chan int, 1)
	go func() { ended <- p.exitStatus(args) }()
	return p.watch.until(ended)
}

func (p *program) exitStatus(args []string) (status int) {
	defer func() {
		if r := recover(); r != nil { // what Go itself would print is not masked
			p.console.complain(fmt.Errorf("the program broke down: %v", r))
			p.console.write(printable(string(debug.Stack())))
			status = ExitFailed
		}
	}()
	err := p.run(args)
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
