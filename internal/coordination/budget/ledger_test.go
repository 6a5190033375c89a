package budget

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestNothingBeyondTheLimitsIsGranted plays attempts of random sizes. They end in random order: some
// tell their cost, some tell nothing, some are lost, and some are shortened. The amounts spent,
// kept and held never exceed the limits, as long as no attempt costs more than its hold.
func TestNothingBeyondTheLimitsIsGranted(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		usd, tokens, calls := USD(rapid.Int64Range(0, 100).Draw(t, "usd")), rapid.IntRange(0, 100).Draw(t, "tokens"), rapid.IntRange(0, 20).Draw(t, "calls")
		l := Ledger{Limits: Allowance{Limits: Limits{&usd, &tokens, &calls}}}
		amount := func(most Amount) Amount {
			return Amount{
				USD(rapid.Int64Range(0, int64(most.USD)).Draw(t, "usd")), rapid.IntRange(0, most.Tokens).Draw(t, "tokens"), rapid.IntRange(0, most.Calls).Draw(t, "calls"),
			}
		}
		running := map[int]Amount{} // what the attempts under way may still cost
		waiting := map[int]Hold{}
		var billed Amount // by a service that nobody here sees
		grant := func(attempts ...int) {
			for _, attempt := range attempts {
				running[attempt] = waiting[attempt].Most
				delete(waiting, attempt)
			}
		}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			switch rapid.IntRange(0, 9).Draw(t, "what") {
			case 0:
				end := l.Forget
				if rapid.Bool().Draw(t, "lost") {
					for _, most := range running {
						billed = billed.Plus(most)
					}
					end = l.Lose
				}
				clear(running)
				clear(waiting)
				end()
			case 1, 2, 3, 4:
				most := amount(Amount{40, 40, 1})
				least := amount(most)
				least.Calls = most.Calls
				attempt, granted := l.Reserve(most, least)
				waiting[attempt] = Hold{attempt, most, least}
				if granted {
					grant(attempt)
				}
			case 5:
				attempt := rapid.IntRange(1, l.Asked+1).Draw(t, "attempt")
				if most, granted := shorten(t, &l, waiting[attempt], attempt); granted {
					delete(waiting, attempt)
					running[attempt] = most
				}
			default:
				attempt := rapid.IntRange(1, l.Asked+1).Draw(t, "attempt")
				most, isRunning := running[attempt]
				delete(running, attempt)
				delete(waiting, attempt)
				if rapid.Bool().Draw(t, "told") {
					spent := amount(most)
					billed = billed.Plus(spent)
					grant(l.End(attempt, &spent)...)
				} else {
					if isRunning {
						billed = billed.Plus(most)
					}
					grant(l.End(attempt, nil)...)
				}
			}
			could := billed
			for _, most := range running {
				could = could.Plus(most)
			}
			if over := l.Limits.lacks(Amount{}, could); over != "" {
				t.Fatalf("%+v may be billed, over %s: %+v", could, over, l)
			}
			for attempt, h := range waiting {
				if l.Lacks(attempt) == "" {
					t.Fatalf("attempt %d of %+v waits, and fits: %+v", attempt, h.Most, l)
				}
			}
			if l.Used() != could {
				t.Fatalf("%+v are used, the ledger says %+v", could, l.Used())
			}
		}
	})
}

// shorten has the ledger shorten an attempt, whose hold is zero if it does not wait, and
// returns what it may cost then.
func shorten(t *rapid.T, l *Ledger, h Hold, attempt int) (most Amount, granted bool) {
	waits := h.Attempt == attempt
	room := Ledger{Limits: l.Limits, Spent: l.Used()}
	less, why := l.Shorten(attempt)
	switch {
	case why == "" && !waits:
		t.Fatalf("attempt %d does not wait, and is granted", attempt)
	case why == "" && less > 0 && room.lacks(h.shortened(less-1)) == "":
		t.Fatalf("attempt %+v is %d tokens shorter, and one less would do: %+v", h, less, l)
	case why == "":
		return checkShortened(t, h, less), true
	case waits && h.span() > 0 && l.lacks(h.Least) == "":
		t.Fatalf("attempt %+v is not granted, and its least fits: %+v", h, l)
	}
	return Amount{}, false
}

// checkShortened checks what may still be spent on an attempt that is so many tokens shorter,
// and returns it. A line leads from its most to its least.
func checkShortened(t *rapid.T, h Hold, less int) Amount {
	got := h.shortened(less)
	if less == 0 {
		return h.Most
	}
	span := h.Most.Tokens - h.Least.Tokens
	saved := int64(h.Most.USD-h.Least.USD) * int64(less) / int64(span)
	if want := (Amount{h.Most.USD - USD(saved), h.Most.Tokens - less, h.Most.Calls}); less > span || got != want {
		t.Fatalf("%+v is %d tokens shorter: %+v, want %+v", h, less, got, want)
	}
	return got
}

// TestOutputIsShortenedToWhatFits: a call of 1,000 input tokens at $1 a million and up to
// 8,000 of output at $2 waits, and then is granted what there is room for.
func TestOutputIsShortenedToWhatFits(t *testing.T) {
	most, least := Amount{Dollars(0.017), 9000, 1}, Amount{Dollars(0.001512), 1256, 1}
	for name, c := range map[string]struct {
		limits Allowance
		least  Amount
		less   int
		why    string
	}{
		"all of it":                    {Allowance{Limits: Limits{USD: new(Dollars(0.017))}}, least, 0, ""},
		"by money":                     {Allowance{Limits: Limits{USD: new(Dollars(0.01))}}, least, 3500, ""},
		"by tokens":                    {Allowance{Limits: Limits{Tokens: new(5000)}}, least, 4000, ""},
		"by the tighter of both":       {Allowance{Limits: Limits{USD: new(Dollars(0.01)), Tokens: new(5000)}}, least, 4000, ""},
		"by the session's":             {Allowance{Session: Limits{USD: new(Dollars(0.02))}, Before: Amount{USD: Dollars(0.01)}}, least, 3500, ""},
		"a part of a token is none":    {Allowance{Limits: Limits{USD: new(Dollars(0.010001))}}, least, 3500, ""},
		"the least":                    {Allowance{Limits: Limits{USD: &least.USD}}, least, 7744, ""},
		"less than the least":          {Allowance{Limits: Limits{USD: new(least.USD - 1)}}, least, 0, "it may cost $0.001512, and $0.001512 of max_usd $0.001512 is left"},
		"no calls":                     {Allowance{Limits: Limits{Calls: new(0)}}, least, 0, "0 of max_calls 0 are left"},
		"one that cannot be shortened": {Allowance{Limits: Limits{Tokens: new(5000)}}, most, 0, "it may take 9000 tokens, and 5000 of max_tokens 5000 are left"},
		"one that does not say":        {Allowance{Limits: Limits{Tokens: new(5000)}}, Amount{}, 0, "it may take 9000 tokens, and 5000 of max_tokens 5000 are left"},
		"one that says nonsense":       {Allowance{Limits: Limits{Tokens: new(5000)}}, Amount{Dollars(1), 1256, 1}, 0, "it may take 9000 tokens, and 5000 of max_tokens 5000 are left"},
	} {
		l := Ledger{Limits: c.limits}
		l.Held = []Hold{{Attempt: 1, Most: Amount{USD: Dollars(0.5), Tokens: 1 << 20, Calls: 1}}}
		l.Asked = 1
		attempt, granted := l.Reserve(most, c.least)
		if granted {
			t.Errorf("%s: it is granted beside another", name)
		}
		l.Held = nil
		less, why := l.Shorten(attempt)
		if less != c.less || why != c.why {
			t.Errorf("%s: %d tokens less, %q, want %d, %q", name, less, why, c.less, c.why)
		}
		if isHeld := len(l.Held) == 1 && len(l.Waiting) == 0; isHeld != (c.why == "") {
			t.Errorf("%s: held %+v, waiting %+v", name, l.Held, l.Waiting)
		}
		if c.why == "" && l.Held[0] != (Hold{Attempt: attempt, Most: Amount{l.Held[0].Most.USD, 9000 - c.less, 1}}) {
			t.Errorf("%s: held %+v", name, l.Held)
		}
	}
}

func TestOvershootIsBooked(t *testing.T) {
	limit := Dollars(0.10)
	l := Ledger{Limits: Allowance{Limits: Limits{USD: &limit}}}
	attempt, granted := l.Reserve(Amount{USD: Dollars(0.02), Tokens: 100, Calls: 1}, Amount{})
	if !granted {
		t.Fatal("an attempt that fits was not granted")
	}
	l.End(attempt, &Amount{USD: Dollars(0.05), Tokens: 90, Calls: 1})
	if want := (Amount{USD: Dollars(0.03)}); l.Over != want {
		t.Errorf("over by %+v, want %+v", l.Over, want)
	}
	if _, granted := l.Reserve(Amount{USD: Dollars(0.06)}, Amount{}); granted {
		t.Error("0.06 were granted, and only 0.05 are left")
	}
}

// TestNoSumWrapsAround: attempts that were under way together and cost more than can be
// counted leave nothing for others.
func TestNoSumWrapsAround(t *testing.T) {
	limit := Dollars(1)
	for most, limits := range map[Amount]Limits{
		{USD: Dollars(1e300)}:       {USD: &limit},
		{Tokens: math.MaxInt/4 + 1}: {Tokens: new(100)},
	} {
		l := Ledger{Limits: Allowance{Limits: limits}}
		for range 6 {
			if _, granted := l.Reserve(Amount{Calls: 1}, Amount{}); !granted {
				t.Fatal("an attempt that fits was not granted")
			}
		}
		for attempt := range 6 {
			l.End(attempt+1, &most)
			if _, granted := l.Reserve(Amount{USD: 1, Tokens: 1, Calls: 1}, Amount{}); granted {
				t.Fatalf("after %d attempts that cost %+v each another one was granted: %+v", attempt+1, most, l)
			}
		}
		if l.Over.USD < 0 || l.Over.Tokens < 0 {
			t.Errorf("over by %+v", l.Over)
		}
	}
}

func TestSmallerOnesPass(t *testing.T) {
	calls := 10
	l := Ledger{Limits: Allowance{Limits: Limits{Calls: &calls}}}
	first, _ := l.Reserve(Amount{Calls: 8}, Amount{})
	big, _ := l.Reserve(Amount{Calls: 9}, Amount{})
	small, _ := l.Reserve(Amount{Calls: 3}, Amount{})
	if got := l.End(first, &Amount{Calls: 2}); !slices.Equal(got, []int{small}) {
		t.Errorf("granted %v, want %d only", got, small)
	}
	if why := l.Lacks(big); why != "5 of max_calls 10 are left" {
		t.Errorf("%d waits for %q", big, why)
	}
}

func TestDollars(t *testing.T) {
	for f, want := range map[float64]string{0: "$0.00", 0.1: "$0.10", 1.5: "$1.50", 0.0123: "$0.0123", 0.000001: "$0.000001", 12: "$12.00"} {
		if got := Dollars(f).String(); got != want {
			t.Errorf("Dollars(%v) is %s, want %s", f, got, want)
		}
	}
	if got := Dollars(0.1) + Dollars(0.2); got != Dollars(0.3) {
		t.Errorf("0.1 and 0.2 are %d, 0.3 is %d", got, Dollars(0.3))
	}
	if Dollars(1e300) <= 0 || Dollars(-1) != 0 {
		t.Error("what cannot be counted is no limit")
	}
}

// The dearest call that is believed, a hundred million tokens each way at the highest price
// that a config may have, is counted exactly, and so are four of them.
func TestDearestCallIsCounted(t *testing.T) {
	const dearest = 2 * 100_000_000 * 10_000 / 1e6
	cost := Request(1, new(float64(dearest)))
	all := cost.Plus(cost).Plus(cost).Plus(cost)
	if got := all.USD.Float(); got != 4*dearest {
		t.Errorf("four calls for %v each cost %v", dearest, got)
	}
}
