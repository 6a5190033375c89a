package postgres

import (
	"context"
	"database/sql"

	"github.com/massgen/massgen/internal/storage/sqlstore"
	"github.com/massgen/massgen/internal/system/blob"
)

// texts are in the database from the moment they are put, for all workers.
type texts struct{ server *server }

// Put implements sqlstore.Texts.
func (t texts) Put(ctx context.Context, data []byte) (ref blob.Ref, err error) {
	err = t.server.db.Change(ctx, "keep a text", func(w *sqlstore.Tx) {
		// A text that is lost with the server's machine is named by nothing: the commit of an
		// event that names it waits for this one too.
		w.Exec("SET LOCAL synchronous_commit = off")
		ref = put(w, data)[0]
	})
	return ref, err
}

// put adds texts that may be named later, and returns their references in the same order. No sweep
// forgets them as long as a session is held that was held before.
func put(w *sqlstore.Tx, list ...[]byte) []blob.Ref {
	if len(list) == 0 {
		return nil
	}
	refs := w.Put(list...)
	sums := make([][]byte, len(refs))
	for i, ref := range refs {
		sums[i] = sqlstore.SumOf(ref)
	}
	// All put them in one order, so that no two wait for each other.
	w.Exec(`
		INSERT INTO fresh (text, put) SELECT sum, nextval('moments') FROM (SELECT DISTINCT unnest($1::bytea[]) AS sum ORDER BY 1) AS list
		ON CONFLICT (text) DO UPDATE SET put = greatest(fresh.put, excluded.put)`, sums)
	return refs
}

// Texts are the texts of a Store, many at once.
type Texts struct{ store *Store }

// TextsOf returns the texts of a Store.
func TextsOf(s *Store) Texts { return Texts{s} }

// PutAll stores texts as Put does, with one transaction for all, which is on the disk when PutAll
// returns. No text of them is forgotten while a session is held that was held before.
func (t Texts) PutAll(ctx context.Context, list [][]byte) (refs []blob.Ref, err error) {
	err = t.store.owner.db.Change(ctx, "keep texts", func(w *sqlstore.Tx) { refs = put(w, masked(t.store, list)...) })
	return refs, err
}

func masked(s *Store, list [][]byte) [][]byte {
	masked := make([][]byte, len(list))
	for i, data := range list {
		masked[i] = s.Mask(data)
	}
	return masked
}

// GetAll returns those of the texts that are stored.
func (t Texts) GetAll(ctx context.Context, refs []blob.Ref) (found map[blob.Ref][]byte, err error) {
	sums, wanted := make([][]byte, len(refs)), map[string]blob.Ref{}
	for i, ref := range refs {
		sums[i] = sqlstore.SumOf(ref)
		wanted[string(sums[i])] = ref
	}
	type text struct{ sum, data []byte }
	list, err := sqlstore.Rows(ctx, t.store.owner.db, "read texts", func(rows *sql.Rows) (t text, err error) {
		err = rows.Scan(&t.sum, &t.data)
		return t, err
	}, "SELECT sha256, data FROM texts WHERE sha256 = ANY($1::bytea[])", sums)
	found = map[blob.Ref][]byte{}
	for _, t := range list {
		if ref := wanted[string(t.sum)]; ref.Bytes == len(t.data) {
			found[ref] = t.data
		}
	}
	return found, err
}

// AtHand implements sqlstore.Texts.
func (texts) AtHand(blob.Ref) (data []byte, isFresh bool) { return nil, false }

// Named implements sqlstore.Texts.
func (texts) Named([]blob.Ref, bool) {}

// sweep forgets the texts that nobody names and no running turn can have put, unless
// somebody is at work who may name them: then who comes next does it.
func sweep(w *sqlstore.Tx) {
	var alone bool
	w.Row("SELECT pg_try_advisory_xact_lock"+textsLock, nil, &alone)
	if !alone {
		return
	}
	w.Exec("DELETE FROM holds WHERE until < clock_timestamp() - " + abandoned)
	due := sqlstore.List(w, sqlstore.Scan[[]byte],
		"DELETE FROM fresh WHERE put < coalesce((SELECT min(began) FROM holds), 9223372036854775807) RETURNING text")
	if len(due) > 0 { // told as values, they are found by the index
		w.Exec("DELETE FROM texts WHERE sha256 = ANY($1::bytea[]) AND NOT EXISTS (SELECT 1 FROM refs WHERE text = sha256)", due)
	}
}
