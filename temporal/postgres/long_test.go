package postgres_test

import (
	"fmt"
	"testing"

	"github.com/massgen/massgen/tests/storetest"
)

// TestLongSessionsTakeNoMoreSpace adds turns to a session of 1,000 turns and to one of
// 10.
func TestLongSessionsTakeNoMoreSpace(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := open(t, t.TempDir())
	stored := func() int64 {
		t.Helper()
		return value(t, fmt.Sprintf(`
			SELECT ((SELECT sum(length(data)) FROM %[1]s.texts) + (SELECT sum(length(data)) FROM %[1]s.events)
				+ 100 * ((SELECT count(*) FROM %[1]s.refs) + (SELECT count(*) FROM %[1]s.events)))::bigint`, schemaOf(t, s))).(int64)
	}
	added := map[string]int64{}
	for id, turns := range map[string]int{"short": 10, "long": 1000} {
		_, err := s.Import(ctx, storetest.LongSession(t, id, turns), "")
		ok(t, err)
		before := stored()
		for i := range 10 {
			b, err := s.Begin(ctx, id, fmt.Sprint("a question to ", id, i))
			ok(t, err)
			ok(t, writeTurn(ctx, s, id, b.Turn, fmt.Sprint(id, i)))
		}
		added[id] = (stored() - before) / 10
	}
	t.Logf("a turn has %v bytes", added)
	if added["long"] > added["short"]*5/4 || added["short"] == 0 {
		t.Errorf("a turn has %v bytes", added)
	}
}
