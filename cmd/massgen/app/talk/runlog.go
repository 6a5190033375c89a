package talk

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"time"

	"github.com/massgen/massgen/cmd/massgen/app/cmdline"
	"github.com/massgen/massgen/cmd/massgen/app/program"
	"github.com/massgen/massgen/cmd/massgen/internal/logtree"
	"github.com/massgen/massgen/coordinator"
	"github.com/massgen/massgen/coordinator/report"
	"github.com/massgen/massgen/internal/system/plain"
)

// runLog tells programs that watch a run about its turns, in MassGen's lines and files.
type runLog struct {
	console *cmdline.Console
	tree    *logtree.Tree // nil for no files
	inbox   *inbox        // nil for none
	lines   io.Writer     // of MassGen's lines, nil for none
	events  io.Writer     // of the events, nil for none
	isBegun bool          // the folder is printed
}

// openRunLog makes the folder that the flags and the environment ask for.
func openRunLog(p *program.Program) (*runLog, error) {
	l := &runLog{console: p.Console}
	flags, display := p.Options.Logs, p.Options.Display
	switch {
	case display.Quiet || display.JSON:
	case flags.Stream:
		l.lines, l.events = p.Console.Err, p.Console.Out
	case display.Automation:
		l.lines = p.Console.Out
	}
	folder := flags.Dir
	if l.lines != nil {
		folder = flags.Folder(p.Env.Lookup)
	}
	if !flags.None && (folder != "" || l.lines != nil) {
		var err error
		if l.tree, err = logtree.Create(folder, time.Now(), p.Console.Secrets.Redact); err != nil {
			return nil, fmt.Errorf("logs: %w; --log-dir DIR names another folder, and --no-logs writes none", err)
		}
	}
	inbox := flags.Inbox
	if inbox == "" && l.lines != nil {
		inbox, _ = p.Env.Lookup(cmdline.InboxVariable)
	}
	var err error
	if inbox != "" {
		l.inbox, err = openInbox(inbox)
	}
	return l, err
}

// prints reports whether MassGen's lines stand in the place of the answer.
func (l *runLog) prints() bool { return l != nil && l.lines != nil }

// put writes a line at once.
func (l *runLog) put(format string, args ...any) error {
	_, err := io.WriteString(l.lines, fmt.Sprintf(format, args...)+"\n")
	return err
}

// begin prints where the files of a turn are, and what it is about.
func (l *runLog) begin(question string) error {
	if !l.prints() {
		return nil
	}
	var err error
	if l.tree != nil {
		if !l.isBegun {
			err = l.put("LOG_DIR: %s", l.tree.Dir())
		}
		err = errors.Join(err, l.put("STATUS: %s", l.tree.NextStatus()))
	}
	if l.inbox != nil && !l.isBegun {
		err = errors.Join(err, l.put("RUNTIME_INBOX: %s", l.inbox.dir))
	}
	l.isBegun = true
	return errors.Join(err, l.put("QUESTION: %s", plain.Line(question)))
}

// statusPace is the time between two versions of status.json, inboxPace between two looks into the inbox.
const (
	statusPace = 2 * time.Second
	inboxPace  = time.Second
)

// follow writes the files and events of a turn until its result is there. The returned function writes the
// result, or gives up if there is none.
func (l *runLog) follow(ctx context.Context, t *coordinator.Turn, a asked) (end func(r report.Result, failed error)) {
	if l == nil {
		return func(report.Result, error) {}
	}
	if err := l.begin(t.Question()); err != nil {
		l.console.Warn("the lines of --automation: " + err.Error())
	}
	if l.tree == nil && l.events == nil && l.inbox == nil {
		return func(report.Result, error) {}
	}
	var turn *logtree.Turn
	if l.tree != nil {
		turn = l.tree.Begin(logtree.Question{
			Session: t.Session(), Text: t.Question(), Config: a.config.File, Agents: a.ids(), Workspaces: a.folders(), Started: t.Started(),
		})
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		l.watch(ctx, t, turn, report.NewState(a.ids()...))
	}()
	return func(r report.Result, failed error) {
		if failed != nil {
			cancel()
		}
		<-done
		cancel()
		if turn != nil {
			if err := turn.End(r, time.Now()); err != nil {
				l.console.Warn("the logs of the run are not complete: " + err.Error())
			}
		}
		if l.events != nil && r.Winner != "" {
			l.event(finalAnswer{report.Header{At: time.Now()}, r.Winner, r.Answer})
		}
	}
}

// watch reads the events of a turn until its result is there, or ctx is done.
func (l *runLog) watch(ctx context.Context, t *coordinator.Turn, turn *logtree.Turn, state *report.State) {
	events, stop := eventsOf(ctx, t)
	defer stop()
	status, inbox := time.NewTicker(statusPace), time.NewTicker(inboxPace)
	defer status.Stop()
	defer inbox.Stop()
	for {
		select {
		case ev, more := <-events:
			if !more {
				return
			}
			state.Apply(ev)
			if turn != nil {
				turn.Apply(ev)
			}
			if l.events != nil {
				if line, err := logtree.Line(ev); err == nil {
					_, _ = io.WriteString(l.events, line+"\n") // a reader that has left does not end the run
				}
			}
			if state.IsOver() {
				return
			}
		case now := <-status.C:
			if turn != nil {
				turn.Tick(now)
			}
		case <-inbox.C:
			for _, text := range l.inbox.take(l.console.Warn) {
				if err := t.Note(ctx, text); err != nil {
					l.console.Warn(fmt.Sprintf("--inbox-dir: the message %s is not added: %v", strconv.Quote(plain.Cut(plain.Line(text), shownMessage)), err))
				}
			}
		}
	}
}

// finalAnswer is the last line of --stream-events.
type finalAnswer struct {
	report.Header
	agent, content string
}

func (l *runLog) event(e finalAnswer) {
	line, err := plain.JSONLine(struct {
		At    string            `json:"timestamp"`
		Type  string            `json:"event_type"`
		Agent string            `json:"agent_id"`
		Round int               `json:"round_number"`
		Data  map[string]string `json:"data"`
	}{e.At.Format("2006-01-02T15:04:05.000000"), "final_answer", e.agent, 0, map[string]string{"content": e.content}})
	if err == nil {
		_, _ = io.WriteString(l.events, line+"\n") // as in watch
	}
}

// shownMessage is how many characters of a refused message a warning has: its file is removed.
const shownMessage = 2000

// previewLength is how many characters of the answer the lines have.
const previewLength = 200

// putResult prints the result in MassGen's lines.
func (l *runLog) putResult(r report.Result) error {
	took := float64(r.DurationMS) / 1000
	var err error
	put := func(format string, args ...any) { err = errors.Join(err, l.put(format, args...)) }
	if r.Winner != "" {
		put("WINNER: %s", r.Winner)
		if l.tree != nil {
			put("ANSWER_FILE: %s", l.tree.AttemptFile(r.Winner))
		}
	}
	put("DURATION: %.1fs", took)
	if r.Winner != "" {
		answer := plain.Line(l.console.Secrets.Redact(r.Answer))
		preview := answer
		if cut := plain.Cut(answer, previewLength); cut != answer {
			preview = string([]rune(answer)[:previewLength]) + "..."
		}
		put("ANSWER_PREVIEW: %s", preview)
	}
	put("COMPLETED: %s, %.1fs total", plain.Count(len(r.Agents), "agent"), took)
	if r.Winner != "" && l.tree != nil {
		put("ANSWER: %s", l.tree.AnswerFile(r.Winner))
	}
	return err
}

// putOutput prints where the answer was written to.
func (l *runLog) putOutput(file string) error {
	if !l.prints() {
		return nil
	}
	path, err := filepath.Abs(file)
	if err != nil {
		return err
	}
	return l.put("OUTPUT_FILE: %s", path)
}

// close ends the use of the folders.
func (l *runLog) close() error {
	if l == nil {
		return nil
	}
	var err error
	if l.tree != nil {
		err = l.tree.Close()
	}
	if l.inbox != nil {
		err = errors.Join(err, l.inbox.root.Close())
	}
	return err
}
