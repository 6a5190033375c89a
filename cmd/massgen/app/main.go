// Package app is the program massgen: it reads flags and configurations, asks panels, and shows
// their answers.
package app

import (
	"errors"
	"fmt"
	"log"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/massgen/massgen/cmd/massgen/app/cmdline"
	"github.com/massgen/massgen/cmd/massgen/app/program"
	"github.com/massgen/massgen/cmd/massgen/app/wording"
)

// exitStatus runs the program, prints its error, and returns its exit status.
func exitStatus(p *program.Program, args []string) (status int) {
	defer func() {
		if r := recover(); r != nil { // what Go itself would print is not masked
			p.Console.Complain(fmt.Errorf("the program broke down: %v", r))
			p.Console.Write(wording.Printable(string(debug.Stack())))
			status = cmdline.ExitFailed
		}
	}()
	err := run(p, args)
	if err == nil {
		return cmdline.ExitCompleted
	}
	if !errors.Is(err, syscall.EPIPE) { // the reader has left
		p.Console.Complain(err)
	}
	return cmdline.Status(err)
}

// System is the Env of a real process.
func System() cmdline.Env {
	return cmdline.Env{Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Lookup: os.LookupEnv}
}

// softMemoryLimit is the size of the heap, in bytes, above which garbage is collected sooner. A reply of
// 32 MiB is copied several times, and the copies would stay until the heap has doubled.
const softMemoryLimit = 512 << 20

// gcPercent lets the heap grow to five times what lives in it, and to 16 MB at least, before garbage
// is collected: a turn of a few agents never comes so far, and softMemoryLimit holds a large one.
const gcPercent = 400

// Main runs the program with args, whose first is its own name, and returns the exit status. All
// goroutines have ended when it returns, except a read of standard input that nothing can end. They may
// also run on after an interrupt that leaves at once: the second one of a turn, and any outside of turns
// and prompts.
func Main(args []string, env cmdline.Env) int {
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
		env.TTY = &cmdline.TTY{Interrupt: func(key os.Signal) {
			select {
			case signals <- key:
			default: // others are waiting
			}
		}}
		defer env.TTY.Leave()
		// The answer must not be lost because the reader of standard error has left.
		signal.Ignore(syscall.SIGPIPE)
	}
	p := program.New(env)
	if ownsProcess {
		log.SetOutput(libraryLog{p})
		log.SetFlags(0) // the debug log has times of its own
		defer log.SetOutput(os.Stderr)
		defer log.SetFlags(log.LstdFlags)
	}
	p.Watch = cmdline.NewWatch(env.Interrupts)
	return p.Watch.Run(func() int {
		return exitStatus(p, args)
	})
}

// libraryLog passes the lines of Go's standard logger to the debug log, which masks keys. net/http logs
// unexpected data of a service there, which may contain a key.
type libraryLog struct{ p *program.Program }

// Write implements io.Writer.
func (l libraryLog) Write(line []byte) (int, error) {
	l.p.Log.Debug("a library logged a line", "line", strings.TrimSpace(string(line)))
	return len(line), nil
}

// What programs of others, and tests, set and compare.
type (
	// Env is what the program meets of the world.
	Env = cmdline.Env
	// Cluster is an engine, and a store, that several machines share.
	Cluster = cmdline.Cluster
	// DatabaseAddress says where a database is, and how it is used.
	DatabaseAddress = cmdline.DatabaseAddress
	// ClusterAddress says where an engine is.
	ClusterAddress = cmdline.ClusterAddress
	// WorkOptions are the options of a worker.
	WorkOptions = cmdline.WorkOptions
)

// The exit statuses.
const (
	ExitCompleted   = cmdline.ExitCompleted
	ExitUsage       = cmdline.ExitUsage
	ExitFailed      = cmdline.ExitFailed
	ExitNoWinner    = cmdline.ExitNoWinner
	ExitInterrupted = cmdline.ExitInterrupted
)
