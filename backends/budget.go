package backends

import "context"

// Budget lets attempts through as long as they can be paid for. It is safe for concurrent
// use.
type Budget interface {
	// Reserve waits until an attempt may be sent that costs no more than most. If most never
	// fits, the attempt may be sent with less output: less is the number of tokens to take
	// from its limit, and the rest costs at least least. Equal costs mean that the output
	// cannot be shortened. The error is an *Error of KindBudget if the attempt may never be
	// sent, or the end of ctx. The caller ends each Reservation, by Release or Settle.
	Reserve(ctx context.Context, most, least Cost) (held Reservation, less int, err error)
}

// Cost is what an attempt costs, or may cost.
type Cost struct {
	// Tokens counts input and output.
	Tokens int
	// USD is nil where the price is unknown.
	USD *float64
}

// Reservation is what a Budget holds for one attempt. It is ended once, by one of its
// methods.
type Reservation interface {
	// Release ends it for an attempt that cost nothing.
	Release()
	// Settle ends it for any other attempt. A nil usage means that the cost is unknown: the whole
	// reservation stays spent.
	Settle(usage *Usage)
}

// Reserves reports whether a backend reserves each of its attempts with the Budget of its context. It
// calls the backend's method of the same name, if there is one.
func Reserves(b Backend) bool {
	r, ok := b.(interface{ Reserves() bool })
	return ok && r.Reserves()
}

type budgetKey struct{}

// WithBudget returns a context under which attempts are made as far as b lets them.
func WithBudget(ctx context.Context, b Budget) context.Context {
	return context.WithValue(ctx, budgetKey{}, b)
}

// BudgetFrom returns the budget of ctx, nil if it has no budget.
func BudgetFrom(ctx context.Context) Budget {
	b, _ := ctx.Value(budgetKey{}).(Budget)
	return b
}

// Unpaid is the error of an attempt that was not made and costs nothing: the budget had no room
// for it, or it was given up while it waited for room.
func Unpaid(kind Kind, message string, cause error) error {
	return &Error{Kind: kind, Provider: "budget", Message: message, Free: true, Unsent: true, Err: cause}
}
