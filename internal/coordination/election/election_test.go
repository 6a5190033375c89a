package election

import (
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
)

// TestEveryElection holds the package against the second account: all rules and ties, up to four
// voters of weights 1 and 2, up to three candidates, all ballots, and all sets of open voters.
func TestEveryElection(t *testing.T) {
	for _, rule := range rules {
		t.Run(string(rule), func(t *testing.T) {
			t.Parallel()
			elections, early := 0, 0
			for a := range accountsOf(rule) {
				a.states(func(ballots [][]int, open []bool, all, winner found) {
					elections++
					if a.compare(t, ballots, open, all, winner) {
						early++
					}
				})
			}
			if early == 0 {
				t.Error("no election was settled before all voters had acted")
			}
			t.Logf("%d elections, %d of them settled with open voters", elections, early)
		})
	}
}

// compare holds one state of the voters against the account. It reports whether the election is
// settled although an open voter may still name an answer.
func (a account) compare(t *testing.T, ballots [][]int, open []bool, all, winner found) bool {
	e, missing := a.election(), []Ballot{}
	for voter, names := range ballots {
		if open[voter] {
			missing = append(missing, Ballot{voter, a.may[voter]})
		} else if names != nil {
			e.Ballots = append(e.Ballots, Ballot{voter, names})
		}
	}
	now := Elect(e)
	settled, winnerSettled := Settled(e, missing), WinnerSettled(e, missing)
	mustSettle, mustSettleWinner := all != mixed, winner != mixed && now.Winner >= 0
	switch {
	case len(missing) == 0 && inWords(now) != all:
		t.Fatalf("%s: elected %+v, want %+v", describe(a, e, nil), now, all)
	case len(missing) == 0 && !settled:
		t.Fatalf("%s: nobody is open, but it is not settled", describe(a, e, nil))
	case settled && !mustSettle || winnerSettled && !mustSettleWinner:
		t.Fatalf("%s: settled %v, winner settled %v, but other ballots change it", describe(a, e, missing), settled, winnerSettled)
	case a.rule != Ranked && (settled != mustSettle || winnerSettled != mustSettleWinner):
		t.Fatalf("%s: settled %v, want %v; winner settled %v, want %v", describe(a, e, missing), settled, mustSettle, winnerSettled, mustSettleWinner)
	}
	return settled && slices.ContainsFunc(missing, func(b Ballot) bool { return len(b.For) > 0 })
}

var (
	rules    = []Rule{AllVoted, Majority, Unanimous, Quorum, Approval, Ranked}
	allTies  = []Ties{ByConfig, Earliest, ByJudge, NoTies}
	inOrder  = [][]int{{0, 1, 2, 3}}
	arrivals = map[Ties][][]int{ByConfig: inOrder, ByJudge: inOrder, NoTies: inOrder, Earliest: {{0, 1, 2, 3}, {2, 0, 1, 3}, {3, 2, 1, 0}}}
	texts    = [][]string{{"x", "", "", ""}, {"x", "y", "", ""}, {"x", "y", "z", ""}, {"x", "y", "x", ""}}
)

// accountsOf yields all elections of the test by a rule.
func accountsOf(rule Rule) iter.Seq[account] {
	return func(yield func(account) bool) {
		for _, ties := range allTies {
			for _, answers := range texts {
				for _, came := range arrivals[ties] {
					for voters := range mostVoters() + 1 {
						a := account{rule: rule, ties: ties, texts: answers, arrivals: came}
						if !a.weighed(voters, yield) {
							return
						}
					}
				}
			}
		}
	}
}

// mostVoters is less in a short test, which planted faults are tried with.
func mostVoters() int {
	if testing.Short() {
		return 3
	}
	return 4
}

// weighed yields an account with all weights, quorums and lists of what voters may name.
func (a account) weighed(voters int, yield func(account) bool) bool {
	var named []int
	for agent, text := range a.texts {
		if text != "" {
			named = append(named, agent)
		}
	}
	for _, may := range []func(voter, agent int) bool{
		func(int, int) bool { return true },
		func(voter, agent int) bool { return voter != agent },
		func(voter, agent int) bool { return agent == voter || agent == (voter+1)%3 },
	} {
		a.may = make([][]int, voters)
		for voter := range voters {
			a.may[voter] = slices.DeleteFunc(slices.Clone(named), func(agent int) bool { return !may(voter, agent) })
		}
		isAlike := voters == 0 || len(slices.CompactFunc(slices.Clone(a.may), slices.Equal)) == 1
		for bits := range 1 << voters {
			a.weights, a.members = make([]int, 4), 0
			for voter := range voters {
				a.weights[voter] = 1 + bits>>voter&1
				a.members += a.weights[voter]
			}
			if isAlike && !slices.IsSorted(a.weights[:voters]) {
				continue // the voters change places
			}
			for _, a.quorum = range a.quorums() {
				if !yield(a) {
					return false
				}
			}
		}
	}
	return true
}

func (a account) quorums() []float64 {
	if a.rule != Quorum {
		return []float64{0}
	}
	return []float64{1, 2, 3, 0.5, 0.75}
}

func inWords(o Outcome) found {
	f := found{winner: o.Winner}
	if o.Consensus {
		f.consensus = 1
	}
	for _, c := range o.Tied {
		f.tied |= 1 << c
	}
	return f
}

func describe(a account, e Election, open []Ballot) string {
	return fmt.Sprintf("%s, ties %s, quorum %v of %d, weights %v, answers %q, came %v, ballots %v, open %v",
		a.rule, a.ties, a.quorum, a.members, a.weights, a.texts, a.arrivals, e.Ballots, open)
}

// TestElectByExample has one election of each rule that a person can follow.
func TestElectByExample(t *testing.T) {
	three := []int{0, 1, 2}
	for _, c := range []struct {
		name string
		e    Election
		want Outcome
	}{
		{"most votes win", Election{Candidates: three, Ballots: ballots("1", "1", "0")}, Outcome{Winner: 1, Consensus: true, Tally: []int{1, 2, 0}}},
		{"a ballot of weight 3 outweighs two", Election{Candidates: three, Weights: []int{1, 1, 3}, Ballots: ballots("1", "1", "0")}, Outcome{Winner: 0, Consensus: true, Tally: []int{3, 2, 0}}},
		{"equal answers are one candidate", Election{Candidates: []int{0, 1, 1}, Ballots: ballots("0", "1", "2")}, Outcome{Winner: 1, Consensus: true, Tally: []int{1, 2, 0}}},
		{"no vote, no winner", Election{Candidates: three}, Outcome{Winner: -1, Tally: []int{0, 0, 0}}},
		{"a vote for nothing is none", Election{Candidates: []int{0, -1, -1}, Ballots: ballots("1", "2")}, Outcome{Winner: -1, Tally: []int{0, 0, 0}}},
		{"a name of no agent is none", Election{Candidates: three, Ballots: []Ballot{{0, []int{-1, 3, 2}}, {1, []int{3}}}}, Outcome{Winner: 2, Consensus: true, Tally: []int{0, 0, 1}}},
		{"a second vote ends unanimity", Election{Rule: Unanimous, Candidates: three, Ballots: ballots("1", "1", "0")}, Outcome{Winner: 1, Tally: []int{1, 2, 0}}},
		{"a quorum is reached", Election{Rule: Quorum, Quorum: 0.6, Members: 3, Candidates: three, Ballots: ballots("1", "1", "0")}, Outcome{Winner: 1, Consensus: true, Tally: []int{1, 2, 0}}},
		{"a quorum is missed", Election{Rule: Quorum, Quorum: 3, Members: 3, Candidates: three, Ballots: ballots("1", "1", "0")}, Outcome{Winner: 1, Tally: []int{1, 2, 0}}},
		{"each name is an approval", Election{Rule: Approval, Candidates: three, Ballots: ballots("01", "21", "0")}, Outcome{Winner: 0, Consensus: true, Tally: []int{2, 2, 1}}},
		{"the second choice of all beats each other", Election{Rule: Ranked, Candidates: three, Ballots: ballots("012", "0", "12", "12", "21")}, Outcome{Winner: 1, Consensus: true, Tally: []int{4, 6, 4}}},
		{"points decide a circle", Election{Rule: Ranked, Candidates: three, Ballots: ballots("01", "12", "2")}, Outcome{Winner: 1, Consensus: true, Tally: []int{2, 3, 3}}},
		{"the earliest of the tied", Election{Ties: Earliest, Candidates: []int{0, 1, 1}, Arrivals: []int{1, 2, 0}, Ballots: ballots("0", "1")}, Outcome{Winner: 1, Consensus: true, Tally: []int{1, 1, 0}}},
		{"a judge gets the tied", Election{Ties: ByJudge, Candidates: three, Ballots: ballots("2", "0")}, Outcome{Winner: 0, Consensus: true, Tied: []int{0, 2}, Tally: []int{1, 0, 1}}},
		{"a tie without consensus", Election{Ties: NoTies, Candidates: three, Ballots: ballots("2", "0")}, Outcome{Winner: 0, Tally: []int{1, 0, 1}}},
	} {
		if got := Elect(c.e); fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}

// ballots makes a ballot of each text, whose digits are the agents that it names.
func ballots(lists ...string) []Ballot {
	all := make([]Ballot, len(lists))
	for voter, list := range lists {
		all[voter].Voter = voter
		for _, digit := range list {
			all[voter].For = append(all[voter].For, int(digit-'0'))
		}
	}
	return all
}

func TestWonNamesTheNumber(t *testing.T) {
	for _, c := range []struct {
		rule    Rule
		quorum  float64
		members int
		votes   string
		want    bool
	}{
		{Majority, 0, 3, "11", true},
		{Majority, 0, 4, "11", false},
		{Majority, 0, 4, "1101", true},
		{Majority, 0, 0, "", false},
		{Quorum, 2, 5, "01", false},
		{Quorum, 2, 5, "011", true},
		{Quorum, 0.5, 4, "011", true},
		{Quorum, 0.07, 100, "0000000", true},
		{Quorum, 0.07, 100, "000000", false},
		{Quorum, 0.5, 0, "", false},
		{AllVoted, 0, 2, "11", false},
		{Unanimous, 0, 2, "11", false},
		{Approval, 0, 2, "11", false},
		{Ranked, 0, 2, "11", false},
	} {
		e := Election{Rule: c.rule, Quorum: c.quorum, Members: c.members, Candidates: []int{0, 1}, Ballots: ballots(strings.Split(c.votes, "")...)}
		if got := Won(e); got != c.want {
			t.Errorf("%s %v of %d with %q: %v", c.rule, c.quorum, c.members, c.votes, got)
		}
	}
	heavy := Election{Rule: Majority, Members: 5, Weights: []int{3, 1, 1}, Candidates: []int{0, 1}, Ballots: ballots("0")}
	if !Won(heavy) {
		t.Error("3 of 5 are no majority")
	}
}

func TestAgreementIsAShareOfTheWeight(t *testing.T) {
	for _, c := range []struct {
		rule       Rule
		candidate  int
		votes, all int
	}{
		{AllVoted, 0, 2, 4},
		{AllVoted, 1, 2, 4},
		{Approval, 1, 4, 4},
		{Approval, 2, 1, 4},
		{Ranked, 1, 2, 4},
	} {
		e := Election{Rule: c.rule, Weights: []int{2, 1, 1, 1}, Candidates: []int{0, 1, 2, -1}, Ballots: ballots("01", "10", "12", "3")}
		if votes, all := Agreement(e, c.candidate); votes != c.votes || all != c.all {
			t.Errorf("%s: candidate %d has %d of %d, want %d of %d", c.rule, c.candidate, votes, all, c.votes, c.all)
		}
	}
}

func TestOrderOfBallotsChangesNothing(t *testing.T) {
	for _, rule := range rules {
		e := Election{Rule: rule, Quorum: 2, Members: 5, Weights: []int{2, 1, 1, 2, 1}, Candidates: []int{0, 1, 2, 0, -1}, Ballots: ballots("210", "0", "13", "12", "324")}
		want := fmt.Sprint(Elect(e))
		slices.Reverse(e.Ballots)
		if got := fmt.Sprint(Elect(e)); got != want {
			t.Errorf("%s: %s, reversed %s", rule, want, got)
		}
	}
}

func TestCheckRefusesWrongRules(t *testing.T) {
	for want, e := range map[string]Election{
		"": {}, `decision "x": it is all_voted, majority, unanimous, quorum, approval or ranked`: {Rule: "x"},
		`ties "x": it is config, earliest, judge or none`:                        {Ties: "x"},
		"weights: there are 2 for 3 agents":                                      {Weights: []int{1, 1}},
		"weights: 0 is not between 1 and 1000":                                   {Weights: []int{1, 0, 1}},
		"weights: 1001 is not between 1 and 1000":                                {Weights: []int{1, 1001, 1}},
		"quorum: decision majority has none":                                     {Rule: Majority, Quorum: 2},
		"quorum 0: it is a whole number from 1 on, or a share between 0 and 1":   {Rule: Quorum},
		"quorum 1.5: it is a whole number from 1 on, or a share between 0 and 1": {Rule: Quorum, Quorum: 1.5},
		"quorum -1: it is a whole number from 1 on, or a share between 0 and 1":  {Rule: Quorum, Quorum: -1},
		"quorum 4: all votes together weigh 3":                                   {Rule: Quorum, Quorum: 4},
		"quorum 5: all votes together weigh 4":                                   {Rule: Quorum, Quorum: 5, Weights: []int{2, 1, 1}},
	} {
		got := ""
		if err := e.Check(3); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%+v: %q, want %q", e, got, want)
		}
	}
	for _, e := range []Election{
		{Rule: Quorum, Quorum: 3}, {Rule: Quorum, Quorum: 0.6}, {Rule: Quorum, Quorum: 4, Weights: []int{2, 1, 1}}, {Weights: []int{1, 1000, 1}, Ties: ByJudge, Rule: Ranked},
	} {
		if err := e.Check(3); err != nil {
			t.Errorf("%+v: %v", e, err)
		}
	}
}
