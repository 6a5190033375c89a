package sqlite_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/massgen/massgen/internal/coordination/budget"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/internal/system/blob"
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
		Usage: budget.Usage{Calls: 6, InputTokens: 900, OutputTokens: 300},
	}))
}

// compacted returns the size of a store that has nothing to spare.
func compacted(t testing.TB, s *sqlite.Store) int64 {
	t.Helper()
	if err := s.Compact(t.Context()); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(s.Path())
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

// BenchmarkTurn adds turns to sessions of several lengths. What a turn takes in
// the file is measured when it is compacted.
func BenchmarkTurn(b *testing.B) {
	for _, length := range []int{10, 25, 100, 1000, 10_000} {
		b.Run(fmt.Sprint("after=", length), func(b *testing.B) {
			s := open(b, b.TempDir())
			longSession(b, s, "s", length)
			before, turns := compacted(b, s), 0
			for b.Loop() {
				addTurn(b, s, "s")
				turns++
			}
			b.ReportMetric(float64(compacted(b, s)-before)/float64(turns), "file-bytes/op")
		})
	}
}

// BenchmarkContinue opens a store and begins a turn of a long session.
func BenchmarkContinue(b *testing.B) {
	s := open(b, b.TempDir())
	longSession(b, s, "long", 10_000)
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		s, err := sqlite.Open(b.Context(), s.Path())
		if err == nil {
			_, err = s.Begin(b.Context(), "long", "q")
		}
		if err == nil {
			err = s.Close()
		}
		if err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkHistory reads histories of several lengths, as an input does.
func BenchmarkHistory(b *testing.B) {
	for _, length := range []int{10, 25, 100, 1000, 10_000} {
		b.Run(fmt.Sprint("turns=", length), func(b *testing.B) {
			s := open(b, b.TempDir())
			longSession(b, s, "s", length)
			begun, err := s.Begin(b.Context(), "s", "q")
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				for link, err := range sessions.Chain(b.Context(), s, begun.History) {
					for _, ref := range []blob.Ref{link.Question, link.Answer} {
						if err == nil {
							_, err = s.Get(b.Context(), ref)
						}
					}
					if err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}

// BenchmarkBranch makes branches of a long session, at its end. Each turn has a list of four
// messages if there are lists.
func BenchmarkBranch(b *testing.B) {
	for _, hasLists := range []bool{false, true} {
		b.Run(fmt.Sprint("lists=", hasLists), func(b *testing.B) {
			const length = 2000
			s := open(b, b.TempDir())
			longSession(b, s, "s", length)
			last := length
			for ; hasLists && last < 2*length; last++ {
				addList(b, s, "s")
			}
			number := 0
			for b.Loop() {
				number++
				if _, err := s.Branch(b.Context(), "s", last, fmt.Sprint("branch", number)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// addList adds a turn with a list of four messages.
func addList(t testing.TB, s *sqlite.Store, id string) {
	t.Helper()
	ctx := t.Context()
	begun, err := s.Begin(ctx, id, "What next?")
	put := func(text string) string {
		var ref blob.Ref
		if err == nil {
			ref, err = s.Put(ctx, []byte(text))
		}
		return fmt.Sprintf(`{"sha256":"%s","bytes":%d}`, ref.SHA256, ref.Bytes)
	}
	var refs []string
	for i := range 4 {
		refs = append(refs, put(fmt.Sprintf("message %d of turn %d: %s", i, begun.Turn, strings.Repeat("it is clean and cheap. ", 20))))
	}
	list := "[" + strings.Join(refs, ",") + "]"
	listRef := put(list)
	if err == nil {
		err = s.Append(ctx, id, begun.Turn, []byte("["+strings.Join(append(refs, listRef), ",")+"]"))
	}
	if err == nil {
		err = s.End(ctx, id, begun.Turn, sessions.Ended{Status: kernel.Completed, Winner: "agent1", Answer: "It is.", Messages: sessions.RefOf([]byte(list)), MessageCount: 4})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// BenchmarkOpen opens a small store and closes it.
func BenchmarkOpen(b *testing.B) {
	s := open(b, b.TempDir())
	addTurn(b, s, "s")
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		s, err := sqlite.Open(b.Context(), s.Path())
		if err == nil {
			err = s.Close()
		}
		if err != nil {
			b.Fatal(err)
		}
	}
}
