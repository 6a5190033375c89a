package postgres_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/massgen/massgen/sessions"
	"github.com/massgen/massgen/temporal/postgres"
)

// oldStore makes a store of version 3, with rows that a program of that version wrote.
func oldStore(t *testing.T) (schemaName string) {
	t.Helper()
	name := schema(t, t.TempDir())
	statements := []string{"SET search_path = " + name}
	for _, file := range []string{"testdata/1.sql", "testdata/limits.sql", "testdata/rows.sql"} {
		data, err := os.ReadFile(filepath.FromSlash(file))
		ok(t, err)
		if file == "testdata/rows.sql" {
			statements = append(statements, "ALTER TABLE holds ADD COLUMN cut jsonb NOT NULL DEFAULT '{}'")
		}
		statements = append(statements, string(data))
	}
	execute(t, strings.Join(statements, ";\n"))
	return name
}

// TestStoreOfVersion3 has all that was in it, and goes on.
func TestStoreOfVersion3(t *testing.T) {
	ctx := t.Context()
	name := oldStore(t)
	migrate(t, name)
	s, err := postgres.Open(ctx, address(t, name))
	ok(t, err)
	defer func() { ok(t, s.Close()) }()
	ok(t, s.Check(ctx))
	for _, id := range []string{"parent", "branch"} {
		want, err := os.ReadFile(filepath.Join("testdata", id+".jsonl"))
		ok(t, err)
		var got bytes.Buffer
		ok(t, s.Export(ctx, id, &got))
		if diff := cmp.Diff(string(want), got.String()); diff != "" {
			t.Errorf("session %s (-old +new):\n%s", id, diff)
		}
	}
	facts, err := s.SearchFacts(ctx, "user", "sea")
	if err != nil || len(facts) != 1 || facts[0].Text != "Lives by the sea." {
		t.Errorf("facts %+v, %v", facts, err)
	}
	hits, err := s.Search(ctx, "moon", sessions.Filter{})
	if err != nil || len(hits) != 2 {
		t.Errorf("hits %+v, %v", hits, err)
	}
	b, err := s.Resume(ctx, "branch")
	ok(t, err)
	ok(t, writeTurn(ctx, s, "branch", b.Turn, "the end"))
	for _, id := range []string{"parent", "branch"} {
		ok(t, s.Delete(ctx, id))
	}
	if n := value(t, "SELECT count(*) FROM "+schemaOf(t, s)+".texts"); n != int64(0) {
		t.Errorf("%d texts are left", n)
	}
	ok(t, s.Check(ctx))
}

// TestOldStoreBecomesLikeANewOne compares the tables of both.
func TestOldStoreBecomesLikeANewOne(t *testing.T) {
	shape := func(name string) string {
		t.Helper()
		migrate(t, name)
		found := value(t, `
			SELECT string_agg(line, E'\n' ORDER BY line) FROM (
				SELECT concat_ws(' ', table_name, column_name, data_type, collation_name, is_nullable, column_default, is_identity) AS line
				FROM information_schema.columns WHERE table_schema = $1
				UNION ALL SELECT indexdef FROM pg_indexes WHERE schemaname = $1
				UNION ALL SELECT concat_ws(' ', conrelid::regclass, pg_get_constraintdef(oid)) FROM pg_constraint
					WHERE connamespace = to_regnamespace($1)
				UNION ALL SELECT concat_ws(' ', proname, md5(prosrc)) FROM pg_proc WHERE pronamespace = to_regnamespace($1)
			) AS lines`, name).(string)
		return strings.ReplaceAll(found, name+".", "")
	}
	want := shape(schema(t, t.TempDir()))
	if diff := cmp.Diff(want, shape(oldStore(t))); diff != "" || len(want) < 1000 {
		t.Errorf("the tables (-new +old), %d bytes:\n%s", len(want), diff)
	}
}
