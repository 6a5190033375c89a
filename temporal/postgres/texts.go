package postgres

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/massgen/massgen/coordinator/kernel"
	"github.com/massgen/massgen/sessions"
)

// Put keeps a text, under its content's hash, for the events that will name it, in any
// process. The caller may change data afterwards. What no event names is forgotten when
// the turns that were running are over.
func (s *Store) Put(ctx context.Context, data []byte) (kernel.Ref, error) {
	ref := sessions.RefOf(data)
	err := s.change(ctx, "keep a text", func(w *writer) {
		// A text that is lost with the server's machine is named by nothing: the commit of
		// an event that names it waits for this one too.
		w.exec("SET LOCAL synchronous_commit = off")
		w.put(data)
		w.exec(`
			INSERT INTO fresh (text, put) VALUES ($1, nextval('moments'))
			ON CONFLICT (text) DO UPDATE SET put = greatest(fresh.put, excluded.put)`, sumOf(ref))
	})
	return ref, err
}

// mostPut is how many bytes one statement takes, but for a text that has more.
const mostPut = 16 << 20

// put adds texts, in an order that is the same for all who add the same ones, so that
// none waits for another who waits for it. Something must name them in the same
// transaction.
func (w *writer) put(texts ...[]byte) {
	type summed struct{ sum, text []byte }
	ordered := make([]summed, len(texts))
	for i, text := range texts {
		ordered[i] = summed{sumOf(sessions.RefOf(text)), append([]byte{}, text...)} // nil would be NULL
	}
	slices.SortFunc(ordered, func(a, b summed) int { return bytes.Compare(a.sum, b.sum) })
	var sums, data [][]byte
	size := 0
	for i, t := range ordered {
		sums, data, size = append(sums, t.sum), append(data, t.text), size+len(t.text)
		if size < mostPut && i < len(ordered)-1 {
			continue
		}
		w.exec(`
			INSERT INTO texts (sha256, data) SELECT sum, data FROM unnest($1::bytea[], $2::bytea[]) AS new (sum, data)
			ON CONFLICT DO NOTHING`, sums, data)
		sums, data, size = nil, nil, 0
	}
}

// Get returns what Put stored; the caller must not change it.
func (s *Store) Get(ctx context.Context, ref kernel.Ref) (data []byte, err error) {
	err = s.patiently(ctx, func() error {
		return s.pool.QueryRow(ctx, "SELECT data FROM texts WHERE sha256 = $1 AND length(data) = $2", sumOf(ref), ref.Bytes).Scan(&data)
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, sessions.NoText(ref)
	}
	return data, fault(s.name, "read a text", err)
}

// keepText adds a text that a turn needs.
func (w *writer) keepText(turn int64, text []byte) {
	w.put(text)
	w.name(turn, sessions.RefOf(text))
}

// name books that a turn needs texts, which must be there.
func (w *writer) name(turn int64, refs ...kernel.Ref) {
	sums, lengths := make([][]byte, len(refs)), make([]int64, len(refs))
	for i, ref := range refs {
		sums[i], lengths[i] = sumOf(ref), int64(ref.Bytes)
	}
	var missing int
	if w.row(`
		SELECT n FROM unnest($1::bytea[], $2::bigint[]) WITH ORDINALITY AS wanted (sum, bytes, n)
		WHERE NOT EXISTS (SELECT 1 FROM texts WHERE sha256 = sum AND length(data) = bytes)
		ORDER BY n LIMIT 1`, []any{sums, lengths}, &missing) {
		w.refuse(sessions.NoText(refs[missing-1]))
	}
	w.exec("INSERT INTO refs (turn, text) SELECT DISTINCT $1::bigint, sum FROM unnest($2::bytea[]) AS named (sum) ON CONFLICT DO NOTHING", turn, sums)
}

// nameList books that a turn needs a list of messages, and the texts that this names as
// far as they are there.
func (w *writer) nameList(turn int64, list kernel.Ref) {
	w.name(turn, list)
	var data []byte
	w.row("SELECT data FROM texts WHERE sha256 = $1", []any{sumOf(list)}, &data)
	refs := sessions.Refs(data)
	sums, lengths := make([][]byte, len(refs)), make([]int64, len(refs))
	for i, ref := range refs {
		sums[i], lengths[i] = sumOf(ref), int64(ref.Bytes)
	}
	w.exec(`
		INSERT INTO refs (turn, text)
		SELECT DISTINCT $1::bigint, sum FROM unnest($2::bytea[], $3::bigint[]) AS named (sum, bytes)
		JOIN texts ON sha256 = sum AND length(data) = bytes
		ON CONFLICT DO NOTHING`, turn, sums, lengths)
}

// sweep forgets the texts that nobody names and no running turn can have put, unless
// somebody is at work who may name them: then who comes next does it.
func (w *writer) sweep() {
	var alone bool
	w.row("SELECT pg_try_advisory_xact_lock"+textsLock, nil, &alone)
	if !alone {
		return
	}
	w.exec("DELETE FROM holds WHERE until < clock_timestamp() - " + abandoned)
	due := collect(w, pgx.RowTo[[]byte], "DELETE FROM fresh WHERE put < coalesce((SELECT min(began) FROM holds), 9223372036854775807) RETURNING text")
	if len(due) > 0 { // told as values, they are found by the index
		w.exec("DELETE FROM texts WHERE sha256 = ANY($1::bytea[]) AND NOT EXISTS (SELECT 1 FROM refs WHERE text = sha256)", due)
	}
}

// sumOf returns the hash as it is kept; nothing is kept under what is no hash.
func sumOf(ref kernel.Ref) []byte {
	sum, err := hex.DecodeString(ref.SHA256)
	if err != nil {
		return []byte{}
	}
	return sum
}

// sumOrNull is the hash of a reference, NULL for the zero reference.
func sumOrNull(ref kernel.Ref) []byte {
	if ref == (kernel.Ref{}) {
		return nil
	}
	return sumOf(ref)
}

// storedRef is a reference as queries return it: NULL is the zero reference.
type storedRef struct {
	sum   []byte
	bytes *int
}

func (r storedRef) ref() kernel.Ref {
	if r.sum == nil || r.bytes == nil {
		return kernel.Ref{}
	}
	return kernel.Ref{SHA256: hex.EncodeToString(r.sum), Bytes: *r.bytes}
}
