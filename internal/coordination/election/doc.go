// Package election counts votes. It is pure: the same ballots give the same outcome in the
// kernel, in a replay and for anybody who recomputes a tally from a result.
//
// An Election has the rules, the candidates and the ballots. Elect returns its outcome. Won
// reports whether one candidate has the votes at which majority and quorum end a turn.
// Settled and WinnerSettled report whether the ballots that are still missing could change
// the outcome.
package election
