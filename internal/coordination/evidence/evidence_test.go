package evidence_test

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/massgen/massgen/internal/coordination/evidence"
)

// marks returns a column whose answers are right where a text has a 1: a word for each question, a character
// for each run.
func marks(name, text string) evidence.Column {
	c := evidence.Column{Name: name}
	for word := range strings.FieldsSeq(text) {
		var runs []evidence.Answer
		for _, mark := range word {
			runs = append(runs, evidence.Answer{Right: mark == '1', Missing: mark == '-', Usage: evidence.Usage{Calls: 1, CostUSD: new(0.5)}})
		}
		c.Answers = append(c.Answers, runs)
	}
	return c
}

func hashes(n int) (list []string) {
	for i := range n {
		list = append(list, fmt.Sprintf("%016x", uint64(i)*0x9e3779b97f4a7c15))
	}
	return list
}

func seeded(seed uint64) func(int) int { return rand.New(rand.NewPCG(seed, 0)).IntN }

func near(t *testing.T, what string, got *float64, want float64) {
	t.Helper()
	if got == nil || math.Abs(*got-want) > 1e-12 {
		if got != nil {
			t.Errorf("%s is %v, want %v", what, *got, want)
			return
		}
		t.Errorf("%s is null, want %v", what, want)
	}
}

// TestFiguresByHand has figures that are computed on paper.
func TestFiguresByHand(t *testing.T) {
	t.Parallel()
	a, b, c := marks("a", "11 10 00 1-"), marks("b", "11 00 01 00"), marks("c", "11 11 11 11")
	s := marks("s", "11 10 01 11")
	for i, agreement := range []float64{1, 1. / 3, 2. / 3, 1} { // bins 10, 4, 7, 10
		for run := range s.Answers[i] {
			s.Answers[i][run].Agreement = &agreement
		}
	}
	s.Answers[0][0].RightToWrong, s.Answers[1][1].WrongToRight, s.Answers[2][0].WrongToRight = 1, 2, 1
	s.Answers[0][0].Picks = []evidence.Pick{{IsFirst: true}, {IsFirst: false}}
	s.Answers[0][0].SamePicks = true
	s.Answers[1][0].Picks = []evidence.Pick{{IsFirst: true, IsOwn: true, IsTest: true}, {IsFirst: true, IsTest: true}}
	s.Answers[2][1].Picks = []evidence.Pick{{IsTest: true, IsFirst: true}, {IsTest: true, IsFirst: true}}
	r := evidence.Table{Members: []evidence.Column{a, b, c}, Strategies: []evidence.Column{s}, Hashes: hashes(4), Draw: seeded(1)}.Figure()
	for i, want := range []float64{0.5, 3. / 8, 1} {
		near(t, "the accuracy of "+r.Members[i].Name, &r.Members[i].Accuracy, want)
	}
	f := r.Strategies[0]
	near(t, "the accuracy", &f.Accuracy, 0.75)
	near(t, "the ceiling", r.Ceiling, 1)
	near(t, "the agreement", f.Agreement, 0.75)
	// |1-1| of 4 answers, |1/2-1/3| of 2, |1/2-2/3| of 2
	near(t, "the calibration error", f.CalibrationError, (2./6+2./6)/8)
	near(t, "the order consistency", f.OrderConsistency, 1./3)
	near(t, "the preference of what is first", f.FirstPreference, 5./6)
	near(t, "the preference of one's own", f.OwnPreference, 1./4)
	if f.Flips != (evidence.Flips{RightToWrong: 1, WrongToRight: 3}) {
		t.Errorf("the flips are %+v", f.Flips)
	}
	if r.Members[0].Unanswered != 1 || r.BestMember != "c" || f.Calls != 8 || *f.CostUSD != 4 {
		t.Errorf("unanswered %d, best %s, %d calls, $%v", r.Members[0].Unanswered, r.BestMember, f.Calls, *f.CostUSD)
	}
	// The errors of c are constant. Those of a, 00 01 11 01, and of b, 00 11 10 11, differ in 4 of 8.
	rho := (3. - 4.*5./8) / math.Sqrt((4.-4.*4./8)*(5.-5.*5./8))
	near(t, "the effective votes", r.EffectiveVotes, 3/(1+2*max(0, rho)))
	// c is the best of both halves. The differences to it are 0, -1/2, -1/2 and 0: (2.8 × 0.2887 / 0.25)² is 10.5.
	if f.Verdict != "cannot tell: some 11 questions would" {
		t.Errorf("the verdict is %q", f.Verdict)
	}
}

// TestCeilingAndNulls: what cannot be computed is null.
func TestCeilingAndNulls(t *testing.T) {
	t.Parallel()
	r := evidence.Table{Members: []evidence.Column{marks("a", "1 0 0 0"), marks("b", "0 1 0 0")}, Hashes: hashes(4), Draw: seeded(1)}.Figure()
	near(t, "the ceiling", r.Ceiling, 0.5)
	near(t, "the effective votes of members that never err together more than by chance", r.EffectiveVotes, 2)
	f := r.Members[0]
	if f.Agreement != nil || f.CalibrationError != nil || f.OrderConsistency != nil || f.OwnPreference != nil || f.FirstPreference != nil || f.Verdict != "" {
		t.Errorf("a member has %+v", f)
	}
	same := evidence.Table{Members: []evidence.Column{marks("a", "1 0 0 1"), marks("b", "1 0 0 1")}, Hashes: hashes(4), Draw: seeded(1)}.Figure()
	near(t, "the effective votes of equal members", same.EffectiveVotes, 1)
	always := evidence.Table{Members: []evidence.Column{marks("a", "1 1"), marks("b", "1 0")}, Hashes: hashes(2), Draw: seeded(1)}.Figure()
	if always.EffectiveVotes != nil {
		t.Errorf("the effective votes beside a member that is always right are %v", *always.EffectiveVotes)
	}
	none := evidence.Table{Draw: seeded(1)}.Figure()
	if none.Ceiling != nil || none.EffectiveVotes != nil || none.Verdict != "" {
		t.Errorf("nothing has %+v", none)
	}
}

// TestAllRightHasWilsonsInterval: resamples of equal answers say nothing.
func TestAllRightHasWilsonsInterval(t *testing.T) {
	t.Parallel()
	r := evidence.Table{Members: []evidence.Column{marks("a", "1 1 1 1 1 1 1 1 1 1"), marks("b", "0 0 0 0 0 0 0 0 0 0")}, Hashes: hashes(10), Draw: seeded(1)}.Figure()
	// For 10 of 10 the interval begins at n/(n+z²), and for 0 of 10 it ends at z²/(n+z²).
	const z2 = 1.96 * 1.96
	for i, want := range [][2]float64{{10 / (10 + z2), 1}, {0, z2 / (10 + z2)}} {
		got := r.Members[i].Interval
		if math.Abs(got[0]-want[0]) > 1e-9 || math.Abs(got[1]-want[1]) > 1e-9 {
			t.Errorf("the interval of %s is %v, want %v", r.Members[i].Name, got, want)
		}
	}
}

// TestFewEqualAnswersCannotTell: one question that a strategy alone answers right does not show that it is better.
func TestFewEqualAnswersCannotTell(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]string{
		1: "cannot tell: some 8 questions would", // 2.8² is 7.84
		3: "cannot tell: some 8 questions would",
		8: "better by 100 points (35 to 100)", // 8/(8+z²) is 0.676, which is 35 % of the way from 0 to 1
	} {
		table := evidence.Table{
			Members:    []evidence.Column{marks("m", strings.TrimSpace(strings.Repeat("0 ", n)))},
			Strategies: []evidence.Column{marks("s", strings.TrimSpace(strings.Repeat("1 ", n)))}, Hashes: hashes(n), Draw: seeded(1),
		}
		r := table.Figure()
		if r.Strategies[0].Verdict != want {
			t.Errorf("%d questions: %q, want %q", n, r.Strategies[0].Verdict, want)
		}
		if canWin := r.Members[0].CanWin; canWin != (n < 4) {
			t.Errorf("%d questions: the member may be the best: %t", n, canWin)
		}
	}
	half := evidence.Table{Members: []evidence.Column{marks("m", "10 01 10")}, Hashes: hashes(3), Draw: seeded(1)}.Figure().Members[0]
	const z2 = 1.96 * 1.96
	margin := 0.5 * math.Sqrt(z2/(3+z2)) // Wilson's for a half
	if math.Abs(half.Interval[0]-(0.5-margin)) > 1e-9 || math.Abs(half.Interval[1]-(0.5+margin)) > 1e-9 {
		t.Errorf("a member that is right in every second run has the interval %v, want %v around a half", half.Interval, margin)
	}
}

// TestIntervalByExactArithmetic computes the interval of an accuracy a second time, with fractions and a sort
// of all resamples.
func TestIntervalByExactArithmetic(t *testing.T) {
	t.Parallel()
	const seed, resamples = 7, 2000
	c := marks("a", "10 11 00 01 11 10 11 11 00 11 01")
	r := evidence.Table{Members: []evidence.Column{c}, Hashes: hashes(len(c.Answers)), Draw: seeded(seed)}.Figure()
	random := rand.New(rand.NewPCG(seed, 0))
	var means []*big.Rat
	for range resamples {
		sum := new(big.Rat)
		for range c.Answers {
			for _, a := range c.Answers[random.IntN(len(c.Answers))] {
				if a.Right {
					sum.Add(sum, big.NewRat(1, 2))
				}
			}
		}
		means = append(means, sum.Quo(sum, big.NewRat(int64(len(c.Answers)), 1)))
	}
	slices.SortFunc(means, func(a, b *big.Rat) int { return a.Cmp(b) })
	for i, p := range []*big.Rat{big.NewRat(25, 1000), big.NewRat(975, 1000)} {
		at := new(big.Rat).Mul(p, big.NewRat(resamples-1, 1))
		below := int(new(big.Int).Div(at.Num(), at.Denom()).Int64())
		part := new(big.Rat).Sub(at, big.NewRat(int64(below), 1))
		between := new(big.Rat).Sub(means[below+1], means[below])
		want, _ := new(big.Rat).Add(means[below], between.Mul(between, part)).Float64()
		if got := r.Members[0].Interval[i]; math.Abs(got-want) > 1e-12 {
			t.Errorf("bound %d is %v, want %v", i, got, want)
		}
	}
}

// TestVerdictByTwoHalves: the best member is chosen on one half and stands on the other.
func TestVerdictByTwoHalves(t *testing.T) {
	t.Parallel()
	// In the order of their hashes a is right on the first half and b on the second. So the best of the first
	// half, a, is measured on the second, where it is always wrong, and the reverse.
	order := []string{"h1", "h2", "h3", "h4"}
	members := []evidence.Column{marks("a", "1 1 0 0"), marks("b", "0 0 1 1")}
	r := evidence.Table{Members: members, Strategies: []evidence.Column{marks("s", "1 1 1 0")}, Hashes: order, Draw: seeded(1)}.Figure()
	d := r.Strategies[0].Difference
	if d.Mean != 0.75 || math.Abs(d.SD-0.5) > 1e-12 {
		t.Errorf("the difference is %+v", d)
	}
	turned := evidence.Table{Members: members, Strategies: []evidence.Column{marks("s", "1 1 1 0")}, Hashes: []string{"h1", "h3", "h2", "h4"}, Draw: seeded(1)}.Figure()
	// Now the halves are questions 1 and 3, and 2 and 4: each member is right once in each, so the first counts.
	if d := turned.Strategies[0].Difference; d.Mean != 0.25 {
		t.Errorf("with other halves the difference is %+v", d)
	}
}

func TestSentences(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		d    evidence.Difference
		want string
	}{
		{evidence.Difference{Mean: 0.06, Interval: evidence.Interval{0.01, 0.11}}, "better by 6 points (1 to 11)"},
		{evidence.Difference{Mean: 0.06, Interval: evidence.Interval{0.002, 0.11}}, "better by 6 points (0.2 to 11)"},
		{evidence.Difference{Mean: -0.06, Interval: evidence.Interval{-0.11, -0.01}}, "worse by 6 points (1 to 11)"},
		{evidence.Difference{Mean: 0.1, Interval: evidence.Interval{-0.02, 0.2}, SD: 0.479}, "cannot tell: some 180 questions would"}, // 2.8 × 4.79 is 13.412
		{evidence.Difference{Mean: -0.02, Interval: evidence.Interval{-0.2, 0.1}, SD: 0.5}, "cannot tell: some 4,900 questions would"},
		{evidence.Difference{Mean: 0.01, Interval: evidence.Interval{-0.2, 0.1}, SD: 0.5}, "cannot tell: over 10,000 questions would"},
		{evidence.Difference{Interval: evidence.Interval{0, 0.1}, SD: 0.5}, "cannot tell: over 10,000 questions would"},
		{evidence.Difference{}, "cannot tell: over 10,000 questions would"},
	} {
		if got := test.d.String(); got != test.want {
			t.Errorf("%+v: %q, want %q", test.d, got, test.want)
		}
	}
}

// TestCheapestThatMayBeTheBest leaves out what is worse for sure.
func TestCheapestThatMayBeTheBest(t *testing.T) {
	t.Parallel()
	cost := func(c evidence.Column, calls int, usd *float64) evidence.Column {
		for q := range c.Answers {
			c.Answers[q][0].Usage = evidence.Usage{Calls: calls, CostUSD: usd}
		}
		return c
	}
	bad := marks("bad", strings.Repeat("0 ", 40)+strings.Repeat("1 ", 10))
	fair := marks("fair", strings.Repeat("1 ", 46)+strings.Repeat("0 ", 4))
	good := marks("good", strings.Repeat("1 ", 48)+strings.Repeat("0 ", 2))
	table := evidence.Table{
		Members:    []evidence.Column{cost(bad, 1, new(0.1)), cost(fair, 2, new(0.5))},
		Strategies: []evidence.Column{cost(good, 6, new(0.4))}, Hashes: hashes(50), Draw: seeded(1),
	}
	if best, isMember := table.Figure().Cheapest(); best.Name != "good" || isMember {
		t.Errorf("the cheapest in dollars is %s, a member %t", best.Name, isMember)
	}
	cost(good, 6, nil)
	table.Draw = seeded(1)
	if best, isMember := table.Figure().Cheapest(); best.Name != "fair" || !isMember {
		t.Errorf("the cheapest in calls is %s, a member %t", best.Name, isMember)
	}
}
