package budget

// Budget is the most that may be spent: in each turn, and in all turns of a session
// together.
type Budget struct{ Turn, Session Limits }

// None reports whether there are no limits.
func (b Budget) None() bool { return b.Turn.None() && b.Session.None() }

// Priced reports whether money is limited, not only tokens or calls.
func (b Budget) Priced() bool { return b.Turn.USD != nil || b.Session.USD != nil }

// Over returns b with the limits of c where b has no limit.
func (b Budget) Over(c Budget) Budget { return Budget{b.Turn.over(c.Turn), b.Session.over(c.Session)} }

// Tighter returns the smaller limit of each part.
func (b Budget) Tighter(c Budget) Budget {
	return Budget{b.Turn.tighter(c.Turn), b.Session.tighter(c.Session)}
}

// Allowance is the most that one turn may spend. In JSON the turn's limits stand at the top, as in
// older journals. These have no Session, and the rest of its budget is part of the turn's limits.
type Allowance struct {
	// Limits are the turn's own.
	Limits
	// Session limits all turns of the session together. The turns before this one have spent
	// Before.
	Session Limits `json:"session,omitzero"`
	Before  Amount `json:"before,omitzero"`
	// Unknown names the parts of Before that are incomplete.
	Unknown Unknown `json:"unknown,omitzero"`
}

// Unknown names the parts of an amount that are incomplete, because a call had no usage and nothing
// was held for it. Calls can always be counted.
type Unknown struct {
	USD    bool `json:"usd,omitempty"`
	Tokens bool `json:"tokens,omitempty"`
}

// Or returns the incomplete parts of the sum of two amounts.
func (u Unknown) Or(v Unknown) Unknown { return Unknown{u.USD || v.USD, u.Tokens || v.Tokens} }

// Breaks names a limit that cannot be enforced with these parts unknown, "" if all can.
func (u Unknown) Breaks(l Limits) string {
	switch {
	case u.USD && l.USD != nil:
		return "max_usd"
	case u.Tokens && l.Tokens != nil:
		return "max_tokens"
	}
	return ""
}

// Budget is an allowance as it was given.
func (a Allowance) Budget() Budget { return Budget{a.Limits, a.Session} }

// None reports whether there are no limits.
func (a Allowance) None() bool { return a.Budget().None() }

// Priced reports whether money is limited, not only tokens or calls.
func (a Allowance) Priced() bool { return a.Budget().Priced() }

// lacks names the limit that is too low for a further amount beside the turn's used one, and says by
// how much; it returns "" if there is no such limit.
func (a Allowance) lacks(used, most Amount) string {
	if why := a.Limits.lacks("", used, most); why != "" {
		return why
	}
	return a.Session.lacks("the session's ", a.Before.Plus(used), most)
}
