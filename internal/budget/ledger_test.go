package budget

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestNothingBeyondTheLimitsIsGranted plays attempts of random sizes, which end in random
// order, with what they cost, without a word, or lost. What is spent, kept and held never
// exceeds the limits as long as no attempt costs more than was held for it.
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
		waiting := map[int]Amount{}
		var billed Amount // by a service that nobody here sees
		grant := func(attempts ...int) {
			for _, attempt := range attempts {
				running[attempt] = waiting[attempt]
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
				attempt, granted := l.Ask(most)
				waiting[attempt] = most
				if granted {
					grant(attempt)
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
			for attempt, most := range waiting {
				if l.Lacks(attempt) == "" {
					t.Fatalf("attempt %d of %+v waits, and fits: %+v", attempt, most, l)
				}
			}
			if l.Used() != could {
				t.Fatalf("%+v are used, the ledger says %+v", could, l.Used())
			}
		}
	})
}

func TestOvershootIsBooked(t *testing.T) {
	limit := Dollars(0.10)
	l := Ledger{Limits: Allowance{Limits: Limits{USD: &limit}}}
	attempt, granted := l.Ask(Amount{USD: Dollars(0.02), Tokens: 100, Calls: 1})
	if !granted {
		t.Fatal("an attempt that fits was not granted")
	}
	l.End(attempt, &Amount{USD: Dollars(0.05), Tokens: 90, Calls: 1})
	if want := (Amount{USD: Dollars(0.03)}); l.Over != want {
		t.Errorf("over by %+v, want %+v", l.Over, want)
	}
	if _, granted := l.Ask(Amount{USD: Dollars(0.06)}); granted {
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
			if _, granted := l.Ask(Amount{Calls: 1}); !granted {
				t.Fatal("an attempt that fits was not granted")
			}
		}
		for attempt := range 6 {
			l.End(attempt+1, &most)
			if _, granted := l.Ask(Amount{USD: 1, Tokens: 1, Calls: 1}); granted {
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
	first, _ := l.Ask(Amount{Calls: 8})
	big, _ := l.Ask(Amount{Calls: 9})
	small, _ := l.Ask(Amount{Calls: 3})
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
