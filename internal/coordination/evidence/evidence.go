// Package evidence computes how well agents and strategies answer questions with known answers, and how
// far the figures can be trusted. It is pure arithmetic.
package evidence

import (
	"cmp"
	"slices"
)

// Answer is how one column answered a question in one run.
type Answer struct {
	// Right reports whether the answer is right. Missing reports whether there is no answer, which is
	// not right either.
	Right, Missing bool
	// Agreement is the share of the panel that backs the answer; nil if there is no winner, or no panel.
	Agreement *float64
	// Picks are those of a judge that was asked in both orders, empty for any other turn.
	Picks []Pick
	// SamePicks reports whether the judge picked the same candidate in both orders.
	SamePicks bool
	// RightToWrong and WrongToRight count the members whose last answer differs so from their first.
	RightToWrong, WrongToRight int
	Usage
}

// Pick is one choice of a judge that was asked in both orders.
type Pick struct {
	// IsFirst reports whether the judge picked the answer that stood first.
	IsFirst bool
	// IsOwn reports whether the judge picked its own answer. IsTest reports whether the pick tests that
	// preference: the judge's own answer is wrong, and another one is right.
	IsOwn, IsTest bool
}

// Usage is what answers cost.
type Usage struct {
	// Calls counts the model calls of an answer. SharedCalls of them were made for another column, too,
	// and are counted in each.
	Calls, SharedCalls        int
	InputTokens, OutputTokens int
	// CostUSD is nil if the price of a call is unknown.
	CostUSD *float64
}

// Plus adds two usages.
func (u Usage) Plus(v Usage) Usage {
	sum := Usage{u.Calls + v.Calls, u.SharedCalls + v.SharedCalls, u.InputTokens + v.InputTokens, u.OutputTokens + v.OutputTokens, nil}
	if u.CostUSD != nil && v.CostUSD != nil {
		sum.CostUSD = new(*u.CostUSD + *v.CostUSD)
	}
	return sum
}

// Column is an agent alone, or a strategy, with its answers by question and run.
type Column struct {
	Name    string
	Answers [][]Answer
}

// Table is what a comparison has measured. All columns have the same questions, in the same order, and
// the same number of runs.
type Table struct {
	Members, Strategies []Column
	// Hashes has a hash of each question. They divide the questions into two halves.
	Hashes []string
	// Draw returns a number from 0 up to n, each as often. It draws the resamples, from a seed.
	Draw func(n int) int
}

// Interval is a range that covers the true value in 95 of 100 comparisons.
type Interval [2]float64

// Has reports whether a value lies in the interval.
func (i Interval) Has(x float64) bool { return i[0] <= x && x <= i[1] }

// Flips count changes of mind.
type Flips struct {
	RightToWrong int `json:"right_to_wrong"`
	WrongToRight int `json:"wrong_to_right"`
}

// Figures describe a column.
type Figures struct {
	Name     string   `json:"name"`
	Accuracy float64  `json:"accuracy"`
	Interval Interval `json:"interval"`
	// Unanswered counts the questions without an answer, over all runs.
	Unanswered int `json:"unanswered"`
	// Agreement is the mean; nil without any.
	Agreement *float64 `json:"agreement"`
	// CalibrationError is how far agreement and accuracy differ on average, in ten bins of agreement.
	CalibrationError *float64 `json:"calibration_error"`
	// OrderConsistency is the share of questions where a judge picks the same in both orders.
	OrderConsistency *float64 `json:"order_consistency"`
	// OwnPreference is how often a judge picks its own wrong answer though another one is right.
	// FirstPreference is how often it picks the answer that stands first.
	OwnPreference   *float64 `json:"own_preference,omitempty"`
	FirstPreference *float64 `json:"first_preference,omitempty"`
	Flips           Flips    `json:"flips"`
	Calls           int      `json:"calls"`
	SharedCalls     int      `json:"shared_calls"`
	InputTokens     int      `json:"input_tokens"`
	OutputTokens    int      `json:"output_tokens"`
	CostUSD         *float64 `json:"cost_usd"`
	// Verdict compares the column with the best member; empty for a member.
	Verdict string `json:"verdict"`

	// Difference is the mean difference to the best member, with its interval; nil for a member.
	Difference *Difference `json:"-"`
	// Bins are the bins of agreement that have answers.
	Bins []Bin `json:"-"`
	// CanWin reports whether the difference to the most accurate column may be zero.
	CanWin bool `json:"-"`
}

// Report has all figures of a comparison, in the form that massgen compare --json prints.
type Report struct {
	Format     int       `json:"format"`
	Questions  int       `json:"questions"`
	Runs       int       `json:"runs"`
	Members    []Figures `json:"members"`
	Strategies []Figures `json:"strategies"`
	BestMember string    `json:"best_member"`
	// Ceiling is the share of questions that at least one member answers right: no choice among the
	// members' answers is right more often. It is nil without members.
	Ceiling *float64 `json:"ceiling"`
	// EffectiveVotes is how many independent members the members are worth; nil if that is unknown.
	EffectiveVotes *float64 `json:"effective_votes"`
	// Verdict is the headline, about the first strategy.
	Verdict string `json:"verdict"`
	// RepeatedCalls counts the calls that a kill lost. Seconds is how long the turns took together, and
	// SpentUSD is what all calls cost, each once; nil if a price is unknown.
	RepeatedCalls int      `json:"repeated_calls"`
	Seconds       float64  `json:"seconds"`
	SpentUSD      *float64 `json:"spent_usd"`
}

// Figure computes the report of a table, without RepeatedCalls, Seconds and SpentUSD.
func (t Table) Figure() Report {
	r := Report{
		Format: 1, Questions: len(t.Hashes), Members: []Figures{}, Strategies: []Figures{},
		Ceiling: ceiling(t.Members), EffectiveVotes: effectiveVotes(t.Members),
	}
	columns := slices.Concat(t.Members, t.Strategies)
	if len(columns) == 0 || len(t.Hashes) == 0 {
		return r
	}
	r.Runs = len(columns[0].Answers[0])
	accuracies := make([][]float64, len(columns))
	for i, c := range columns {
		accuracies[i] = accuraciesOf(c)
	}
	most := slices.IndexFunc(accuracies, func(x []float64) bool {
		return !slices.ContainsFunc(accuracies, func(y []float64) bool { return mean(y) > mean(x) })
	})
	rival := t.rival(accuracies[:len(t.Members)])
	// All intervals come from the same resamples, in one pass: accuracies, differences to the most
	// accurate column, differences to the best member.
	series := slices.Clone(accuracies)
	for _, x := range accuracies {
		series = append(series, minus(x, accuracies[most]))
	}
	for _, x := range accuracies[len(t.Members):] {
		if rival != nil {
			series = append(series, minus(x, rival))
		}
	}
	intervals := bootstrap(t.Draw, series)
	for i, c := range columns {
		f := figuresOf(c)
		f.Accuracy, f.Interval = mean(accuracies[i]), spread(accuracies[i], intervals[i], 0)
		f.CanWin = i == most || spread(series[len(columns)+i], intervals[len(columns)+i], -1).Has(0)
		if i < len(t.Members) {
			r.Members = append(r.Members, f)
			continue
		}
		if at := 2*len(columns) + i - len(t.Members); rival != nil {
			f.Difference = &Difference{Mean: mean(series[at]), Interval: spread(series[at], intervals[at], -1), SD: deviation(series[at])}
			f.Verdict = f.Difference.String()
		}
		r.Strategies = append(r.Strategies, f)
	}
	if len(r.Members) > 0 {
		r.BestMember = slices.MaxFunc(r.Members, func(a, b Figures) int { return cmp.Compare(a.Accuracy, b.Accuracy) }).Name
	}
	if len(r.Strategies) > 0 && rival != nil {
		r.Verdict = r.Strategies[0].Name + ": " + r.Strategies[0].Difference.headline()
	}
	return r
}

// accuraciesOf returns for each question the share of runs with a right answer.
func accuraciesOf(c Column) []float64 {
	list := make([]float64, len(c.Answers))
	for q, runs := range c.Answers {
		for _, a := range runs {
			if a.Right {
				list[q]++
			}
		}
		list[q] /= float64(len(runs))
	}
	return list
}

// figuresOf returns the figures of a column that need no other column and no resamples.
func figuresOf(c Column) Figures {
	f := Figures{Name: c.Name}
	usage := Usage{CostUSD: new(float64)}
	var agreed, orders, own, first []float64
	for _, runs := range c.Answers {
		for _, a := range runs {
			if a.Missing {
				f.Unanswered++
			}
			if a.Agreement != nil {
				agreed = append(agreed, *a.Agreement)
			}
			if len(a.Picks) > 1 {
				orders = append(orders, asNumber(a.SamePicks))
			}
			for _, p := range a.Picks {
				first = append(first, asNumber(p.IsFirst))
				if p.IsTest {
					own = append(own, asNumber(p.IsOwn))
				}
			}
			f.Flips.RightToWrong += a.RightToWrong
			f.Flips.WrongToRight += a.WrongToRight
			usage = usage.Plus(a.Usage)
		}
	}
	f.Agreement, f.OrderConsistency, f.OwnPreference, f.FirstPreference = meanOf(agreed), meanOf(orders), meanOf(own), meanOf(first)
	f.Bins = binsOf(c)
	f.CalibrationError = calibrationError(f.Bins)
	f.Calls, f.SharedCalls, f.InputTokens, f.OutputTokens, f.CostUSD = usage.Calls, usage.SharedCalls, usage.InputTokens, usage.OutputTokens, usage.CostUSD
	return f
}

// Cheapest returns the cheapest column that may be as accurate as the most accurate one, and reports
// whether it is a member. Columns are compared by cost, or by calls where a cost is unknown.
func (r Report) Cheapest() (best Figures, isMember bool) {
	all := slices.Concat(r.Members, r.Strategies)
	isPriced := !slices.ContainsFunc(all, func(f Figures) bool { return f.CostUSD == nil })
	at := -1
	for i, f := range all {
		if f.CanWin && (at < 0 || compareCost(f, all[at], isPriced) < 0) {
			at = i
		}
	}
	if at < 0 {
		return Figures{}, false
	}
	return all[at], at < len(r.Members)
}

func compareCost(f, g Figures, isPriced bool) int {
	byUse := cmp.Or(cmp.Compare(f.Calls, g.Calls), cmp.Compare(f.InputTokens+f.OutputTokens, g.InputTokens+g.OutputTokens))
	if isPriced {
		return cmp.Or(cmp.Compare(*f.CostUSD, *g.CostUSD), byUse)
	}
	return byUse
}
