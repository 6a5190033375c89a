package app

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/massgen/massgen/configs"
	"github.com/massgen/massgen/debugbackend"
	"github.com/massgen/massgen/internal/plain"
)

// command is what a line that begins with a slash does. What it shows goes to
// standard error: standard output is for answers.
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
		{[]string{"/inputs"}, "show the sizes of the inputs; /inputs AGENT its last input in full", (*dialogue).inputs},
		{[]string{noteCommand}, "while a turn runs, /note TEXT adds to the question", notRunning(noteCommand)},
		{[]string{pauseCommand}, "while a turn runs, begin no further call until /resume", notRunning(pauseCommand)},
		{[]string{resumeCommand}, "let a paused turn go on", notRunning(resumeCommand)},
		{[]string{"/topic"}, "show what the conversation is about; /topic NAME holds it to that", (*dialogue).setTopic},
		{[]string{"/remember"}, "remember a fact about you, for all sessions; massgen memory lists them", (*dialogue).remember},
		{[]string{"/sessions"}, "list the sessions that were used last", (*dialogue).listSessions},
		{[]string{"/session"}, "go on with another session: /session ID", (*dialogue).goOnWith},
		{[]string{"/new"}, "begin a new session; this one is kept", (*dialogue).begin},
		{[]string{"/branch"}, "go on in a copy of this session; /branch TURN: as it was after that turn", (*dialogue).branch},
		{[]string{"/config"}, "show the settings that hold", (*dialogue).showConfig},
		{[]string{"/reset", "/clear"}, "forget this session and begin a new one", (*dialogue).reset},
		{[]string{"/quit", "/exit", "/q", "quit", "exit"}, "leave", func(*dialogue, string) error { return errLeave }},
	}
}

// isCommand tells commands from questions, which may begin with a path.
func isCommand(line string) bool {
	return line == "quit" || line == "exit" || regexp.MustCompile(`^/[A-Za-z?]*(\s|$)`).MatchString(line)
}

func (d *dialogue) command(line string) error {
	name, argument, _ := strings.Cut(line, " ")
	var names []string
	for _, c := range commands() {
		names = append(names, c.names[0])
		if slices.Contains(c.names, strings.ToLower(name)) {
			return c.run(d, strings.TrimSpace(argument))
		}
	}
	cure := "/help lists them"
	if near, ok := configs.Nearest(name, names); ok {
		cure = fmt.Sprintf("did you mean %s? %s", near, cure)
	}
	return fmt.Errorf("%s: there is no such command: %s", name, cure)
}

func (d *dialogue) help(string) error {
	for _, c := range commands() {
		d.s.console.say("%-11s%s", c.names[0], c.about)
	}
	d.s.console.say("Every other line is a question. Ctrl+C ends a turn, twice the program; Ctrl+D leaves.")
	return nil
}

// answers shows what the winner was chosen from.
func (d *dialogue) answers(string) error {
	switch {
	case d.s.last.Turn == 0 && d.s.turns > 0:
		return fmt.Errorf("/answers: no turn has ended since this session was opened; massgen sessions show %s has its winning answers", plain.Line(d.s.id))
	case d.s.last.Turn == 0:
		return fmt.Errorf("/answers: there are none yet: ask a question first")
	case len(d.s.last.Answers) == 0:
		return fmt.Errorf("/answers: no answer stood at the end of turn %d", d.s.last.Turn)
	}
	for i, a := range d.s.last.Answers {
		if i > 0 {
			d.s.console.say("")
		}
		title := a.Label
		if a.Agent == d.s.last.Winner {
			title += ", the winner"
		}
		d.s.console.say("--- %s ---", title)
		d.s.console.write(withNewline(printable(a.Content)))
		for _, v := range d.s.last.Votes {
			if v.For == a.Agent {
				d.s.console.say("voted for by %s: %s", v.Voter, plain.Line(v.Reason))
			}
		}
	}
	return nil
}

func (d *dialogue) inputs(agent string) error {
	calls := slices.DeleteFunc(d.s.opened.Record.Calls(), func(c debugbackend.Call) bool { return c.Request.Key.Session != d.s.id })
	if len(calls) == 0 && d.s.turns > 0 {
		return errors.New("/inputs: no turn has begun since massgen was started; --dump-inputs DIR keeps the inputs of a run")
	}
	if len(calls) == 0 {
		return errors.New("/inputs: there are none yet: ask a question first")
	}
	if agent == "" {
		return debugbackend.Table(d.s.console.err, calls)
	}
	calls = slices.DeleteFunc(calls, func(c debugbackend.Call) bool { return c.Request.Key.Agent != agent })
	if len(calls) == 0 {
		return fmt.Errorf("/inputs: there is no call of %s: the panel is %s", agent, d.s.opened.Names(d.s.config))
	}
	return debugbackend.Print(d.s.console.err, calls[len(calls)-1:])
}

func (d *dialogue) showConfig(string) error { return d.s.config.Describe(d.s.console.err) }

// reset begins the session anew, with a history and a usage of its own. Nothing of
// the old one is kept, except in the files of a dump. The id stays, since whoever
// comes back goes on by it.
func (d *dialogue) reset(string) error {
	ctx := context.Background()
	kept, err := d.s.store.SnapshotStorages()
	if err == nil {
		err = d.s.store.Reset(ctx, d.s.id)
	}
	if err == nil {
		err = kept.Remove(d.s.id)
	}
	if err != nil {
		return fmt.Errorf("/reset: %w", err)
	}
	d.s.opened.Record.Forget(d.s.id)
	d.s.opened.Sidecalls.Forget(d.s.id)
	d.s.conversation = conversation{id: d.s.id}
	d.s.console.say("The conversation is forgotten.")
	return nil
}

// remember keeps a fact about the session's user.
func (d *dialogue) remember(text string) error {
	if text == "" {
		return errors.New("/remember: say what: /remember TEXT")
	}
	if err := d.s.opened.Sidecalls.Remember(context.Background(), d.s.id, text); err != nil {
		return fmt.Errorf("/remember: %w", err)
	}
	d.s.console.say("Remembered.")
	return nil
}
