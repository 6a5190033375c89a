package evidence_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/massgen/massgen/internal/coordination/evidence"
)

// drawn returns a column whose answers are right with a probability.
func drawn(random *rand.Rand, name string, n int, accuracy float64) evidence.Column {
	c := evidence.Column{Name: name, Answers: make([][]evidence.Answer, n)}
	for q := range c.Answers {
		c.Answers[q] = []evidence.Answer{{Right: random.Float64() < accuracy, Usage: evidence.Usage{CostUSD: new(float64)}}}
	}
	return c
}

// TestIntervalsCoverTheTruth in 93 to 97 of 100 comparisons of 200 questions: the accuracy of a strategy, and the
// difference of two that are fixed beforehand. With one member both halves have the same rival.
func TestIntervalsCoverTheTruth(t *testing.T) {
	t.Parallel()
	const repetitions, n = 1000, 200
	const ofMember, ofStrategy = 0.7, 0.76
	covered := map[string]int{}
	for seed := range uint64(repetitions) {
		random := rand.New(rand.NewPCG(seed, 1))
		r := evidence.Table{
			Members: []evidence.Column{drawn(random, "a", n, ofMember)}, Strategies: []evidence.Column{drawn(random, "s", n, ofStrategy)},
			Hashes: hashes(n), Draw: rand.New(rand.NewPCG(seed, 2)).IntN,
		}.Figure()
		if r.Members[0].Interval.Has(ofMember) {
			covered["the accuracy"]++
		}
		if r.Strategies[0].Difference.Interval.Has(ofStrategy - ofMember) {
			covered["the difference"]++
		}
	}
	for what, times := range covered {
		if times < repetitions*93/100 || times > repetitions*97/100 {
			t.Errorf("the interval of %s covers the truth in %d of %d repetitions", what, times, repetitions)
		}
	}
	if len(covered) != 2 {
		t.Errorf("only %v was covered", covered)
	}
}

// TestAStrategyAsGoodAsItsMembersCannotBeTold: it draws its answer among three equally good members whose errors are
// independent. A member that was picked on the same questions would look better.
func TestAStrategyAsGoodAsItsMembersCannotBeTold(t *testing.T) {
	t.Parallel()
	const comparisons, n, accuracy = 200, 200, 0.7
	told, worse := 0, 0
	for seed := range uint64(comparisons) {
		random := rand.New(rand.NewPCG(seed, 3))
		members := []evidence.Column{drawn(random, "a", n, accuracy), drawn(random, "b", n, accuracy), drawn(random, "c", n, accuracy)}
		s := drawn(random, "s", n, 0)
		for q := range s.Answers {
			s.Answers[q][0].Right = members[random.IntN(len(members))].Answers[q][0].Right
		}
		r := evidence.Table{Members: members, Strategies: []evidence.Column{s}, Hashes: hashes(n), Draw: rand.New(rand.NewPCG(seed, 4)).IntN}.Figure()
		if !strings.HasPrefix(r.Strategies[0].Verdict, "cannot tell") {
			told++
		}
		if strings.HasPrefix(r.Strategies[0].Verdict, "worse") {
			worse++
		}
	}
	if told > comparisons/10 {
		t.Errorf("%d of %d comparisons tell a difference where there is none, %d of them that the strategy is worse", told, comparisons, worse)
	}
}
