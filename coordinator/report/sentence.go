package report

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/coordination/policy"
	"github.com/massgen/massgen/internal/system/plain"
)

// Sentence is an event in words, on one line. A screen may cut Text, after it has masked secrets.
type Sentence struct {
	Text string `json:"text"`
	// Figures are the time, the calls and the tokens of a step or a turn that ended, else empty.
	Figures string `json:"figures,omitempty"`
	// Tone is "aside", "warning", "failure" or empty.
	Tone string `json:"tone,omitempty"`
}

// The tones of sentences.
const (
	toneAside   = "aside"
	toneWarning = "warning"
	toneFailure = "failure"
)

// IsAside reports whether the sentence matters little.
func (s Sentence) IsAside() bool { return s.Tone == toneAside }

// IsWarning reports whether a person should hear of it.
func (s Sentence) IsWarning() bool { return s.Tone == toneWarning }

// IsFailure reports whether something failed.
func (s Sentence) IsFailure() bool { return s.Tone == toneFailure }

// String returns the whole sentence.
func (s Sentence) String() string {
	if s.Figures == "" {
		return s.Text
	}
	return s.Text + " · " + s.Figures
}

// Sentence returns the sentence of an event. A panel of one has no rounds and labels.
func (s *State) Sentence(ev Event) Sentence { return s.sentence(s.masked(ev)) }

// sentence returns the sentence of an event without secrets.
func (s *State) sentence(ev Event) Sentence {
	said := sentenceOf(ev, s.IsAlone())
	said.Text = plain.Line(said.Text)
	return said
}

// tell adds the sentence of an event to the news, if it is news.
func (s *State) tell(ev Event) {
	news := News{At: ev.Head().At, Kind: ev.Head().Kind, Replayed: ev.Head().Replayed}
	switch ev := ev.(type) {
	case TextDelta, Thinking, ToolCalled, CallStarted, CallEnded, ToolStarted, Awaited, SessionUpdated, SidecallEnded, Ended:
		return
	case StepStarted:
		news.round, news.purpose, news.names = ev.Round, ev.Purpose, []string{ev.Agent}
		if last := s.lastNews(); last != nil && last.names != nil && last.round == ev.Round && last.purpose == ev.Purpose && last.Replayed == ev.Replayed {
			if !slices.Contains(last.names, ev.Agent) {
				last.names = append(slices.Clip(last.names), ev.Agent)
			}
			last.Text = beginning(last.names, ev.Round, s.Cascade, ev.Purpose, s.IsAlone())
			return
		}
	case ToolProgress:
		news.call = ev.Call
		if last := s.lastNews(); last != nil && last.call != "" && last.call == ev.Call {
			last.At, last.Sentence = ev.At, s.sentence(ev)
			return
		}
	case ToolEnded:
		news.call = ev.Call
	case Noted:
		news.Index = len(s.Notes) - 1
	case Voted:
		news.Index = len(s.Acts) - 1
	}
	if by, ok := ev.(interface{ By() Actor }); ok {
		news.Agent = by.By().Agent
	}
	s.told++
	news.Number, news.Sentence = s.told, s.sentence(ev)
	if len(s.News) >= mostNews && !s.KeepsNews {
		s.News = slices.Delete(s.News, 0, mostNews/4)
	}
	s.News = append(s.News, news)
}

// ToolOf returns the tool call whose end is the news, nil for other news.
func (s *State) ToolOf(n *News) *ToolRun {
	a := s.Agent(n.Agent)
	if a == nil || n.Kind != "tool_ended" {
		return nil
	}
	return a.Tool(n.call)
}

func (s *State) lastNews() *News {
	if len(s.News) == 0 {
		return nil
	}
	return &s.News[len(s.News)-1]
}

// AtWork returns a sentence for each round about the agents at work, in the words in which they began: what a person
// who joins has missed.
func (s *State) AtWork() (lines []string) {
	for _, round := range s.Rounds {
		var names []string
		purpose := effect.Coordination
		for _, a := range s.Agents {
			if a.Phase.IsBusy() && a.Round == round.Number && a.Purpose.IsFinalAnswer() == round.Final {
				names, purpose = append(names, a.ID), a.Purpose
			}
		}
		if len(names) > 0 {
			lines = append(lines, plain.Line(beginning(names, round.Number, s.Cascade, purpose, s.IsAlone())))
		}
	}
	return lines
}

// beginning is the sentence of agents that begin. Stage names the stage of a cascade, "" for none.
func beginning(names []string, round int, stage string, purpose effect.Purpose, alone bool) string {
	is := " is"
	if len(names) > 1 {
		is = " are"
	}
	line := plain.List(names) + is + " writing"
	switch {
	case purpose == effect.Judgement:
		return plain.List(names) + is + " judging the answers"
	case purpose == effect.Analysis:
		return plain.List(names) + is + " comparing the answers"
	case purpose == effect.TieBreak:
		return plain.List(names) + is + " breaking the tie"
	case purpose == effect.Verdict:
		return plain.List(names) + is + " deciding whether the answers say the same"
	case purpose == effect.Review:
		return plain.List(names) + is + " reviewing the answer"
	case purpose.IsFinalAnswer():
		return plain.List(names) + is + " presenting the answer"
	case stage != "":
		return stage + ": " + line
	case !alone:
		return fmt.Sprintf("round %d: %s", round, line)
	}
	return line
}

// stageOf names the stage of the cascade to which a step belongs, "" without one.
func stageOf(ev StepStarted) string {
	if ev.Stages == 0 {
		return ""
	}
	return fmt.Sprintf("stage %d of %d", ev.Stage, ev.Stages)
}

func sentenceOf(ev Event, alone bool) Sentence {
	switch ev := ev.(type) {
	case StepStarted:
		return Sentence{Text: beginning([]string{ev.Agent}, ev.Round, stageOf(ev), ev.Purpose, alone)}
	case TextDelta:
		return Sentence{Text: ev.Agent + " writes", Tone: toneAside}
	case Thinking:
		return Sentence{Text: ev.Agent + " thinks", Tone: toneAside}
	case Answered, Voted, Abstained, Failed, Cancelled, Presented, Dismissed:
		return endSentence(ev, alone)
	case Consulted:
		return ended(ev.StepEnd, ev.Words())
	case CallStarted, CallEnded, ToolCalled, ToolStarted, ToolProgress, ToolEnded, PermissionRequested, ToolsChanged:
		return callSentence(ev)
	case Retrying, FellBack, HeldUp, Panicked, WentToJSON, ContextWarned:
		return troubleSentence(ev)
	case SidecallStarted, SidecallEnded, SidecallFailed:
		return sidecallSentence(ev)
	}
	return turnSentence(ev)
}

// endSentence is the sentence of an event that ends a step, or dismisses an agent.
func endSentence(ev Event, alone bool) Sentence {
	switch ev := ev.(type) {
	case Answered:
		text := ev.Agent + " answered"
		if !alone && ev.Label != "" {
			text += " (" + ev.Label + ")"
		}
		if ev.Void != "" {
			text += ", too late: " + ev.Void
		}
		return ended(ev.StepEnd, text)
	case Voted:
		return ended(ev.StepEnd, voteSentence(ev.Agent, ev.Label, ev.Reason, ev.Void))
	case Abstained:
		what := " abstained: "
		if alone {
			what = " is out of turns: "
		}
		return ended(ev.StepEnd, ev.Agent+what+ev.Reason)
	case Failed:
		said := ended(ev.StepEnd, ev.Agent+" failed: "+ev.Reason+partialKept(ev.Partial))
		said.Tone = toneFailure
		return said
	case Cancelled:
		return ended(ev.StepEnd, ev.Agent+" was cancelled"+partialKept(ev.Partial))
	case Presented:
		return ended(ev.StepEnd, ev.Agent+" presented the answer")
	case Dismissed:
		return Sentence{Text: "the turn goes on without " + ev.Agent, Tone: toneWarning}
	}
	return Sentence{}
}

// Words returns what a consultation came to.
func (c Consulted) Words() string {
	switch {
	case c.Why != "":
		return fmt.Sprintf("%s's %s came to nothing: %s", c.Agent, c.Purpose, c.Why)
	case c.Purpose == effect.Verdict && c.Same:
		return c.Agent + " found that the answers say the same"
	case c.Purpose == effect.Verdict:
		return c.Agent + " found that the answers differ"
	case c.Purpose == effect.Review && c.Same:
		return c.Agent + " submits the answer"
	case c.Purpose == effect.Review:
		return c.Agent + " has the turn start over: " + c.Review.Reason
	case c.Purpose == effect.Analysis:
		return c.Agent + " compared the answers"
	}
	return c.Agent + " found " + c.Label + " best"
}

// voteSentence returns the sentence of a vote. Void is why it does not count, empty if it does.
func voteSentence(voter, label, reason, void string) string {
	text := voter + " voted for " + label
	if reason != "" {
		text += ": " + reason
	}
	if void != "" {
		text += " (void: " + void + ")"
	}
	return plain.Line(text)
}

func ended(end StepEnd, text string) Sentence {
	return Sentence{Text: text, Figures: plain.Seconds(end.Elapsed) + " · " + end.Usage.Words()}
}

// partialKept returns how much of a step's last message is kept.
func partialKept(partial string) string {
	if partial == "" {
		return ""
	}
	return " (" + plain.Count(utf8.RuneCountInString(partial), "character") + " of its message are kept)"
}

// callSentence is the sentence of a call of a model or a tool.
func callSentence(ev Event) Sentence {
	aside := func(form string, args ...any) Sentence {
		return Sentence{Text: fmt.Sprintf(form, args...), Tone: toneAside}
	}
	switch ev := ev.(type) {
	case CallStarted:
		return aside("%s's call %d begins", ev.Agent, ev.Number)
	case CallEnded:
		text := fmt.Sprintf("%s's call %d ended", ev.Agent, ev.Number)
		if ev.Why != "" {
			text = fmt.Sprintf("%s's call %d failed: %s", ev.Agent, ev.Number, ev.Why)
		}
		return Sentence{Text: text, Figures: ev.Usage.Words(), Tone: toneAside}
	case ToolCalled:
		return aside("%s calls %s", ev.Agent, ev.Tool)
	case ToolStarted:
		return aside("%s runs %s %s", ev.Agent, ev.Tool.Name, argumentsOf(ev.Tool))
	case ToolProgress:
		line := fmt.Sprintf("%s runs %s", ev.Agent, ev.Tool)
		if ev.Text != "" {
			line += ": " + ev.Text
		}
		if ev.Fraction >= 0.01 {
			line += fmt.Sprintf(" · %.0f %%", 100*ev.Fraction)
		}
		return Sentence{Text: line, Tone: toneAside}
	case ToolEnded:
		return Sentence{Text: toolSentence(ev.Agent, ev.Tool, ev.Elapsed), Tone: toneAside}
	case PermissionRequested:
		return Sentence{Text: fmt.Sprintf("%s asks whether it may run %s %s: %s", ev.Agent, ev.Tool.Name, argumentsOf(ev.Tool), ev.Why), Tone: toneWarning}
	case ToolsChanged:
		line := ev.Agent + " has other tools from now on"
		if changed := ev.Tools.Words(); changed != "" {
			line += "; " + changed
		}
		return Sentence{Text: line, Tone: toneAside}
	}
	return Sentence{}
}

// toolSentence returns the sentence of a tool call: its arguments, its outcome, and its error.
func toolSentence(agent string, c ToolCall, took time.Duration) string {
	call := c.Name + " " + argumentsOf(c)
	reason := shortened(reasonOf(c.Result), 100)
	text := fmt.Sprintf("%s ran %s · %s", agent, call, plain.Seconds(took))
	switch c.State {
	case effect.ToolPlanned:
		text = fmt.Sprintf("%s planned %s", agent, call)
	case effect.ToolDenied:
		text = fmt.Sprintf("%s was denied %s: %s", agent, call, reason)
	case effect.ToolRefused:
		text = fmt.Sprintf("%s called %s, which was not run: %s", agent, call, reason)
	case effect.ToolCancelled:
		text = fmt.Sprintf("%s's %s was cancelled · %s", agent, call, plain.Seconds(took))
	case effect.ToolInterrupted:
		text = fmt.Sprintf("%s's %s was interrupted, and nobody knows what became of it", agent, call)
	case ToolRunning:
		text = fmt.Sprintf("%s's %s did not end", agent, call)
	default:
		if c.Error {
			text = fmt.Sprintf("%s ran %s, which failed: %s · %s", agent, call, reason, plain.Seconds(took))
		}
	}
	return plain.Line(text)
}

func argumentsOf(c ToolCall) string { return shortened(c.Arguments, 60) }

// shortened returns at most so many characters of a text on one line, the last one … if it was cut.
func shortened(text string, most int) string {
	text = plain.Line(text)
	if utf8.RuneCountInString(text) > most {
		return plain.Cut(text, most-1)
	}
	return text
}

// reasonOf returns why a tool failed: the member error of a result that is a JSON object, else the
// whole result.
func reasonOf(result string) string {
	var object struct{ Error string }
	if err := json.Unmarshal([]byte(result), &object); err == nil && object.Error != "" {
		return object.Error
	}
	return strings.TrimPrefix(result, "Error: ")
}

// Words returns the change in words.
func (c ToolsChange) Words() string {
	var parts []string
	for _, p := range []struct {
		what  string
		names []string
	}{{"added", c.Added}, {"removed", c.Removed}, {"described anew", c.Described}} {
		if len(p.names) > 0 {
			parts = append(parts, p.what+": "+plain.List(p.names))
		}
	}
	return strings.Join(parts, "; ")
}

// troubleSentence is the sentence of an event that a person should know of.
func troubleSentence(ev Event) Sentence {
	switch ev := ev.(type) {
	case Retrying:
		return Sentence{Text: fmt.Sprintf("%s's call failed and is made again in %s: %s", ev.Agent, plain.Seconds(ev.Wait), ev.Why), Tone: toneAside}
	case FellBack:
		return Sentence{Text: fmt.Sprintf("%s's call failed and goes to %s: %s", ev.Agent, ev.To, ev.Why), Tone: toneAside}
	case HeldUp:
		return Sentence{Text: fmt.Sprintf("%s's call waits until other calls release budget: %s", ev.Agent, ev.Why), Tone: toneAside}
	case WentToJSON:
		return Sentence{Text: ev.Agent + " calls no tools and is asked for JSON objects", Tone: toneAside}
	case ContextWarned:
		return Sentence{Text: AgentContextWarning{ev.Agent, ev.Context}.Words(), Tone: toneWarning}
	case Panicked:
		return Sentence{Text: cmp.Or(ev.Agent, "a sidecall") + "'s call panicked", Tone: toneFailure}
	}
	return Sentence{}
}

// Words describes how full the agent's context window is.
func (w AgentContextWarning) Words() string {
	about := ""
	if w.Estimated {
		about = "about "
	}
	size := about + plain.Thousands(w.EstimatedTokens)
	of := ""
	if w.Limit > 0 {
		size += " of " + plain.Thousands(w.Limit)
		of = fmt.Sprintf(" (window %s)", plain.Thousands(w.Window))
	}
	state := "nears the limit of its context"
	if w.Warning == policy.AtLimit {
		state = "is at the limit of its context"
	}
	text := fmt.Sprintf("%s %s: %s tokens%s, %s", w.Agent, state, size, of, plain.Count(w.MessageCount, "message"))
	if w.Round > 0 {
		text += " in its step"
	}
	if w.LeftOut {
		text += ", the oldest of which are left out"
	}
	return text
}

// sidecallSentence is the sentence of a call that is not an agent's own.
func sidecallSentence(ev Event) Sentence {
	switch ev := ev.(type) {
	case SidecallStarted:
		text := "a call for the " + string(ev.Purpose) + " is made"
		switch ev.Purpose {
		case effect.Summarizing:
			text = "older turns are being summarized"
		case effect.TopicDetection:
			text = "the topic is being found out"
		case effect.FileDescription:
			text = "the attached files are being described"
		case effect.FactExtraction:
			text = "facts to remember are being looked for"
		case effect.StepSummarizing:
			text = "the oldest part of " + ev.Agent + "'s work is being summarized"
		}
		return Sentence{Text: text, Tone: toneAside}
	case SidecallEnded:
		return Sentence{Text: "the call for the " + string(ev.Purpose) + " ended", Figures: ev.Usage.Words(), Tone: toneAside}
	case SidecallFailed:
		text := fmt.Sprintf("the call for the %s came to nothing: %s", ev.Purpose, ev.Why)
		switch ev.Purpose {
		case effect.FactExtraction:
			text = "the call for facts about this turn failed: " + ev.Why
		case "": // the store failed
			text = "a call after the answer could not be stored: " + ev.Why
		}
		return Sentence{Text: text, Tone: toneWarning}
	}
	return Sentence{}
}

// turnSentence is the sentence of an event about the whole turn.
func turnSentence(ev Event) Sentence {
	switch ev := ev.(type) {
	case Noted:
		return Sentence{Text: "note: " + ev.Text, Tone: toneAside}
	case Paused:
		return Sentence{Text: "the turn is paused: no call begins", Tone: toneWarning}
	case Unpaused:
		return Sentence{Text: "the turn was paused, and goes on", Tone: toneWarning}
	case ToolsKept:
		return Sentence{Text: "the tools stay as they were: " + ev.Why, Tone: toneWarning}
	case Awaited:
		return Sentence{Text: fmt.Sprintf("%s may take %s more: then the others go on", plain.List(ev.Agents), plain.Seconds(ev.Within)), Tone: toneAside}
	case SessionUpdated:
		return Sentence{Text: "session: " + ev.Session.SessionID + ", " + plain.Count(ev.Session.MessageCount, "message"), Figures: ev.Session.UsageTotal.Words(), Tone: toneAside}
	case Ended:
		return Sentence{Text: "the turn ended: " + ev.Status, Figures: plain.Seconds(ev.Elapsed) + " · " + ev.Usage.Words()}
	}
	return Sentence{}
}
