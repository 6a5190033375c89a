package postgres_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/massgen/massgen/tests/storetest"
)

// BenchmarkTurn adds turns to a session of 100 turns: six events that name two texts each.
func BenchmarkTurn(b *testing.B) {
	ctx := b.Context()
	s := open(b, b.TempDir())
	if _, err := s.Import(ctx, storetest.LongSession(b, "s", 100), ""); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		begun, err := s.Begin(ctx, "s", "What are the main benefits of renewable energy?")
		if err != nil {
			b.Fatal(err)
		}
		for i := range 6 {
			var refs []string
			for _, kind := range []string{"a message", "as it was sent"} {
				text := fmt.Sprintf("%s %d of turn %d: %s", kind, i, begun.Turn, strings.Repeat("it is clean and cheap. ", 20))
				ref, err := s.Put(ctx, []byte(text))
				if err != nil {
					b.Fatal(err)
				}
				refs = append(refs, fmt.Sprintf(`{"sha256":"%s","bytes":%d}`, ref.SHA256, ref.Bytes))
			}
			if err := s.Append(ctx, "s", begun.Turn, fmt.Appendf(nil, `{"texts":[%s]}`, strings.Join(refs, ","))); err != nil {
				b.Fatal(err)
			}
		}
		if err := s.End(ctx, "s", begun.Turn, answered); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkImport takes in a session of 1,000 turns.
func BenchmarkImport(b *testing.B) {
	s := open(b, b.TempDir())
	for b.Loop() {
		if _, err := s.Import(b.Context(), storetest.LongSession(b, "s", 1000), ""); err != nil {
			b.Fatal(err)
		}
		if err := s.Delete(b.Context(), "s"); err != nil {
			b.Fatal(err)
		}
	}
}
