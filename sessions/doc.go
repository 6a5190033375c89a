// Package sessions keeps conversations: their turns, the journal of each turn,
// and the texts that both refer to.
package sessions
