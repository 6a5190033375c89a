package talk

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/massgen/massgen/cmd/massgen/app/cmdline"
	"github.com/massgen/massgen/cmd/massgen/app/wording"
	"github.com/massgen/massgen/cmd/massgen/internal/failures"
	"github.com/massgen/massgen/cmd/massgen/internal/findings"
	"github.com/massgen/massgen/configs"
	"github.com/massgen/massgen/coordinator"
	"github.com/massgen/massgen/coordinator/report"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/internal/system/plain"
)

// startsWithin is the time within which steps start that share a line.
const startsWithin = 50 * time.Millisecond

// failsWithin is the time within which calls fail that share a line.
const failsWithin = 500 * time.Millisecond

// feed shows what happens in the turns of a session.
type feed struct {
	console *cmdline.Console
	env     *cmdline.Env
	log     *slog.Logger
	flags   *cmdline.DisplayFlags
	asked   *asked
	term    *terminal
	// run tells programs that watch the run; nil before the session is open.
	run *runLog
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
		f.console.Say("%s", f.console.Paint(cmdline.Faint, f.wrapped(fmt.Sprintf(format, args...))))
	}
}

// wrapped breaks a text between words where a terminal would break it within one.
func (f *feed) wrapped(text string) string {
	stderr, isFile := f.env.Stderr.(*os.File)
	if !isFile || !cmdline.IsTerminal(stderr) || f.console.IsSpoken {
		return text
	}
	width, _ := sizeOf(stderr)
	return ansi.Wordwrap(text, width, "")
}

// follow shows the progress of a turn until it is over, and that it is cut. Nothing else writes while a
// turn runs: the goroutine that waits for interrupts must not wait for a screen.
func (f *feed) follow(ctx context.Context, t *coordinator.Turn, state *report.State, cut <-chan struct{}) {
	events, end := eventsOf(ctx, t)
	defer end()
	v := progress{console: f.console, state: state, within: startsWithin + f.env.Slack}
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
			if line := quiet.line(state, now); line != "" && !live.isShown() {
				f.term.floor.Lock()
				f.remark("%s", line)
				f.term.floor.Unlock()
			}
		case ev, more := <-events:
			if !more { // ctx is done
				return
			}
			f.term.floor.Lock()
			v.isLive = live.isShown()
			v.resume(ev)
			f.term.floor.Unlock()
			live.apply(state, ev)
			f.logEvent(state, ev)
			f.term.floor.Lock()
			v.show()
			f.term.floor.Unlock()
			if state.IsOver() {
				f.printCut(cut)
				r, err := t.Wait(ctx) // the caller prints an error
				v.end(r)
				live.end()
				if err == nil {
					f.summarise(r, v.isLive)
				}
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

// progress writes the news of a turn, a calm line each.
type progress struct {
	console *cmdline.Console
	state   *report.State
	// within is the time within which steps start that share a line.
	within time.Duration
	// printed is the number of the last news that is printed, in the words of text. soon is when agents that begin get
	// their line.
	printed int
	text    string
	soon    <-chan time.Time
	// held are failures whose line waits for others with the same reason.
	held []report.News
	// isResumed reports that no line names the agents which were at work when the turn was resumed.
	isResumed bool
	// isLive reports whether the live lines of a terminal show the steps.
	isLive bool
}

// resume prints who is at work, before the first event of a turn that was resumed. The program printed the replayed
// events when they happened.
func (v *progress) resume(ev report.Event) {
	if ev.Head().Replayed {
		v.isResumed = true
		return
	}
	v.recall()
}

func (v *progress) recall() {
	if v.isResumed && !v.isLive {
		for _, line := range v.state.AtWork() {
			v.console.Say("%s", line)
		}
	}
	v.isResumed = false
}

// show prints the news. Agents that begin wait for those that begin with them.
func (v *progress) show() {
	if v.isResumed {
		v.soon = time.After(v.within)
	}
	news := v.state.News
	if n := len(news); n > 0 && news[n-1].Kind == beginKind && v.isNew(&news[n-1]) {
		v.soon = time.After(v.within)
		news = news[:n-1]
	}
	v.print(news)
	if len(v.held) > 0 && v.soon == nil {
		v.soon = time.After(v.within + failsWithin)
	}
}

// beginKind is the kind of the news of agents that begin.
const beginKind = "step_started"

// flush prints the news. It does not wait for more agents to begin.
func (v *progress) flush() {
	v.soon = nil
	v.recall()
	v.print(v.state.News)
	v.release()
}

func (v *progress) isNew(n *report.News) bool {
	return n.Number > v.printed || n.Number == v.printed && n.Text != v.text
}

func (v *progress) print(list []report.News) {
	first := len(list)
	for first > 0 && v.isNew(&list[first-1]) {
		first--
	}
	for i := range list[first:] {
		n := &list[first+i]
		v.printed, v.text = n.Number, n.Text
		switch {
		case n.Replayed:
		case failures.Is(*n):
			v.held = append(v.held, *n)
		default:
			v.printOne(n)
		}
	}
}

// mostQuoted is how many characters of a line there are at most where it quotes a model, a tool or a person.
const mostQuoted = 160

// printOne prints a sentence. The live lines show the steps, but have no room for the reason of a failure.
func (v *progress) printOne(n *report.News) {
	text := v.console.Secrets.Redact(n.Text)
	switch n.Kind {
	case "permission_requested", "sidecall_failed": // the question stands there, and a warning of the result
		return
	case beginKind:
		if !v.isLive {
			v.console.Say("%s", text)
		}
		return
	case "answered", "voted", "abstained", "cancelled", "presented":
		if v.isLive {
			return
		}
		fallthrough
	case "noted", "tool_progress":
		text = wording.Shortened(text, mostQuoted)
	}
	switch {
	case n.IsAside():
		text = v.console.Paint(cmdline.Faint, text)
	case n.IsWarning():
		text = v.console.Paint(cmdline.Yellow, text)
	case n.IsFailure():
		what, _, _ := strings.Cut(text, ":")
		text = v.console.Paint(cmdline.Red, what) + text[len(what):]
	default:
		text = v.console.Paint(cmdline.Bold, n.Agent) + strings.TrimPrefix(text, n.Agent)
	}
	if n.Figures != "" {
		text += " " + v.console.Paint(cmdline.Faint, "· "+n.Figures)
	}
	v.console.Say("  %s", text)
}

// summarise prints the winner and the session, and the votes, if they are not printed yet.
func (f *feed) summarise(r report.Result, withVotes bool) {
	if !f.isShown() {
		return
	}
	if len(f.asked.panel.Models()) > 1 {
		if f.term.live.hasPrinted(r.Answer) { // the answer stands above
			f.console.Say("")
		}
		if withVotes {
			for _, line := range voteLines(r, f.term.live.width(), f.env.WantsColour(), f.console.Secrets.Redact) {
				f.console.Say("%s", line)
			}
		}
		if r.Decision != nil {
			w := findings.Writer{Agents: f.asked.ids(), IsColoured: f.env.WantsColour() && cmdline.IsScreen(f.env, f.env.Stderr)}
			for _, line := range w.Lines(r.Analysis) {
				f.console.Say("%s", f.wrapped(f.console.Secrets.Redact(line)))
			}
		}
		title, rest := winnerLine(r)
		colour := cmdline.Yellow
		switch {
		case r.Winner == "":
			colour = cmdline.Red
		case r.Status == kernel.Completed:
			colour = cmdline.Green
		}
		f.console.Say("%s", f.wrapped(f.console.Paint(colour, title)+rest))
	}
	if r.Snapshot != "" {
		f.remark("%s", workOf(r))
	}
	if u := r.Session; u != nil {
		f.remark("session: %s, %s · %s", plain.Line(u.SessionID), plain.Count(u.MessageCount, "message"), u.UsageTotal.Words())
	}
}

// winnerLine returns who won a turn and why, and what the turn took.
func winnerLine(r report.Result) (title, rest string) {
	title, why := "no winner", ""
	if r.Winner != "" {
		title, why = verdict(r)
	}
	return title, why + " · " + plain.Count(r.Rounds, "round") + " · " + figuresOf(r)
}

// figuresOf returns the calls, the tokens and the time of a turn.
func figuresOf(r report.Result) string {
	return r.Usage.Words() + " · " + plain.Seconds(time.Duration(r.DurationMS)*time.Millisecond)
}

// workOf returns where the winner's files are.
func workOf(r report.Result) string { return "the work of " + r.Winner + ": " + plain.Line(r.Snapshot) }
