package evidence

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/massgen/massgen/internal/system/plain"
)

// Difference is the mean of the differences of two columns, question by question, with its interval and
// the standard deviation of a single one.
type Difference struct {
	Mean     float64
	Interval Interval
	SD       float64
}

// power is the number of standard errors at which a true difference is found in 8 of 10 comparisons.
const power = 2.8

// mostQuestions is the largest number of questions that a verdict names.
const mostQuestions = 10_000

// String returns the verdict about the difference to the best member.
func (d Difference) String() string {
	switch {
	case d.Interval[0] > 0:
		return fmt.Sprintf("better by %s points (%s to %s)", points(d.Mean), points(d.Interval[0]), points(d.Interval[1]))
	case d.Interval[1] < 0:
		return fmt.Sprintf("worse by %s points (%s to %s)", points(-d.Mean), points(-d.Interval[1]), points(-d.Interval[0]))
	}
	return "cannot tell: " + d.needed() + " questions would"
}

// headline returns the verdict as a sentence that names the best member.
func (d Difference) headline() string {
	switch {
	case d.Interval[0] > 0:
		return fmt.Sprintf("better than the best member by %s points (%s to %s)", points(d.Mean), points(d.Interval[0]), points(d.Interval[1]))
	case d.Interval[1] < 0:
		return fmt.Sprintf("worse than the best member by %s points (%s to %s)", points(-d.Mean), points(-d.Interval[1]), points(-d.Interval[0]))
	}
	return "whether it is better than the best member cannot be told: " + d.needed() + " questions would tell"
}

// needed returns how many questions would tell a difference of this size from none. Equal differences do not
// show how far single ones vary, so they count as varying by 1, which is as far as they can.
func (d Difference) needed() string {
	n := math.Ceil(math.Pow(power*cmp.Or(d.SD, 1)/d.Mean, 2))
	if d.Mean == 0 || !(n <= mostQuestions) {
		return "over " + plain.Thousands(mostQuestions)
	}
	return "some " + plain.Thousands(int(max(n, 1)))
}

// points returns a share in points of a hundred: whole ones, or tenths below one.
func points(share float64) string {
	x := 100 * share
	digits := 0
	if math.Abs(x) < 0.95 {
		digits = 1
	}
	text := strconv.FormatFloat(x, 'f', digits, 64)
	switch text {
	case "-0", "0.0", "-0.0":
		return "0"
	}
	return text
}

// rival returns what the strategies are compared with, by question: the best member, which is chosen on
// one half of the questions and stands in the other. So no member counts as good for having been chosen
// by the questions that it is measured on. It is nil without members.
func (t Table) rival(members [][]float64) []float64 {
	if len(members) == 0 {
		return nil
	}
	byHash := make([]int, len(t.Hashes))
	for q := range byHash {
		byHash[q] = q
	}
	slices.SortStableFunc(byHash, func(a, b int) int { return cmp.Compare(t.Hashes[a], t.Hashes[b]) })
	first, second := byHash[:len(byHash)/2], byHash[len(byHash)/2:]
	rival := make([]float64, len(t.Hashes))
	for _, half := range [][2][]int{{first, second}, {second, first}} {
		best := members[bestOn(members, half[0])]
		for _, q := range half[1] {
			rival[q] = best[q]
		}
	}
	return rival
}

// bestOn returns the member with the most right answers to some questions, the first of equals.
func bestOn(members [][]float64, questions []int) int {
	best, most := 0, -1.0
	for i, accuracies := range members {
		sum := 0.0
		for _, q := range questions {
			sum += accuracies[q]
		}
		if sum > most {
			best, most = i, sum
		}
	}
	return best
}
