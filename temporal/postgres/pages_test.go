package postgres_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"strings"
	"testing"

	"github.com/massgen/massgen/sessions"
	"github.com/massgen/massgen/temporal/postgres"
	"github.com/massgen/massgen/tests/storetest"
)

// fill adds sessions of one turn past the store, a second apart.
func fill(t testing.TB, schemaName string, from, to int) {
	t.Helper()
	execute(t, strings.NewReplacer("{from}", fmt.Sprint(from+1), "{to}", fmt.Sprint(to), "{schema}", schemaName).Replace(`
		SET search_path = {schema};
		INSERT INTO sessions (name, title, title_words, parent, parent_turn, created, updated, turns, messages, calls, input_tokens, output_tokens, cached_tokens, unknown_calls, cost_usd)
		SELECT 'old' || lpad(i::text, 8, '0'), 'Of the sea ' || i, to_tsvector('simple', 'Of the sea ' || i), '', 0, to_timestamp(i), to_timestamp(i), 1, 2, 1, 10, 5, 0, 0, 0.25
		FROM generate_series({from}, {to}) AS i;
		INSERT INTO texts (sha256, data) SELECT sha256(data), data
		FROM (SELECT convert_to('Question ' || i || ' about a harbour', 'UTF8') AS data FROM generate_series({from}, {to}) AS i) AS made;
		INSERT INTO turns (session, number, question, winner, status, started, ended, messages, calls, input_tokens, output_tokens, cached_tokens, unknown_calls, cost_usd, words)
		SELECT sessions.id, 1, sha256(convert_to('Question ' || i || ' about a harbour', 'UTF8')), '', 'failed', to_timestamp(i), to_timestamp(i), 2, 1, 10, 5, 0, 0, 0.25,
			to_tsvector('simple', 'Question ' || i || ' about a harbour')
		FROM generate_series({from}, {to}) AS i JOIN sessions ON name = 'old' || lpad(i::text, 8, '0');
		INSERT INTO refs (turn, text) SELECT turns.id, question FROM turns JOIN sessions ON sessions.id = session
		WHERE name > 'old' || lpad(({from} - 1)::text, 8, '0') AND name <= 'old' || lpad({to}::text, 8, '0');
		ANALYZE sessions, turns, texts, refs`))
}

// rowsRead returns how many rows of tables and indexes a list reads.
func rowsRead(t testing.TB, schemaName string, f sessions.Filter) (rows int, plan string) {
	t.Helper()
	statement, args := postgres.ListQuery(f)
	conn := connect(t)
	defer conn.Close(t.Context())
	if _, err := conn.Exec(t.Context(), "SET search_path = "+schemaName); err != nil {
		t.Fatal(err)
	}
	if err := conn.QueryRow(t.Context(), "EXPLAIN (ANALYZE, FORMAT JSON) "+statement, args...).Scan(&plan); err != nil {
		t.Fatal(err)
	}
	var plans []struct{ Plan node }
	if err := json.Unmarshal([]byte(plan), &plans); err != nil {
		t.Fatal(err)
	}
	return plans[0].Plan.rows(), plan
}

// node is a node of a plan of PostgreSQL.
type node struct {
	Rows    float64 `json:"Actual Rows"`
	Loops   float64 `json:"Actual Loops"`
	Removed float64 `json:"Rows Removed by Filter"`
	Plans   []node
}

// rows returns the rows that the leaves of a plan read.
func (n node) rows() (sum int) {
	if len(n.Plans) == 0 {
		return int((n.Rows + n.Removed) * n.Loops)
	}
	for _, below := range n.Plans {
		sum += below.rows()
	}
	return sum
}

// TestPages compares pages of small and big stores.
func TestPages(t *testing.T) {
	s := open(t, t.TempDir())
	name := schemaOf(t, s)
	storetest.Pages(t, s, func(t testing.TB, from, to int) { fill(t, name, from, to) }, func(t testing.TB, f sessions.Filter) {
		if rows, plan := rowsRead(t, name, f); rows > f.Limit+1 {
			t.Errorf("PostgreSQL reads %d rows for a page of %d:\n%s", rows, f.Limit, plan)
		}
	})
}

var many = flag.Int("many", 1000, "measure the pages of a store of so many sessions")

// TestMany prints figures: -run TestMany -many 1000000 -v.
func TestMany(t *testing.T) {
	s := open(t, t.TempDir())
	storetest.Many(t, *many, func(testing.TB) sessions.Keeper { return s }, func(t testing.TB, from, to int) { fill(t, schemaOf(t, s), from, to) })
}
