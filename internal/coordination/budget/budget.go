package budget

// Budget is the most that may be spent: in each turn, and in all turns of a session
// together.
type Budget struct{ Turn, Session Limits }

// None says that there are no limits.
func (b Budget) None() bool { return b.Turn.None() && b.Session.None() }

// Priced says that money is limited, not only tokens or calls.
func (b Budget) Priced() bool { return b.Turn.USD != nil || b.Session.USD != nil }

// Over returns b with the limits of c where b has none.
func (b Budget) Over(c Budget) Budget { return Budget{b.Turn.over(c.Turn), b.Session.over(c.Session)} }

// Tighter returns the smaller limit of each part.
func (b Budget) Tighter(c Budget) Budget {
	return Budget{b.Turn.tighter(c.Turn), b.Session.tighter(c.Session)}
}

// Allowance is what one turn may spend. In JSON the turn's limits stand for themselves, as
// in journals that have no Session: there, what it had left was taken into account in them.
type Allowance struct {
	// Limits are the turn's own.
	Limits
	// Session are those of all turns of its session together, of which those before this
	// one have spent Before.
	Session Limits `json:"session,omitzero"`
	Before  Amount `json:"before,omitzero"`
	// Unknown is what Before does not have all of.
	Unknown Unknown `json:"unknown,omitzero"`
}

// Unknown says of which parts of an amount nobody knows the whole, as where a call told no
// usage and nothing was held for it. Calls can always be counted.
type Unknown struct {
	USD    bool `json:"usd,omitempty"`
	Tokens bool `json:"tokens,omitempty"`
}

// Or returns what is unknown of the sum of two amounts.
func (u Unknown) Or(v Unknown) Unknown { return Unknown{u.USD || v.USD, u.Tokens || v.Tokens} }

// Breaks names the limit that cannot be enforced where so much is unknown, "" if all can.
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

// None says that there are no limits.
func (a Allowance) None() bool { return a.Budget().None() }

// Priced says that money is limited, not only tokens or calls.
func (a Allowance) Priced() bool { return a.Budget().Priced() }

// lacks says which limit is too low for what may be spent beside what the turn has used,
// and by how much, "" if none is.
func (a Allowance) lacks(used, most Amount) string {
	if why := a.Limits.lacks("", used, most); why != "" {
		return why
	}
	return a.Session.lacks("the session's ", a.Before.Plus(used), most)
}
