package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/massgen/massgen/coordinator"
	"github.com/massgen/massgen/coordinator/report"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/sessions"
)

// terminal is one at which a person sits.
type terminal struct {
	keyboard, tty *os.File
	mu            sync.Mutex
	screen        bytes.Buffer
}

func newTerminal(t testing.TB) *terminal {
	t.Helper()
	keyboard, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	ok(t, err)
	number, err := unix.IoctlGetInt(int(keyboard.Fd()), unix.TIOCGPTN)
	ok(t, err)
	ok(t, unix.IoctlSetPointerInt(int(keyboard.Fd()), unix.TIOCSPTLCK, 0))
	tty, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	ok(t, err)
	term := &terminal{keyboard: keyboard, tty: tty}
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		piece := make([]byte, 4096)
		for {
			n, err := keyboard.Read(piece)
			if err != nil { // nobody has the terminal any more
				return
			}
			term.mu.Lock()
			term.screen.Write(piece[:n])
			term.mu.Unlock()
		}
	}()
	t.Cleanup(func() {
		ok(t, tty.Close())
		<-watched
		ok(t, keyboard.Close())
		if t.Failed() {
			t.Logf("the terminal: %s", term.shown())
		}
	})
	return term
}

func (term *terminal) shown() string {
	term.mu.Lock()
	defer term.mu.Unlock()
	return term.screen.String()
}

// isAsked reports whether a question and its prompt were shown.
func (term *terminal) isAsked() bool {
	_, after, found := strings.Cut(term.shown(), "allow it?")
	return found && strings.Contains(after, "> ")
}

// asking is a world with a worker that has a panel whose agent1 asks before it writes.
func (w *world) asking(unattended string) (config string) {
	w.t.Helper()
	lines := newService(w.t, writing).agents(2)
	lines[1] = strings.Replace(lines[1], "model: agent1", "model: agent1, cwd: work", 1)
	lines = append(lines, "permissions: {rules: [{action: ask, tool: write_file}], unattended: "+unattended+"}")
	config = w.config(lines...)
	ok(w.t, os.MkdirAll(filepath.Join(w.dir, "worker", "work"), 0o700))
	w.worker("worker", config)
	return config
}

// arguments returns the arguments of a client that asks, or that watches if there is no question.
func (w *world) arguments(config string, more ...string) []string {
	return append([]string{"--config", config, "--temporal-address", w.address, "--temporal-queue", w.queue(), "--session-id", "s", "--json"}, more...)
}

// checkWritten says what became of the call that a person was to be asked about, by a client's result.
func (w *world) checkWritten(client *process, want string) {
	w.t.Helper()
	r := w.result(client)
	w.checkCall(r.Status, r.ToolCalls, want)
}

// checkCall is checkWritten for a turn that ended so.
func (w *world) checkCall(status kernel.Status, calls []report.ResultToolCall, want string) {
	w.t.Helper()
	if status != kernel.Completed || len(calls) == 0 {
		w.t.Fatalf("%s with the calls %+v", status, calls)
	}
	if c := calls[0]; c.Name != "write_file" || !strings.Contains(fmt.Sprintf("%s: %s", c.State, c.Result), want) {
		w.t.Errorf("%s %s: %s, want %q", c.Name, c.State, c.Result, want)
	}
	_, err := os.Stat(filepath.Join(w.dir, "worker", "work", "note.txt"))
	if (err == nil) != (want == "ran: ") {
		w.t.Errorf("the file: %v", err)
	}
}

// askedAt starts a client at a terminal, and returns when its person is asked.
func (w *world) askedAt(config string, more ...string) (*process, *terminal) {
	w.t.Helper()
	term := newTerminal(w.t)
	client := w.startAt(term.tty, "client", w.arguments(config, more...)...)
	w.until("a person is asked", term.isAsked)
	return client, term
}

// says types an answer.
func (term *terminal) says(t testing.TB, answer string) {
	t.Helper()
	_, err := io.WriteString(term.keyboard, answer+"\r")
	ok(t, err)
}

// TestClientsDecideAboutToolCalls, whose workers have nobody before them.
func TestClientsDecideAboutToolCalls(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	t.Run("a person says yes", func(t *testing.T) {
		t.Parallel()
		w := w.of(t)
		w.settings.Lease = time.Hour
		client, person := w.askedAt(w.asking("deny"), "energy?")
		store := w.store()
		for range 2 { // so that the person thinks for longer than a lease lasts
			before, err := value[time.Time](w, "UPDATE holds SET until = until - interval '59 minutes' RETURNING until + interval '59 minutes'")
			ok(t, err)
			w.until("the lease is as long as it was", func() bool {
				if err := store.Delete(t.Context(), "s"); !errors.Is(err, sessions.ErrBusy) {
					t.Fatalf("a session whose turn waits for a person can be deleted: %v", err)
				}
				return w.is("EXISTS (SELECT FROM holds WHERE until > '" + before.Format(time.RFC3339Nano) + "')")
			})
		}
		person.says(t, "y")
		w.checkWritten(client, "ran: ")
	})
	t.Run("another takes over", func(t *testing.T) {
		t.Parallel()
		w := w.of(t)
		config := w.asking("deny")
		first, _ := w.askedAt(config, "energy?")
		first.kill()
		client, person := w.askedAt(config, "--continue")
		person.says(t, "y")
		w.checkWritten(client, "ran: ")
		w.checkHistories("decided")
	})
	t.Run("nobody is there any more", func(t *testing.T) {
		t.Parallel()
		w := w.of(t)
		w.settings.AskPatience = 15 * time.Second
		config := w.asking("deny")
		client, _ := w.askedAt(config, "energy?")
		client.kill()
		store := w.store()
		w.until("it is decided", func() bool {
			events, err := store.Journal(t.Context(), "s", 1, 0)
			return err == nil && bytes.Contains(bytes.Join(events, nil), []byte(`"type":"decided"`))
		})
		var ended sessions.Turn
		w.until("the turn is over, which needs no client", func() bool {
			turns, err := store.Turns(t.Context(), "s", 1)
			ok(t, err)
			ended = turns[0]
			return ended.Status != sessions.Running
		})
		record, err := coordinator.ReadRecord(t.Context(), store, "s", 1)
		ok(t, err)
		w.checkCall(ended.Status, record.ToolCalls, "nobody is there to allow it")
		w.checkHistories("nobody decided")
	})
	for unattended, want := range map[string]string{"allow": "ran: ", "deny": "nobody is there to allow it"} {
		t.Run("a script, "+unattended, func(t *testing.T) {
			t.Parallel()
			w := w.of(t)
			client := w.start("client", w.arguments(w.asking(unattended), "--automation", "energy?")...)
			w.checkWritten(client, want)
		})
	}
}
