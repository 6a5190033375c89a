package postgres

import (
	"context"

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
		ref = w.Put(data)
		w.Exec(`
			INSERT INTO fresh (text, put) VALUES ($1, nextval('moments'))
			ON CONFLICT (text) DO UPDATE SET put = greatest(fresh.put, excluded.put)`, sqlstore.SumOf(ref))
	})
	return ref, err
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
