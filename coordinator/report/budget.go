package report

import (
	"fmt"

	"github.com/massgen/massgen/internal/coordination/budget"
)

// BudgetReport is the spending of a turn's budget, for people.
type BudgetReport struct {
	// BudgetLimits are the turn's own limits.
	BudgetLimits
	// SpentUSD, SpentTokens and SpentCalls are the whole spending. The Unknown fields are the
	// part of it that was reserved for attempts without a reported usage.
	SpentUSD      float64 `json:"spent_usd"`
	SpentTokens   int     `json:"spent_tokens"`
	SpentCalls    int     `json:"spent_calls"`
	UnknownUSD    float64 `json:"unknown_usd"`
	UnknownTokens int     `json:"unknown_tokens"`
	UnknownCalls  int     `json:"unknown_calls"`
	// OverUSD and OverTokens are the cost of calls beyond their reservations.
	OverUSD    float64 `json:"over_usd"`
	OverTokens int     `json:"over_tokens"`
	// Needs are the lowest limits of the turn under which it would have gone on, nil for each
	// limit that did not end it.
	Needs BudgetLimits `json:"needs"`
	// Session is nil if the session has no limits.
	Session *SessionBudgetReport `json:"session"`
}

// BudgetLimits are the limits of a turn or of a session; nil means no limit.
type BudgetLimits struct {
	MaxUSD    *float64 `json:"max_usd"`
	MaxTokens *int     `json:"max_tokens"`
	MaxCalls  *int     `json:"max_calls"`
}

// SessionBudgetReport is the spending of all turns of a session, up to the end of one turn.
type SessionBudgetReport struct {
	BudgetLimits
	SpentUSD    float64 `json:"spent_usd"`
	SpentTokens int     `json:"spent_tokens"`
	SpentCalls  int     `json:"spent_calls"`
	// Needs is as in BudgetReport, for the limits of the session.
	Needs BudgetLimits `json:"needs"`
}

// budgetReport returns nil without a budget.
func budgetReport(l budget.Ledger) *BudgetReport {
	if l.Limits.None() {
		return nil
	}
	used, over := l.Used(), l.Over
	r := BudgetReport{
		BudgetLimits: budgetLimits(l.Limits.Limits),
		SpentUSD:     used.USD.Float(), SpentTokens: used.Tokens, SpentCalls: used.Calls,
		UnknownUSD: (used.USD - l.Spent.USD).Float(), UnknownTokens: used.Tokens - l.Spent.Tokens, UnknownCalls: used.Calls - l.Spent.Calls,
		OverUSD: over.USD.Float(), OverTokens: over.Tokens, Needs: needs(l.Limits.Limits, l.Needs, budget.Amount{}),
	}
	if !l.Limits.Session.None() {
		all := l.Limits.Before.Plus(used)
		r.Session = &SessionBudgetReport{
			budgetLimits(l.Limits.Session), all.USD.Float(), all.Tokens, all.Calls, needs(l.Limits.Session, l.Needs, l.Limits.Before),
		}
	}
	return &r
}

// needs returns the least values for limits that are below an attempt's need. before is the
// spending that counts against them beside the turn.
func needs(l budget.Limits, turn, before budget.Amount) (n BudgetLimits) {
	if turn == (budget.Amount{}) {
		return n
	}
	all := before.Plus(turn)
	if l.USD != nil && *l.USD < all.USD {
		n.MaxUSD = new(all.USD.RoundUp().Float())
	}
	if l.Tokens != nil && *l.Tokens < all.Tokens {
		n.MaxTokens = &all.Tokens
	}
	if l.Calls != nil && *l.Calls < all.Calls {
		n.MaxCalls = &all.Calls
	}
	return n
}

func budgetLimits(l budget.Limits) BudgetLimits {
	b := BudgetLimits{MaxTokens: l.Tokens, MaxCalls: l.Calls}
	if l.USD != nil {
		b.MaxUSD = new(l.USD.Float())
	}
	return b
}

// overshoot states the cost of calls beyond their reservations, "" if there is none.
func (r *BudgetReport) overshoot() string {
	if r == nil || r.OverUSD == 0 && r.OverTokens == 0 {
		return ""
	}
	return fmt.Sprintf("calls have cost %s and %d tokens more than could be reckoned before they were sent", budget.Dollars(r.OverUSD), r.OverTokens)
}
