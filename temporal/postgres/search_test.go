package postgres_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/massgen/massgen/temporal/postgres"
)

// TestServerReadsAllWords has the server read the words of any text.
func TestServerReadsAllWords(t *testing.T) {
	conn := connect(t)
	defer conn.Close(t.Context())
	rapid.Check(t, func(rt *rapid.T) {
		texts := rapid.SliceOfN(rapid.String(), 0, 3).Draw(rt, "texts")
		var read string
		if err := conn.QueryRow(t.Context(), "SELECT $1::tsvector::text", postgres.Vector(texts...)).Scan(&read); err != nil {
			rt.Error(err)
		}
	})
}
