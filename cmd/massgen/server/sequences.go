package server

import (
	"crypto/sha256"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// sequences finds the session that a request without an id goes on with, by the messages of the
// session so far.
type sequences struct {
	mu    sync.Mutex
	byKey map[[sha256.Size]byte]sequence
	order [][sha256.Size]byte
}

// sequence is a session and the number of its turns.
type sequence struct {
	session string
	turns   int
}

// mostSequences is the number of conversations that are known at once.
const mostSequences = 10_000

// keyOf returns the key of a history of a caller's user, "" for none: what one user has said is not for another. It
// ignores white space at the ends of a text, which some clients cut, and the work, which the session knows better.
func keyOf(c caller, user string, history []exchange) [sha256.Size]byte {
	all := strconv.AppendQuote(strconv.AppendQuote(nil, c.name), user)
	for _, e := range history {
		all = strconv.AppendQuote(strconv.AppendQuote(all, strings.TrimSpace(e.question)), strings.TrimSpace(e.answer))
	}
	return sha256.Sum256(all)
}

// take returns and forgets the session with this history. The next question makes the history longer.
func (q *sequences) take(c caller, user string, history []exchange) sequence {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(history) == 0 {
		return sequence{}
	}
	key := keyOf(c, user, history)
	known, there := q.byKey[key]
	if there {
		delete(q.byKey, key)
		q.order = slices.DeleteFunc(q.order, func(k [sha256.Size]byte) bool { return k == key })
	}
	return known
}

// keep remembers the session of a history.
func (q *sequences) keep(s sequence, key [sha256.Size]byte) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if _, known := q.byKey[key]; !known {
		q.order = append(q.order, key)
	}
	q.byKey[key] = s
	for len(q.order) > mostSequences {
		delete(q.byKey, q.order[0])
		q.order = q.order[1:]
	}
}
