package app

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/massgen/massgen/agents/machine"
	"github.com/massgen/massgen/contextbuild/policy"
	"github.com/massgen/massgen/coordinator"
	"github.com/massgen/massgen/coordinator/kernel"
	"github.com/massgen/massgen/coordinator/turn"
	"github.com/massgen/massgen/internal/plain"
)

// startsWithin is how close together steps start that are told of in one line.
const startsWithin = 50 * time.Millisecond

// follow shows the progress of a turn until it is over, and that it is cut. Only
// it writes while a turn runs: who waits for interrupts must not wait for a screen.
func (s *session) follow(ctx context.Context, t *coordinator.Turn, cut <-chan struct{}) {
	events, end := eventsOf(ctx, t)
	defer end()
	v := progress{console: s.console, alone: len(s.opened.Models) == 1, within: startsWithin + s.env.Slack}
	if !s.display() {
		v.console.err = discard{}
	}
	var quiet silence
	ticks, stop := s.seconds()
	defer stop()
	for {
		select {
		case now := <-ticks:
			if line := quiet.line(now); line != "" {
				s.console.say("%s", s.console.paint(faint, line))
			}
		case ev, more := <-events:
			if !more { // ctx is done
				return
			}
			ev = s.masked(ev)
			s.logEvent(ev)
			quiet.hear(ev)
			v.show(ev)
			if ev.Kind == coordinator.Ended {
				s.tellCut(cut)
				v.flush()
				s.summarise(ctx, t)
				return
			}
		case <-v.soon:
			v.flush()
		case <-cut:
			s.console.say(cutText)
		}
	}
}

// masked is an event without secrets in its texts, before anything of them is cut.
func (s *session) masked(ev coordinator.Event) coordinator.Event {
	redact := s.console.secrets.Redact
	ev.Text, ev.Partial = redact(ev.Text), redact(ev.Partial)
	if ev.Tool != nil {
		tool := *ev.Tool
		tool.Arguments, tool.Result = redact(tool.Arguments), redact(tool.Result)
		ev.Tool = &tool
	}
	return ev
}

const cutText = "massgen: ending the turn with the best answer so far; interrupt again to leave at once"

// tellCut tells what follow did not come to tell.
func (s *session) tellCut(cut <-chan struct{}) {
	select {
	case <-cut:
		s.console.say(cutText)
	default:
	}
}

// discard takes what is not to be shown.
type discard struct{}

func (discard) Write(data []byte) (int, error) { return len(data), nil }

func (s *session) logEvent(ev coordinator.Event) {
	switch ev.Kind {
	case coordinator.TextDelta, coordinator.Thinking:
		return
	}
	if s.logTools(ev) {
		return
	}
	s.log.Debug(string(ev.Kind), "agent", ev.Agent, "round", ev.Round, "label", ev.Label, "text", ev.Text, "void", ev.Void,
		"elapsed", ev.Elapsed, "calls", ev.Usage.Calls, "input_tokens", ev.Usage.InputTokens, "output_tokens", ev.Usage.OutputTokens,
		"replayed", ev.Replayed)
	if k := ev.Snapshot; k != nil {
		s.log.Debug("the agent's workspace is kept", "agent", ev.Agent, "dir", k.Dir, "files", k.Files, "bytes", k.Bytes, "left_out", k.LeftOut)
	}
	if u := ev.Session; u != nil {
		s.log.Debug("the session's totals", "messages", u.MessageCount, "calls", u.UsageTotal.Calls,
			"input_tokens", u.UsageTotal.InputTokens, "output_tokens", u.UsageTotal.OutputTokens)
	}
	if w := ev.Context; w != nil {
		s.log.Debug("the agent's context", "agent", ev.Agent, "messages", w.MessageCount, "tokens", w.EstimatedTokens, "window", w.Window, "warning", w.Warning)
	}
}

// progress writes a few calm lines about a turn.
type progress struct {
	console console
	// alone says that the panel is one agent: no rounds, no labels, no votes.
	alone bool
	// within is how close together steps must start to be told of in one line.
	within time.Duration
	// started are the steps that no line tells of yet; soon is when one will.
	started []coordinator.Event
	soon    <-chan time.Time
}

func (v *progress) show(ev coordinator.Event) {
	if ev.Replayed {
		v.recall(ev)
		return
	}
	c := v.console
	switch ev.Kind {
	case coordinator.TextDelta, coordinator.Thinking, coordinator.ToolCalled, coordinator.CallStarted, coordinator.ToolStarted,
		coordinator.SessionUpdated, coordinator.Ended:
		return
	case coordinator.StepStarted:
		v.started = append(v.started, ev)
		v.soon = time.After(v.within)
		return
	}
	v.flush()
	switch ev.Kind {
	case coordinator.Retrying:
		c.say("  %s", c.paint(faint, fmt.Sprintf("%s's call failed and is made again in %s: %s", ev.Agent, duration(ev.Elapsed), oneLine(ev.Text))))
	case coordinator.HeldUp:
		c.say("  %s", c.paint(faint, fmt.Sprintf("%s's call waits for what others give back: %s", ev.Agent, ev.Text)))
	case coordinator.FellBack:
		c.say("  %s", c.paint(faint, fmt.Sprintf("%s's call failed and goes to %s: %s", ev.Agent, ev.Label, oneLine(ev.Text))))
	case coordinator.Noted:
		c.say("  %s", c.paint(faint, "note: "+shortened(oneLine(ev.Text), 100)))
	case coordinator.Paused:
		c.say("  %s", c.paint(yellow, "paused: no call begins until "+resumeCommand))
	case coordinator.Unpaused:
		c.say("  %s", c.paint(yellow, "the turn was paused, and goes on"))
	case coordinator.ContextWarned:
		c.say("  %s", c.paint(yellow, contextWarning(ev.Agent, *ev.Context)))
	case coordinator.ToolsChanged:
		c.say("  %s", c.paint(faint, newToolsLine(ev)))
	case coordinator.ToolsKept:
		c.say("  %s", c.paint(yellow, "the tools stay as they were: "+oneLine(ev.Text)))
	case coordinator.ToolProgress:
		c.say("  %s", c.paint(faint, toolProgress(ev)))
	case coordinator.ToolEnded:
		c.say("  %s", c.paint(faint, toolLine(ev.Agent, *ev.Tool, ev.Elapsed)))
	case coordinator.Answered:
		v.tell(ev, c.paint(bold, ev.Agent)+" answered"+v.labelled(ev)+becauseVoid(ev))
	case coordinator.Voted:
		text := c.paint(bold, ev.Agent) + " voted for " + ev.Label
		if ev.Void != "" {
			text = fmt.Sprintf("%s's vote for %s is void: %s", c.paint(bold, ev.Agent), ev.Label, ev.Void)
		} else if ev.Text != "" {
			text += ": " + shortened(oneLine(ev.Text), 100)
		}
		v.tell(ev, text)
	case coordinator.Abstained:
		v.tell(ev, ev.Agent+" abstained: "+oneLine(ev.Text))
	case coordinator.Failed:
		v.tell(ev, c.paint(red, ev.Agent+" failed")+": "+oneLine(ev.Text)+partialKept(ev.Partial))
	case coordinator.Cancelled:
		v.tell(ev, ev.Agent+" was cancelled"+partialKept(ev.Partial))
	case coordinator.Presented:
		v.tell(ev, ev.Agent+" presented the answer")
	case coordinator.AsideStarted:
		c.say("%s", c.paint(faint, asideText(ev.Label)))
	}
}

// recall takes what happened before the turn was resumed, which was told then: of all
// that, only the steps that have not ended are told again.
func (v *progress) recall(ev coordinator.Event) {
	switch ev.Kind {
	case coordinator.StepStarted:
		v.started = append(v.started, ev)
		v.soon = time.After(v.within)
	case coordinator.Answered, coordinator.Voted, coordinator.Abstained, coordinator.Failed, coordinator.Cancelled, coordinator.Presented:
		v.started = slices.DeleteFunc(v.started, func(s coordinator.Event) bool { return s.Agent == ev.Agent })
	}
}

// contextWarning says how full an agent's context window is.
func contextWarning(agent string, w coordinator.ContextWarning) string {
	about := ""
	if w.Estimated {
		about = "about "
	}
	size := about + thousands(w.EstimatedTokens)
	if w.Window > 0 {
		size += " of " + thousands(w.Window)
	}
	state := "nears the limit of its context"
	if w.Warning == policy.AtLimit {
		state = "is at the limit of its context"
	}
	text := fmt.Sprintf("%s %s: %s tokens, %s", agent, state, size, count(w.MessageCount, "message"))
	if w.Round > 0 {
		text += " in its step"
	}
	if w.LeftOut {
		text += ", the oldest of which are left out"
	}
	return text
}

func (v *progress) labelled(ev coordinator.Event) string {
	if v.alone || ev.Label == "" {
		return ""
	}
	return " (" + ev.Label + ")"
}

func becauseVoid(ev coordinator.Event) string {
	if ev.Void == "" {
		return ""
	}
	return ", too late: " + ev.Void
}

// tell writes a line about a step's end, with what it took.
func (v *progress) tell(ev coordinator.Event, text string) {
	v.console.say("  %s %s", text, v.console.paint(faint, "· "+duration(ev.Elapsed)+" · "+usage(ev.Usage)))
}

// flush tells of the steps that have started, in a line for each round.
func (v *progress) flush() {
	for len(v.started) > 0 {
		n := slices.IndexFunc(v.started, func(ev coordinator.Event) bool { return ev.Round != v.started[0].Round })
		if n < 0 {
			n = len(v.started)
		}
		v.tellStarted(v.started[:n])
		v.started = v.started[n:]
	}
	v.soon = nil
}

// tellStarted tells of the steps of one round.
func (v *progress) tellStarted(started []coordinator.Event) {
	first := started[0]
	names := make([]string, len(started))
	for i, ev := range started {
		names[i] = ev.Agent
	}
	is := " is"
	if len(names) > 1 {
		is = " are"
	}
	line := plain.List(names) + is + " writing"
	switch {
	case machine.Purpose(first.Text).IsFinalAnswer():
		line = plain.List(names) + is + " presenting the answer"
	case !v.alone:
		line = fmt.Sprintf("round %d: %s", first.Round, line)
	}
	v.console.say("%s", line)
}

// summarise writes the line of the winner, and that of the session.
func (s *session) summarise(ctx context.Context, t *coordinator.Turn) {
	r, err := t.Wait(ctx)
	if err != nil || !s.display() {
		return // an error is told by whoever asked
	}
	if len(s.opened.Models) > 1 {
		s.tellWinner(r)
	}
	if r.Snapshot != "" {
		s.console.say("%s", s.console.paint(faint, fmt.Sprintf("the work of %s: %s", r.Winner, oneLine(r.Snapshot))))
	}
	if u := r.Session; u != nil {
		s.console.say("%s", s.console.paint(faint, fmt.Sprintf("session: %s, %s · %s",
			oneLine(u.SessionID), count(u.MessageCount, "message"), usage(u.UsageTotal))))
	}
}

func (s *session) tellWinner(r coordinator.Result) {
	totals := fmt.Sprintf("%s · %s · %s", count(r.Rounds, "round"), usage(r.Usage), duration(time.Duration(r.DurationMS)*time.Millisecond))
	if r.Winner == "" {
		s.console.say("%s · %s", s.console.paint(red, "no winner"), totals)
		return
	}
	colour := yellow
	if r.Status == kernel.Completed {
		colour = green
	}
	title, why := verdict(r)
	s.console.say("%s%s · %s", s.console.paint(colour, title), why, totals)
}

func count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return strconv.Itoa(n) + " " + thing + "s"
}

func duration(d time.Duration) string { return fmt.Sprintf("%.1f s", d.Seconds()) }

// usage is what calls came to. Tokens of calls that told none are unknown.
func usage(u turn.Usage) string {
	parts := []string{count(u.Calls, "call")}
	if u.UnknownCalls < u.Calls {
		parts = append(parts, fmt.Sprintf("%s in, %s out tokens", thousands(u.InputTokens), thousands(u.OutputTokens)))
	}
	if u.UnknownCalls > 0 {
		parts = append(parts, fmt.Sprintf("tokens of %s unknown", count(u.UnknownCalls, "call")))
	}
	if u.CostUSD != nil && *u.CostUSD > 0 {
		parts = append(parts, dollars(*u.CostUSD))
	}
	return strings.Join(parts, " · ")
}

// dollars shows cents, and of less than ten of them two figures.
func dollars(d float64) string {
	if d >= 0.1 {
		return fmt.Sprintf("$%.2f", d)
	}
	decimals := 1 - int(math.Floor(math.Log10(d)))
	return fmt.Sprintf("$%.*f", decimals, d)
}

func thousands(n int) string {
	digits := strconv.Itoa(n)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}
