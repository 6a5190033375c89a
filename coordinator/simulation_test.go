package coordinator

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing/synctest"
	"time"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/coordinator/report"
	"github.com/massgen/massgen/internal/coordination/budget"
	"github.com/massgen/massgen/internal/coordination/driver"
	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/coordination/election"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/internal/models/retry"
	"github.com/massgen/massgen/sessions"
)

// simulation is a turn in which everything that is not decided by rules is drawn: what
// models and tools say and when, the person, the disk, and when a process is killed. All
// of it but the order of events is the real thing; that order is the simulation's, which
// lets one goroutine go on at a time, in a bubble of synctest whose clock it moves. So
// the same choices lead to the same bytes.
type simulation struct {
	*choices
	plan  plan
	store *faulty
	log   bytes.Buffer
	// failure is the first thing that was wrong.
	failure string
	steps   int
	calls   int
	noted   notedInSimulation

	mu     sync.Mutex
	parked []*parked
	// spent is what the service has billed, open what it may still bill for requests that
	// have come to it.
	spent, open float64
	tools       simTools
}

// plan is what stands before the turn begins.
type plan struct {
	agents int
	rules  kernel.Config
	limits effect.Limits
	budget float64 // in dollars; 0 is no limit
	faults bool
	asks   bool
	kills  int
	fullAt int
	full   int
	// workspaces are kept with the answers.
	workspaces bool
	// shuffles shows answers in a drawn order.
	shuffles bool
	// changes lets the agents' tools change in mid-turn.
	changes bool
}

// parked is somebody who waits for the simulation.
type parked struct {
	what  string
	ctx   context.Context
	req   backends.Request
	reply chan simReply
}

func (s *simulation) park(what string, ctx context.Context, req backends.Request) simReply {
	p := &parked{what: what, ctx: ctx, req: req, reply: make(chan simReply)}
	s.mu.Lock()
	s.parked = append(s.parked, p)
	s.mu.Unlock()
	return <-p.reply
}

func (s *simulation) fail(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failure == "" {
		s.failure = fmt.Sprintf(format, args...)
	}
}

// sent books a request that has come to the service, billed what that cost.
func (s *simulation) sent(most float64) {
	s.mu.Lock()
	s.open += most
	could := s.spent + s.open
	s.mu.Unlock()
	if limit := s.plan.budget; limit > 0 && could > limit+1e-6 {
		s.fail("a request was sent with which %.3f may be billed, of %.3f", could, limit)
	}
}

func (s *simulation) billed(most, cost float64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open, s.spent = s.open-most, s.spent+cost
}

func (s *simulation) ids() []string {
	return []string{"agent1", "agent2", "agent3", "agent4"}[:s.plan.agents]
}

func drawPlan(c *choices) plan {
	p := plan{agents: pick(c, 3, 2, 1, 4), rules: kernel.Defaults()}
	p.rules.Pace = pick(c, kernel.PaceRounds, kernel.PaceEager)
	p.rules.Decision = pick(c, election.AllVoted, election.Majority, election.Unanimous)
	p.rules.Final = pick(c, kernel.WinnerReuse, kernel.WinnerPresent, kernel.Synthesize)
	p.rules.MaxRounds = pick(c, 3, 2, 4)
	p.rules.TurnLimit = pick(c, 0, time.Hour, 2*time.Minute)
	p.rules.RoundLimit = pick(c, 0, time.Minute)
	p.rules.StragglerGrace = pick(c, 0, 10*time.Second)
	p.limits = effect.Limits{MaxTurns: pick(c, 4, 2, 1), MaxAttempts: pick(c, 3, 1), MaxToolCalls: pick(c, 0, 2), ToolLimit: pick(c, 0, 20_000), ResultLimit: pick(c, 0, 1000)}
	p.budget = float64(pick(c, 0, 0, 0, 100, 30, 8))
	p.faults, p.asks, p.workspaces = c.rarely(2), c.rarely(3), c.rarely(3)
	if c.rarely(2) {
		p.kills = 1 + c.below(3)
	}
	if c.rarely(8) {
		p.fullAt, p.full = 1+c.below(30), 1+c.below(3)
	}
	p.changes = c.rarely(3)
	if p.agents > 1 && c.rarely(2) {
		p.drawStrategy(c)
	}
	if c.rarely(3) {
		p.drawVoting(c)
	}
	if c.rarely(3) {
		p.rules.MaxRestarts = 1 + c.below(2)
	}
	return p
}

// drawStrategy adds a strategy, with a judge that is an agent or stands beside the panel.
func (p *plan) drawStrategy(c *choices) {
	p.rules.Pace = kernel.PaceRounds
	p.rules.Decider = pick(c, kernel.ByJudge, kernel.Blind, kernel.ByValue, kernel.Consensus)
	p.rules.Judge = pick(c, kernel.JudgeID, "agent1")
	p.rules.ConsultationLimit = pick(c, 0, time.Minute)
	p.rules.Analysis = c.rarely(2)
	if p.rules.Decider == kernel.ByJudge && c.rarely(2) {
		p.rules.Final = kernel.SynthesizeByJudge
	}
	if c.rarely(2) {
		p.rules.Stages, p.rules.Agree = [][]int{{0, 1}}, pick(c, kernel.AgreeByVerdict, kernel.AgreeByText)
		if p.agents > 2 {
			p.rules.Stages = append(p.rules.Stages, []int{0, 1, 2, 3}[:p.agents])
		}
	}
}

// drawVoting adds rules of voting, a check of answers and peers.
func (p *plan) drawVoting(c *choices) {
	p.rules.Check = pick(c, "", kernel.CheckRequired, kernel.CheckShown)
	p.rules.Decision = pick(c, p.rules.Decision, election.Approval, election.Ranked)
	p.rules.StopEarly, p.rules.BothOrders = c.rarely(2), p.rules.Decider == kernel.ByJudge && c.rarely(2)
	p.rules.StragglerFactor = float64(pick(c, 0, 3))
	if p.rules.Judge != "" {
		p.rules.Ties = pick(c, "", election.ByJudge, election.NoTies)
	}
	votes := p.rules.Decider != kernel.ByJudge && p.rules.Decider != kernel.ByValue && p.rules.Decision != election.Ranked
	if p.agents > 2 && p.rules.Pace == kernel.PaceRounds && votes {
		p.rules.Peers = pick(c, kernel.Peers{}, kernel.Peers{Ring: 1}, kernel.Peers{Random: 1})
	}
	p.shuffles = c.rarely(2)
}

func (s *simulation) panel() (*Panel, error) {
	opts := Options{Store: s.store, Rules: s.plan.rules, Limits: s.plan.limits}
	model := simModel{s}
	backend := retry.New(model, newGate("sim", retry.Limits{}), retry.Options{Most: model.reckon, MaxAttempts: 2, Random: func() float64 { return 0.5 }})
	for _, id := range s.ids() {
		a := Agent{ID: id, Backend: backend, Model: "m", Params: backends.Params{MaxTokens: new(simOutput)}, Tools: s.toolsNamed(firstTools)}
		if s.plan.workspaces {
			a.Snapshot = s.snapshot
		}
		if s.plan.asks {
			a.Permit = func(tool, _ string) (effect.Permission, string) {
				return map[string]effect.Permission{"change": effect.Asked, "look": effect.Allowed}[tool], "a rule"
			}
		}
		opts.Agents = append(opts.Agents, a)
	}
	if s.plan.rules.Check != "" {
		opts.Check, opts.RunCheck = &effect.Check{Command: []string{"check"}, Tries: 2, Shown: s.plan.rules.Check == kernel.CheckShown}, s.checkAnswer
	}
	opts.Shuffle, opts.Seed = s.plan.shuffles, new(uint64(7))
	if s.plan.rules.Judge == kernel.JudgeID {
		opts.Judge = &Agent{Backend: backend, Model: "m", Params: backends.Params{MaxTokens: new(simOutput)}}
	}
	if s.plan.rules.Decider == kernel.ByValue {
		opts.AnswerPattern = `answer (\d)`
	}
	if s.plan.asks {
		opts.Approve = func(ctx context.Context, a ApprovalRequest) (Decision, error) {
			r := s.park("person "+a.Agent, ctx, backends.Request{})
			return Decision{Allowed: r.text == "yes"}, r.err
		}
	}
	if s.plan.budget > 0 {
		usd := budget.Dollars(s.plan.budget)
		opts.Budget.Turn = budget.Limits{USD: &usd}
	}
	if s.plan.changes {
		opts.Tools, opts.ToolsVersion = s.listTools, s.toolsVersion
	}
	p, err := New(opts)
	if err == nil {
		p.scheduled = s.takeOver
	}
	return p, err
}

// takeOver lets the simulation choose the posts that a turn receives. The turn waits until nothing moves when it has
// begun a job, and before it cancels all jobs: else chance would decide how far a job gets before its cancel.
func (s *simulation) takeOver(e *localTurn) {
	e.jobs.settle = synctest.Wait
	e.receive = func() []driver.Post { return s.posts(e) }
}

// mostSteps is how many choices a turn may take.
const mostSteps = 5000

// posts lets things happen until there are posts. It returns the posts of one moment in the order of orderOf.
func (s *simulation) posts(e *localTurn) []driver.Post {
	for {
		if s.steps++; s.steps > mostSteps {
			s.fail("the turn does not end:\n%s", e.view.machine.Describe())
			panic(s.failure)
		}
		// Of timers that are due at one moment some may fire after a sleep that ends then, in
		// an order of chance: a moment later all have.
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		posts := e.view.turn.inbox.take()
		if len(posts) > 0 {
			slices.SortStableFunc(posts, func(a, b driver.Post) int { return cmp.Compare(orderOf(a), orderOf(b)) })
			return posts
		}
		s.next(e)
	}
}

func orderOf(p driver.Post) string {
	switch p := p.(type) {
	case signal:
		return map[signal]string{interrupt: "0", woke: "1"}[p]
	case *note:
		return "0 " + p.text
	case *pausing:
		return "0 pausing"
	case settled:
		return "2 " + p.key.String()
	case reserving:
		return "3 " + p.key.String()
	case *permission:
		return "4 " + p.key.String()
	case *result:
		return "4 " + p.key.String()
	}
	return ""
}

// next draws what happens when nothing is under way.
func (s *simulation) next(e *localTurn) {
	if s.plan.changes && s.rarely(6) {
		s.changeTools()
	}
	if s.rarely(60) {
		e.view.turn.Cancel()
		return
	}
	if s.rarely(25) {
		s.note(e.view.turn)
		return
	}
	if paused := e.view.machine.IsPaused(); paused && s.rarely(4) || s.rarely(40) {
		s.setPaused(e.view.turn, !paused)
		return
	}
	if s.rarely(40) {
		s.dismiss(e)
		return
	}
	if s.rarely(5) || !s.release(s.choices) {
		time.Sleep(pick(s.choices, time.Second, 100*time.Millisecond, 15*time.Second, 90*time.Second))
	}
}

// release lets one of those go on who wait; without choices, the first, to its end. Those
// who were cancelled come first, but for now and then one who does not listen. It returns
// false if there is none.
func (s *simulation) release(c *choices) bool {
	s.mu.Lock()
	list := slices.Clone(s.parked)
	s.mu.Unlock()
	slices.SortStableFunc(list, func(a, b *parked) int { return cmp.Compare(a.what, b.what) })
	cancelled := slices.DeleteFunc(slices.Clone(list), func(p *parked) bool { return p.ctx.Err() == nil })
	switch {
	case len(list) == 0:
		return false
	case c == nil:
		list = list[:1]
	case len(cancelled) == 1 && c.rarely(10):
		return false
	case len(cancelled) > 0:
		list = cancelled
	}
	at := 0
	if c != nil {
		at = c.below(len(list))
	}
	chosen := list[at : at+1]
	if list[at].what == listing {
		chosen = slices.DeleteFunc(list, func(p *parked) bool { return p.what != listing })
	}
	s.let(chosen, c == nil)
	return true
}

// listing is what those wait for who list the tools. Effects that end at one moment come to
// it in an order of chance, so all who wait for it get one reply at one moment.
const listing = "list"

// let gives those who wait for one thing its reply. Either all of them were cancelled, or
// none.
func (s *simulation) let(same []*parked, ended bool) {
	p := same[0]
	s.mu.Lock()
	s.parked = slices.DeleteFunc(s.parked, func(q *parked) bool { return slices.Contains(same, q) })
	s.mu.Unlock()
	var r simReply
	kind, _, _ := strings.Cut(p.what, " ")
	switch {
	case ended && kind == "model":
		r = simReply{err: &backends.Error{Kind: backends.KindCancelled, Provider: "sim"}, cost: *simModel{s}.reckon(p.req).USD}
	case ended:
		r = simReply{err: errLost}
	case kind == "model":
		r = s.modelReply(p)
	case kind == "tool":
		r = s.toolReply(p)
	case kind == listing:
		r.err = s.listingFault(p)
	case kind == "snapshot":
		if s.rarely(4) {
			r.err = errors.New("no room")
		}
	default:
		r = simReply{text: pick(s.choices, "yes", "no")}
	}
	for _, p := range same {
		p.reply <- r
	}
	synctest.Wait()
}

// play plays the turn, in as many processes as it takes, and returns what was said.
func (s *simulation) play(ctx context.Context) report.Result {
	s.store.restart(ctx, s.nextKill(), s.rarely(2))
	s.store.fullAt, s.store.full = s.plan.fullAt, s.plan.full
	for range 20 {
		r, err := s.process(ctx)
		s.endAll()
		s.mu.Lock()
		s.spent, s.open = s.spent+s.open, 0
		s.mu.Unlock()
		switch {
		case err == nil:
			return r
		case !errors.Is(err, errLost) && !errors.Is(err, errFull):
			s.fail("the turn ended with: %v", err)
			return r
		}
		fmt.Fprintf(&s.log, "lost: %v\n", err)
		s.store.restart(ctx, s.nextKill(), s.rarely(2))
	}
	s.fail("the turn was not over after 20 processes")
	return report.Result{}
}

func (s *simulation) nextKill() int {
	if s.plan.kills == 0 {
		return 0
	}
	s.plan.kills--
	return 1 + s.below(25)
}

// process is the life of one.
func (s *simulation) process(ctx context.Context) (report.Result, error) {
	p, err := s.panel()
	if err != nil {
		s.fail("no panel: %v", err)
		return report.Result{}, nil
	}
	interrupted, err := s.store.Interrupted(ctx, "s")
	var t *Turn
	switch {
	case err == nil && len(interrupted) > 0:
		t, err = p.Resume(ctx, "s")
	case errors.Is(err, sessions.ErrNoSession):
		t, err = p.Start(ctx, "s", "energy")
	case err == nil: // it was killed after the end
		kept, err := s.store.Turns(ctx, "s", 1)
		if err != nil || len(kept) != 1 {
			s.fail("a turn that has ended is not kept: %v, %v", kept, err)
			return report.Result{}, err
		}
		return report.Result{Turn: 1, Status: kept[0].Status, Winner: kept[0].Winner, Answer: kept[0].Answer, Budget: &report.BudgetReport{SpentUSD: s.spent}}, nil
	}
	if err != nil {
		return report.Result{}, err
	}
	return t.Wait(ctx)
}

// endAll lets go of those whom nobody waits for any more.
func (s *simulation) endAll() {
	synctest.Wait()
	for s.release(nil) {
		synctest.Wait()
	}
}
