package server

import (
	"context"
	"crypto/sha256"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// sequences knows the sessions that requests without an id have begun by the messages that they
// have come to: a client that sends them again with one more goes on there.
type sequences struct {
	mu    sync.Mutex
	byKey map[[sha256.Size]byte]sequence
	order [][sha256.Size]byte
}

// sequence is a session that had so many turns.
type sequence struct {
	session string
	turns   int
}

// mostSequences is how many conversations are known at once.
const mostSequences = 10_000

func newSequences() *sequences { return &sequences{byKey: map[[sha256.Size]byte]sequence{}} }

// keyOf is the key of a caller's history. White space at the ends of a text does not count: some
// clients cut it.
func keyOf(c caller, history []exchange) [sha256.Size]byte {
	all := strconv.AppendQuote(nil, c.name)
	for _, e := range history {
		all = strconv.AppendQuote(strconv.AppendQuote(all, strings.TrimSpace(e.question)), strings.TrimSpace(e.answer))
	}
	return sha256.Sum256(all)
}

// take returns the session that a history is all of, or was. It is forgotten: the next question makes
// its history longer.
func (q *sequences) take(c caller, history []exchange) sequence {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(history) == 0 {
		return sequence{}
	}
	key := keyOf(c, history)
	known, there := q.byKey[key]
	if there {
		delete(q.byKey, key)
		q.order = slices.DeleteFunc(q.order, func(k [sha256.Size]byte) bool { return k == key })
	}
	return known
}

// keep keeps what a session has come to.
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

// sequel returns the session that a history is all of, "" if none is known.
func (s *Server) sequel(ctx context.Context, history []exchange) string {
	known := s.sequences.take(callerOf(ctx), history)
	if known.session == "" {
		return ""
	}
	kept, err := s.Store.Session(ctx, known.session)
	if err != nil || kept.Turns != known.turns { // it has gone on by its name, or from a response
		return ""
	}
	return known.session
}
