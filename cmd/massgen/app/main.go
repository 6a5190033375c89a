// Package app is the program massgen: it reads flags and configurations, asks panels, and shows
// their answers.
package app

import (
	"io"
	"log"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"github.com/massgen/massgen/internal/system/stack"
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

// softMemoryLimit is the memory, in bytes, from which on garbage is collected sooner. A reply of
// 32 MiB is copied several times, and the copies would stay for as long as the heap may double.
const softMemoryLimit = 512 << 20

// gcPercent lets the heap grow to five times what lives in it, and to 16 MB at least, before garbage
// is collected: a turn of a few agents never comes so far, and softMemoryLimit holds a large one.
const gcPercent = 400

// Main runs the program with args, whose first is its own name, and returns the
// exit status. All goroutines have ended when it returns, except after an
// interrupt that is there to leave at once, which is the second of a turn and any
// outside of turns and prompts, and for a read of standard input that nothing can
// end.
func Main(args []string, env Env) int {
	ownsProcess := env.Interrupts == nil
	if ownsProcess {
		if _, isSet := env.Lookup("GOMEMLIMIT"); !isSet {
			debug.SetMemoryLimit(softMemoryLimit)
		}
		if _, isSet := env.Lookup("GOGC"); !isSet {
			debug.SetGCPercent(gcPercent)
		}
		signals := make(chan os.Signal, 2)
		signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
		if !signal.Ignored(syscall.SIGHUP) { // as nohup has it
			signal.Notify(signals, syscall.SIGHUP)
		}
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
	if ownsProcess {
		log.SetOutput(libraryLog{p})
		log.SetFlags(0) // the debug log has times of its own
		defer log.SetOutput(os.Stderr)
		defer log.SetFlags(log.LstdFlags)
	}
	p.watch = newWatch(env.Interrupts)
	return p.watch.run(func() int {
		stack.Grow32()
		return exitStatus(p, args)
	})
}

// libraryLog takes the lines of Go's standard logger. net/http logs there what a service sends unasked,
// which tells a user nothing and may contain a key: such lines go to the debug log, which masks keys.
type libraryLog struct{ p *program }

// Write implements io.Writer.
func (l libraryLog) Write(line []byte) (int, error) {
	l.p.log.Debug("a library logged a line", "line", strings.TrimSpace(string(line)))
	return len(line), nil
}
