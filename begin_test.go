package massgen_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/massgen/massgen"
	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/sessions"
	"github.com/massgen/massgen/sessions/sqlite"
)

// errLapse is the value of a lapse's panic.
var errLapse = errors.New("lapse")

// lapse is a tool, and a handler of logs. One of its functions panics, or ends its goroutine, at the next
// call.
type lapse struct {
	slog.Handler        // nil: without groups
	in           string // the name of the function, empty for none
	leave        func()
}

func (l *lapse) run(function string) {
	if l.in == function {
		l.in = ""
		l.leave()
	}
}

func (l *lapse) Definition() backends.Tool {
	l.run("Definition")
	return backends.Tool{Name: "look", Schema: []byte(`{"type":"object"}`)}
}

func (l *lapse) Call(context.Context, string) (string, error) { return "", nil }

func (l *lapse) Enabled(context.Context, slog.Level) bool { return true }

func (l *lapse) Handle(context.Context, slog.Record) error {
	l.run("handler")
	return nil
}

func (l *lapse) WithAttrs([]slog.Attr) slog.Handler { return l }

// countTools is a model that answers with the number of its tools.
func countTools(_ context.Context, req backends.Request) backends.Event {
	return backends.TextDelta{Text: fmt.Sprint(len(req.Tools), " tools")}
}

// checkLapse runs do, which must panic, or end its goroutine, by the function leave.
func checkLapse(t *testing.T, panics bool, do func()) {
	t.Helper()
	over := make(chan struct{})
	go func() {
		defer close(over)
		defer func() {
			switch got := recover(); {
			case !panics && got != nil, panics && got != any(errLapse):
				t.Errorf("the caller gets %v", got)
			case panics && !strings.Contains(string(debug.Stack()), "lapse).run"):
				t.Errorf("the stack lacks the function:\n%s", debug.Stack())
			}
		}()
		do()
		t.Error("it returned")
	}()
	<-over
}

// sqliteTwice opens a new file twice.
func sqliteTwice(t *testing.T) (own, others *sessions.Store) {
	path := filepath.Join(t.TempDir(), "sessions.db")
	var list [2]*sessions.Store
	for i := range list {
		s, err := sqlite.Open(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
		list[i] = s.Store
	}
	return list[0], list[1]
}

// TestLapseWhileATurnBegins: the caller gets the panic as it is. The session is free then, also for another
// process, its next turn has the agent's tools, and the panel can be closed.
func TestLapseWhileATurnBegins(t *testing.T) {
	begins := map[string]func(context.Context, *massgen.Panel){
		"Ask": func(ctx context.Context, p *massgen.Panel) { _, _ = p.Ask(ctx, "s", "Why?") },
		"Run": func(ctx context.Context, p *massgen.Panel) { _, _ = p.Run(ctx, "s", "Why?") },
	}
	for by, begin := range begins {
		for _, kind := range []string{"memory", "SQLite"} {
			for _, in := range []string{"Definition", "handler"} {
				for how, leave := range map[string]func(){"panic": func() { panic(errLapse) }, "Goexit": runtime.Goexit} {
					t.Run(strings.Join([]string{by, kind, in, how}, " "), func(t *testing.T) {
						own := sessions.NewMemory()
						others := own
						if kind == "SQLite" {
							own, others = sqliteTwice(t)
						}
						user := &lapse{}
						p := made(t)(massgen.New(t.Context(), []massgen.Agent{{ID: "ada", Model: "m", Backend: modelFunc(countTools), Tools: []agents.Tool{user}}},
							massgen.WithStore(own), massgen.WithLogger(slog.New(user))))
						user.in, user.leave = in, leave
						checkLapse(t, how == "panic", func() { begin(t.Context(), p) })
						held, err := others.Begin(t.Context(), "s", "Why?")
						if err == nil {
							err = others.Leave(t.Context(), "s", held.Turn)
						}
						if err != nil {
							t.Error("the session for others:", err)
						}
						if r := ask(t, p, "s", "Why?"); r.Turn != 1 || r.Answer != "1 tools" {
							t.Errorf("turn %d is sent %s", r.Turn, r.Answer)
						}
						if err := p.Close(); err != nil {
							t.Error(err)
						}
					})
				}
			}
		}
	}
}
