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
)

// command is what a line that begins with a slash does. What it shows goes to
// standard error: standard output is for answers.
type command struct {
	names []string
	about string
	run   func(s *session, argument string) error
}

func commands() []command {
	return []command{
		{[]string{"/help", "/h"}, "list the commands", (*session).help},
		{[]string{"/status"}, "show the session, its panel, whether a turn is open and what it has cost", (*session).status},
		{[]string{"/context"}, "show what each agent would be shown in the next turn, and how full its context is", (*session).showContext},
		{[]string{"/usage"}, "show what the last turns of this session have cost", (*session).showUsage},
		{[]string{"/answers"}, "show all answers that stood at the end of the last turn, with their votes", (*session).answers},
		{[]string{"/inputs"}, "show the sizes of the inputs; /inputs AGENT its last input in full", (*session).inputs},
		{[]string{noteCommand}, "while a turn runs, /note TEXT adds to the question", notRunning(noteCommand)},
		{[]string{pauseCommand}, "while a turn runs, begin no further call until /resume", notRunning(pauseCommand)},
		{[]string{resumeCommand}, "let a paused turn go on", notRunning(resumeCommand)},
		{[]string{"/topic"}, "show what the conversation is about; /topic NAME holds it to that", (*session).setTopic},
		{[]string{"/remember"}, "remember a fact about you, for all sessions; massgen memory lists them", (*session).remember},
		{[]string{"/sessions"}, "list the sessions that were used last", (*session).listSessions},
		{[]string{"/session"}, "go on with another session: /session ID", (*session).goOnWith},
		{[]string{"/new"}, "begin a new session; this one is kept", (*session).begin},
		{[]string{"/branch"}, "go on in a copy of this session; /branch TURN: as it was after that turn", (*session).branch},
		{[]string{"/config"}, "show the settings that hold", (*session).showConfig},
		{[]string{"/reset", "/clear"}, "forget this session and begin a new one", (*session).reset},
		{[]string{"/quit", "/exit", "/q", "quit", "exit"}, "leave", func(*session, string) error { return errLeave }},
	}
}

// isCommand tells commands from questions, which may begin with a path.
func isCommand(line string) bool {
	return line == "quit" || line == "exit" || regexp.MustCompile(`^/[A-Za-z?]*(\s|$)`).MatchString(line)
}

func (s *session) command(line string) error {
	name, argument, _ := strings.Cut(line, " ")
	var names []string
	for _, c := range commands() {
		names = append(names, c.names[0])
		if slices.Contains(c.names, strings.ToLower(name)) {
			return c.run(s, strings.TrimSpace(argument))
		}
	}
	cure := "/help lists them"
	if near, ok := configs.Nearest(name, names); ok {
		cure = fmt.Sprintf("did you mean %s? %s", near, cure)
	}
	return fmt.Errorf("%s: there is no such command: %s", name, cure)
}

func (s *session) help(string) error {
	for _, c := range commands() {
		s.console.say("%-11s%s", c.names[0], c.about)
	}
	s.console.say("Every other line is a question. Ctrl+C ends a turn, twice the program; Ctrl+D leaves.")
	return nil
}

// answers shows what the winner was chosen from.
func (s *session) answers(string) error {
	switch {
	case s.last.Turn == 0 && s.turns > 0:
		return fmt.Errorf("/answers: no turn has ended since this session was opened; massgen sessions show %s has its winning answers", oneLine(s.id))
	case s.last.Turn == 0:
		return fmt.Errorf("/answers: there are none yet: ask a question first")
	case len(s.last.Answers) == 0:
		return fmt.Errorf("/answers: no answer stood at the end of turn %d", s.last.Turn)
	}
	for i, a := range s.last.Answers {
		if i > 0 {
			s.console.say("")
		}
		title := a.Label
		if a.Agent == s.last.Winner {
			title += ", the winner"
		}
		s.console.say("--- %s ---", title)
		s.console.write(withNewline(printable(a.Content)))
		for _, v := range s.last.Votes {
			if v.For == a.Agent {
				s.console.say("voted for by %s: %s", v.Voter, oneLine(v.Reason))
			}
		}
	}
	return nil
}

func (s *session) inputs(agent string) error {
	calls := slices.DeleteFunc(s.record.Calls(), func(c debugbackend.Call) bool { return c.Request.Key.Session != s.id })
	if len(calls) == 0 && s.turns > 0 {
		return errors.New("/inputs: no turn has begun since massgen was started; --dump-inputs DIR keeps the inputs of a run")
	}
	if len(calls) == 0 {
		return errors.New("/inputs: there are none yet: ask a question first")
	}
	if agent == "" {
		return debugbackend.Table(s.console.err, calls)
	}
	calls = slices.DeleteFunc(calls, func(c debugbackend.Call) bool { return c.Request.Key.Agent != agent })
	if len(calls) == 0 {
		return fmt.Errorf("/inputs: there is no call of %s: the panel is %s", agent, s.parts.Names(s.config))
	}
	return debugbackend.Print(s.console.err, calls[len(calls)-1:])
}

func (s *session) showConfig(string) error { return s.config.Describe(s.console.err) }

// reset begins the session anew, with a history and a usage of its own. Nothing of
// the old one is kept, except in the files of a dump. The id stays, since whoever
// comes back goes on by it.
func (s *session) reset(string) error {
	ctx := context.Background()
	kept, err := s.store.SnapshotsOf(ctx, s.id, s.console.warn)
	if err == nil {
		err = s.store.Reset(ctx, s.id)
	}
	if err == nil {
		err = kept.Remove(s.id)
	}
	if err != nil {
		return fmt.Errorf("/reset: %w", err)
	}
	s.record.Forget(s.id)
	s.parts.Sidecalls.Forget(s.id)
	s.place = place{id: s.id}
	s.console.say("The conversation is forgotten.")
	return nil
}

// remember keeps a fact about the session's user.
func (s *session) remember(text string) error {
	if text == "" {
		return errors.New("/remember: say what: /remember TEXT")
	}
	if err := s.parts.Sidecalls.Remember(context.Background(), s.id, text); err != nil {
		return fmt.Errorf("/remember: %w", err)
	}
	s.console.say("Remembered.")
	return nil
}
