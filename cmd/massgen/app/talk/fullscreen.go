package talk

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/massgen/massgen"
	"github.com/massgen/massgen/cmd/massgen/app/archive"
	"github.com/massgen/massgen/cmd/massgen/app/cmdline"
	"github.com/massgen/massgen/cmd/massgen/internal/findings"
	"github.com/massgen/massgen/cmd/massgen/internal/inspect"
	"github.com/massgen/massgen/cmd/massgen/tui"
	"github.com/massgen/massgen/coordinator/report"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/internal/storage/store"
	"github.com/massgen/massgen/internal/system/filelock"
	"github.com/massgen/massgen/internal/system/plain"
	"github.com/massgen/massgen/internal/system/tty"
	"github.com/massgen/massgen/sessions"
)

// fullScreen is a dialogue in a full-screen terminal: what its commands write goes to the screen.
type fullScreen struct {
	mu   sync.Mutex // one method works at a time
	d    *dialogue
	said *cmdline.Held // what the screen has not shown of standard error
	// logged ends the logs of the newest turn (see runLog.follow); nil while none are written.
	logged func(r report.Result, failed error)
}

// showFullScreen shows a session in full screen until the person leaves. said is text for standard error
// that nobody has seen.
func showFullScreen(ctx context.Context, s *session, said *cmdline.Held, question string) error {
	f := &fullScreen{d: &dialogue{s: s}, said: said}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	signals := s.term.watch.Take()
	terminated := false
	var listener sync.WaitGroup
	done := make(chan struct{})
	listener.Go(func() {
		for {
			select {
			case signal := <-signals:
				if cmdline.EndsProgram(signal) {
					terminated = true
					cancel()
				}
			case <-done:
				return
			}
		}
	})
	editor, _ := s.term.env.Lookup("EDITOR")
	err := s.term.screen.Run(ctx, tui.Terminal{
		In: s.term.env.Stdin, Out: s.term.env.Stdout, Environ: os.Environ(), Plain: !s.term.env.WantsColour(), Editor: editor,
		Inline: s.options.Display.Inline && !s.options.Display.TUI,
	}, f.conversation(), question)
	if in, isFile := s.term.env.Stdin.(*os.File); isFile {
		_ = tty.Flush(in) // late replies of the terminal are not for the shell; a terminal that is gone sends no replies
	}
	close(done)
	listener.Wait()
	f.endLogs(report.Result{Status: kernel.Cut}, cmdline.ErrQuit)
	if errors.Is(err, tui.ErrGone) { // where the system does not say so, as behind nohup
		terminated, err = true, nil
	}
	err = errors.Join(err, f.d.empty(context.WithoutCancel(ctx)))
	f.farewell(context.WithoutCancel(ctx))
	if terminated {
		return cmdline.WithStatus(cmdline.ExitInterrupted, err)
	}
	return cmdline.WithStatus(cmdline.ExitCompleted, err)
}

// farewell prints the command that goes on with the session, or finishes its turn.
func (f *fullScreen) farewell(ctx context.Context) {
	s := f.d.s
	last, _, err := archive.LastTurn(ctx, s.store, s.chat.id)
	if err != nil || last.Number == 0 { // there is nothing to go on with
		return
	}
	command := s.kept.CommandOn(s.chat.id)
	if last.Status == sessions.Running {
		command = s.kept.Finishing(s.chat.id)
	}
	s.feed.remark("session: %s; %s goes on with it", plain.Line(s.chat.id), command)
}

// conversation returns what the screen shows and drives.
func (f *fullScreen) conversation() tui.Conversation {
	c := tui.Conversation{
		Opened: f.opened(), Session: f.session, Notices: f.notices, Past: f.pastTurns, Ask: f.ask, Settle: f.settle, Follow: f.d.s.feed.logEvent, Summary: f.d.s.results.summary, Analysis: f.analysis, Command: f.command, Sessions: f.sessions, Search: f.search, Rename: f.rename, Delete: f.discard,
		Calls: f.calls, Input: f.input, Models: knownModels, History: readTyped(typedFile(f.d.s)), Typed: f.typed, Redact: f.d.s.console.Secrets.Redact,
	}
	for _, command := range commands() {
		c.Commands = append(c.Commands, tui.Choice{Name: command.names[0], About: command.about})
	}
	return c
}

// analysis returns the judge's analysis of a turn in full and on one line, both "" without one.
func (f *fullScreen) analysis(r massgen.Result) (whole, short string) {
	if r.Decision == nil || r.Analysis == nil {
		return "", ""
	}
	w := findings.Writer{Agents: f.d.s.asked.ids(), IsWhole: true}
	return strings.Join(w.Lines(r.Analysis), "\n"), "▸ " + w.Headings(r.Analysis)
}

// opened returns the session without the data of its store.
func (f *fullScreen) opened() tui.Session {
	s := f.d.s
	shown := tui.Session{ID: plain.Line(s.chat.id)}
	for i, m := range s.asked.panel.Models() {
		a := s.asked.config.Agents[i]
		shown.Agents = append(shown.Agents, tui.Agent{ID: a.ID, Model: m.String(), Folder: f.folder(a.Tools.CWD)})
	}
	return shown
}

// folder returns a folder from its root, or from ~ if it is in the person's home. For an empty path it returns the working folder of the program.
func (f *fullScreen) folder(path string) string {
	whole, err := filepath.Abs(path)
	if err != nil {
		return path
	}
	home, _ := f.d.s.term.env.Lookup("HOME")
	if below, ok := strings.CutPrefix(whole, home+"/"); ok && home != "" {
		return "~/" + below
	}
	return whole
}

func (f *fullScreen) session(ctx context.Context) tui.Session {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.d.s
	shown := f.opened()
	kept, err := s.store.Sessions.Session(ctx, s.chat.id)
	if err != nil { // it begins with its first turn
		zero := 0.0
		shown.USD = &zero
		return shown
	}
	shown.Title, shown.Turn = kept.Title, kept.Turns
	shown.Messages, shown.In, shown.Out, shown.USD = kept.Messages, kept.Usage.InputTokens, kept.Usage.OutputTokens, kept.Usage.CostUSD
	shown.Context, shown.Window = f.contextSize(ctx)
	return shown
}

// contextSize returns the tokens of the fullest context of an agent, and the most tokens that the agent is
// sent, 0 if unknown.
func (f *fullScreen) contextSize(ctx context.Context) (tokens, limit int) {
	s := f.d.s
	turns, err := s.store.Sessions.Turns(ctx, s.chat.id, 1)
	if err != nil {
		return 0, 0
	}
	previews, err := s.asked.panel.Preview(ctx, s.chat.id, inspect.NewestLink(turns))
	if err != nil {
		return 0, 0
	}
	share := -1.0
	for _, p := range previews {
		of := 0.0
		if p.Context.Limit > 0 {
			of = float64(p.Context.EstimatedTokens) / float64(p.Context.Limit)
		}
		if of > share || of == share && p.Context.EstimatedTokens > tokens {
			share, tokens, limit = of, p.Context.EstimatedTokens, p.Context.Limit
		}
	}
	return tokens, limit
}

// notices returns the lines that were written since the last call.
func (f *fullScreen) notices() (lines []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for line := range strings.Lines(ansi.Strip(f.said.Take())) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}

func (f *fullScreen) pastTurns(ctx context.Context) ([]tui.Exchange, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	turns, err := f.d.s.store.Sessions.Turns(ctx, f.d.s.chat.id, 0)
	if errors.Is(err, sessions.ErrNoSession) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var list []tui.Exchange
	for _, t := range turns {
		if t.Status != sessions.Running {
			list = append(list, tui.Exchange{Question: t.Question, Answer: t.Answer, Winner: t.Winner, Status: t.Status})
		}
	}
	return list, nil
}

func (f *fullScreen) ask(ctx context.Context, question string) (*massgen.Turn, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.d.s
	if err := checkQuestion(question); err != nil {
		return nil, err
	}
	t, err := s.begin(ctx, question)
	if err != nil {
		return nil, s.refused(ctx, fmt.Errorf("question: %w", err))
	}
	s.memory.keep(context.WithoutCancel(ctx), &s.chat, s.asked.known) // the turn has begun
	s.chat.unfinished, s.chat.busy = nil, false
	f.logged = s.feed.run.follow(ctx, t, s.asked)
	return t, nil
}

// endLogs ends the logs of the newest turn, if they are written.
func (f *fullScreen) endLogs(r report.Result, failed error) {
	if f.logged != nil {
		f.logged(r, failed)
		f.logged = nil
	}
}

func (f *fullScreen) settle(ctx context.Context, turn *massgen.Turn) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.d.s.turn = turn
	r, err := turn.Wait(ctx)
	if errors.Is(err, context.Canceled) { // the person has left
		r.Status = kernel.Cut
	}
	f.endLogs(r, err)
	f.d.s.settle(ctx, nil)
}

func (f *fullScreen) command(_ context.Context, line string) (o tui.Outcome, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.said.Take()
	err = f.d.command(line)
	if errors.Is(err, errLeave) {
		return tui.Outcome{Leave: true}, nil
	}
	o = tui.Outcome{Text: strings.TrimRight(ansi.Strip(f.said.Take()), "\n"), Question: f.d.next, Draft: f.d.draft}
	f.d.next, f.d.draft = "", ""
	return o, err
}

func (f *fullScreen) sessions(ctx context.Context, after string) (list []tui.Kept, next string, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	const size = 200
	page := sessions.Filter{Limit: size}
	if page.After, err = sessions.ParsePlace(after); err != nil {
		return nil, "", fmt.Errorf("list the sessions: %w", err)
	}
	kept, from, err := archive.ListSessions(ctx, f.d.s.store.Sessions, page)
	if err != nil {
		return nil, "", fmt.Errorf("list the sessions: %w", err)
	}
	kept = slices.DeleteFunc(kept, func(s sessions.Session) bool { return f.d.isDiscarded(s.ID) })
	for _, s := range kept {
		list = append(list, tui.Kept{
			ID: s.ID, Title: f.titleOf(ctx, s), Panel: panelOf(s), Used: s.Updated.Local(), Turns: s.Turns, USD: s.Usage.CostUSD,
		})
	}
	return list, from.String(), nil
}

// titleOf returns the title of a session, or its last question if it has no title because no question was answered.
func (f *fullScreen) titleOf(ctx context.Context, s sessions.Session) string {
	if s.Title != "" {
		return s.Title
	}
	last, err := f.d.s.store.Sessions.Turns(ctx, s.ID, 1)
	if err != nil || len(last) == 0 {
		return s.ID
	}
	return sessions.TitleOf(last[0].Question)
}

// panelOf returns the name of the panel that a session was begun with, "" if the session does not store one.
func panelOf(s sessions.Session) string {
	var r archive.Remembered
	if data := s.Metadata[archive.MetaPanel]; data == "" || json.Unmarshal([]byte(data), &r) != nil {
		return ""
	}
	if path := r.Path(); path != "" {
		return filepath.Base(path)
	}
	return r.Name()
}

// rename gives a session another title.
func (f *fullScreen) rename(ctx context.Context, id, title string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.d.retitle(ctx, id, title)
}

// discard deletes a session that is not open, as /delete does.
func (f *fullScreen) discard(_ context.Context, id string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if id == f.d.s.chat.id {
		return errors.New("this session is open: /delete deletes it")
	}
	f.d.discarded = append(f.d.discarded, id)
	return nil
}

// search finds the sessions whose texts have the words; the last one may go on. Each is there
// once for each place.
func (f *fullScreen) search(ctx context.Context, words string) ([]tui.Found, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if strings.TrimRight(words, " *") == words {
		words += "*"
	}
	hits, _, err := archive.SearchSessions(ctx, f.d.s.store, words, sessions.Filter{Limit: archive.PageSize})
	if err != nil {
		return nil, err
	}
	var list []tui.Found
	for _, h := range hits {
		if !f.d.isDiscarded(h.Session) {
			list = append(list, tui.Found{ID: h.Session, Turn: h.Turn, Text: plain.Line(h.Snippet)})
		}
	}
	return list, nil
}

// mostKeptLines is how many typed lines are kept.
const mostKeptLines = 500

// longestTyped is the length of the longest line that is kept, in bytes. A longer one was pasted.
const longestTyped = 64 << 10

// typedFile returns the file of the typed lines, "" if they are not kept.
func typedFile(s *session) string {
	dir := store.StateFolder(s.term.env.Lookup)
	if dir == "" || !s.store.Lasts() {
		return ""
	}
	return filepath.Join(dir, "typed.jsonl")
}

// readTyped reads the lines that were typed before, oldest first. It returns nil for a file that cannot
// be read.
func readTyped(path string) (lines []string) {
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() { // a pipe would never end
		return nil
	}
	file, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer func() { _ = file.Close() }() // it was only read
	in := bufio.NewScanner(file)
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		var line string
		if json.Unmarshal(in.Bytes(), &line) == nil && line != "" {
			lines = append(lines, line)
		}
	}
	return lines[max(len(lines)-mostKeptLines, 0):]
}

// typed keeps a line, without the secrets in it. It does not take the lock of the other methods: a
// command may hold that for minutes, and the screen waits for this.
func (f *fullScreen) typed(line string) {
	path := typedFile(f.d.s)
	if path == "" {
		return
	}
	const longestWait = time.Second // others hold the lock for milliseconds
	ctx, cancel := context.WithTimeout(context.Background(), longestWait)
	defer cancel()
	if err := keepTyped(ctx, path, f.d.s.console.Secrets.Redact(line)); err != nil {
		f.d.s.log.Debug("what was typed is not kept", "error", err)
	}
}

// keepTyped adds a line to a file that only the user can read, behind the lines of all screens. It
// keeps no line that was pasted, and leaves a file alone that is no regular one, such as a link
// to /dev/null. The end of ctx ends the wait for others that write.
func keepTyped(ctx context.Context, path, line string) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("keep what was typed: %w", err)
		}
	}()
	if info, err := os.Stat(path); len(line) > longestTyped || err == nil && !info.Mode().IsRegular() {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	lock, err := filelock.Acquire(ctx, path+".lock")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Release()) }()
	lines := readTyped(path)
	if len(lines) > 0 && lines[len(lines)-1] == line {
		return nil
	}
	var b bytes.Buffer
	for _, line := range append(lines[max(len(lines)-mostKeptLines+1, 0):], line) {
		data, err := json.Marshal(line)
		if err != nil {
			return err
		}
		b.Write(append(data, '\n'))
	}
	return filelock.WriteWhole(path, b.Bytes())
}
