package talk

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/massgen/massgen/cmd/massgen/app/archive"
	"github.com/massgen/massgen/cmd/massgen/app/cmdline"
	"github.com/massgen/massgen/cmd/massgen/app/inputs"
	"github.com/massgen/massgen/cmd/massgen/app/wording"
	"github.com/massgen/massgen/configs"
	"github.com/massgen/massgen/coordinator"
	"github.com/massgen/massgen/coordinator/report"
	"github.com/massgen/massgen/debugbackend"
	"github.com/massgen/massgen/internal/models/attach"
	"github.com/massgen/massgen/internal/models/questions"
	"github.com/massgen/massgen/internal/system/plain"
	"github.com/massgen/massgen/sessions"
)

// command is run by a line that begins with a slash. It prints to standard error: standard output is for
// answers.
type command struct {
	names []string
	about string
	run   func(d *dialogue, argument string) error
}

func commands() []command {
	return []command{
		{[]string{"/help", "/h"}, "list the commands", (*dialogue).help},
		{[]string{"/status"}, "show the session, its panel, whether a turn is open and what it has cost", (*dialogue).status},
		{[]string{"/context"}, "show what each agent would be shown in the next turn, and how full its context is", (*dialogue).showContext},
		{[]string{"/usage"}, "show what the last turns of this session have cost", (*dialogue).showUsage},
		{[]string{"/answers"}, "show all answers that stood at the end of the last turn, with their votes", (*dialogue).answers},
		{[]string{"/votes"}, "show who voted for which answer of the last turn, and why", (*dialogue).votes},
		{[]string{"/inputs"}, "show the sizes of the inputs; /inputs AGENT its last one in full, /inputs AGENT ROUND that of a round", (*dialogue).inputs},
		{[]string{"/model"}, "show the agents' models; /model AGENT MODEL: ask that model from the next question on", (*dialogue).setModel},
		{[]string{"/strategy"}, "show how turns are decided; /strategy NAME: decide so from the next question on; /strategy NAME again: ask the last one again so", (*dialogue).setStrategy},
		{[]string{"/preset"}, "list the presets; /preset NAME: decide so from the next question on; /preset NAME again: ask the last one again so", (*dialogue).setPreset},
		{[]string{"/tools"}, "show the agents' tools, where they come from, and whether they may run", (*dialogue).listTools},
		{[]string{noteCommand}, "while a turn runs, /note TEXT adds to the question", notRunning(noteCommand)},
		{[]string{pauseCommand}, "while a turn runs, begin no further call until /resume", notRunning(pauseCommand)},
		{[]string{resumeCommand}, "let a paused turn go on", notRunning(resumeCommand)},
		{[]string{withoutCommand}, "while a turn runs, /without AGENT goes on without that agent", notRunning(withoutCommand)},
		{[]string{"/topic"}, "show what the conversation is about; /topic NAME holds it to that", (*dialogue).setTopic},
		{[]string{"/remember"}, "remember a fact about you, for all sessions; massgen memory lists them", (*dialogue).remember},
		{[]string{"/keep"}, "keep the last question with its answer for massgen compare; /keep TEXT: TEXT is the right answer", (*dialogue).keepQuestion},
		{[]string{"/sessions"}, "list the sessions that were used last", (*dialogue).listSessions},
		{[]string{"/session"}, "go on with another session: /session ID", (*dialogue).goOnWith},
		{[]string{"/rename"}, "give this session another title: /rename TITLE", (*dialogue).rename},
		{[]string{"/new", "/clear", "/reset"}, "begin a new session; this one is kept", (*dialogue).begin},
		{[]string{"/branch"}, "go on in a copy of this session; /branch TURN: as it was after that turn", (*dialogue).branch},
		{[]string{"/config"}, "show the settings that hold", (*dialogue).showConfig},
		{[]string{"/delete"}, "delete this session and begin a new one; it asks first", (*dialogue).discard},
		{[]string{"/undo"}, "go on in a copy of this session without its last turn; after /delete: take the deletion back", (*dialogue).undo},
		{[]string{"/quit", "/exit", "/q", "quit", "exit"}, "leave", func(*dialogue, string) error { return errLeave }},
	}
}

// isCommand reports whether a line is a command, and not a question, which may begin with a path.
func isCommand(line string) bool {
	return line == "quit" || line == "exit" || regexp.MustCompile(`^/[A-Za-z?]*(\s|$)`).MatchString(line)
}

// isKnownCommand reports whether a text is one line with a known command.
func isKnownCommand(text string) bool {
	_, _, known := commandOf(text)
	return known && !strings.Contains(text, "\n") && isCommand(text)
}

// commandOf returns the command that a line names, and its argument.
func commandOf(line string) (c command, argument string, known bool) {
	name, argument, _ := strings.Cut(line, " ")
	all := commands()
	at := slices.IndexFunc(all, func(c command) bool { return slices.Contains(c.names, strings.ToLower(name)) })
	if at < 0 {
		return c, "", false
	}
	return all[at], strings.TrimSpace(argument), true
}

func (d *dialogue) command(line string) error {
	c, argument, known := commandOf(line)
	if known {
		return c.run(d, argument)
	}
	name, _, _ := strings.Cut(line, " ")
	var names []string
	for _, c := range commands() {
		names = append(names, c.names[0])
	}
	cure := "/help lists them"
	if near, ok := configs.Nearest(name, names); ok {
		cure = fmt.Sprintf("did you mean %s? %s", near, cure)
	}
	return fmt.Errorf("%s: there is no such command: %s", name, cure)
}

func (d *dialogue) help(string) error {
	for _, c := range commands() {
		d.s.console.Say("%-11s%s", c.names[0], c.about)
	}
	d.s.console.Say("Every other line is a question. Ctrl+C ends a turn, twice the program; Ctrl+D leaves.")
	return nil
}

var errNoTurn = errors.New("there are none yet: ask a question first")

// answers shows the last answers of all agents.
func (d *dialogue) answers(string) error {
	last, kept, err := d.lastAnswers()
	if err != nil {
		return fmt.Errorf("/answers: %w", err)
	}
	for i, a := range kept.Answers {
		if i > 0 {
			d.s.console.Say("")
		}
		title := a.Label
		if a.Agent == last.Winner {
			title += ", the winner"
		}
		d.s.console.Say("--- %s ---", title)
		d.s.console.Write(wording.WithNewline(wording.Printable(a.Content)))
		for _, v := range kept.Votes {
			if v.For == a.Agent {
				d.s.console.Say("voted for by %s: %s", v.Voter, plain.Line(v.Reason))
			}
		}
	}
	return nil
}

// votes shows who voted for which answer of the last turn, and why.
func (d *dialogue) votes(string) error {
	last, kept, err := d.lastAnswers()
	if err != nil {
		return fmt.Errorf("/votes: %w", err)
	}
	if len(kept.Votes) == 0 {
		return fmt.Errorf("/votes: no vote stood at the end of turn %d; /answers shows the answers", last.Number)
	}
	labels := map[string]string{}
	for _, a := range kept.Answers {
		labels[a.Agent] = a.Label
	}
	for _, v := range kept.Votes {
		d.s.console.Say("%s voted for %s: %s", v.Voter, cmp.Or(labels[v.For], v.For), plain.Line(v.Reason))
	}
	if label := labels[last.Winner]; label != "" {
		d.s.console.Say("the winner: %s; /answers shows the answers", label)
	}
	return nil
}

// lastAnswers returns the last turn that ended and its record, which has an answer.
func (d *dialogue) lastAnswers() (last sessions.Turn, kept report.Record, err error) {
	ctx := context.Background()
	last, err = archive.LastEnded(ctx, d.s.store, d.s.chat.id)
	if errors.Is(err, sessions.ErrNoSession) {
		err = errNoTurn
	}
	if err == nil {
		kept, err = coordinator.ReadRecord(ctx, d.s.store.Sessions, d.s.chat.id, last.Number)
	}
	if err == nil && len(kept.Answers) == 0 {
		err = fmt.Errorf("no answer stood at the end of turn %d", last.Number)
	}
	return last, kept, err
}

// inputs shows what the calls of the last turns were sent.
func (d *dialogue) inputs(argument string) error {
	const turns = 10
	ctx := context.Background()
	words := strings.Fields(argument)
	var chosen inputs.Choice
	if len(words) > 0 {
		chosen.Agent = words[0]
	}
	if len(words) > 1 {
		n, err := strconv.Atoi(words[1])
		if err != nil || n < 1 || len(words) > 2 {
			return fmt.Errorf("/inputs: %q is no round: rounds count from 1, as in /inputs %s 2", wording.Shortened(strings.Join(words[1:], " "), 40), plain.Line(words[0]))
		}
		chosen.Round = n
	}
	last, err := d.s.store.Sessions.Turns(ctx, d.s.chat.id, turns)
	if errors.Is(err, sessions.ErrNoSession) {
		err = errNoTurn
	}
	var calls []debugbackend.Call
	if err == nil {
		calls, err = chosen.Of(archive.CallsOf(ctx, d.s.store.Sessions, d.s.chat.id, last, d.s.console.Warn))
	}
	switch {
	case err != nil:
		return fmt.Errorf("/inputs: %w", err)
	case chosen.Agent == "":
		return debugbackend.Table(d.s.console.Err, calls)
	}
	return debugbackend.Print(d.s.console.Err, calls[len(calls)-1:])
}

func (d *dialogue) showConfig(string) error { return d.s.asked.config.Describe(d.s.console.Err) }

// remember keeps a fact about the session's user.
func (d *dialogue) remember(text string) error {
	if text == "" {
		return errors.New("/remember: say what: /remember TEXT")
	}
	if err := d.s.asked.panel.Remember(context.Background(), d.s.chat.id, text); err != nil {
		return fmt.Errorf("/remember: %w", err)
	}
	d.s.console.Say("Remembered.")
	return nil
}

// keepQuestion appends the last question, with its right answer, to the questions of massgen compare.
func (d *dialogue) keepQuestion(text string) error {
	if !d.s.store.Lasts() {
		return errors.New("/keep: nothing of this session is kept: --state-dir names a folder")
	}
	last, err := archive.LastEnded(context.Background(), d.s.store, d.s.chat.id)
	if errors.Is(err, sessions.ErrNoSession) {
		err = errNoTurn
	}
	if err != nil {
		return fmt.Errorf("/keep: %w", err)
	}
	expected := cmp.Or(text, last.Answer)
	if expected == "" {
		return errors.New("/keep: the last question has no answer: give the right one, /keep TEXT")
	}
	file := filepath.Join(filepath.Dir(d.s.store.Path()), "questions.jsonl")
	if err := questions.Append(file, last.Question, expected); err != nil {
		return fmt.Errorf("/keep: %w", err)
	}
	d.s.console.Say("Kept in %s; massgen compare asks it.", plain.Line(file))
	return nil
}

// dialogue is a conversation at a prompt: each line is a question or a command.
type dialogue struct {
	s    *session
	next string // a question that a command asks
	// draft is a question that /undo has taken back, to be edited.
	draft string
	// discarded are the sessions that are deleted when the conversation ends, those last that
	// were deleted last.
	discarded []string
}

// interact runs each line until the lines end. On a terminal the exit status is 0; from a pipe it is that
// of the first turn that was not completed.
func (d *dialogue) interact(ctx context.Context) error {
	err := d.talk(ctx)
	if deleteErr := d.empty(ctx); deleteErr != nil && err == nil {
		err = cmdline.WithStatus(cmdline.ExitFailed, deleteErr)
	} else if deleteErr != nil {
		d.s.console.Complain(deleteErr)
	}
	return err
}

func (d *dialogue) talk(ctx context.Context) error {
	onTerminal := cmdline.IsTerminal(d.s.term.env.Stdin)
	space := func() {
		if onTerminal {
			d.s.console.Say("")
		}
	}
	signals := d.s.term.watch.Take()
	defer d.s.term.watch.Give(time.Time{})
	if onTerminal {
		d.s.console.Say("Ask a question. /help lists the commands, /quit ends.")
	}
	in := d.s.term.keyboard()
	defer d.s.term.closeKeyboard()
	status := cmdline.ExitCompleted
	for {
		space()
		line, err := d.s.term.nextLine(in, signals)
		switch {
		case errors.Is(err, io.EOF):
			space()
			return cmdline.WithStatus(status, nil)
		case errors.Is(err, cmdline.ErrQuit):
			space()
			return cmdline.WithStatus(cmdline.ExitInterrupted, nil)
		case errors.As(err, new(notTextError)):
			return cmdline.WithStatus(cmp.Or(status, cmdline.ExitUsage), err)
		case err != nil && !errors.Is(err, errTooLong):
			return err
		}
		code := cmdline.ExitUsage
		if err == nil {
			code, err = d.take(ctx, line, signals)
		}
		switch {
		case errors.Is(err, errLeave):
			return cmdline.WithStatus(status, nil)
		case errors.Is(err, cmdline.ErrQuit):
			return cmdline.WithStatus(cmdline.ExitInterrupted, nil)
		case errors.Is(err, errUnread):
			return cmdline.WithStatus(cmdline.ExitFailed, err)
		case err != nil:
			d.s.console.Complain(err)
		}
		if status == cmdline.ExitCompleted && !onTerminal {
			status = code
		}
	}
}

// errLeave ends the conversation.
var errLeave = errors.New("leave")

// take runs a line: a command, or a turn, whose exit status it returns.
func (d *dialogue) take(ctx context.Context, line string, signals <-chan os.Signal) (int, error) {
	line = strings.TrimSpace(line)
	if line == "" {
		return cmdline.ExitCompleted, nil
	}
	if isCommand(line) {
		if err := d.command(line); err != nil {
			return cmdline.ExitUsage, err
		}
		if d.draft != "" {
			d.s.console.Say("Its question was: %s", plain.Line(d.draft))
			d.draft = ""
		}
		if d.next == "" {
			return cmdline.ExitCompleted, nil
		}
		line, d.next = d.next, ""
	} else if cmdline.IsTerminal(d.s.term.env.Stdin) {
		typed, files, err := attach.Typed(line)
		if err != nil {
			return cmdline.ExitUsage, err
		}
		ctx, line = attach.With(ctx, files), typed
	}
	result, err := d.s.ask(ctx, line, signals)
	switch {
	case errors.Is(err, cmdline.ErrQuit):
		return cmdline.ExitInterrupted, err
	case err != nil:
		d.s.settle(ctx, signals) // the answer may be there, and a hook have failed
		return cmdline.ExitFailed, err
	}
	d.s.term.watch.Give(d.s.term.deafUntil()) // a screen that takes no answer must not keep anybody
	code, err := d.s.results.deliver(result)
	d.s.term.watch.Take()
	d.s.settle(ctx, signals)
	if d.s.term.terminated {
		err = cmdline.ErrQuit
	}
	return code, err
}
