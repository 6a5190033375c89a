package storetest

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/internal/system/blob"
	"github.com/massgen/massgen/sessions"
)

// LongSession returns the export of a session with so many turns: an import takes it
// in one transaction, where asking would take as many as there are turns.
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
