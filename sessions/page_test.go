package sessions_test

import (
	"bytes"
	"context"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/internal/system/blob"
	"github.com/massgen/massgen/sessions"
)

// counted counts what is read of texts, and misses one of them.
type counted struct {
	sessions.Texts
	missing blob.Ref
	reads   int
}

func (c *counted) Get(ctx context.Context, ref blob.Ref) ([]byte, error) {
	c.reads++
	if ref == c.missing {
		return nil, errMissing
	}
	return c.Texts.Get(ctx, ref)
}

// takeTurns takes turns of a session, of which each tenth has no answer, and each third a list of
// messages. It returns what its history is to be, newest first, and the newest link.
func takeTurns(t *testing.T, store *sessions.Store, id string, turns, bytes int) (want []sessions.Turn, head blob.Ref) {
	t.Helper()
	for i := range turns {
		question, answer := fmt.Sprintf("Question %d?\n7 7 7\n", i), fmt.Sprintf("Answer %d.%s", i, strings.Repeat("x", bytes))
		begun, err := store.Begin(t.Context(), id, question)
		if err != nil {
			t.Fatal(err)
		}
		list, err := store.Put(t.Context(), fmt.Append(nil, "messages of ", i))
		if err != nil {
			t.Fatal(err)
		}
		e := sessions.Ended{Status: kernel.Completed, Winner: "agent1", Answer: answer, MessageCount: 2}
		if i%3 == 0 {
			e.Messages, e.MessageCount = list, 4
		}
		if begun.Turn%10 == 7 {
			e = sessions.Ended{Status: kernel.NoConsensus}
			if err := store.Append(t.Context(), id, begun.Turn, []byte(`{"type":"test"}`)); err != nil {
				t.Fatal(err)
			}
		}
		if err := store.End(t.Context(), id, begun.Turn, e); err != nil {
			t.Fatal(err)
		}
		if e.Winner != "" {
			want = append([]sessions.Turn{{Number: begun.Turn, Question: question, Answer: answer, Messages: e.Messages}}, want...)
		}
	}
	list, err := store.Turns(t.Context(), id, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, turn := range list {
		if turn.Link != (blob.Ref{}) {
			head = turn.Link
		}
	}
	return want, head
}

// historyOf reads a history.
func historyOf(t *testing.T, texts sessions.Texts, head blob.Ref) (list []sessions.Turn) {
	t.Helper()
	for past, err := range sessions.History(t.Context(), texts, head) {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, past)
	}
	return list
}

// A history is read in hundreds, the same as turn by turn: also where a page is missing or says
// nothing, and of an export that was imported.
func TestHistoryOfPages(t *testing.T) {
	store := sessions.NewMemory()
	want, head := takeTurns(t, store, "long", 450, 0)
	if err := store.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	var export bytes.Buffer
	if err := store.Export(t.Context(), "long", &export); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(export.String(), "9 20 9") {
		t.Error("the export has a page")
	}
	other := sessions.NewMemory()
	if _, err := other.Import(t.Context(), &export, ""); err != nil {
		t.Fatal(err)
	}
	if err := other.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := other.Branch(t.Context(), "long", 450, "branch"); err != nil {
		t.Fatal(err)
	}
	if err := other.Delete(t.Context(), "long"); err != nil {
		t.Fatal(err)
	}
	// At most 50 turns by links, and for each page its link, question and answer.
	const most = 50*3 + 4*4
	for name, texts := range map[string]sessions.Texts{"the session": store, "a branch of an import": other} {
		c := &counted{Texts: texts}
		if diff := cmp.Diff(want, historyOf(t, c, head)); diff != "" {
			t.Error(name, diff)
		}
		if c.reads > most {
			t.Errorf("%s: %d reads, more than %d", name, c.reads, most)
		}
	}
	for link, err := range sessions.Chain(t.Context(), store, head) {
		if err != nil {
			t.Fatal(err)
		}
		if link.Page == (blob.Ref{}) {
			continue
		}
		if diff := cmp.Diff(want, historyOf(t, &counted{Texts: store, missing: link.Page}, head)); diff != "" {
			t.Errorf("without the page of turn %d: %s", link.Turn, diff)
		}
	}
}

// Turns of much text have shorter pages.
func TestHistoryOfShortPages(t *testing.T) {
	store := sessions.NewMemory()
	want, head := takeTurns(t, store, "long", 210, 40_000)
	if !reflect.DeepEqual(want, historyOf(t, store, head)) {
		t.Error("the history differs")
	}
	for link, err := range sessions.Chain(t.Context(), store, head) {
		if err != nil {
			t.Fatal(err)
		}
		if link.Page.Bytes > 1<<20+100_000 {
			t.Errorf("the page of turn %d has %d bytes", link.Turn, link.Page.Bytes)
		}
		if link.Page != (blob.Ref{}) != (link.Turn%100 == 0) {
			t.Errorf("turn %d has the page %v", link.Turn, link.Page)
		}
	}
}

// FuzzPage: whatever stands in a page, it yields turns in order, or the links do.
func FuzzPage(f *testing.F) {
	f.Add([]byte("\n3 1 1\nqa2 0 0\n"))
	f.Add([]byte("\n3 1 1 " + strings.Repeat("a", 64) + " 7\nqa"))
	f.Add([]byte(strings.Repeat("a", 64) + " 7\n3 1 99999999\nqa"))
	f.Add([]byte("\n3 -1 1\nqa"))
	f.Add([]byte("\n9 1 1\nqa"))
	f.Add([]byte("\n4 1 1\nqa4 1 1\nqa"))
	f.Fuzz(func(t *testing.T, page []byte) {
		store := texts{}
		said := store.put([]byte("said"))
		first := store.link(t, sessions.Link{Turn: 1, Question: said, Answer: said})
		head := store.link(t, sessions.Link{Previous: first, Turn: 5, Question: said, Answer: said, Page: store.put(page)})
		before := 6
		for past, err := range sessions.History(t.Context(), store, head) {
			if err != nil {
				return // the page names a link that is not there
			}
			if past.Number < 1 || past.Number >= before {
				t.Fatalf("turn %d comes before turn %d", past.Number, before)
			}
			before = past.Number
		}
	})
}
