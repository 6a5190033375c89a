package election

// condorcet returns the candidate that beats each other candidate, -1 if there is none.
func (e Election) condorcet(ballots []Ballot) int {
	list := e.standing()
	champion := list[0]
	for _, c := range list[1:] {
		if e.margin(ballots, c, champion) > 0 {
			champion = c
		}
	}
	// A candidate that beats each other is the champion now. The champion need not be one.
	for _, c := range list {
		if c != champion && e.margin(ballots, champion, c) <= 0 {
			return -1
		}
	}
	return champion
}

// margin returns the weight of the ballots that place a before b, less the weight of those that
// place b before a. A named candidate stands before an unnamed one.
func (e Election) margin(ballots []Ballot, a, b int) int {
	sum := 0
	for _, ballot := range ballots {
		for _, c := range ballot.For {
			if c == a {
				sum += e.weight(ballot.Voter)
				break
			}
			if c == b {
				sum -= e.weight(ballot.Voter)
				break
			}
		}
	}
	return sum
}
