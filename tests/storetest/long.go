package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/internal/system/blob"
	"github.com/massgen/massgen/sessions"
)

// LongSession returns the export of a session with so many turns: an import takes it
// in a few transactions, where asking would take as many as there are turns.
func LongSession(t testing.TB, id string, turns int) *bytes.Buffer {
	t.Helper()
	d := &sessions.Dump{Session: sessions.Session{ID: id, Title: "long"}, Texts: map[blob.Ref][]byte{}}
	var head blob.Ref
	for i := range turns {
		turn := sessions.Turn{
			Number: i + 1, Question: fmt.Sprintf("Question %d: what then?", i), Answer: fmt.Sprintf("Answer %d: this and that.", i),
			Winner: "agent1", Status: kernel.Completed, MessageCount: 2,
		}
		link, err := sessions.Link{
			Previous: head, Turn: turn.Number,
			Question: sessions.RefOf([]byte(turn.Question)), Answer: sessions.RefOf([]byte(turn.Answer)),
		}.Encode()
		if err != nil {
			t.Fatal(err)
		}
		head = sessions.RefOf(link)
		turn.Link = head
		d.Turns = append(d.Turns, turn)
		d.Journals = append(d.Journals, [][]byte{[]byte(`{"type":"test"}`)})
	}
	var data bytes.Buffer
	if err := d.Write(&data); err != nil {
		t.Fatal(err)
	}
	return &data
}

// longSessions imports, branches and deletes sessions that take more than one batch.
func longSessions(w world) {
	ctx := w.Context()
	data := LongSession(w, "long", 350)
	text := data.String()
	_, err := w.store.Import(ctx, data, "")
	w.ok(err)
	w.same("the export of what was imported", withoutTimes(text), withoutTimes(string(exported(w, "long"))))
	w.ok(w.store.SetMetadata(ctx, "long", map[string]string{"key": "value"}))
	made, err := w.store.Branch(ctx, "long", 333, "branch")
	w.ok(err)
	w.same("the branch's turns, parent and metadata", []any{333, "long", 333, 666, map[string]string{"key": "value"}},
		[]any{made.Turns, made.Parent, made.ParentTurn, made.Messages, made.Metadata})
	w.is(w.store.Check(ctx), nil)
	for turn, query := range map[int]string{1: "Question 0", 333: "Question 332", 334: "Question 333"} {
		hits, err := w.store.Search(ctx, query, sessions.Filter{})
		w.ok(err)
		want := 2
		if turn > 333 {
			want = 1
		}
		w.same("hits of "+query, want, len(hits))
	}
	_, err = w.store.Branch(ctx, "long", 333, "branch")
	w.is(err, sessions.ErrExists)
	_, err = w.store.Import(ctx, LongSession(w, "long", 350), "")
	w.is(err, sessions.ErrExists)
	w.ok(w.store.Delete(ctx, "long"))
	_, err = w.store.Session(ctx, "long")
	w.is(err, sessions.ErrNoSession)
	if last := sessions.RefOf([]byte("Question 349: what then?")); w.isThere(last) {
		w.Error("a text of the deleted session is still there")
	}
	turns, err := w.store.Turns(ctx, "branch", 0)
	w.ok(err)
	w.same("the turns of the branch", 333, len(turns))
	w.begin("branch", "and then?")
	_, err = w.store.Import(ctx, LongSession(w, "branch", 350), "")
	w.is(err, sessions.ErrBusy)
	w.is(w.store.Delete(ctx, "branch"), sessions.ErrBusy)
	list, err := w.store.List(ctx, sessions.Filter{})
	w.ok(err)
	w.same("the sessions in the end", 1, len(list))
}

// withoutTimes returns an export without its end, and without the session's line, which has times.
func withoutTimes(export string) string {
	lines := strings.Split(strings.TrimSpace(export), "\n")
	return strings.Join(lines[1:len(lines)-1], "\n")
}

// othersWrite imports a session that takes many batches while others write. The session is there as a whole
// or not at all, and an import that is cancelled leaves nothing.
func othersWrite(w world) {
	ctx := w.Context()
	imported, written := make(chan error, 1), 0
	data := LongSession(w, "long", 1500)
	go func() {
		_, err := w.store.Import(ctx, data, "")
		imported <- err
	}()
	for isOver := false; !isOver; {
		select {
		case err := <-imported:
			w.ok(err)
			isOver = true
		default:
			_, err := w.store.AddFact(ctx, "", fmt.Sprint("fact ", written))
			w.ok(err)
			written++
			seen, err := w.store.Session(ctx, "long")
			if err == nil && seen.Turns != 1500 || err != nil && !errors.Is(err, sessions.ErrNoSession) {
				w.Fatalf("during the import the session has %d turns, %v", seen.Turns, err)
			}
			list, err := w.store.List(ctx, sessions.Filter{})
			w.ok(err)
			for _, s := range list {
				if s.ID != "long" || s.Turns != 1500 {
					w.Fatalf("during the import the list has %+v", s)
				}
			}
		}
	}
	if written < 3 {
		w.Errorf("others have written %d times during an import", written)
	}
	ending, cancel := context.WithCancel(ctx)
	cancelled := &cancelling{Reader: LongSession(w, "cancelled", 1500), cancel: cancel}
	if _, err := w.store.Import(ending, cancelled, ""); !errors.Is(err, context.Canceled) {
		w.Errorf("an import that is cancelled: %v", err)
	}
	list, err := w.store.List(ctx, sessions.Filter{})
	w.ok(err)
	w.same("the sessions after an import that was cancelled", 1, len(list))
}

// cancelling cancels a context when its end is read.
type cancelling struct {
	Reader *bytes.Buffer
	cancel func()
}

// Read implements io.Reader.
func (c *cancelling) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	if err != nil {
		c.cancel()
	}
	return n, err
}
