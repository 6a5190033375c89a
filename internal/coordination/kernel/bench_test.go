package kernel

import (
	"fmt"
	"testing"
)

// BenchmarkAgreement is a turn of a hundred agents that all answer and then vote
// for the first: what the rules themselves cost.
func BenchmarkAgreement(b *testing.B) {
	ids := make([]string, 100)
	for i := range ids {
		ids[i] = fmt.Sprintf("agent%d", i+1)
	}
	for b.Loop() {
		m, err := New(Defaults(ids...))
		if err != nil {
			b.Fatal(err)
		}
		events := []Event{Opened{}}
		for i := range ids {
			events = append(events, Answered{Agent: i, Hash: ids[i]})
		}
		for i := range ids {
			events = append(events, Voted{Agent: i, For: 0, Seen: len(ids)})
		}
		for _, ev := range events {
			if _, err := m.Apply(ev); err != nil {
				b.Fatal(err)
			}
		}
		if r := m.Result(); r.Winner == nil || r.Winner.Agent != 0 {
			b.Fatalf("%+v", r)
		}
	}
}
