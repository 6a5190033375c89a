// Package peers_test measures massgen beside libraries of others, in one run: each does the
// same work with a model that answers at once, so that what is left is its own share. It is a
// module of its own, so that massgen depends on none of them. "make peers" runs it.
package peers_test

import (
	"context"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"
)

const (
	question = "What is the cheapest source of energy?"
	answer   = "The sun costs little, and shines for all."
	toolName = "look"
	toolText = "Looks something up."
	toolArgs = `{"what":"the sun"}`
)

// looked is what the tool of each library returns.
func looked(what string) string { return what + " is there" }

// lookArgs are the arguments of the tool.
type lookArgs struct {
	What string `json:"what"`
}

// work is what a peer does in one operation.
type work struct {
	name   string
	agents int
	tool   bool // the model calls the tool, and answers then
	turns  int  // of one session
}

// ask puts the question to a session, which begins with its first question, and returns the answer.
type ask func(ctx context.Context, session string) (string, error)

// peer is a library, with one way to keep its sessions. open makes what all operations share.
type peer struct {
	name string
	open func(b *testing.B, w work) ask
}

func BenchmarkPeers(b *testing.B) {
	peers := []peer{
		{"massgen", massgenInMemory}, {"eino", einoInMemory}, {"adk", adkInMemory},
		{"massgen-sqlite", massgenOnSQLite}, {"adk-sqlite", adkOnSQLite},
	}
	for _, w := range []work{
		{name: "turn", agents: 1, turns: 1},
		{name: "tool", agents: 1, tool: true, turns: 1},
		{name: "session", agents: 1, turns: 25},
	} {
		for _, p := range peers {
			b.Run(w.name+"/"+p.name, func(b *testing.B) { measure(b, w, p) })
		}
	}
	for _, agents := range []int{3, 1000} { // which the others have no rules for
		w := work{name: fmt.Sprint("panel=", agents), agents: agents, turns: 1}
		b.Run(w.name+"/massgen", func(b *testing.B) { measure(b, w, peers[0]) })
	}
}

// measure does the work again and again, each time in a new session.
func measure(b *testing.B, w work, p peer) {
	put := p.open(b, w)
	if _, err := put(b.Context(), "first"); err != nil { // it fills what the library keeps for all sessions
		b.Fatal(err)
	}
	b.ReportAllocs()
	before := cpuTime(b)
	for n := 0; b.Loop(); n++ {
		session := fmt.Sprint("session-", n)
		for range w.turns {
			if got, err := put(b.Context(), session); err != nil || !strings.HasPrefix(got, answer) {
				b.Fatalf("%s answers %q: %v", p.name, got, err)
			}
		}
	}
	b.ReportMetric(float64(cpuTime(b)-before)/float64(b.N), "cpu-ns/op")
}

// cpuTime returns the user and system time of this process.
func cpuTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
