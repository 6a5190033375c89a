package postgres

import (
	_ "embed" // for the schema
	"time"

	"github.com/massgen/massgen/internal/storage/sqlstore"
	"github.com/massgen/massgen/sessions"
)

//go:embed schema/leases.sql
var leaseTables string

//go:embed schema/limits.sql
var limitTables string

//go:embed schema/limit_functions.sql
var limitFunctions string

//go:embed schema/results.sql
var resultTables string

// steps bring older stores up to date.
func steps() sqlstore.Steps {
	return sqlstore.Steps{
		1: {Breaks: limitTables + limitFunctions},
		2: {Breaks: `ALTER TABLE holds ADD COLUMN cut jsonb NOT NULL DEFAULT '{}'`},
		3: {Breaks: `ALTER TABLE sessions ALTER title_words SET DEFAULT ''; ALTER TABLE facts ALTER words SET DEFAULT '';` + resultTables},
		4: {Breaks: `ALTER TABLE massgen_store ADD COLUMN id text COLLATE "C" NOT NULL DEFAULT md5(random()::text || clock_timestamp()::text);
			ALTER TABLE massgen_store ALTER id DROP DEFAULT;
			ALTER TABLE holds ADD COLUMN lease_seconds double precision NOT NULL DEFAULT 60;
			ALTER TABLE attempts ADD COLUMN IF NOT EXISTS lease_seconds double precision NOT NULL DEFAULT 15;` + limitFunctions},
		5: {Breaks: `ALTER TABLE sessions ADD COLUMN reasoning_tokens bigint NOT NULL DEFAULT 0;
			ALTER TABLE turns ADD COLUMN reasoning_tokens bigint NOT NULL DEFAULT 0`},
		6: {Indexes: []string{
			"sessions_by_use ON sessions (updated DESC, name) WHERE turns > 0", "sessions_hidden ON sessions (name) WHERE turns = 0",
			"sessions_by_words ON sessions USING gin (title_words)",
		}},
	}
}

// now is the server's time as the store keeps it, in whole milliseconds.
const now = "date_trunc('milliseconds', clock_timestamp())"

// inALease is when a lease is over that begins now, in a row with the length of its lease.
const inALease = "clock_timestamp() + lease_seconds * interval '1 second'"

// isTooLate selects leases that end later than their length from now: the server's clock was ahead when they were
// prolonged. A clock that is kept right goes back by less than a second.
const isTooLate = "until > " + inALease + " + interval '1 second'"

// textsLock is the lock that all share who may name texts, and that those take alone who
// delete them.
const textsLock = "('texts'::regclass::oid::bigint)"

// dialect is that of PostgreSQL for the store of a name.
func dialect(name string) sqlstore.Dialect {
	return sqlstore.Dialect{
		Words: map[string]string{
			"id": "bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY", "count": "bigint", "number": "integer", "real": "double precision",
			"bytes": "bytea", "text": "text", "name": `text COLLATE "C"`, "strict": "", "strict_by_key": "",
			"time": "timestamptz", "now": now,
			// A text is named by its hash: workers name texts that others have put.
			"key": "sha256", "key_of": "", "end": "", "text_key": "bytea", "text_columns": "sha256 bytea PRIMARY KEY",
			// An index cannot hold a long fact, and can hold its hash.
			"fact_id": "bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY", "fact_unique": "sha256",
			"fact_hash": ", sha256", "hash_of_2": ", sha256(convert_to($2::text, 'UTF8'))",
			"more_tables": leaseTables + limitTables + limitFunctions + resultTables,
			"title_words": "\n    title_words   tsvector NOT NULL DEFAULT '',",
			"turn_words":  "\n    words         tsvector, -- of its question and answer, once it is over",
			"fact_words":  "\n    sha256  bytea NOT NULL, -- of the text\n    words   tsvector NOT NULL DEFAULT '',",
			"words":       ", words",
			"lock_row":    " FOR NO KEY UPDATE",
			"share_texts": "SELECT pg_advisory_xact_lock_shared" + textsLock,
			"own_texts":   "SELECT pg_advisory_xact_lock" + textsLock,
			"unheld":      " AND NOT EXISTS (SELECT 1 FROM holds WHERE name = $1 AND until > clock_timestamp() AND NOT " + isTooLate + ")",
			"object":      "json_object_agg",
			"named": `(
				SELECT decode(value ->> 'sha256', 'hex') AS sum, (value ->> 'bytes')::bigint AS bytes, n - 1 AS n
				FROM jsonb_array_elements($1::jsonb) WITH ORDINALITY AS list (value, n)
			) AS named`,
		},
		Search: `
			SELECT id AS session, 0 AS turn, NULL AS id FROM sessions WHERE title_words @@ $1::tsquery
			UNION ALL
			SELECT session, number, id FROM turns WHERE words @@ $1::tsquery`,
		Found: `
			(SELECT data FROM turns JOIN texts ON sha256 = question WHERE turns.id = page.id),
			(SELECT data FROM turns JOIN texts ON sha256 = answer WHERE turns.id = page.id)`,
		SearchFacts: "words @@ $2::tsquery",
		Match:       match,
		Snippet: func(q sessions.Query, question, answer []byte) string {
			return snippet(q[0].Words[0], string(question), string(answer))
		},
		Index:    index,
		Orphan:   orphan,
		Time:     func(t time.Time) any { return t },
		MostRows: 500,
		Faults: sqlstore.Faults{
			Fault:    func(doing string, err error) error { return fault(name, doing, err) },
			Passes:   passes,
			Unsure:   unsure,
			WhenRoom: whenRoom,
			Patience: patience,
			Pause:    pause,
		},
	}
}

// index stores the words of texts, so many rows at a time that a message can hold them.
func index(w *sqlstore.Tx, table string, rows []sqlstore.Indexed) {
	column := "words"
	if table == "sessions" {
		column = "title_words"
	}
	var ids []int64
	var vectors []string
	size := 0
	for i, row := range rows {
		found := vector(row.Texts...)
		ids, vectors, size = append(ids, row.ID), append(vectors, found), size+len(found)
		if size < mostVector && i < len(rows)-1 {
			continue
		}
		w.Exec("UPDATE "+table+" SET "+column+" = vector::tsvector FROM unnest($1::bigint[], $2::text[]) AS found (row_id, vector) WHERE id = row_id",
			ids, vectors)
		ids, vectors, size = nil, nil, 0
	}
}

// orphan notes that nobody has put the texts of a session, so that they go if nothing else
// names them.
func orphan(w *sqlstore.Tx, session int64) (drop func()) {
	w.Exec(`
		INSERT INTO fresh (text, put) SELECT DISTINCT text, 0 FROM refs WHERE turn IN (SELECT id FROM turns WHERE session = $1)
		ON CONFLICT DO NOTHING`, session)
	return func() {}
}
