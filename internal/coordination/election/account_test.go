package election

import (
	"slices"
	"sort"
)

// This file is a second account of the rules, which shares nothing with the package. It knows
// texts in place of candidates, casts a ballot of weight 2 twice, and learns by trying all
// ballots of the open voters what may still change.

// found is an outcome in the account's words.
type found struct {
	winner, consensus int // the agent, -1 without one; 1 with consensus
	tied              int // a bit for each tied agent
}

// mixed is what open voters leave undecided.
var mixed = found{winner: -2}

// account is one election, without ballots.
type account struct {
	rule     Rule
	ties     Ties
	quorum   float64
	members  int
	weights  []int
	texts    []string // of the agents' answers, "" without one
	arrivals []int
	may      [][]int // the agents that each voter may name
}

// election returns the same election in the package's words.
func (a account) election() Election {
	e := Election{Rule: a.rule, Ties: a.ties, Quorum: a.quorum, Members: a.members, Weights: a.weights, Arrivals: a.arrivals}
	for _, text := range a.texts {
		if text == "" {
			e.Candidates = append(e.Candidates, -1)
		} else {
			e.Candidates = append(e.Candidates, slices.Index(a.texts, text))
		}
	}
	return e
}

// elect counts by the book. A nil ballot is an abstention.
func (a account) elect(ballots [][]int) found {
	var lists [][]string // one for each unit of weight
	for voter, names := range ballots {
		var list []string
		for _, agent := range names {
			if text := a.texts[agent]; text != "" && !slices.Contains(list, text) {
				list = append(list, text)
			}
		}
		if a.rule != Approval && a.rule != Ranked && len(list) > 1 {
			list = list[:1]
		}
		if len(list) > 0 {
			lists = append(lists, slices.Repeat([][]string{list}, a.weights[voter])...)
		}
	}
	if len(lists) == 0 {
		return found{winner: -1}
	}
	texts := a.different()
	if a.rule == Ranked {
		if w := slices.IndexFunc(texts, func(x string) bool { return beatsAll(lists, texts, x) }); w >= 0 {
			return found{winner: slices.Index(a.texts, texts[w]), consensus: 1}
		}
	}
	points := map[string]int{}
	for _, list := range lists {
		for i, text := range list {
			if a.rule == Ranked {
				points[text] += len(texts) - 1 - i // one for each candidate that does not stand before it
			} else {
				points[text]++
			}
		}
	}
	return a.byPoints(texts, points)
}

// different returns the different texts in the order of the agents.
func (a account) different() []string {
	var texts []string
	for _, text := range a.texts {
		if text != "" && !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
	}
	return texts
}

func (a account) byPoints(texts []string, points map[string]int) found {
	order := slices.Clone(texts)
	sort.SliceStable(order, func(i, j int) bool { return points[order[i]] > points[order[j]] })
	best := order[:1]
	for len(best) < len(order) && points[order[len(best)]] == points[order[0]] {
		best = order[:len(best)+1]
	}
	f := found{winner: slices.Index(a.texts, best[0]), consensus: 1}
	votes := points[best[0]]
	if a.rule == Unanimous && len(points) > 1 {
		f.consensus = 0
	}
	if a.rule == Quorum && (a.quorum >= 1 && float64(votes) < a.quorum || a.quorum < 1 && float64(votes) < a.quorum*float64(a.members)) {
		f.consensus = 0
	}
	if len(best) == 1 {
		return f
	}
	switch a.ties {
	case NoTies:
		f.consensus = 0
	case ByJudge:
		for _, text := range best {
			f.tied |= 1 << slices.Index(a.texts, text)
		}
	case Earliest:
		agents := []int{}
		for agent, text := range a.texts {
			if slices.Contains(best, text) {
				agents = append(agents, agent)
			}
		}
		sort.Slice(agents, func(i, j int) bool { return a.arrivals[agents[i]] < a.arrivals[agents[j]] })
		f.winner = slices.Index(a.texts, a.texts[agents[0]])
	}
	return f
}

// beatsAll reports whether more ballots prefer a text to each other one than the reverse.
func beatsAll(lists [][]string, texts []string, text string) bool {
	for _, other := range texts {
		if other == text {
			continue
		}
		sum := 0
		for _, list := range lists {
			a, b := slices.Index(list, text), slices.Index(list, other)
			if a >= 0 && (b < 0 || a < b) {
				sum++
			} else if b >= 0 {
				sum--
			}
		}
		if sum <= 0 {
			return false
		}
	}
	return true
}

// choices returns all ballots over the agents that a voter may name: nil for abstaining first.
func (a account) choices(names []int) [][]int {
	all := [][]int{nil}
	for from := 0; from < len(all); from++ {
		list := all[from]
		for _, name := range names {
			isNew := !slices.Contains(list, name)
			switch a.rule {
			case Ranked:
				// With all but one named, the place of the last follows.
				isNew = isNew && len(list) < max(len(names)-1, 1)
			case Approval:
				isNew = isNew && (len(list) == 0 || list[len(list)-1] < name)
			default:
				isNew = len(list) == 0
			}
			if isNew {
				all = append(all, append(slices.Clone(list), name))
			}
		}
	}
	return all
}

// states walks all states of the voters. Each has abstained, voted or is open. Visit gets what
// all ballots of the open voters lead to, mixed if that differs, and the same for the winner
// without the consensus.
func (a account) states(visit func(ballots [][]int, open []bool, all, winner found)) {
	choices := make([][][]int, len(a.may))
	for voter := range a.may {
		choices[voter] = a.choices(a.may[voter])
	}
	ballots, open := make([][]int, len(a.may)), make([]bool, len(a.may))
	memo := map[int][2]found{}
	var outcomes func(voter, code int) [2]found
	digits := make([]int, len(a.may)) // a choice of each voter; one past the last: open
	outcomes = func(voter, code int) [2]found {
		for voter < len(digits) && digits[voter] < len(choices[voter]) {
			voter++
		}
		if f, ok := memo[code]; ok {
			return f
		}
		var f [2]found
		if voter == len(digits) {
			lists := make([][]int, len(digits))
			for i, d := range digits {
				lists[i] = choices[i][d]
			}
			f[0] = a.elect(lists)
			f[1] = found{winner: f[0].winner, tied: f[0].tied}
		} else {
			was := digits[voter]
			for d := range choices[voter] {
				digits[voter] = d
				g := outcomes(voter, codeOf(digits))
				for i := range f {
					if d == 0 {
						f[i] = g[i]
					} else if f[i] != g[i] {
						f[i] = mixed
					}
				}
			}
			digits[voter] = was
		}
		memo[code] = f
		return f
	}
	var walk func(voter int)
	walk = func(voter int) {
		if voter == len(digits) {
			f := outcomes(0, codeOf(digits))
			visit(ballots, open, f[0], f[1])
			return
		}
		first := 0
		if voter > 0 && a.weights[voter] == a.weights[voter-1] && slices.Equal(a.may[voter], a.may[voter-1]) {
			first = digits[voter-1] // two voters that are alike may change places
		}
		for d := first; d <= len(choices[voter]); d++ {
			digits[voter] = d
			ballots[voter], open[voter] = nil, d == len(choices[voter])
			if !open[voter] {
				ballots[voter] = choices[voter][d]
			}
			walk(voter + 1)
		}
	}
	walk(0)
}

func codeOf(digits []int) int {
	code := 0
	for _, d := range digits {
		code = code*20 + d
	}
	return code
}
