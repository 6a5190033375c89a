package talk

import (
	"strings"

	"github.com/massgen/massgen/cmd/massgen/app/cmdline"
	"github.com/massgen/massgen/cmd/massgen/app/wording"
	"github.com/massgen/massgen/debugbackend"
	"github.com/massgen/massgen/internal/setup/panels"
	"github.com/massgen/massgen/internal/system/plain"
)

// realAnswers are the shortest ways from the demo to answers of models.
const realAnswers = `  with a key:       export OPENAI_API_KEY=...   (massgen help keys has others)
  on this machine:  ollama pull qwen3:8b        (or start llama-server)
`

// sayDemo prints that answers are canned, and where progress is shown, how to get real ones.
func (s *session) sayDemo() {
	notice := "massgen: " + panels.DemoNotice
	if !s.feed.isShown() {
		s.console.Say("%s", notice)
		return
	}
	if cmdline.IsTerminal(s.term.env.Stderr) {
		notice, _, _ = strings.Cut(notice, ";") // the rest follows in other words
	}
	s.console.Write(s.feed.wrapped(notice) + "\n" + realAnswers)
}

// introduce prints the panel and the session. It prints that answers are canned even without progress.
func (s *session) introduce() {
	if s.options.Display.Quiet {
		return
	}
	if dir := s.options.Display.DumpInputs; dir != "" && debugbackend.HoldsCalls(dir) {
		s.console.Say("massgen: --dump-inputs: %s has calls of another session already; those of this one, %s, are added", dir, s.chat.id)
	}
	if s.asked.panel.IsDemo() {
		s.sayDemo()
	}
	if !s.options.Session.GoOn {
		s.printUnended()
	}
	s.feed.remark("panel: %s", s.asked.panel.Names())
	if chosen := s.options.Session; chosen.GoOn && chosen.ID == "" && !s.options.Display.Automation { // the person does not know which it is
		s.console.Say("massgen: --continue goes on with session %s", s.chat.name())
	}
	if s.chat.turns > 0 {
		s.feed.remark("session: %s, after %s", plain.Line(s.chat.id), plain.Count(s.chat.turns, "turn"))
		if limits := s.asked.known.Limits(); limits != "" {
			s.feed.remark("all turns of the session together: %s", limits)
		}
	}
}

// printUnended prints that the session's last turn has not ended, if so.
func (s *session) printUnended() {
	switch left := s.chat.unfinished; {
	case left != nil:
		s.console.Say("massgen: turn %d of session %s was interrupted: %s; %s finishes it, and another question leaves it without an answer",
			left.Number, plain.Line(s.chat.id), wording.Quoted(left.Question), s.continuing())
	case s.chat.busy:
		s.console.Say("massgen: a turn is running on session %s in another process: until it is over no other can begin", plain.Line(s.chat.id))
	}
}
