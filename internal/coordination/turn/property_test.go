package turn_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/massgen/massgen/internal/coordination/budget"
	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/coordination/election"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/internal/coordination/step"
	"github.com/massgen/massgen/internal/coordination/turn"
	"github.com/massgen/massgen/internal/system/blob"
)

// play is a turn whose models, tools, clock and person do anything. It keeps the
// journal that it leads to.
type play struct {
	t *rapid.T
	m *turn.Machine
	// twins lets a machine that was read back from JSON do each step too.
	twins   bool
	now     kernel.Time
	wakeAt  kernel.Time
	journal []turn.Event
	// out are the effects under way, keys all that there were, steps what each
	// agent is at.
	out    []effect.Effect
	asking *effect.PermissionRequest // the question that a person has not answered
	// withdrawn are questions that a person may still answer, in vain.
	withdrawn []effect.Key
	keys      map[effect.Key]bool
	steps     map[int]turn.StepStarted
	usage     map[int]budget.Usage
	finished  bool
	// tools counts the calls of each step under way, ended those that have been told of;
	// refused counts those that were not on offer.
	tools   map[int]int
	ended   map[effect.Key]bool
	refused int
	// list has the tools of each agent whose tools have changed.
	list map[int]blob.Ref

	spending spending
	// cancelled are the agents whose calls were to end, repeated the calls that were made
	// again.
	cancelled map[int]bool
	dismissed map[int]bool
	repeated  int
	// notes counts those of the person.
	notes int
}

func playTurn(t *rapid.T, twins bool) *play {
	p := &play{
		t: t, m: &turn.Machine{}, twins: twins, now: 1,
		keys: map[effect.Key]bool{}, steps: map[int]turn.StepStarted{}, usage: map[int]budget.Usage{},
		tools: map[int]int{}, ended: map[effect.Key]bool{}, list: map[int]blob.Ref{},
		cancelled: map[int]bool{}, dismissed: map[int]bool{},
		spending: spending{limits: drawLimits(t), attempts: map[effect.Key]attemptState{}, most: map[effect.Key]budget.Amount{}, least: map[effect.Key]budget.Amount{}},
	}
	accepted := drawAccepted(t)
	accepted.Budget = drawAllowance(t, p.spending.limits)
	p.apply(accepted)
	for len(p.out) > 0 || !p.finished {
		p.apply(p.drawEvent())
	}
	if p.asking != nil {
		t.Fatalf("at the end %v is asked", p.asking)
	}
	if p.m.Result().Winner != nil && rapid.Bool().Draw(t, "facts") {
		p.apply(turn.Committed{At: p.now, Sidecalls: []effect.Sidecall{{Purpose: effect.FactExtraction}}})
	}
	for len(p.out) > 0 {
		p.apply(p.drawEvent())
	}
	return p
}

func drawAccepted(t *rapid.T) turn.Accepted {
	ids := []string{"ada", "bob", "cyd", "dan"}[:rapid.IntRange(1, 4).Draw(t, "agents")]
	rules := kernel.Defaults(ids...)
	rules.Pace = rapid.SampledFrom([]kernel.Pace{kernel.PaceRounds, kernel.PaceEager}).Draw(t, "pace")
	rules.Decision = rapid.SampledFrom([]election.Rule{election.AllVoted, election.Majority, election.Unanimous}).Draw(t, "decision")
	rules.Final = rapid.SampledFrom([]kernel.Strategy{kernel.WinnerReuse, kernel.WinnerPresent, kernel.Synthesize}).Draw(t, "final")
	rules.MaxRounds = rapid.IntRange(2, 3).Draw(t, "max rounds")
	rules.SelfVote = rapid.Bool().Draw(t, "self vote")
	rules.MaxNewAnswersPerAgent = rapid.IntRange(0, 2).Draw(t, "answers each")
	rules.MaxNewAnswersGlobal = rapid.IntRange(0, 3).Draw(t, "answers of all")
	for _, limit := range []*time.Duration{&rules.StragglerGrace, &rules.FirstRoundLimit, &rules.RoundLimit, &rules.RoundGrace, &rules.TurnLimit} {
		*limit = time.Duration(rapid.SampledFrom([]int{0, 0, 3, 20}).Draw(t, "limit")) * time.Millisecond
	}
	judge := drawStrategy(t, &rules)
	rules.MaxRestarts = rapid.SampledFrom([]int{0, 0, 1}).Draw(t, "restarts")
	check := drawCheck(t, &rules)
	list := make([]effect.Agent, len(ids))
	for i := range list {
		list[i].Workspace = rapid.Bool().Draw(t, "workspace")
		list[i].ID, list[i].Tools = ids[i], ref("first")
	}
	return turn.Accepted{At: 1, Rules: rules, Turn: effect.Turn{
		Session: "s", Turn: 1, Agents: list, Judge: judge, Check: check,
		Limits: effect.Limits{
			MaxTurns: 3, MaxAttempts: 2, MaxToolCalls: rapid.IntRange(0, 2).Draw(t, "max tool calls"), EndAtLimits: rapid.Bool().Draw(t, "end at limits"),
		},
		Sidecalls: []effect.Sidecall{{Purpose: effect.Summarizing}, {Purpose: effect.TopicDetection}}[:rapid.SampledFrom([]int{0, 0, 1, 2}).Draw(t, "asides")],
	}}
}

// drawCheck adds a check of answers to every third turn.
func drawCheck(t *rapid.T, rules *kernel.Config) *effect.Check {
	if rules.Check = rapid.SampledFrom([]kernel.CheckMode{"", "", kernel.CheckRequired}).Draw(t, "check"); rules.Check == "" {
		return nil
	}
	return &effect.Check{Pattern: "x", Tries: rapid.IntRange(1, 3).Draw(t, "tries")}
}

// drawStrategy adds a strategy to the rules of a panel, and returns a judge that is no agent, or nil.
func drawStrategy(t *rapid.T, rules *kernel.Config) *effect.Agent {
	if len(rules.Agents) == 1 || rapid.Bool().Draw(t, "no strategy") {
		return nil
	}
	rules.Analysis, rules.Judge = rapid.Bool().Draw(t, "analysis"), rapid.SampledFrom([]string{kernel.JudgeID, rules.Agents[0]}).Draw(t, "judge")
	rules.ConsultationLimit = time.Duration(rapid.SampledFrom([]int{0, 4}).Draw(t, "consultation limit")) * time.Millisecond
	if rules.Pace == kernel.PaceRounds {
		rules.Decider = rapid.SampledFrom([]kernel.Decider{kernel.Consensus, kernel.Blind, kernel.ByValue, kernel.ByJudge}).Draw(t, "decider")
		if rapid.Bool().Draw(t, "stages") {
			rules.Agree = rapid.SampledFrom([]kernel.Agreement{kernel.AgreeByText, kernel.AgreeByVerdict}).Draw(t, "agree")
			rules.Stages = [][]int{{0, 1}}
			if n := len(rules.Agents); n > 2 {
				rules.Stages = append(rules.Stages, []int{0, 1, 2, 3}[:n])
			}
		}
		if rules.Decider == kernel.ByJudge && rapid.Bool().Draw(t, "the judge writes") {
			rules.Final = kernel.SynthesizeByJudge
		}
	}
	if rules.Judge != kernel.JudgeID {
		return nil
	}
	return &effect.Agent{ID: kernel.JudgeID, Tools: ref("first")}
}

func (p *play) drawEvent() turn.Event {
	p.now += kernel.Time(rapid.IntRange(0, 3).Draw(p.t, "time passes"))
	if p.wakeAt > 0 && p.now >= p.wakeAt {
		p.wakeAt = 0
		return kernel.Woke{At: p.now}
	}
	if !p.finished && rapid.IntRange(0, 19).Draw(p.t, "note") == 0 {
		p.notes++
		return turn.Noted{At: p.now, Note: ref(fmt.Sprint("note ", p.notes))}
	}
	if rapid.IntRange(0, 39).Draw(p.t, "interrupt") == 0 {
		return kernel.Interrupted{At: p.now}
	}
	if ev := p.drawPause(); ev != nil {
		return ev
	}
	if ev := p.drawDismissal(); ev != nil {
		return ev
	}
	if p.asking != nil && (len(p.able()) == 0 || rapid.Bool().Draw(p.t, "decide")) {
		key := p.asking.Key
		p.asking = nil
		return turn.Decided{At: p.now, Key: key, Allow: rapid.Bool().Draw(p.t, "allow")}
	}
	if len(p.withdrawn) > 0 && rapid.Bool().Draw(p.t, "decide in vain") {
		key := p.withdrawn[0]
		p.withdrawn = p.withdrawn[1:]
		return turn.Decided{At: p.now, Key: key, Allow: rapid.Bool().Draw(p.t, "allow")}
	}
	if len(p.out) == 0 {
		p.t.Fatalf("nothing is out and nobody will wake it:\n%s", p.m.Describe())
	}
	if rapid.IntRange(0, 39).Draw(p.t, "resume") == 0 {
		return p.resume()
	}
	if rapid.IntRange(0, 19).Draw(p.t, "tools change") == 0 {
		return p.changeTools()
	}
	i := p.pick()
	eff := p.out[i]
	if _, isModel := eff.(effect.ModelCall); isModel {
		if ev := p.drawAttempt(eff.EffectKey()); ev != nil {
			return ev
		}
	}
	p.out = slices.Delete(p.out, i, i+1)
	if call, ok := eff.(effect.ToolCall); ok {
		reply := effect.ToolReply{Index: call.Key.Index, Result: ref("found")}
		if call.IsSnapshot() {
			reply.Result, reply.Error = ref(call.Key.String()), rapid.Bool().Draw(p.t, "not kept")
		}
		if call.IsCheck() {
			reply.Error = rapid.Bool().Draw(p.t, "not passed")
		}
		return turn.ToolDone{At: p.now, Key: call.Key, Reply: reply}
	}
	if key := eff.EffectKey(); p.isRefused(key) {
		return turn.ModelDone{At: p.now, Key: key, Reply: effect.ModelReply{Failure: &effect.Failure{Kind: "budget", Message: "it was not sent", Unsent: true}}}
	}
	return turn.ModelDone{At: p.now, Key: eff.EffectKey(), Reply: p.drawReply(eff.EffectKey().Purpose)}
}

// drawPause pauses the turn now and then, or lets it go on, at the latest when nothing is
// under way any more.
func (p *play) drawPause() turn.Event {
	switch {
	case p.m.IsPaused() && (len(p.able()) == 0 || rapid.IntRange(0, 4).Draw(p.t, "unpause") == 0):
		return turn.Unpaused{At: p.now}
	case !p.m.IsPaused() && !p.finished && rapid.IntRange(0, 29).Draw(p.t, "pause") == 0:
		return turn.Paused{At: p.now}
	}
	return nil
}

// drawDismissal has the turn go on without an agent now and then.
func (p *play) drawDismissal() turn.Event {
	if rapid.IntRange(0, 29).Draw(p.t, "dismiss") > 0 {
		return nil
	}
	agent := rapid.IntRange(0, p.m.Turn().Size()-1).Draw(p.t, "dismissed")
	if _, err := p.m.MayDismiss(p.m.Turn().Agent(agent).ID); err != nil {
		return nil
	}
	p.dismissed[agent] = true
	return kernel.Dismissed{At: p.now, Agent: agent}
}

func (p *play) drawReply(purpose effect.Purpose) effect.ModelReply {
	if rapid.IntRange(0, 9).Draw(p.t, "failure") == 0 {
		return effect.ModelReply{Failure: &effect.Failure{Kind: "network", Message: "gone", Abandoned: rapid.Bool().Draw(p.t, "abandoned")}}
	}
	r := effect.ModelReply{Message: ref(fmt.Sprint("message ", len(p.journal)))}
	if rapid.Bool().Draw(p.t, "usage") {
		r.Usage = &effect.Usage{InputTokens: 10, OutputTokens: 1}
		if rapid.Bool().Draw(p.t, "priced") {
			cost := 0.25 // sums of it are exact
			r.Usage.CostUSD = &cost
		}
	}
	if purpose.IsConsultation() && rapid.Bool().Draw(p.t, "opinion") {
		standing := p.m.Result().Answers
		r.Opinion = &effect.Opinion{
			Best: rapid.SampledFrom(standing).Draw(p.t, "best").Agent, Same: rapid.Bool().Draw(p.t, "same"), Analysis: ref("analysis"),
		}
	}
	if rapid.Bool().Draw(p.t, "text") {
		r.Text, r.Hash = ref("a"), "a"
	}
	for range rapid.SampledFrom([]int{0, 1, 1, 1, 2}).Draw(p.t, "calls") {
		switch rapid.IntRange(0, 5).Draw(p.t, "call") {
		case 0, 1:
			hash := rapid.SampledFrom([]string{"a", "b", "c", "d", "e", "f", "g"}).Draw(p.t, "answer")
			r.Calls = append(r.Calls, effect.Call{Name: effect.NewAnswer, Answer: ref(hash), Hash: hash})
		case 2, 3, 4:
			r.Calls = append(r.Calls, effect.Call{Name: effect.Vote, Target: rapid.IntRange(-1, 4).Draw(p.t, "target")})
		default:
			permission := rapid.SampledFrom([]effect.Permission{effect.Allowed, effect.Asked, effect.Denied}).Draw(p.t, "permission")
			r.Calls = append(r.Calls, effect.Call{Name: "search", Own: true, Permission: permission})
		}
	}
	return r
}

func (p *play) apply(ev turn.Event) {
	p.journal = append(p.journal, ev)
	if done, ok := ev.(turn.ModelDone); ok {
		p.usage[done.Key.Agent] = p.usage[done.Key.Agent].Plus(usageOf(done.Reply))
	}
	var twin *turn.Machine
	if p.twins {
		twin = again(p.t, p.m)
	}
	commands, err := p.m.Apply(ev)
	if err != nil {
		p.t.Fatalf("%T: %v", ev, err)
	}
	if p.twins {
		p.compare(twin, ev, commands)
	}
	for _, c := range commands {
		p.took(c)
	}
	if p.finished != p.m.Over() {
		p.t.Fatalf("finish was told: %t, and over is %t", p.finished, p.m.Over())
	}
}

func (p *play) compare(twin *turn.Machine, ev turn.Event, want []turn.Command) {
	got, err := twin.Apply(ev)
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" || err != nil {
		p.t.Fatalf("the machine read back does something else after %T (%v):\n%s", ev, err, diff)
	}
}

func usageOf(r effect.ModelReply) budget.Usage {
	if r.Failure != nil && r.Failure.Unsent {
		return budget.Usage{}
	}
	if r.Usage == nil {
		return budget.Usage{Calls: 1, UnknownCalls: 1}
	}
	return budget.Usage{Calls: 1, InputTokens: r.Usage.InputTokens, OutputTokens: r.Usage.OutputTokens, CostUSD: r.Usage.CostUSD}
}

func (p *play) took(c turn.Command) {
	switch c := c.(type) {
	case turn.Run:
		p.checkTools(c.Effect)
		key := c.Effect.EffectKey()
		if p.m.IsPaused() && !p.cancelled[key.Agent] {
			p.t.Fatalf("%s runs in a turn that is paused", key)
		}
		if p.keys[key] {
			p.t.Fatalf("two effects have the key %s", key)
		}
		if _, ok := p.steps[key.Agent]; key.Agent != effect.NoAgent && (!ok || p.finished) {
			p.t.Fatalf("%s runs outside of a step, finished=%t", key, p.finished)
		}
		if key.Agent == effect.NoAgent && len(p.steps) > 0 {
			p.t.Fatalf("%s runs beside agents", key)
		}
		p.keys[key] = true
		if call, ok := c.Effect.(effect.ModelCall); ok && key.Agent != effect.NoAgent && call.NotesTold() != p.notes {
			p.t.Fatalf("%s is told %d notes of %d", key, call.NotesTold(), p.notes)
		}
		if call, isTool := c.Effect.(effect.ToolCall); isTool && !call.IsSnapshot() && !call.IsCheck() {
			p.countTool(key.Agent)
		}
		p.out = append(p.out, c.Effect)
	case turn.RequestPermission:
		if _, ok := p.steps[c.Request.Key.Agent]; !ok || p.finished || p.asking != nil {
			p.t.Fatalf("%v is asked, finished=%t, beside %v", c.Request, p.finished, p.asking)
		}
		p.asking = &c.Request
	case turn.Granted, turn.Refused:
		p.tookBudget(c)
	case kernel.Cancel:
		p.cancelled[c.Agent] = true
		if p.asking != nil && p.asking.Key.Agent == c.Agent {
			p.withdrawn = append(p.withdrawn, p.asking.Key)
			p.asking = nil
		}
		if _, ok := p.steps[c.Agent]; !ok && c.Agent != effect.NoAgent {
			p.t.Fatalf("agent %d is cancelled and idle", c.Agent)
		}
	case turn.ToolEnded:
		p.tookTool(c.Call)
	case kernel.Wake:
		p.wakeAt = c.At
	case kernel.Finish:
		if p.finished {
			p.t.Fatal("finished twice")
		}
		p.finished = true
	case turn.StepStarted:
		if p.dismissed[c.Agent] {
			p.t.Fatalf("agent %d starts %+v and was dismissed", c.Agent, c)
		}
		if at, ok := p.steps[c.Agent]; ok {
			p.t.Fatalf("agent %d starts %+v while it is at %+v", c.Agent, c, at)
		}
		p.steps[c.Agent], p.tools[c.Agent] = c, 0
		delete(p.cancelled, c.Agent)
	case turn.StepEnded:
		p.tookEnd(c)
	}
}

// countTool counts a call of the agent's step, which must keep to the limit.
func (p *play) countTool(agent int) {
	p.tools[agent]++
	if most := p.m.Turn().Limits.MaxToolCalls; most > 0 && p.tools[agent] > most {
		p.t.Fatalf("agent %d has %d tool calls, of at most %d", agent, p.tools[agent], most)
	}
}

// tookTool checks what is told of a call that is over: each once, and one that ran only
// if it began.
func (p *play) tookTool(c turn.ToolRun) {
	key := c.Call.Key
	if c.State == effect.ToolRefused {
		if key.Index != effect.NoIndex || c.Why == "" {
			p.t.Fatalf("%s ended as %+v", key, c)
		}
		p.refused++
		return
	}
	refused := c.State == effect.ToolDenied || c.State == effect.ToolCancelled
	if p.ended[key] || refused == p.keys[key] {
		p.t.Fatalf("%s ended as %q, begun=%t, told before=%t", key, c.State, p.keys[key], p.ended[key])
	}
	p.ended[key] = true
	if refused {
		p.countTool(key.Agent)
	}
}

func (p *play) tookEnd(c turn.StepEnded) {
	if p.steps[c.Agent] != (turn.StepStarted{Agent: c.Agent, Round: c.Round, Purpose: c.Purpose}) {
		p.t.Fatalf("agent %d ends %s in round %d, it was at %+v", c.Agent, c.Purpose, c.Round, p.steps[c.Agent])
	}
	delete(p.steps, c.Agent)
	isFinal := c.Purpose == effect.Presentation || c.Purpose == effect.Synthesis
	hasAnswer := c.Outcome.Answer != blob.Ref{}
	isSnapped := p.m.Turn().Agent(c.Agent).Workspace && !(isFinal && p.m.Rules().Final == kernel.SynthesizeByJudge)
	if o := c.Outcome; hasAnswer && isSnapped == (o.Work == o.Unkept) {
		p.t.Fatalf("agent %d answered, and its work is %+v", c.Agent, o)
	}
	if o := c.Outcome; hasAnswer != (o.Kind == step.Answered) && (o.Kind != step.OutOfTurns || c.Purpose != effect.Conversation) {
		p.t.Fatalf("agent %d ends %s with %+v", c.Agent, c.Purpose, o)
	}
	acted := hasAnswer || c.Outcome.Kind == step.Voted || c.Outcome.Opinion != nil && c.Purpose != effect.Verdict && c.Purpose != effect.Review
	if told := c.Label != "" || c.Void != ""; told != (acted && !isFinal) {
		p.t.Fatalf("%s of a %s has the label %q and is void for %q", c.Outcome.Kind, c.Purpose, c.Label, c.Void)
	}
	notBegun := c.Outcome.Kind == step.Stopped && c.Elapsed == 0 || !p.spending.limits.None()
	if c.Elapsed < 0 || c.Usage.Calls < 1 && !notBegun {
		p.t.Fatalf("a step took %d ms and %d calls", c.Elapsed, c.Usage.Calls)
	}
}

func TestEveryTurnEndsAndAddsUp(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := playTurn(t, true)
		if len(p.steps) > 0 {
			t.Fatalf("steps that never ended: %v", p.steps)
		}
		for agent, usage := range p.m.Usage() {
			if diff := cmp.Diff(p.usage[agent], usage); diff != "" {
				t.Fatalf("agent %d: its usage differs (-want +got):\n%s", agent, diff)
			}
		}
		sidecalls := p.m.SidecallsUsage().Plus(p.m.UsageAfter())
		if diff := cmp.Diff(p.usage[effect.NoAgent], sidecalls); diff != "" {
			t.Fatalf("the usage of the asides differs (-want +got):\n%s", diff)
		}
		for _, c := range p.m.ToolCalls() {
			if p.ended[c.Call.Key] == (c.State == effect.ToolRefused) || c.State == "" || c.Ended < c.Started {
				t.Fatalf("told is %t of %+v", p.ended[c.Call.Key], c)
			}
		}
		if told := len(p.ended) + p.refused; len(p.m.ToolCalls()) != told {
			t.Fatalf("%d tool calls, and %d were told of", len(p.m.ToolCalls()), told)
		}
		if !p.budgetIsTold() || p.m.Repeated() != p.repeated {
			t.Fatalf("%+v may be billed, and %d calls were repeated: the ledger says %+v, and %d", p.spending.billed, p.repeated, p.m.Ledger(), p.m.Repeated())
		}
		r := p.m.Result()
		if (r.Winner != nil) != (r.Text != blob.Ref{}) || r.Status == "" {
			t.Fatalf("the result is %+v", r)
		}
		p.checkWork(r)
		for i, n := range p.m.Notes() {
			if n.Text != ref(fmt.Sprint("note ", i+1)) || n.SeenBy > len(p.m.Usage()) || len(p.m.Notes()) != p.notes {
				t.Fatalf("of %d notes number %d is %+v", p.notes, i+1, n)
			}
		}
		if abandoned := slices.Clone(p.m.Abandoned()); len(slices.Compact(abandoned)) != len(p.m.Abandoned()) {
			t.Fatalf("abandoned are %v", p.m.Abandoned())
		}
	})
}

// checkWork: each answer has the snapshot that was taken for it, if there is one, and the
// result has that of its text. None is among the tools.
func (p *play) checkWork(r kernel.Result) {
	kept := map[blob.Ref]effect.Key{}
	for _, ev := range p.journal {
		if done, ok := ev.(turn.ToolDone); ok && strings.Contains(string(done.Key.Purpose), "snapshot") && !done.Reply.Error {
			kept[done.Reply.Result] = done.Key
		}
	}
	for _, a := range r.All {
		key, ok := kept[a.Work]
		key.Index = 0 // of the try whose answer was accepted
		if ok != (a.Work != blob.Ref{}) || ok && (key != effect.Key{Agent: a.Agent, Round: a.Round, Purpose: effect.Snapshot}) {
			p.t.Fatalf("the answer %+v has the work of %v", a, key)
		}
	}
	if r.Winner != nil && r.Work != r.Winner.Work && kept[r.Work].Purpose != effect.FinalSnapshot && r.Work != (blob.Ref{}) {
		p.t.Fatalf("the result %+v has the work %v", r, r.Work)
	}
	for _, c := range p.m.ToolCalls() {
		if c.Call.IsSnapshot() || c.Call.IsCheck() {
			p.t.Fatalf("%v is among the tools", c)
		}
	}
}

// TestDamagedJournalsAreErrors takes a turn's journal and spoils it.
func TestDamagedJournalsAreErrors(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		journal := playTurn(t, false).journal
		i := rapid.IntRange(0, len(journal)-1).Draw(t, "entry")
		ev := journal[i]
		_, isWoke := ev.(kernel.Woke)
		_, isInterrupt := ev.(kernel.Interrupted)
		_, ignored := ev.(turn.ToolsChanged) // of what nobody waits for they are nothing
		switch ev.(type) {
		case turn.Reserving, turn.Settled, turn.Resumed, turn.Noted:
			ignored = true
		}
		switch rapid.IntRange(0, 3).Draw(t, "damage") {
		case 0: // an entry stands twice
			if err := feed(slices.Insert(slices.Clone(journal), i+1, ev)); err == nil && !isWoke && !isInterrupt && !ignored {
				t.Fatalf("%T was taken twice", ev)
			}
		case 1: // the beginning is missing
			if err := feed(journal[i+1:]); err == nil && i+1 < len(journal) {
				t.Fatalf("a journal that lacks its first %d entries was taken", i+1)
			}
		case 2: // an entry is missing, or others stand in its place
			_ = feed(slices.Delete(slices.Clone(journal), i, i+1))
		default: // the order is lost
			_ = feed(rapid.Permutation(journal).Draw(t, "order"))
		}
	})
}

// feed applies a journal to a fresh machine until its first error.
func feed(journal []turn.Event) error {
	m := &turn.Machine{}
	for _, ev := range journal {
		if _, err := m.Apply(ev); err != nil {
			return err
		}
	}
	return nil
}
