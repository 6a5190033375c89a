package coordinator

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/massgen/massgen/agents/machine"
	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/coordinator/budget"
	"github.com/massgen/massgen/coordinator/turn"
	"github.com/massgen/massgen/sessions"
)

// Budget is the most that a panel may spend (DESIGN §6). Before an attempt of a call is
// sent, the most that it may cost is held; what does not fit waits until other attempts
// have given back what they did not need, and ends the turn, with the best so far, when
// nothing else goes on.
type Budget struct {
	// Turn holds for each turn, Session for all turns of a session together.
	Turn, Session budget.Limits
}

// none says that there are no limits.
func (b Budget) none() bool { return b.Turn.None() && b.Session.None() }

// check says of the first backend that would not keep to a budget.
func (b Budget) check(opts Options) error {
	if b.none() {
		return nil
	}
	keeps := func(name string, backend backends.Backend) error {
		if backends.Reserves(backend) {
			return nil
		}
		return fmt.Errorf("%s: its backend does not keep to a budget: wrap it with retry.New", name)
	}
	var errs []error
	for _, a := range opts.Agents {
		errs = append(errs, keeps("agent "+a.ID, a.Backend))
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

// purse is where the attempts of a turn ask for money. The loop of the engine answers.
type purse struct {
	asks chan spendAsk
	ends chan spendEnd
	// closed is closed when the loop does not answer any more.
	closed chan struct{}
	// priced says that money is limited, not only tokens or calls.
	priced bool
	// waiting are those to whom the loop owes a word. The loop owns it.
	waiting map[machine.Key]chan<- spendWord
}

// spendAsk asks for an attempt of a call.
type spendAsk struct {
	key  machine.Key
	most budget.Amount
	word chan<- spendWord // takes one without waiting
}

// spendWord is the answer: nothing, or why not.
type spendWord struct{ refused string }

// spendEnd tells of an attempt's end. booked is closed when the journal has it.
type spendEnd struct {
	key    machine.Key
	spent  *budget.Amount
	booked chan<- struct{}
}

func newPurse(limits budget.Limits) *purse {
	return &purse{
		priced: limits.USD != nil,
		asks:   make(chan spendAsk), ends: make(chan spendEnd), closed: make(chan struct{}),
		waiting: map[machine.Key]chan<- spendWord{},
	}
}

// ofCall is the budget of one call.
func (p *purse) ofCall(key machine.Key) backends.Budget { return callBudget{p, key} }

type callBudget struct {
	purse *purse
	key   machine.Key
}

// Reserve asks the loop, and waits for its word.
func (b callBudget) Reserve(ctx context.Context, most backends.Cost) (backends.Reservation, error) {
	if most.USD == nil && b.purse.priced {
		return nil, unsent(backends.KindBudget, "the model's price is not known, so that max_usd cannot hold", nil)
	}
	word := make(chan spendWord, 1)
	ask := spendAsk{key: b.key, most: amountOf(most.Tokens, most.USD), word: word}
	select {
	case b.purse.asks <- ask:
	case <-ctx.Done():
		return nil, unsent(backends.KindOf(ctx.Err()), ctx.Err().Error(), ctx.Err())
	case <-b.purse.closed:
		return nil, unsent(backends.KindBudget, "the turn is over", nil)
	}
	var w spendWord
	select {
	case w = <-word:
	case <-ctx.Done():
		select {
		case w = <-word: // who is refused is cancelled, too
		default:
		}
	case <-b.purse.closed:
		return nil, unsent(backends.KindBudget, "the turn is over", nil)
	}
	switch {
	case w.refused != "":
		return nil, unsent(backends.KindBudget, w.refused, nil)
	case ctx.Err() != nil: // also for one that was granted meanwhile
		b.Release()
		return nil, unsent(backends.KindOf(ctx.Err()), "it waited for the budget: "+ctx.Err().Error(), ctx.Err())
	}
	return b, nil
}

// unsent is the error of an attempt that was not made.
func unsent(kind backends.Kind, message string, cause error) error {
	return &backends.Error{Kind: kind, Provider: "budget", Message: message, Free: true, Unsent: true, Err: cause}
}

// Release implements backends.Reservation.
func (b callBudget) Release() { b.end(&budget.Amount{}) }

// Settle implements backends.Reservation.
func (b callBudget) Settle(usage *backends.Usage) {
	if usage == nil || usage.CostUSD == nil && b.purse.priced {
		b.end(nil)
		return
	}
	spent := amountOf(usage.InputTokens+usage.OutputTokens, usage.CostUSD)
	b.end(&spent)
}

// end has the loop book an attempt's end. After the loop nobody does: what was held for
// the attempt stays spent.
func (b callBudget) end(spent *budget.Amount) {
	booked := make(chan struct{})
	select {
	case b.purse.ends <- spendEnd{b.key, spent, booked}:
		<-booked
	case <-b.purse.closed:
	}
}

// amountOf is what one request costs.
func amountOf(tokens int, usd *float64) budget.Amount {
	a := budget.Amount{Tokens: tokens, Calls: 1}
	if usd != nil {
		a.USD = budget.Dollars(*usd)
	}
	return a
}

// spending is the budget of a call's attempts, nil if there is none.
func (e *engine) spending(ctx context.Context, key machine.Key) context.Context {
	if e.purse == nil {
		return ctx
	}
	return backends.WithBudget(ctx, e.purse.ofCall(key))
}

// channels are those of a purse; without one nothing comes from them.
func (p *purse) channels() (asks <-chan spendAsk, ends <-chan spendEnd) {
	if p == nil {
		return nil, nil
	}
	return p.asks, p.ends
}

// tookAsk books that an attempt wants to be sent.
func (e *engine) tookAsk(a spendAsk) error {
	e.purse.waiting[a.key] = a.word
	return e.apply(turn.Reserving{At: e.now(), Key: a.key, Most: a.most})
}

// tookSpendEnd books the end of an attempt.
func (e *engine) tookSpendEnd(s spendEnd) error {
	defer close(s.booked)
	delete(e.purse.waiting, s.key)
	return e.apply(turn.Settled{At: e.now(), Key: s.key, Spent: s.spent})
}

// answer tells an attempt that it may be sent, or why it is not. In a journal that is
// replayed nobody waits.
func (e *engine) answer(key machine.Key, refused string) {
	if e.purse == nil || e.purse.waiting[key] == nil {
		return
	}
	e.purse.waiting[key] <- spendWord{refused}
	delete(e.purse.waiting, key)
}

// MetaSpent is the key of a session's metadata that has what its turns have spent.
const MetaSpent = "massgen:spent"

// spentBySession is the value of MetaSpent.
type spentBySession struct {
	// Session is the one that has spent it: a branch has its parent's metadata, and has
	// spent nothing.
	Session string `json:"session"`
	// Turn is the last that was counted, Before what had been spent when it began.
	Turn   int           `json:"turn"`
	Before budget.Amount `json:"before"`
	Spent  budget.Amount `json:"spent"`
}

// limits are those of the session's next turn: its own, and what is left of the session's.
func (p *Panel) limits(ctx context.Context, session string, number int) (budget.Limits, error) {
	b := p.opts.Budget
	if b.Session.None() {
		return b.Turn, nil
	}
	spent, err := p.spent(ctx, session, number)
	if err != nil {
		return budget.Limits{}, err
	}
	return b.Turn.Tighter(b.Session.Left(spent)), nil
}

// limitsNow are those of a turn that is gone on with: its own, and the panel's where these
// are tighter. out is what was under way.
func (p *Panel) limitsNow(ctx context.Context, e *engine, out []asked, branched bool) (budget.Limits, error) {
	now, err := p.limits(ctx, e.turn.session, e.turn.number)
	if err != nil {
		return now, err
	}
	ledger := e.machine.Ledger()
	lost := slices.ContainsFunc(out, func(a asked) bool { _, ok := a.effect.(machine.ModelCall); return ok && !branched })
	if u := e.machine.AllUsage(); now.USD != nil && ledger.Limits.None() && (lost || u.Calls > 0 && u.CostUSD == nil) {
		return now, errors.New("what its calls have cost so far is not known, so that max_usd cannot hold: leave it out, or start the turn over")
	}
	return ledger.Limits.Tighter(now), nil
}

// spent is what the turns of a session before a turn have spent.
func (p *Panel) spent(ctx context.Context, id string, number int) (budget.Amount, error) {
	session, err := p.opts.Store.Session(ctx, id)
	if errors.Is(err, sessions.ErrNoSession) { // it begins with the turn's first event
		return budget.Amount{}, nil
	}
	if err != nil {
		return budget.Amount{}, fmt.Errorf("find out what session %s has spent: %w", id, err)
	}
	noted, err := readSpent(session.Metadata[MetaSpent], id)
	if err != nil {
		return budget.Amount{}, fmt.Errorf("find out what session %s has spent: %w", id, err)
	}
	if noted.Turn >= number { // the turn was counted when its process was lost
		return noted.Before, nil
	}
	spent := noted.Spent
	for n := noted.Turn + 1; n < number; n++ {
		further, err := p.spentOfCut(ctx, id, n)
		if err != nil {
			return spent, fmt.Errorf("find out what turn %d of session %s has spent: %w", n, id, err)
		}
		spent = spent.Plus(further)
	}
	if noted.Turn > 0 {
		return spent, nil
	}
	told, err := p.unbudgeted(id, session.Usage) // of turns that were imported without their journals, too
	return spent.AtLeast(told), err
}

// spentOfCut is what a turn has spent that did not note it: its process was lost before it
// could, or the turn had no budget.
func (p *Panel) spentOfCut(ctx context.Context, session string, number int) (budget.Amount, error) {
	events, err := readJournal(ctx, p.opts.Store, session, number)
	if err != nil {
		return budget.Amount{}, err
	}
	m, err := played(events) // a branch has the turns of its parent without their journals
	if err != nil {
		return budget.Amount{}, err
	}
	if ledger := m.Ledger(); !ledger.Limits.None() {
		return ledger.Used(), nil
	}
	return p.unbudgeted(session, sessions.Usage(m.AllUsage()))
}

// unbudgeted is what calls without a budget have cost.
func (p *Panel) unbudgeted(session string, u sessions.Usage) (budget.Amount, error) {
	if u.Calls > 0 && u.CostUSD == nil && p.opts.Budget.Session.USD != nil {
		return budget.Amount{}, fmt.Errorf("what the calls of session %s cost is not known, so that max_usd cannot hold for it: begin another session", session)
	}
	a := amountOf(u.InputTokens+u.OutputTokens, u.CostUSD)
	a.Calls = u.Calls
	return a, nil
}

// readSpent reads what a session has noted, zero if that is nothing.
func readSpent(text, session string) (noted spentBySession, err error) {
	if text == "" {
		return noted, nil
	}
	if err = json.Unmarshal([]byte(text), &noted); err != nil || noted.Session != session {
		return spentBySession{}, err
	}
	return noted, nil
}

// noteSpent adds to the session what the turn has spent. It comes before the turn's end,
// so that a kill in between loses nothing, and counts nothing twice.
func (e *engine) noteSpent() error {
	if e.purse == nil || e.panel.opts.Budget.Session.None() {
		return nil
	}
	before, err := e.panel.spent(e.base, e.turn.session, e.turn.number)
	if err != nil {
		return err
	}
	ledger := e.machine.Ledger()
	noted, err := json.Marshal(spentBySession{Session: e.turn.session, Turn: e.turn.number, Before: before, Spent: before.Plus(ledger.Used())})
	if err == nil {
		err = e.panel.opts.Store.SetMetadata(e.base, e.turn.session, map[string]string{MetaSpent: string(noted)})
	}
	if err != nil {
		return fmt.Errorf("note what turn %s has spent: %w", e.turn.ID(), err)
	}
	return nil
}

// BudgetReport is what a turn has spent of its budget, for people.
type BudgetReport struct {
	MaxUSD    *float64 `json:"max_usd"`
	MaxTokens *int     `json:"max_tokens"`
	MaxCalls  *int     `json:"max_calls"`
	// SpentUSD, SpentTokens and SpentCalls are all that counts against them. The Unknown
	// parts of these are what was held for attempts of which nothing was told.
	SpentUSD      float64 `json:"spent_usd"`
	SpentTokens   int     `json:"spent_tokens"`
	SpentCalls    int     `json:"spent_calls"`
	UnknownUSD    float64 `json:"unknown_usd"`
	UnknownTokens int     `json:"unknown_tokens"`
	UnknownCalls  int     `json:"unknown_calls"`
	// OverUSD and OverTokens are by how much calls have cost more than could be reckoned
	// before they were sent.
	OverUSD    float64 `json:"over_usd"`
	OverTokens int     `json:"over_tokens"`
}

// budgetReport is nil without a budget.
func budgetReport(l budget.Ledger) *BudgetReport {
	if l.Limits.None() {
		return nil
	}
	used, over := l.Used(), l.Over
	r := BudgetReport{
		MaxTokens: l.Limits.Tokens, MaxCalls: l.Limits.Calls,
		SpentUSD: used.USD.Float(), SpentTokens: used.Tokens, SpentCalls: used.Calls,
		UnknownUSD: (used.USD - l.Spent.USD).Float(), UnknownTokens: used.Tokens - l.Spent.Tokens, UnknownCalls: used.Calls - l.Spent.Calls,
		OverUSD: over.USD.Float(), OverTokens: over.Tokens,
	}
	if l.Limits.USD != nil {
		most := l.Limits.USD.Float()
		r.MaxUSD = &most
	}
	return &r
}

// overshoot says by how much calls have cost more than was held for them, "" if they have
// not.
func (r *BudgetReport) overshoot() string {
	if r == nil || r.OverUSD == 0 && r.OverTokens == 0 {
		return ""
	}
	return fmt.Sprintf("calls have cost %s and %d tokens more than could be reckoned before they were sent", budget.Dollars(r.OverUSD), r.OverTokens)
}
