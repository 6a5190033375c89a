package contextbuild

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Anonymous returns the name under which models see each participant: the
// config ids, sorted with their digits by value (agent2 before agent10), are
// agent1 to agentN. The order in which they are given does not matter. (DESIGN §5)
func Anonymous(participants []string) map[string]string {
	ids := slices.SortedFunc(slices.Values(participants), compareIDs)
	ids = slices.Compact(ids)
	names := make(map[string]string, len(ids))
	for i, id := range ids {
		names[id] = fmt.Sprintf("agent%d", i+1)
	}
	return names
}

// compareIDs orders ids byte by byte, but runs of digits by their value. Ids
// that differ only in leading zeros are ordered as plain strings, so that only
// equal ids compare equal.
func compareIDs(a, b string) int {
	same := commonPrefix(a, b)
	restA, restB := a[same:], b[same:]
	for restA != "" && restB != "" {
		tokenA, tokenB := firstToken(restA), firstToken(restB)
		if c := compareTokens(tokenA, tokenB); c != 0 {
			return c
		}
		restA, restB = restA[len(tokenA):], restB[len(tokenB):]
	}
	return cmp.Or(cmp.Compare(len(restA), len(restB)), strings.Compare(a, b))
}

// commonPrefix returns how far two ids are the same, without the digits of a
// number that may go on. A panel of a hundred is sorted for each input.
func commonPrefix(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	for n > 0 && isDigit(a[n-1]) {
		n--
	}
	return n
}

// firstToken returns the run of digits with which id begins, else its first
// byte.
func firstToken(id string) string {
	digits := len(id) - len(strings.TrimLeft(id, "0123456789"))
	return id[:max(digits, 1)]
}

// compareTokens compares digits by value: without leading zeros the longer
// number is the greater. The only token that is all zeros, and so empty here,
// is the number 0.
func compareTokens(a, b string) int {
	if isDigit(a[0]) && isDigit(b[0]) {
		a, b = strings.TrimLeft(a, "0"), strings.TrimLeft(b, "0")
		return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b))
	}
	return strings.Compare(a, b)
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// panel knows the participants of a turn by the names that models see.
type panel struct{ names map[string]string }

func newPanel(participants []string) panel { return panel{Anonymous(participants)} }

func (p panel) name(id string) string {
	name, ok := p.names[id]
	if !ok {
		panic(fmt.Sprintf("contextbuild: %q is not a participant", id))
	}
	return name
}

// tagged returns text, already escaped, between the tags of an agent.
func (p panel) tagged(id, text string) string {
	name := p.name(id)
	return "<" + name + "> " + text + " <end of " + name + ">"
}
