package coordinator

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/coordinator/report"
	"github.com/massgen/massgen/internal/coordination/budget"
	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/internal/coordination/turn"
	"github.com/massgen/massgen/sessions"
)

// checkBudget returns an error that names the first backend that ignores budgets.
func checkBudget(opts Options) error {
	if opts.Budget.None() && opts.Override.None() {
		return nil
	}
	keeps := func(name string, backend backends.Backend) error {
		if backends.Reserves(backend) {
			return nil
		}
		return fmt.Errorf("%s: its backend does not keep to a budget: wrap it with retry.New", name)
	}
	var errs []error
	for i := range opts.size() {
		if a := opts.agent(i); a != nil {
			errs = append(errs, keeps("agent "+a.ID, a.Backend))
		}
	}
	if opts.Topic != nil {
		errs = append(errs, keeps("topic", opts.Topic.Backend))
	}
	if opts.Facts != nil {
		errs = append(errs, keeps("facts", opts.Facts.Backend))
	}
	if opts.Summarizer != nil {
		errs = append(errs, keeps("summarizer", opts.Summarizer.Backend))
	}
	return cmp.Or(errs...)
}

// attempts are the attempts of calls that wait for budget.
type attempts struct {
	// limited reports whether the turn has a budget, priced whether the budget limits money.
	limited, priced bool
	inbox           *inbox
	waiting         map[effect.Key]chan<- verdict
}

// verdict is the answer to an attempt: the number of tokens that its output must lose, or the reason why
// it may not be sent.
type verdict struct {
	less    int
	refused string
}

// limit sets what the turn may spend.
func (a *attempts) limit(most budget.Allowance) { a.limited, a.priced = !most.None(), most.Priced() }

// Grant implements driver.Runtime. In a replayed journal no attempt waits.
func (a *attempts) Grant(key effect.Key, less int, refused string) {
	if verdicts := a.waiting[key]; verdicts != nil {
		verdicts <- verdict{less, refused}
		delete(a.waiting, key)
	}
}

// callBudget is the budget of one call, whose attempts ask the turn's driver.
type callBudget struct {
	attempts *attempts
	key      effect.Key
}

// reserving is a post: an attempt that requests budget. Grant answers it by its key.
type reserving struct {
	callBudget
	most, least budget.Amount
	verdicts    chan<- verdict // has room for the one verdict
}

// EndsWork implements driver.Post.
func (reserving) EndsWork() bool { return false }

// Events implements driver.Post.
func (r reserving) Events(at kernel.Time) ([]turn.Event, error) {
	r.attempts.waiting[r.key] = r.verdicts
	return []turn.Event{turn.Reserving{At: at, Key: r.key, Most: r.most, Least: r.least}}, nil
}

// Reply implements driver.Post.
func (r reserving) Reply(err error) {
	if err != nil {
		r.verdicts <- verdict{refused: err.Error()}
	}
}

// settled is a post: the end of an attempt.
type settled struct {
	callBudget
	spent  *budget.Amount
	booked chan<- struct{}
}

// EndsWork implements driver.Post.
func (settled) EndsWork() bool { return false }

// Events implements driver.Post.
func (s settled) Events(at kernel.Time) ([]turn.Event, error) {
	delete(s.attempts.waiting, s.key)
	return []turn.Event{turn.Settled{At: at, Key: s.key, Spent: s.spent}}, nil
}

// Reply implements driver.Post. Without the settlement in the journal, the reserved amount counts as
// spent.
func (s settled) Reply(error) { close(s.booked) }

// Reserve asks the driver, and waits for its verdict.
func (b callBudget) Reserve(ctx context.Context, most, least backends.Cost) (held backends.Reservation, less int, err error) {
	if most.USD == nil && b.attempts.priced {
		return nil, 0, backends.Unpaid(backends.KindBudget, "the model's price is unknown, so max_usd cannot be enforced", nil)
	}
	if ctx.Err() != nil {
		return nil, 0, backends.Unpaid(backends.KindOf(ctx.Err()), ctx.Err().Error(), ctx.Err())
	}
	verdicts := make(chan verdict, 1)
	b.attempts.inbox.put(reserving{b, budget.Request(most.Tokens, most.USD), budget.Request(least.Tokens, least.USD), verdicts})
	var said verdict
	select {
	case said = <-verdicts:
	case <-ctx.Done():
		select {
		case said = <-verdicts: // a refused call is cancelled too
		default:
		}
	}
	switch {
	case said.refused != "":
		return nil, 0, backends.Unpaid(backends.KindBudget, said.refused, nil)
	case ctx.Err() != nil: // also for an attempt that was granted meanwhile
		b.Release()
		return nil, 0, backends.Unpaid(backends.KindOf(ctx.Err()), "it waited for the budget: "+ctx.Err().Error(), ctx.Err())
	}
	return b, said.less, nil
}

// Release implements backends.Reservation.
func (b callBudget) Release() { b.end(&budget.Amount{}) }

// Settle implements backends.Reservation.
func (b callBudget) Settle(usage *backends.Usage) {
	if usage == nil || usage.CostUSD == nil && b.attempts.priced {
		b.end(nil)
		return
	}
	spent := budget.Request(usage.InputTokens+usage.OutputTokens, usage.CostUSD)
	b.end(&spent)
}

// end books the end of an attempt. After the turn nothing books it: the reserved amount counts as spent.
func (b callBudget) end(spent *budget.Amount) {
	booked := make(chan struct{})
	b.attempts.inbox.put(settled{b, spent, booked})
	<-booked
}

// spending returns a context that keeps a call's attempts to the turn's budget.
func (a *attempts) spending(ctx context.Context, key effect.Key) context.Context {
	if !a.limited {
		return ctx
	}
	return backends.WithBudget(ctx, callBudget{a, key})
}

// MetaSpent is the key of a session's metadata for the spending of its turns.
const MetaSpent = "massgen:spent"

// spentBySession is the value of MetaSpent.
type spentBySession struct {
	// Session is the session that spent the amounts. A branch begins with its parent's metadata, and
	// has spent nothing.
	Session string `json:"session"`
	// Turn is the last turn in Spent. Before is the spending of the turns before it.
	Turn   int           `json:"turn"`
	Before budget.Amount `json:"before"`
	Spent  budget.Amount `json:"spent"`
	// UnknownBefore and Unknown name the parts of Before and Spent that are incomplete.
	UnknownBefore budget.Unknown `json:"unknown_before,omitzero"`
	Unknown       budget.Unknown `json:"unknown,omitzero"`
}

// allowance returns what a turn of a session may spend under a budget.
func (p *Panel) allowance(ctx context.Context, b budget.Budget, session string, number int) (budget.Allowance, error) {
	a := budget.Allowance{Limits: b.Turn, Session: b.Session}
	if b.Session.None() {
		return a, nil
	}
	var err error
	if a.Before, a.Unknown, err = p.spent(ctx, session, number); err != nil {
		return a, err
	}
	if limit := a.Unknown.Breaks(a.Session); limit != "" {
		return a, fmt.Errorf("the usage of session %s is not fully known, so %s cannot be enforced: begin another session", session, limit)
	}
	return a, nil
}

// allowance returns what a resumed turn may spend: its own limits, the panel's where these are
// tighter, or the limits that a person gives now. Calls under way count as spent, unless the turn
// was branched off: then they belong to another turn.
func (v *view) allowance(ctx context.Context, branched bool) (budget.Allowance, error) {
	had := v.machine.Ledger().Limits
	opts := v.panel.opts
	now, err := v.panel.allowance(ctx, opts.Override.Over(had.Budget().Tighter(opts.Budget)), v.turn.session, v.turn.number)
	if err != nil {
		return now, err
	}
	unknown := v.machine.Unknown(!branched)
	limit := cmp.Or(unknown.Breaks(now.Limits), unknown.Breaks(now.Session))
	if limit != "" {
		return now, fmt.Errorf("the usage of its calls so far is not fully known, so %s cannot be enforced: leave the limit out, or start the turn over", limit)
	}
	return now, nil
}

// spent returns the known spending of a session's turns before a turn.
func (p *Panel) spent(ctx context.Context, id string, number int) (spent budget.Amount, unknown budget.Unknown, err error) {
	session, err := p.opts.Store.Session(ctx, id)
	if errors.Is(err, sessions.ErrNoSession) { // the session begins with the turn's first event
		return spent, unknown, nil
	}
	if err != nil {
		return spent, unknown, fmt.Errorf("read the spending of session %s: %w", id, err)
	}
	noted, err := readSpent(session.Metadata[MetaSpent], id)
	if err != nil {
		return spent, unknown, fmt.Errorf("read the spending of session %s: %w", id, err)
	}
	if noted.Turn >= number { // the turn was counted when its process was lost
		return noted.Before, noted.UnknownBefore, nil
	}
	spent, unknown = noted.Spent, noted.Unknown
	silent := 0 // calls without a usage
	for n := noted.Turn + 1; n < number; n++ {
		events, err := readJournal(ctx, p.opts.Store, id, n) // a branch has no journal of earlier turns
		played, playErr := report.Project(events, report.Source{})
		if err = cmp.Or(err, playErr); err != nil {
			return spent, unknown, fmt.Errorf("read the spending of turn %d of session %s: %w", n, id, err)
		}
		m := played.Machine()
		spent, unknown = spent.Plus(spentOfTurn(m)), unknown.Or(m.Unknown(true))
		silent += m.CutUsage().UnknownCalls
	}
	if noted.Turn > 0 {
		return spent, unknown, nil
	}
	told := session.Usage // includes turns that were imported without their journals
	unknown.USD = unknown.USD || told.Unknown().USD
	unknown.Tokens = unknown.Tokens || told.UnknownCalls > silent
	return spent.AtLeast(told.Amount()), unknown, nil
}

// spentOfTurn returns the spending of a turn that did not record it: its process was lost
// before, or the turn had no budget. Calls under way count as spent.
func spentOfTurn(m *turn.Machine) budget.Amount {
	if ledger := m.Ledger(); !ledger.Limits.None() {
		return ledger.Used()
	}
	return m.CutUsage().Amount()
}

// readSpent reads a session's recorded spending. It returns zero if text is empty.
func readSpent(text, session string) (noted spentBySession, err error) {
	if text == "" {
		return noted, nil
	}
	if err = json.Unmarshal([]byte(text), &noted); err != nil || noted.Session != session {
		return spentBySession{}, err
	}
	if noted.Before.IsNegative() || noted.Spent.IsNegative() { // another program wrote it
		return spentBySession{}, errors.New("its recorded spending is negative: begin another session")
	}
	return noted, nil
}

// recordSpent adds the turn's spending to the session. It runs before the turn's end, so that a
// kill between the two loses nothing and counts nothing twice.
func (v *view) recordSpent() error {
	ledger := v.machine.Ledger()
	if ledger.Limits.Session.None() {
		return nil
	}
	before := ledger.Limits.Before
	noted, err := json.Marshal(spentBySession{
		Session: v.turn.session, Turn: v.turn.number, Before: before, Spent: before.Plus(ledger.Used()),
		UnknownBefore: ledger.Limits.Unknown, Unknown: ledger.Limits.Unknown.Or(v.machine.Unknown(true)),
	})
	if err == nil {
		err = v.panel.opts.Store.SetMetadata(v.base, v.turn.session, map[string]string{MetaSpent: string(noted)})
	}
	if err != nil {
		return fmt.Errorf("record the spending of turn %s: %w", v.turn.ID(), err)
	}
	return nil
}
