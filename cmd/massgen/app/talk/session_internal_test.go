package talk

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/massgen/massgen/cmd/massgen/app/archive"
	"github.com/massgen/massgen/cmd/massgen/app/cmdline"
	"github.com/massgen/massgen/cmd/massgen/app/program"
	"github.com/massgen/massgen/coordinator"
	"github.com/massgen/massgen/internal/coordination/budget"
	"github.com/massgen/massgen/internal/models/providers"
	"github.com/massgen/massgen/internal/setup/sidecalls"
	"github.com/massgen/massgen/sessions"
)

func testProgram(t *testing.T) *program.Program {
	p := program.New(cmdline.Env{
		Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: io.Discard,
		Lookup: func(string) (string, bool) { return "", false },
	})
	p.Options.Session.StateDir, p.Options.Session.ID = t.TempDir(), sessions.Default
	return p
}

func TestLines(t *testing.T) {
	long := strings.Repeat("x", coordinator.MaxQuestion)
	r := bufio.NewReader(strings.NewReader("one\n\r\ntwo\r\n" + long + "\n" + long + "y\n" + long + long + "\nlast"))
	for i, want := range []string{"one", "", "two", long} {
		if got, err := readLine(r); got != want || err != nil {
			t.Fatalf("line %d has %d bytes, want %d, %v", i+1, len(got), len(want), err)
		}
	}
	// One byte more is for the coordinator to refuse; it must not be cut.
	if got, err := readLine(r); len(got) != len(long)+1 || err != nil {
		t.Fatalf("a line one byte too long has %d bytes, %v", len(got), err)
	}
	if _, err := readLine(r); !errors.Is(err, errTooLong) {
		t.Fatalf("a line twice too long: %v", err)
	}
	if got, err := readLine(r); got != "last" || err != nil {
		t.Fatalf("after it: %q, %v", got, err)
	}
	if _, err := readLine(r); !errors.Is(err, io.EOF) {
		t.Fatalf("at the end: %v", err)
	}
}

func TestUsageAddsUpOverCallsAndTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := testProgram(t)
		p.Env.LocalServers = map[string]string{}
		p.Options.Display.NoDisplay = true
		s, err := openSession(t.Context(), p, "")
		if err != nil {
			t.Fatal(err)
		}
		var before budget.Usage
		for range 2 {
			r, err := s.ask(t.Context(), "question", nil)
			if err != nil {
				t.Fatal(err)
			}
			kept, err := s.store.Sessions.Session(t.Context(), s.chat.id)
			if err != nil {
				t.Fatal(err)
			}
			total := kept.Usage
			if diff := cmp.Diff(before.Plus(r.Usage), total); diff != "" {
				t.Errorf("the session's usage (-want +got)\n%s", diff)
			}
			before = total
			want := budget.Usage{CostUSD: new(float64)} // the demo is free
			turns, err := s.store.Sessions.Turns(t.Context(), s.chat.id, 0)
			if err != nil {
				t.Fatal(err)
			}
			calls := archive.CallsOf(t.Context(), s.store.Sessions, s.chat.id, turns, s.console.Warn)
			for _, c := range calls {
				want.Calls++
				want.InputTokens += c.Response.Usage.InputTokens
				want.OutputTokens += c.Response.Usage.OutputTokens
			}
			if diff := cmp.Diff(want, total); diff != "" || r.Usage.Calls < 6 {
				t.Errorf("the usage of %d calls, by the calls (-want +got)\n%s", r.Usage.Calls, diff)
			}
		}
		if err := s.close(); err != nil {
			t.Error(err)
		}
	})
}

// askedOnce opens a session of the offline demo in which a turn is over.
func askedOnce(t *testing.T, p *program.Program) *session {
	t.Helper()
	p.Options.Panel.Backend = providers.Demo
	s, err := openSession(t.Context(), p, "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.ask(t.Context(), "question", nil); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestDeletedSessionIsGoneWhenTheConversationEnds(t *testing.T) {
	s := askedOnce(t, testProgram(t))
	id := s.chat.id
	d := &dialogue{s: s}
	if err := d.command("/delete yes"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.store.Sessions.Session(t.Context(), id); err != nil {
		t.Errorf("before the end: %v", err)
	}
	if err := d.interact(t.Context()); err != nil {
		t.Fatal(err)
	}
	journal, err := s.store.Sessions.Journal(t.Context(), id, 1, 0)
	if len(journal) > 0 || err != nil {
		t.Errorf("the journal of the old session has %d events, %v", len(journal), err)
	}
	if _, err := s.store.Sessions.Session(t.Context(), id); !errors.Is(err, sessions.ErrNoSession) {
		t.Errorf("the old session: %v", err)
	}
	if err := s.close(); err != nil {
		t.Error(err)
	}
}

// TestSessionThatAnotherProcessDeletedIsAWarning: the next question begins the session anew, which is
// said once and stores the panel again. It is not said of sessions that the person goes to or begins.
func TestSessionThatAnotherProcessDeletedIsAWarning(t *testing.T) {
	var shown strings.Builder
	p := testProgram(t)
	p.Console.Err = &shown
	s := askedOnce(t, p)
	d := &dialogue{s: s}
	ask := func() {
		t.Helper()
		if _, err := s.ask(t.Context(), "question", nil); err != nil {
			t.Fatal(err)
		}
	}
	id := s.chat.id
	ask()
	for _, line := range []string{"/new", "/session " + id, "/branch 1", "/undo", "/delete yes"} {
		if err := d.command(line); err != nil {
			t.Fatal(err)
		}
		ask()
	}
	if strings.Contains(shown.String(), "by another process") {
		t.Errorf("nothing was deleted, and shown is\n%s", shown.String())
	}
	if err := s.store.Sessions.Delete(t.Context(), s.chat.id); err != nil {
		t.Fatal(err)
	}
	ask()
	ask()
	want := "warning: session " + s.chat.id + " was deleted by another process: this question begins it anew, without its history\n"
	if n := strings.Count(shown.String(), want); n != 1 {
		t.Errorf("the warning is there %d times in\n%s", n, shown.String())
	}
	if stored, err := s.memory.recall(t.Context(), s.chat.id); stored == nil {
		t.Errorf("the new session stores no panel: %v", err)
	}
	if err := s.close(); err != nil {
		t.Error(err)
	}
}

// TestTopicThatCannotBeReadIsAWarning has a session whose metadata somebody else wrote.
func TestTopicThatCannotBeReadIsAWarning(t *testing.T) {
	var shown strings.Builder
	p := testProgram(t)
	p.Console.Err = &shown
	s := askedOnce(t, p)
	if err := s.store.Sessions.SetMetadata(t.Context(), s.chat.id, map[string]string{sidecalls.MetaTopic: `{"current_topic":{"name":"x"},`}); err != nil {
		t.Fatal(err)
	}
	if err := (&dialogue{s: s}).moveTo(s.chat.id); err != nil || s.chat.turns != 1 {
		t.Errorf("the session after %d turns, %v", s.chat.turns, err)
	}
	if state, err := s.asked.panel.Topic(t.Context(), s.chat.id); err != nil || state.Current != nil {
		t.Errorf("the topic is %v, %v", state.Current, err)
	}
	if !strings.Contains(shown.String(), "warning: read the topic of session default: ") {
		t.Errorf("shown is\n%s", shown.String())
	}
	if err := s.close(); err != nil {
		t.Error(err)
	}
}

// TestSlowServerIsTold waits for an MCP server that starts only after the program has told of the wait.
func TestSlowServerIsTold(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	told := filepath.Join(dir, "told")
	config := filepath.Join(dir, "panel.yaml")
	command := fmt.Sprintf("until [ -e %s ]; do sleep 0.1; done", told)
	text := fmt.Sprintf("agent: {id: a, backend: {type: demo, mcp_servers: {late: {command: sh, args: [-c, %q], required: true}}}}\n", command)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	p := testProgram(t)
	p.Options.Panel.Config = config
	p.Console.Err = writerFunc(func(data []byte) (int, error) {
		if strings.Contains(string(data), "waiting for MCP servers to start: late") {
			return len(data), os.WriteFile(told, nil, 0o600)
		}
		return len(data), nil
	})
	if _, err := openSession(t.Context(), p, ""); err == nil || !strings.Contains(err.Error(), "late") {
		t.Errorf("with a server that ends at once: %v", err)
	}
	if _, err := os.Stat(told); err != nil {
		t.Error(err)
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(data []byte) (int, error) { return f(data) }

// TestPanelThatCannotBeRead keeps nobody from naming another.
func TestPanelThatCannotBeRead(t *testing.T) {
	p := testProgram(t)
	for _, damage := range []string{"", "{"} {
		s := askedOnce(t, p)
		if damage != "" {
			if err := s.store.Sessions.SetMetadata(t.Context(), s.chat.id, map[string]string{archive.MetaPanel: damage}); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.close(); err != nil {
			t.Error(err)
		}
	}
	p.Options.Panel.Backend = ""
	if _, err := openSession(t.Context(), p, ""); err == nil || !strings.Contains(err.Error(), "--config FILE names another") {
		t.Errorf("without a panel: %v", err)
	}
	p.Options.Panel.Backend = providers.Demo
	s, err := openSession(t.Context(), p, "")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.close(); err != nil {
		t.Error(err)
	}
}

// TestARefusedQuestionLeavesThePanelToBeStored: the session's first turn stores it.
func TestARefusedQuestionLeavesThePanelToBeStored(t *testing.T) {
	p := testProgram(t)
	p.Options.Panel.Backend = providers.Demo
	s, err := openSession(t.Context(), p, "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.ask(t.Context(), " ", nil); err == nil {
		t.Error("an empty question was asked")
	}
	if _, err := s.ask(t.Context(), "energy?", nil); err != nil {
		t.Error(err)
	}
	// No folder of this test has a key that marks the panel as the user's own.
	if panel, err := s.memory.recall(t.Context(), s.chat.id); panel == nil || !errors.Is(err, archive.ErrForeign) {
		t.Errorf("the session stores the panel %v, %v", panel, err)
	}
	if err := s.close(); err != nil {
		t.Error(err)
	}
}

// TestTurnThatAnotherResumesIsBusy has two processes that both found a turn left.
func TestTurnThatAnotherResumesIsBusy(t *testing.T) {
	ctx := t.Context()
	p := testProgram(t)
	p.Options.Panel.Backend = providers.Demo
	first, err := openSession(ctx, p, "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := first.ask(ctx, "question", nil); err != nil {
		t.Fatal(err)
	}
	if _, err := first.store.Sessions.Begin(ctx, first.chat.id, "another"); err != nil {
		t.Fatal(err)
	}
	if err := first.store.Sessions.Append(ctx, first.chat.id, 2, []byte("{}")); err != nil {
		t.Fatal(err)
	}
	if err := first.store.Sessions.Leave(ctx, first.chat.id, 2); err != nil {
		t.Fatal(err)
	}
	p.Options.Session.GoOn = true
	second, err := openSession(ctx, p, "")
	if err != nil || second.chat.unfinished == nil {
		t.Fatalf("the turn that was left: %v", err)
	}
	if _, err := first.store.Sessions.Resume(ctx, first.chat.id); err != nil {
		t.Fatal(err)
	}
	err = second.resume(ctx)
	var end cmdline.ExitError
	if !errors.As(err, &end) || end.Code != cmdline.ExitFailed || !strings.HasPrefix(err.Error(), "--continue: ") ||
		!strings.HasSuffix(err.Error(), "; "+second.kept.Command("sessions", "branch", "default")+" makes a copy to go on with") {
		t.Errorf("it came to %v", err)
	}
	if err := errors.Join(first.close(), second.close()); err != nil {
		t.Error(err)
	}
}
