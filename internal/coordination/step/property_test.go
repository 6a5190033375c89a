package step_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/internal/coordination/policy"
	"github.com/massgen/massgen/internal/coordination/step"
	"github.com/massgen/massgen/internal/system/blob"
)

// run is a step played against the worst of models, with the world around it:
// tools that come back in any order, limits, updates and cancels at any time.
type run struct {
	t    *rapid.T
	task step.Task
	step *step.Machine
	// twin is the step as it is read back from JSON after each event.
	twin *step.Machine
	// offer is what the model was last told of, next what waits to be told.
	offer     kernel.Offer
	next      *kernel.Offer
	notes     []blob.Ref // that have not been told
	cancelled bool
	replies   map[string]effect.ModelReply
	calls     []effect.ModelCall
	tools     []effect.ToolCall // those that are out
	kept      *effect.ToolReply // the result of the snapshot, if one was taken
	summary   *effect.ModelCall // a call for a summary that is out
	summed    int               // how many entries the summaries that came stand for
	keys      map[effect.Key]bool
}

func TestEveryStepKeepsTheRules(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		r := &run{t: t, task: drawTask(t), replies: map[string]effect.ModelReply{}, keys: map[effect.Key]bool{}}
		r.offer = r.task.Offer
		var effects []effect.Effect
		r.step, effects = step.Begin(r.task)
		r.took(effects)
		for r.step.Outcome().Kind == "" {
			r.applyRefused()
			r.apply(r.drawEvent())
		}
		r.applyRefused()
		r.checkOutcome(r.step.Outcome())
	})
}

func drawTask(t *rapid.T) step.Task {
	return step.Task{
		Agent: rapid.IntRange(0, 2).Draw(t, "agent"), Round: 2,
		Purpose: rapid.SampledFrom([]effect.Purpose{
			effect.Coordination, effect.Coordination, effect.Conversation, effect.Presentation,
		}).Draw(t, "purpose"),
		Offer:    drawOffer(t, rapid.Bool().Draw(t, "may answer")),
		Snapshot: rapid.Bool().Draw(t, "snapshot"),
		Check:    rapid.SampledFrom([]*effect.Check{nil, {Pattern: "x", Tries: 1}, {Pattern: "x", Tries: 3}}).Draw(t, "check"),
		Context:  drawContext(t),
		Limits: effect.Limits{
			MaxTurns:    rapid.IntRange(1, 4).Draw(t, "max turns"),
			MaxAttempts: rapid.IntRange(1, 4).Draw(t, "max attempts"),
			MaxOverlap:  rapid.SampledFrom([]int{0, 500}).Draw(t, "overlap"),

			MaxToolCalls: rapid.IntRange(0, 3).Draw(t, "max tool calls"),
			EndAtLimits:  rapid.Bool().Draw(t, "end at limits"),
			FinalMessage: rapid.Bool().Draw(t, "final message"),
		},
	}
}

// drawContext draws whether summaries are made, of all but so many messages.
func drawContext(t *rapid.T) *policy.StepLimits {
	keep := rapid.IntRange(0, 3).Draw(t, "keep")
	if keep == 0 {
		return nil
	}
	return &policy.StepLimits{Kind: policy.Summarize, Messages: keep, Keep: keep, SummaryWords: 50}
}

// drawOffer draws a set of answers. The texts are few, so that some repeat.
func drawOffer(t *rapid.T, mayAnswer bool) kernel.Offer {
	o := kernel.Offer{Set: rapid.IntRange(0, 9).Draw(t, "set"), Shown: []kernel.Answer{}, MayAnswer: mayAnswer, MayVote: []int{}}
	for agent := range 3 {
		if !rapid.Bool().Draw(t, "shown") {
			continue
		}
		text := drawText(t)
		o.Shown = append(o.Shown, kernel.Answer{Agent: agent, N: 1, Round: 1, Text: ref(text), Hash: text})
		if rapid.Bool().Draw(t, "votable") {
			o.MayVote = append(o.MayVote, agent)
		}
	}
	return o
}

func drawText(t *rapid.T) string {
	return rapid.SampledFrom([]string{"a", "b", "c", "d"}).Draw(t, "text")
}

// drawEvent draws an event that is possible now: a command of the kernel, a note, or the result of
// an effect that is out.
func (r *run) drawEvent() any {
	switch rapid.IntRange(0, 15).Draw(r.t, "event") {
	case 0:
		return kernel.Restrict{}
	case 1, 2:
		r.next = new(drawOffer(r.t, r.task.Offer.MayAnswer))
		return kernel.Update{Offer: *r.next}
	case 4:
		note := ref(fmt.Sprint("note ", len(r.calls), " ", len(r.notes)))
		r.notes = append(r.notes, note)
		return note
	case 3:
		r.cancelled = true
		return kernel.Cancel{}
	}
	if r.summary != nil {
		return r.drawSummary()
	}
	if len(r.tools) == 0 {
		return r.drawReply()
	}
	i := rapid.IntRange(0, len(r.tools)-1).Draw(r.t, "tool")
	call := r.tools[i]
	index := call.Key.Index
	r.tools = slices.Delete(r.tools, i, i+1)
	reply := effect.ToolReply{Index: index, Result: ref(fmt.Sprint("result of ", index)), Error: rapid.Bool().Draw(r.t, "error")}
	if call.IsSnapshot() {
		r.kept = &reply
	}
	return reply
}

// drawSummary draws the reply to a call for a summary, which may be none.
func (r *run) drawSummary() effect.ModelReply {
	call := r.summary
	r.summary = nil
	switch rapid.IntRange(0, 3).Draw(r.t, "summary") {
	case 0:
		return effect.ModelReply{Failure: &effect.Failure{Kind: "network", Message: "gone"}}
	case 1:
		return effect.ModelReply{Message: ref("nothing"), Calls: []effect.Call{r.drawCall()}}
	}
	r.summed = len(call.Transcript)
	return effect.ModelReply{Message: ref("a summary"), Text: ref("a summary")}
}

func (r *run) drawReply() effect.ModelReply {
	if rapid.IntRange(0, 19).Draw(r.t, "failure") == 0 {
		return effect.ModelReply{Failure: &effect.Failure{Kind: "network", Message: "gone"}}
	}
	reply := effect.ModelReply{Message: ref(fmt.Sprint("message ", len(r.replies)))}
	if rapid.Bool().Draw(r.t, "has text") {
		text := drawText(r.t)
		reply.Text, reply.Hash = ref(text), text
	}
	for i := range rapid.IntRange(0, 3).Draw(r.t, "calls") {
		c := r.drawCall()
		c.ID = fmt.Sprintf("%s call %d", reply.Message.SHA256, i)
		reply.Calls = append(reply.Calls, c)
	}
	r.replies[reply.Message.SHA256] = reply
	return reply
}

func (r *run) drawCall() effect.Call {
	problem := rapid.SampledFrom([]string{"", "", "", "wrong"}).Draw(r.t, "problem")
	switch rapid.IntRange(0, 4).Draw(r.t, "kind") {
	case 0:
		c := effect.Call{Name: effect.NewAnswer, Problem: problem}
		if problem == "" && rapid.IntRange(0, 3).Draw(r.t, "empty") > 0 {
			c.Hash = drawText(r.t)
			c.Answer = ref(c.Hash)
			c.Overlaps = rapid.SliceOfN(rapid.IntRange(0, 1000), 0, 3).Draw(r.t, "overlaps")
		}
		return c
	case 1:
		return effect.Call{Name: effect.Vote, Problem: problem, Target: rapid.IntRange(-1, 4).Draw(r.t, "target"), Reason: "why not"}
	case 2:
		return effect.Call{Name: "stray"}
	}
	return effect.Call{Name: "search", Own: true}
}

// apply gives the step and its twin one event; they must do the same.
func (r *run) apply(ev any) {
	effects, err := give(r.step, ev)
	if err != nil {
		r.t.Fatalf("%T: %v", ev, err)
	}
	again, err := give(r.twin, ev)
	if diff := cmp.Diff(effects, again); diff != "" || err != nil {
		r.t.Fatalf("the step read back does something else after %T (%v):\n%s", ev, err, diff)
	}
	r.took(effects)
}

func (r *run) took(effects []effect.Effect) {
	for _, e := range effects {
		if key := e.EffectKey(); r.keys[key] {
			r.t.Fatalf("two effects have the key %s", key)
		}
		r.keys[e.EffectKey()] = true
		if !r.step.Waits(e.EffectKey()) {
			r.t.Fatalf("the step does not wait for %s", e.EffectKey())
		}
		switch e := e.(type) {
		case effect.ModelCall:
			if e.Key.Purpose.IsStepSummary() {
				r.checkSummary(e)
				r.summary = &e
				break
			}
			r.checkCall(e)
			r.calls = append(r.calls, e)
		case effect.ToolCall:
			if e.IsSnapshot() {
				r.checkSnapshot(e, len(effects))
			} else if e.IsCheck() {
				r.checkCheck(e, len(effects))
			} else if !r.calls[len(r.calls)-1].OwnTools {
				r.t.Fatalf("%s runs a tool that was not on offer", e.Key)
			}
			r.tools = append(r.tools, e)
		}
	}
	r.twin = decode(r.t, encode(r.t, r.step))
}

// checkCall looks at what a model is about to be told.
func (r *run) checkCall(c effect.ModelCall) {
	limits := r.task.Limits
	most := limits.MaxTurns
	if !limits.EndAtLimits {
		most += limits.MaxAttempts
	}
	if len(r.calls)+1 > most {
		r.t.Fatalf("call %d of at most %d", len(r.calls)+1, most)
	}
	if c.OwnTools && len(r.calls)+1 >= limits.MaxTurns {
		r.t.Fatalf("its own tools are offered in call %d of %d", len(r.calls)+1, limits.MaxTurns)
	}
	if c.OwnTools && limits.EndAtLimits && limits.MaxToolCalls > 0 && r.step.ToolCalls() >= limits.MaxToolCalls {
		r.t.Fatalf("its own tools are offered after %d calls of them", r.step.ToolCalls())
	}
	if isLast := len(r.calls)+1 == limits.MaxTurns; isLast && limits.FinalMessage && !c.JSON {
		if n := len(c.Transcript); n == 0 || c.Transcript[n-1].Kind != effect.FinalTurn {
			r.t.Fatalf("call %d of %d is not told that it is the last", len(r.calls)+1, limits.MaxTurns)
		}
	}
	if r.cancelled || len(r.tools) > 0 {
		r.t.Fatalf("a model is called with cancelled=%t and %d tools out", r.cancelled, len(r.tools))
	}
	if (c.Summary == nil) != (r.summed == 0) || c.Summary != nil && c.Summary.Entries != r.summed {
		r.t.Fatalf("a model is sent the summary %+v, and there is one of %d entries", c.Summary, r.summed)
	}
	if r.task.Context != nil && r.summary == nil && c.LeftOut(r.task.Context).Entries < r.summed {
		r.t.Fatalf("a summary stands for %d entries, and %d are left out", r.summed, c.LeftOut(r.task.Context).Entries)
	}
	if diff := cmp.Diff(r.task.Offer, c.Offer); diff != "" {
		r.t.Fatalf("the first input of the step changed:\n%s", diff)
	}
	if len(r.calls) > 0 {
		before := r.calls[len(r.calls)-1].Transcript
		if diff := cmp.Diff(before, c.Transcript[:len(before)], cmpopts.EquateEmpty()); diff != "" {
			r.t.Fatalf("what the model was told before changed:\n%s", diff)
		}
		r.checkAddition(c.Transcript[len(before):])
	}
	if diff := cmp.Diff(r.offer.Shown, c.Current().Shown); diff != "" {
		r.t.Fatalf("the answers shown are not those that the model was told of:\n%s", diff)
	}
}

// checkSummary: one is asked for of more than the one before stands for, and takes that up.
func (r *run) checkSummary(c effect.ModelCall) {
	before := 0
	if c.Summary != nil {
		before = c.Summary.Entries
	}
	if before != r.summed || len(c.Transcript) <= before || r.task.Context == nil || r.cancelled || len(r.tools) > 0 {
		r.t.Fatalf("after a summary of %d entries, with cancelled=%t and %d tools out, one of %d to %d is asked for",
			r.summed, r.cancelled, len(r.tools), before, len(c.Transcript))
	}
}

// checkCheck: one is made when nothing else is out, and not more often than there are tries.
func (r *run) checkCheck(e effect.ToolCall, effects int) {
	if r.task.Check == nil || len(r.tools) > 0 || effects > 1 || e.Key.Index-r.task.First >= r.task.Check.Tries || e.Answer == (blob.Ref{}) {
		r.t.Fatalf("%s of %v is made with %d tools out, by %+v", e.Key, e.Answer, len(r.tools), r.task.Check)
	}
}

// checkSnapshot: one is taken when nothing else is out, of an agent that has a workspace.
func (r *run) checkSnapshot(e effect.ToolCall, effects int) {
	isFinal := r.task.Purpose == effect.Presentation
	if !r.task.Snapshot || len(r.tools) > 0 || effects > 1 || (e.Key.Purpose == effect.FinalSnapshot) != isFinal {
		r.t.Fatalf("%s is taken of a %s with snapshot=%t, %d tools out", e.Key, r.task.Purpose, r.task.Snapshot, len(r.tools))
	}
}

// checkWork: an answer, and nothing else, has what was kept with it.
func (r *run) checkWork(o step.Outcome) {
	want := step.Outcome{}
	switch answered := o.Answer != (blob.Ref{}); {
	case answered && r.task.Snapshot && r.kept == nil:
		r.t.Fatal("an answer was not kept with its work")
	case answered && r.kept != nil && r.kept.Error:
		want.Unkept = r.kept.Result
	case answered && r.kept != nil:
		want.Work = r.kept.Result
	}
	if o.Work != want.Work || o.Unkept != want.Unkept {
		r.t.Fatalf("%s has the work %v, not for %v; the snapshot was %+v", o.Kind, o.Work, o.Unkept, r.kept)
	}
}

// checkAddition is DESIGN §7: every call of a message has its result, in order. A
// message without calls is followed by the reminder.
func (r *run) checkAddition(entries []effect.Entry) {
	if last := len(entries) - 1; entries[last].Kind == effect.FinalTurn {
		if entries = entries[:last]; !r.task.Limits.FinalMessage {
			r.t.Fatal("a journal without final_message has the last turn as a message")
		}
	}
	reply := r.replies[entries[0].Text.SHA256]
	if entries[0].Kind != effect.Assistant || len(entries) != 1+max(1, len(reply.Calls)) {
		r.t.Fatalf("%d calls led to %+v", len(reply.Calls), entries)
	}
	last := entries[len(entries)-1]
	if diff := cmp.Diff(r.notes, last.Notes, cmpopts.EquateEmpty()); diff != "" {
		r.t.Fatalf("the notes that are told (-want +got):\n%s", diff)
	}
	r.notes = nil
	for _, e := range entries[:len(entries)-1] {
		if len(e.Notes) > 0 {
			r.t.Fatal("a note stands before the last result")
		}
	}
	if len(reply.Calls) == 0 {
		if last.Kind != effect.Reminder || last.Update != nil {
			r.t.Fatalf("a message without calls is followed by %+v", last)
		}
		return
	}
	for i, e := range entries[1:] {
		c := reply.Calls[i]
		if e.Kind != effect.Result || e.CallID != c.ID || e.Name != c.Name || (e.Notice == nil) == (e.Text == blob.Ref{}) {
			r.t.Fatalf("call %+v has the result %+v", c, e)
		}
		if e.Update != nil && i+1 < len(reply.Calls) {
			r.t.Fatalf("an update stands before the last result")
		}
	}
	if (last.Update != nil) != (r.next != nil) {
		r.t.Fatalf("the update %+v is told as %+v", r.next, last.Update)
	}
	if r.next != nil {
		r.offer, r.next = *r.next, nil
	}
}

// applyRefused tries results that nothing waits for: errors that change nothing.
func (r *run) applyRefused() {
	before := encode(r.t, r.step)
	refused := []effect.Reply{effect.ToolReply{Index: -1}, effect.ToolReply{Index: 99}}
	if len(r.tools) > 0 || r.step.Outcome().Kind != "" {
		refused = append(refused, effect.ModelReply{Message: ref("again")})
	}
	for _, ev := range refused {
		if _, err := r.step.Apply(ev); err == nil {
			r.t.Fatalf("%#v was taken", ev)
		}
	}
	if after := encode(r.t, r.step); after != before {
		r.t.Fatalf("a refused result changed the step:\n%s", cmp.Diff(before, after))
	}
}

func (r *run) checkOutcome(o step.Outcome) {
	if (o.Kind == step.Stopped) != r.cancelled {
		r.t.Fatalf("the step ended with %s, cancelled=%t", o.Kind, r.cancelled)
	}
	if o.Seen != r.offer.Set {
		r.t.Fatalf("the step saw %d, the model was told of %d", o.Seen, r.offer.Set)
	}
	r.checkWork(o)
	coordinates := r.task.Purpose == effect.Coordination
	switch o.Kind {
	case step.Voted:
		if !coordinates || !slices.Contains(r.offer.MayVote, o.For) {
			r.t.Fatalf("%s: a vote for %d, allowed are %v", r.task.Purpose, o.For, r.offer.MayVote)
		}
	case step.Answered:
		if o.Answer == (blob.Ref{}) || o.Hash != o.Answer.SHA256 || coordinates && !r.offer.MayAnswer {
			r.t.Fatalf("the answer %+v", o)
		}
	case step.Abstained:
		if !coordinates {
			r.t.Fatalf("a %s abstained", r.task.Purpose)
		}
	case step.OutOfTurns:
		r.checkOutOfTurns(o)
	}
}

// checkOutOfTurns: the last call offered no tools, and its message asked for one. Only a
// panel of one has a text.
func (r *run) checkOutOfTurns(o step.Outcome) {
	last := r.calls[len(r.calls)-1]
	reply := r.replies[fmt.Sprint("message ", len(r.replies)-1)]
	isAlone := r.task.Purpose == effect.Conversation
	if !r.task.Limits.EndAtLimits || last.OwnTools || len(reply.Calls) == 0 || !isAlone && o.Answer != (blob.Ref{}) {
		r.t.Fatalf("after %+v a %s ends with %+v", reply, r.task.Purpose, o)
	}
	hasText := slices.ContainsFunc(slices.Collect(maps.Values(r.replies)), func(m effect.ModelReply) bool { return m.Text != blob.Ref{} })
	if isAlone && hasText != (o.Answer != blob.Ref{}) {
		r.t.Fatalf("with a text %t it ends with %+v", hasText, o)
	}
}

func TestStateOfAnotherVersionIsRefused(t *testing.T) {
	for _, data := range []string{`{"version":2,"state":{}}`, `{"state":{}}`, `{"version":"1"}`, `[]`, ``} {
		s := &step.Machine{}
		if err := s.UnmarshalJSON([]byte(data)); err == nil {
			t.Errorf("%s was read", data)
		}
	}
}
