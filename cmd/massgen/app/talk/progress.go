package talk

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/cmd/massgen/app/cmdline"
	"github.com/massgen/massgen/cmd/massgen/app/wording"
	"github.com/massgen/massgen/configs"
	"github.com/massgen/massgen/coordinator"
	"github.com/massgen/massgen/coordinator/report"
	"github.com/massgen/massgen/internal/coordination/budget"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/internal/coordination/policy"
	"github.com/massgen/massgen/internal/system/plain"
)

// startsWithin is the time within which steps start that share a line.
const startsWithin = 50 * time.Millisecond

// feed shows what happens in the turns of a session.
type feed struct {
	console *cmdline.Console
	env     *cmdline.Env
	log     *slog.Logger
	flags   *cmdline.DisplayFlags
	asked   *asked
	term    *terminal
}

// isShown reports whether progress is shown.
func (f *feed) isShown() bool { return f.shows(f.asked.config) }

// shows reports whether progress is shown for the panel of a config.
func (f *feed) shows(config *configs.Config) bool {
	return !f.flags.NoDisplay && !f.flags.Quiet && !f.flags.Automation && config.UI.DisplayType != configs.DisplaySilent
}

// remark writes a faint line where progress is shown.
func (f *feed) remark(format string, args ...any) {
	if f.isShown() {
		f.console.Say("%s", f.console.Paint(cmdline.Faint, fmt.Sprintf(format, args...)))
	}
}

// follow shows the progress of a turn until it is over, and that it is cut. Nothing else writes while a
// turn runs: the goroutine that waits for interrupts must not wait for a screen.
func (f *feed) follow(ctx context.Context, t *coordinator.Turn, cut <-chan struct{}) {
	events, end := eventsOf(ctx, t)
	defer end()
	v := progress{console: f.console, alone: len(f.asked.panel.Models()) == 1, within: startsWithin + f.env.Slack}
	if !f.isShown() {
		v.console = f.console.Muted()
	}
	live := f.term.live
	var quiet workNotice
	ticks, stop := f.seconds()
	defer stop()
	for {
		select {
		case now := <-ticks:
			if line := quiet.line(now); line != "" && !live.isShown() {
				f.term.floor.Lock()
				f.remark("%s", line)
				f.term.floor.Unlock()
			}
		case ev, more := <-events:
			if !more { // ctx is done
				return
			}
			f.logEvent(ctx, ev)
			quiet.hear(ev)
			live.hear(ev)
			f.term.floor.Lock()
			v.isLive = live.isShown()
			v.show(ev)
			f.term.floor.Unlock()
			if _, ended := ev.(report.Ended); ended {
				f.printCut(cut)
				v.flush()
				live.end()
				f.summarise(ctx, t, v.isLive)
				return
			}
		case <-live.soon():
			live.draw()
		case <-v.soon:
			f.term.floor.Lock()
			v.flush()
			f.term.floor.Unlock()
		case <-cut:
			f.console.Say(cutText)
		}
	}
}

const cutText = "massgen: ending the turn with the best answer so far; interrupt again to leave at once"

// printCut prints that the turn was cut, if follow has not printed it.
func (f *feed) printCut(cut <-chan struct{}) {
	select {
	case <-cut:
		f.console.Say(cutText)
	default:
	}
}

func (f *feed) logEvent(ctx context.Context, ev report.Event) {
	if !f.log.Enabled(ctx, slog.LevelInfo) {
		return
	}
	switch ev.(type) {
	case report.TextDelta, report.Thinking:
		return
	}
	var line struct { // of the event's JSON
		Agent, Label, Text, Void string
		Round                    int
		Elapsed                  time.Duration
		Usage                    budget.Usage
		Snapshot                 *agents.Snapshot
		Session                  *report.SessionUpdate
		Context                  *report.ContextWarning
	}
	data, err := json.Marshal(ev)
	if err = cmp.Or(err, json.Unmarshal(data, &line)); err != nil {
		f.log.Debug("an event cannot be logged", "error", err)
	}
	if f.logTools(ev, f.log.With("agent", line.Agent, "round", line.Round)) {
		return
	}
	f.log.Debug(ev.Head().Kind, "agent", line.Agent, "round", line.Round, "label", line.Label, "text", f.console.Secrets.Redact(line.Text), "void", line.Void,
		"elapsed", line.Elapsed, "calls", line.Usage.Calls, "input_tokens", line.Usage.InputTokens, "output_tokens", line.Usage.OutputTokens,
		"replayed", ev.Head().Replayed)
	if k := line.Snapshot; k != nil {
		f.log.Debug("the agent's workspace is kept", "agent", line.Agent, "dir", k.Dir, "files", k.Files, "bytes", k.Bytes, "left_out", k.LeftOut)
	}
	if u := line.Session; u != nil {
		f.log.Debug("the session's totals", "messages", u.MessageCount, "calls", u.UsageTotal.Calls,
			"input_tokens", u.UsageTotal.InputTokens, "output_tokens", u.UsageTotal.OutputTokens)
	}
	if w := line.Context; w != nil {
		f.log.Debug("the agent's context", "agent", line.Agent, "messages", w.MessageCount, "tokens", w.EstimatedTokens, "window", w.Window, "limit", w.Limit, "warning", w.Warning)
	}
}

// progress writes a few calm lines about a turn.
type progress struct {
	console *cmdline.Console
	// alone reports whether the panel is one agent: no rounds, no labels, no votes.
	alone bool
	// within is the time within which steps start that share a line.
	within time.Duration
	// started are the steps without a line yet; soon is when they get one.
	started []report.StepStarted
	soon    <-chan time.Time
	// isLive reports whether the live lines of a terminal show the steps.
	isLive bool
}

func (v *progress) show(ev report.Event) {
	if ev.Head().Replayed {
		v.recall(ev)
		return
	}
	switch ev := ev.(type) {
	case report.TextDelta, report.Thinking, report.ToolCalled, report.CallStarted, report.CallEnded, report.ToolStarted, report.SessionUpdated, report.Ended:
		return
	case report.StepStarted:
		v.begin(ev)
		return
	}
	v.flush()
	v.printCalls(ev)
	if _, failed := ev.(report.Failed); !v.isLive || failed { // whose line has no room for the reason
		v.printEnd(ev)
	}
}

// printCalls prints an event that neither begins nor ends a step.
func (v *progress) printCalls(ev report.Event) {
	say := func(colour, form string, args ...any) {
		v.console.Say("  %s", v.console.Paint(colour, fmt.Sprintf(form, args...)))
	}
	switch ev := ev.(type) {
	case report.Retrying:
		say(cmdline.Faint, "%s's call failed and is made again in %s: %s", ev.Agent, plain.Seconds(ev.Wait), plain.Line(ev.Why))
	case report.HeldUp:
		say(cmdline.Faint, "%s's call waits for what others give back: %s", ev.Agent, ev.Why)
	case report.FellBack:
		say(cmdline.Faint, "%s's call failed and goes to %s: %s", ev.Agent, ev.To, plain.Line(ev.Why))
	case report.Noted:
		say(cmdline.Faint, "note: %s", wording.Shortened(plain.Line(v.console.Secrets.Redact(ev.Text)), 100))
	case report.Paused:
		say(cmdline.Yellow, "paused: no call begins until %s", resumeCommand)
	case report.Unpaused:
		say(cmdline.Yellow, "the turn was paused, and goes on")
	case report.Dismissed:
		say(cmdline.Yellow, "the turn goes on without %s", ev.Agent)
	case report.ContextWarned:
		say(cmdline.Yellow, "%s", contextWarning(ev.Agent, ev.Context))
	case report.ToolsChanged:
		say(cmdline.Faint, "%s", newToolsLine(ev))
	case report.ToolsKept:
		say(cmdline.Yellow, "the tools stay as they were: %s", plain.Line(ev.Why))
	case report.ToolProgress:
		ev.Text = v.console.Secrets.Redact(ev.Text) // before it is cut
		say(cmdline.Faint, "%s", toolProgress(ev))
	case report.ToolEnded:
		say(cmdline.Faint, "%s", report.ToolSentence(ev.Agent, ev.Tool, ev.Elapsed))
	case report.SidecallStarted:
		v.console.Say("%s", v.console.Paint(cmdline.Faint, sidecallText(ev)))
	}
}

// printEnd prints how a step ended, its time and its usage.
func (v *progress) printEnd(ev report.Event) {
	c := v.console
	tell := func(end report.StepEnd, text string) {
		c.Say("  %s %s", text, c.Paint(cmdline.Faint, "· "+plain.Seconds(end.Elapsed)+" · "+end.Usage.Words()))
	}
	switch ev := ev.(type) {
	case report.Answered:
		text := c.Paint(cmdline.Bold, ev.Agent) + " answered"
		if !v.alone && ev.Label != "" {
			text += " (" + ev.Label + ")"
		}
		if ev.Void != "" {
			text += ", too late: " + ev.Void
		}
		tell(ev.StepEnd, text)
	case report.Voted:
		text := c.Paint(cmdline.Bold, ev.Agent) + " voted for " + ev.Label
		if ev.Void != "" {
			text = fmt.Sprintf("%s's vote for %s is void: %s", c.Paint(cmdline.Bold, ev.Agent), ev.Label, ev.Void)
		} else if ev.Reason != "" {
			text += ": " + wording.Shortened(plain.Line(c.Secrets.Redact(ev.Reason)), 100)
		}
		tell(ev.StepEnd, text)
	case report.Abstained:
		what := " abstained: "
		if v.alone {
			what = " is out of turns: "
		}
		tell(ev.StepEnd, ev.Agent+what+plain.Line(ev.Reason))
	case report.Failed:
		tell(ev.StepEnd, c.Paint(cmdline.Red, ev.Agent+" failed")+": "+plain.Line(ev.Reason)+partialKept(ev.Partial))
	case report.Cancelled:
		tell(ev.StepEnd, ev.Agent+" was cancelled"+partialKept(ev.Partial))
	case report.Presented:
		tell(ev.StepEnd, ev.Agent+" presented the answer")
	}
}

func (v *progress) begin(ev report.StepStarted) {
	if v.isLive {
		return
	}
	v.started = append(v.started, ev)
	v.soon = time.After(v.within)
}

// recall is called with the events from before the turn was resumed, which the program printed then. It
// prints only the steps that have not ended.
func (v *progress) recall(ev report.Event) {
	switch ev := ev.(type) {
	case report.StepStarted:
		v.begin(ev)
	case stepEnd:
		v.started = without(v.started, ev)
	}
}

// contextWarning returns how full an agent's context window is.
func contextWarning(agent string, w report.ContextWarning) string {
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
	text := fmt.Sprintf("%s %s: %s tokens%s, %s", agent, state, size, of, plain.Count(w.MessageCount, "message"))
	if w.Round > 0 {
		text += " in its step"
	}
	if w.LeftOut {
		text += ", the oldest of which are left out"
	}
	return text
}

// flush prints the steps that have started, a line for each round.
func (v *progress) flush() {
	for len(v.started) > 0 {
		n := slices.IndexFunc(v.started, func(ev report.StepStarted) bool { return ev.Round != v.started[0].Round })
		if n < 0 {
			n = len(v.started)
		}
		v.printStarted(v.started[:n])
		v.started = v.started[n:]
	}
	v.soon = nil
}

// printStarted prints the steps of one round that have started.
func (v *progress) printStarted(started []report.StepStarted) {
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
	case first.Purpose.IsFinalAnswer():
		line = plain.List(names) + is + " presenting the answer"
	case !v.alone:
		line = fmt.Sprintf("round %d: %s", first.Round, line)
	}
	v.console.Say("%s", line)
}

// summarise prints the winner and the session, and the votes, if they are not printed yet.
func (f *feed) summarise(ctx context.Context, t *coordinator.Turn, withVotes bool) {
	r, err := t.Wait(ctx)
	if err != nil || !f.isShown() {
		return // the caller prints an error
	}
	if len(f.asked.panel.Models()) > 1 {
		if withVotes {
			for _, line := range voteLines(r, f.term.live.width(), f.console.Secrets.Redact) {
				f.console.Say("%s", line)
			}
		}
		f.printWinner(r)
	}
	if r.Snapshot != "" {
		f.remark("the work of %s: %s", r.Winner, plain.Line(r.Snapshot))
	}
	if u := r.Session; u != nil {
		f.remark("session: %s, %s · %s", plain.Line(u.SessionID), plain.Count(u.MessageCount, "message"), u.UsageTotal.Words())
	}
}

func (f *feed) printWinner(r report.Result) {
	totals := fmt.Sprintf("%s · %s · %s", plain.Count(r.Rounds, "round"), r.Usage.Words(), plain.Seconds(time.Duration(r.DurationMS)*time.Millisecond))
	if r.Winner == "" {
		f.console.Say("%s · %s", f.console.Paint(cmdline.Red, "no winner"), totals)
		return
	}
	colour := cmdline.Yellow
	if r.Status == kernel.Completed {
		colour = cmdline.Green
	}
	title, why := verdict(r)
	f.console.Say("%s%s · %s", f.console.Paint(colour, title), why, totals)
}
