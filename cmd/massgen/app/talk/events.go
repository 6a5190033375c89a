package talk

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/cmd/massgen/app/cmdline"
	"github.com/massgen/massgen/cmd/massgen/app/wording"
	"github.com/massgen/massgen/coordinator"
	"github.com/massgen/massgen/coordinator/report"
	"github.com/massgen/massgen/internal/coordination/budget"
	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/coordination/topic"
	"github.com/massgen/massgen/internal/system/plain"
)

// showTopic prints the topic that a turn has changed.
func (f *feed) showTopic(state topic.State) {
	switch p := state.Pending; {
	case f.isShown() && p != nil:
		f.remark("topic %s", f.console.Secrets.Redact(f.pendingTopic(*p)))
	case p != nil:
		f.console.Warn("the topic " + f.pendingTopic(*p))
	case state.Current != nil:
		f.remark("topic: %s", plain.Line(f.console.Secrets.Redact(state.Current.Name)))
	}
}

// pendingTopic returns how a person confirms a topic: by a command or, where nobody can type one, by
// another question.
func (f *feed) pendingTopic(p topic.Pending) string {
	if !f.term.given {
		return pendingText(p)
	}
	return fmt.Sprintf("pending: %s; a next question that agrees goes over to it and asks again: %s", plain.Line(p.Topic.Name), wording.Quoted(p.Question))
}

// showFacts prints the facts that a turn has added to memory.
func (f *feed) showFacts(facts []string) {
	for _, text := range facts {
		f.remark("remembered: %s", plain.Line(f.console.Secrets.Redact(text)))
	}
}

// settle waits for the calls that follow the answer of the last turn. An interrupt ends these calls, and
// a second one ends the wait.
func (s *session) settle(ctx context.Context, signals <-chan os.Signal) {
	t := s.turn
	if t == nil {
		return
	}
	s.turn = nil
	events, stop := eventsOf(ctx, t)
	defer stop()
	state := report.NewState(s.asked.ids()...)
	state.Mask = s.console.Secrets.Redact
	for interrupted := false; ; {
		select {
		case signal := <-signals:
			if interrupted {
				return
			}
			interrupted, s.term.cut = true, time.Now()
			s.term.terminated = s.term.terminated || cmdline.EndsProgram(signal)
			t.Cancel()
		case ev, more := <-events:
			if !more {
				return
			}
			isOver := state.IsOver()
			if state.Apply(ev); !isOver {
				continue
			}
			s.feed.logEvent(state, ev)
			if said := state.Sentence(ev); said.IsWarning() { // a call after the answer failed
				s.console.Warn(s.console.Secrets.Redact(said.Text))
			}
		}
	}
}

// eventsOf yields a turn's events until they end or stop is called. stop waits for the goroutine that
// passes the events on.
func eventsOf(ctx context.Context, t *coordinator.Turn) (<-chan report.Event, func()) {
	ctx, cancel := context.WithCancel(ctx)
	events := make(chan report.Event)
	go func() {
		defer close(events)
		for ev := range t.Events(ctx) {
			select {
			case events <- ev:
			case <-ctx.Done():
				return
			}
		}
	}()
	return events, func() {
		cancel()
		for range events { // until it is closed
			continue
		}
	}
}

// outcomeOf returns the state of a tool call, in the word of seed 004 for a call that ran.
func outcomeOf(state effect.ToolState) string {
	if state == effect.ToolRan {
		return "completed"
	}
	return string(state)
}

// hasSystemMessage reports whether a call is sent a system message. An agent alone is sent its own,
// or the one for agents with tools.
func (f *feed) hasSystemMessage(call report.CallStarted) bool {
	own := f.asked.config.Agents[0].SystemMessage
	return len(f.asked.config.Agents) > 1 || strings.TrimSpace(own) != "" || own == "" && len(call.Tools) > 0
}

// logEvent logs an event, with its sentence if it is new. It reports whether it did.
func (f *feed) logEvent(state *report.State, ev report.Event) bool {
	if !f.log.Enabled(context.Background(), slog.LevelInfo) {
		return false
	}
	switch ev.(type) {
	case report.TextDelta, report.Thinking:
		return false
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
	sentence := ""
	if !ev.Head().Replayed { // the program told it when it happened
		sentence = f.console.Secrets.Redact(state.Sentence(ev).String())
	}
	if f.logTools(ev, sentence, f.log.With("agent", line.Agent, "round", line.Round)) {
		return true
	}
	f.log.Debug(ev.Head().Kind, "agent", line.Agent, "round", line.Round, "label", line.Label, "text", f.console.Secrets.Redact(line.Text), "void", line.Void,
		"elapsed", line.Elapsed, "calls", line.Usage.Calls, "input_tokens", line.Usage.InputTokens, "output_tokens", line.Usage.OutputTokens,
		"replayed", ev.Head().Replayed, "sentence", sentence)
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
	return true
}

// logTools logs the events of the tool loop in the words of seed 004. It reports whether ev was one.
func (f *feed) logTools(ev report.Event, sentence string, log *slog.Logger) bool {
	switch ev := ev.(type) {
	case report.CallStarted:
		log.Debug(fmt.Sprintf("Conversation turn %d", ev.Number))
		if f.hasSystemMessage(ev) {
			log.Debug("System prompt being sent")
		}
		log.Debug("Tools being sent", "tools", ev.Tools)
	case report.CallEnded:
		log.Debug("Model call ended", "model", ev.Model, "input_tokens", ev.Usage.InputTokens, "output_tokens", ev.Usage.OutputTokens, "error", ev.Why, "replayed", ev.Replayed)
	case report.ToolsChanged:
		log.Debug("Tools changed", "added", ev.Tools.Added, "removed", ev.Tools.Removed, "described_anew", ev.Tools.Described, "replayed", ev.Replayed, "sentence", sentence)
	case report.ToolStarted:
		log.Debug("Executing: "+ev.Tool.Name, "arguments", ev.Tool.Arguments)
	case report.ToolProgress:
		log.Debug("progress of a tool", "tool", ev.Tool, "text", f.console.Secrets.Redact(ev.Text), "fraction", ev.Fraction, "sentence", sentence)
	case report.ToolEnded:
		log.Debug(ev.Tool.Name+" "+outcomeOf(ev.Tool.State), "error", ev.Tool.Error, "elapsed", ev.Elapsed, "sentence", sentence)
		log.Debug("Added tool result to conversation", "result", ev.Tool.Result)
	case interface{ End() report.StepEnd }:
		if end := ev.End(); end.ToolCalls > 0 {
			// Each call has one result, also one that failed.
			log.Info("Streaming tool execution completed", "toolCallCount", end.ToolCalls, "resultsCount", end.ToolCalls, "turns", end.Usage.Calls)
		}
		return false
	default:
		return false
	}
	return true
}

// The silence before a line says who is at work, and the time between two such lines.
const (
	silentAfter = 5 * time.Second
	toldAgain   = 15 * time.Second
)

// workNotice knows when it told last who is at work.
type workNotice struct{ told time.Time }

// line says who is at work and for how long. It is empty before a long silence: words of a model are no line.
func (q *workNotice) line(s *report.State, now time.Time) string {
	var names []string
	for _, a := range s.Agents {
		if a.Phase.IsBusy() {
			names = append(names, fmt.Sprintf("%s (%.0f s)", a.ID, now.Sub(a.Began).Seconds()))
		}
	}
	if len(names) == 0 || len(s.News) == 0 || now.Sub(s.News[len(s.News)-1].At) < silentAfter || now.Sub(q.told) < toldAgain {
		return ""
	}
	q.told = now
	line := "  still at work: " + plain.List(names)
	if left := s.Awaited.Sub(now); left > 0 {
		line += fmt.Sprintf("; the others go on in %.0f s", left.Seconds())
	}
	return line
}

// seconds ticks where a person waits: on a terminal that shows progress.
func (f *feed) seconds() (ticks <-chan time.Time, stop func()) {
	if !f.isShown() || !cmdline.IsTerminal(f.env.Stderr) {
		return nil, func() {}
	}
	t := time.NewTicker(time.Second)
	return t.C, t.Stop
}
