// Command bench measures the program as a process: turns of panels against a mock service,
// beside a bare client that sends the same bodies, its start, long sessions, and the
// benchmarks of go test. A full run writes docs/benchmarks.md.
//
//	go run ./tests/bench [-quick] [-only PART] [-agents N -latency TIME] [-write]
//	go run ./tests/bench profile [-only TURN]
//	go run ./tests/bench peers [-rounds N] [-time TIME] [-write]
//
// It starts itself in other roles: server, bare and measure. Each of them ends when its
// standard input does, so that none outlives the run.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := play(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// play runs the role that the first argument names, or the suite where it names none.
func play(ctx context.Context, args []string) error {
	role := "suite"
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		role, args = args[0], args[1:]
	}
	switch role {
	case "suite":
		return playSuite(ctx, args, os.Stdout)
	case "peers":
		return playPeers(ctx, args, os.Stdout)
	case "profile":
		return playProfile(ctx, args, os.Stdout)
	case "server":
		return playServer(whileRead(ctx, os.Stdin), os.Stdout)
	case "bare":
		return playBare(ctx, args)
	case "measure":
		return playMeasure(whileRead(ctx, os.Stdin), args, os.Stdout)
	}
	return fmt.Errorf("unknown role %q: use server, bare, measure, profile or peers, or flags alone for a run", role)
}

// whileRead returns a context that ends with ctx or when in ends.
func whileRead(ctx context.Context, in io.Reader) context.Context {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		defer cancel()
		_, _ = io.Copy(io.Discard, in) // a failed read is an end too
	}()
	return ctx
}
