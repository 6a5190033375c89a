package sqlite

import (
	_ "embed" // for the schema
	"strings"
	"time"

	codes "modernc.org/sqlite/lib"

	"github.com/massgen/massgen/internal/storage/sqlstore"
	"github.com/massgen/massgen/sessions"
)

//go:embed schema/search.sql
var searchTables string

//go:embed schema/from1.sql
var fromVersion1 string

// steps bring older stores up to date. There were no versions 2 and 3, and 5 is like 4.
func steps() sqlstore.Steps {
	return sqlstore.Steps{
		1: {Breaks: fromVersion1},
		5: {Breaks: `ALTER TABLE sessions ADD COLUMN reasoning_tokens INTEGER NOT NULL DEFAULT 0;
			ALTER TABLE turns ADD COLUMN reasoning_tokens INTEGER NOT NULL DEFAULT 0`},
		6: {Indexes: []string{"sessions_by_use ON sessions (updated DESC, name) WHERE turns > 0", "sessions_hidden ON sessions (name) WHERE turns = 0"}},
	}
}

// dialect is that of SQLite for the store in a file.
func dialect(path string, wait time.Duration) sqlstore.Dialect {
	return sqlstore.Dialect{
		Words: map[string]string{
			"id": "INTEGER PRIMARY KEY", "count": "INTEGER", "number": "INTEGER", "real": "REAL", "bytes": "BLOB",
			"text": "TEXT", "name": "TEXT", "strict": " STRICT", "strict_by_key": " STRICT, WITHOUT ROWID",
			// Milliseconds since 1970.
			"time": "INTEGER", "now": "CAST(round(unixepoch('now', 'subsec') * 1000) AS INTEGER)",
			// A text is named by a number, which takes less space than its hash.
			"key": "id", "key_of": "(SELECT id FROM texts WHERE sha256 =", "end": ")", "text_key": "INTEGER", "text_columns": "id     INTEGER PRIMARY KEY,\n    sha256 BLOB NOT NULL UNIQUE",
			// No fact's id is used again.
			"fact_id": "INTEGER PRIMARY KEY AUTOINCREMENT", "fact_unique": "text", "fact_hash": "", "hash_of_2": "",
			"more_tables": searchTables,
			"title_words": "", "turn_words": "", "fact_words": "", "words": "",
			// One transaction writes at a time, and a hold is no row.
			"lock_row": "", "share_texts": "", "own_texts": "", "unheld": "",
			"object": "json_group_object",
			"named":  `(SELECT unhex(value ->> 'sha256') AS sum, value ->> 'bytes' AS bytes, key AS n FROM json_each($1))`,
		},
		Search: `
			SELECT rowid AS session, 0 AS turn, NULL AS id FROM title_search WHERE title_search MATCH $1
			UNION ALL
			SELECT turns.session, turns.number, turns.id
			FROM turn_search JOIN turns ON turns.id = turn_search.rowid WHERE turn_search MATCH $1`,
		Found:       `(SELECT snippet(turn_search, -1, '', '', '…', 24) FROM turn_search WHERE turn_search MATCH $1 AND rowid = page.id), NULL`,
		SearchFacts: "facts.id IN (SELECT rowid FROM fact_search WHERE fact_search MATCH $2)",
		Match:       match,
		Snippet:     func(_ sessions.Query, found, _ []byte) string { return string(found) },
		Orphan:      orphan,
		Time:        func(t time.Time) any { return t.UnixMilli() },
		MostRows:    1, // no more are faster where nothing is sent
		Prepares:    true,
		Faults: sqlstore.Faults{
			Fault:    func(doing string, err error) error { return fault(path, doing, err) },
			Passes:   func(err error) bool { return codeOf(err) == codes.SQLITE_BUSY },
			Patience: wait,
		},
	}
}

// orphan notes the texts of a session, and deletes those that nothing names afterwards.
func orphan(w *sqlstore.Tx, session int64) (drop func()) {
	var texts string
	w.Row("SELECT json_group_array(DISTINCT text) FROM refs WHERE turn IN (SELECT id FROM turns WHERE session = $1)", []any{session}, &texts)
	return func() {
		w.Exec("DELETE FROM texts WHERE id IN (SELECT value FROM json_each($1)) AND NOT EXISTS (SELECT 1 FROM refs WHERE text = texts.id)", texts)
	}
}

// match returns a query in the language of FTS5. Its words are letters and digits only, so
// nothing in it can be taken for syntax.
func match(q sessions.Query) string {
	phrases := make([]string, len(q))
	for i, p := range q {
		phrases[i] = `"` + strings.Join(p.Words, " ") + `"`
		if p.Prefix {
			phrases[i] += "*"
		}
	}
	return strings.Join(phrases, " ")
}
