package sqlite_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/massgen/massgen/coordinator/kernel"
	"github.com/massgen/massgen/sessions"
	"github.com/massgen/massgen/sessions/sqlite"
)

// addTurn adds a turn such as three agents make that agree at once: what was
// accepted, and six messages of some hundred bytes each.
func addTurn(t testing.TB, s *sqlite.Store, id string) {
	t.Helper()
	ctx := t.Context()
	ok := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	b, err := s.Begin(ctx, id, "What are the main benefits of renewable energy?")
	ok(err)
	append := func(texts ...string) {
		t.Helper()
		var refs []string
		for _, text := range texts {
			ref, err := s.Put(ctx, []byte(text))
			ok(err)
			refs = append(refs, fmt.Sprintf(`{"sha256":"%s","bytes":%d}`, ref.SHA256, ref.Bytes))
		}
		ok(s.Append(ctx, id, b.Turn, fmt.Appendf(nil, `{"texts":[%s],"more":"%s"}`, strings.Join(refs, ","), strings.Repeat("x", 200))))
	}
	append("the system message of one", "of another", "of a third", "the parameters", "the tools")
	for i := range 6 {
		text := fmt.Sprintf("Message %d of turn %d: %s", i, b.Turn, strings.Repeat("it is clean and cheap. ", 20))
		append(text, "as it was sent: "+text)
	}
	ok(s.End(ctx, id, b.Turn, sessions.Ended{
		Status: kernel.Completed, Winner: "agent1", Answer: fmt.Sprintf("Message 0 of turn %d", b.Turn),
		Usage: sessions.Usage{Calls: 6, InputTokens: 900, OutputTokens: 300},
	}))
}

func sizeOf(t testing.TB, s *sqlite.Store) (bytes int64) {
	t.Helper()
	for _, name := range []string{s.Path(), s.Path() + "-wal"} {
		if info, err := os.Stat(name); err == nil {
			bytes += info.Size()
		}
	}
	return bytes
}

// BenchmarkTurn adds a turn to sessions of several lengths.
func BenchmarkTurn(b *testing.B) {
	for _, length := range []int{0, 25, 100, 1000, 10000} {
		b.Run(fmt.Sprint("after=", length), func(b *testing.B) {
			s := open(b, b.TempDir())
			for range length {
				addTurn(b, s, "s")
			}
			before := sizeOf(b, s)
			turns := 0
			for b.Loop() {
				addTurn(b, s, "s")
				turns++
			}
			b.ReportMetric(float64(sizeOf(b, s)-before)/float64(turns), "file-bytes/op")
		})
	}
}

// BenchmarkContinue opens a store and begins a turn of a long session.
func BenchmarkContinue(b *testing.B) {
	dir := b.TempDir()
	s := open(b, dir)
	for range 10000 {
		addTurn(b, s, "s")
	}
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		start := time.Now()
		s, err := sqlite.Open(b.Context(), filepath.Join(dir, "state", "sessions.db"))
		if err != nil {
			b.Fatal(err)
		}
		if _, err := s.Begin(b.Context(), "s", "q"); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(time.Since(start).Microseconds()), "us-to-begin")
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
