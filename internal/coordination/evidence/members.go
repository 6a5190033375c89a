package evidence

import "math"

// ceiling returns the share of questions and runs that at least one member answers right; nil without
// members or questions.
func ceiling(members []Column) *float64 {
	var solved []float64
	if len(members) == 0 {
		return nil
	}
	for q, runs := range members[0].Answers {
		for r := range runs {
			isSolved := false
			for _, m := range members {
				isSolved = isSolved || m.Answers[q][r].Right
			}
			solved = append(solved, asNumber(isSolved))
		}
	}
	return meanOf(solved)
}

// effectiveVotes returns how many members with independent errors are worth as much as these. It is nil
// if no two members have errors that can be correlated.
func effectiveVotes(members []Column) *float64 {
	var errors [][]float64
	for _, m := range members {
		var wrong []float64
		for _, runs := range m.Answers {
			for _, a := range runs {
				wrong = append(wrong, 1-asNumber(a.Right))
			}
		}
		errors = append(errors, wrong)
	}
	var all []float64
	for i := range errors {
		for j := range i {
			if rho, ok := correlation(errors[i], errors[j]); ok {
				all = append(all, rho)
			}
		}
	}
	if len(all) == 0 {
		return nil
	}
	n := float64(len(members))
	return new(n / (1 + (n-1)*max(0, mean(all))))
}

// correlation returns Pearson's correlation of two lists. ok is false if one of them is constant.
func correlation(x, y []float64) (rho float64, ok bool) {
	if len(x) == 0 {
		return 0, false
	}
	mx, my := mean(x), mean(y)
	var xx, yy, xy float64
	for i := range x {
		xx += (x[i] - mx) * (x[i] - mx)
		yy += (y[i] - my) * (y[i] - my)
		xy += (x[i] - mx) * (y[i] - my)
	}
	if xx == 0 || yy == 0 {
		return 0, false
	}
	return xy / math.Sqrt(xx*yy), true
}

// Bin has the answers whose agreement lies in one tenth of the scale.
type Bin struct {
	Count               int
	Agreement, Accuracy float64 // means
}

// bins is the number of tenths: (0, 0.1] to (0.9, 1].
const bins = 10

// binsOf returns the bins of a column that are not empty, in the order of agreement.
func binsOf(c Column) (list []Bin) {
	var all [bins]Bin
	for _, runs := range c.Answers {
		for _, a := range runs {
			if a.Agreement == nil {
				continue
			}
			b := &all[min(max(int(math.Ceil(*a.Agreement*bins))-1, 0), bins-1)]
			b.Count++
			b.Agreement += *a.Agreement
			b.Accuracy += asNumber(a.Right)
		}
	}
	for _, b := range all {
		if b.Count > 0 {
			list = append(list, Bin{b.Count, b.Agreement / float64(b.Count), b.Accuracy / float64(b.Count)})
		}
	}
	return list
}

// calibrationError returns how far agreement and accuracy differ on average; nil without answers.
func calibrationError(list []Bin) *float64 {
	n, sum := 0, 0.0
	for _, b := range list {
		n += b.Count
		sum += float64(b.Count) * math.Abs(b.Accuracy-b.Agreement)
	}
	if n == 0 {
		return nil
	}
	return new(sum / float64(n))
}
