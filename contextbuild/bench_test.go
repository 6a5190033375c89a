package contextbuild

import (
	"fmt"
	"strings"
	"testing"
)

// BenchmarkBuild builds the messages of an agent that sees an answer of each of a hundred.
func BenchmarkBuild(b *testing.B) {
	in := Input{Question: "What is the cheapest source of energy?"}
	for i := range 100 {
		id := fmt.Sprintf("agent-%d", i)
		in.Participants = append(in.Participants, id)
		in.Answers = append(in.Answers, Answer{Agent: id, Content: strings.Repeat("The sun shines for all. ", 10)})
	}
	for i := range 10 {
		in.History = append(in.History, Exchange{Turn: i + 1, Question: "And then?", Answer: "The wind."})
	}
	b.ReportAllocs()
	for b.Loop() {
		if m := Build(in); m.System == "" || m.User == "" {
			b.Fatalf("%+v", m)
		}
	}
}
