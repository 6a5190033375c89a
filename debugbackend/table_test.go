package debugbackend

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/massgen/massgen/backends"
	"pgregory.net/rapid"
)

func TestPercentIsRoundedHalfUp(t *testing.T) {
	for _, tc := range []struct {
		n, base int
		want    string
	}{
		{574, 389, "+48 %"}, {578, 179, "+223 %"}, {678, 179, "+279 %"}, {1152, 568, "+103 %"}, {1252, 568, "+120 %"},
		{200, 200, "+0 %"}, {201, 200, "+1 %"}, {199, 200, "+0 %"}, {197, 200, "-1 %"}, {196, 200, "-2 %"}, {0, 7, "-100 %"}, {250, 11, "+2,173 %"}, {5, 0, "-"},
	} {
		if got := percent(tc.n, tc.base); got != tc.want {
			t.Errorf("from %d to %d: got %s, want %s", tc.base, tc.n, got, tc.want)
		}
	}
}

func TestTablesStandInTheOrderOfTheIDs(t *testing.T) {
	var calls []Call
	for _, k := range []backends.Key{
		{Session: "s2", Agent: "agent10"}, {Session: "s2", Purpose: "title"}, {Session: "s1", Agent: "agent1"},
		{Session: "s2", Agent: "agent9"}, {Session: "s2", Agent: "agent09"}, {Session: "s2", Agent: "Zoe"},
		{Session: "s2", Purpose: "summary"}, {Session: "s2", Agent: "agent2", Purpose: "vote"},
	} {
		calls = append(calls, Call{Request: backends.Request{Key: k}})
	}
	var got []string
	for _, s := range groupCalls(calls, true) {
		got = append(got, s.session+" "+s.agent+s.purpose)
	}
	want := []string{"s2 Zoe", "s2 agent2", "s2 agent09", "s2 agent9", "s2 agent10", "s2 summary", "s2 title", "s1 agent1"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestReadSections(t *testing.T) {
	user := func(text string) []backends.Message { return []backends.Message{backends.User(text)} }
	const head = "<ORIGINAL MESSAGE> q <END OF ORIGINAL MESSAGE>\n\n<CURRENT ANSWERS from the agents>\n"
	const foot = "\n<END OF CURRENT ANSWERS>"
	for _, tc := range []struct {
		name string
		in   []backends.Message
		want sections
	}{
		{"nothing", nil, sections{}},
		{"conversation", []backends.Message{backends.User("a"), backends.Assistant("b"), backends.User("c")}, sections{question: "c", exchanges: 1}},
		{"empty answers", user(head + "(no answers available yet)" + foot), sections{coordination: true, question: "q", hasAnswers: true}},
		{"answers", user(head + "<agent10> a\nb <end of agent10>\n<agent2>  <end of agent2>" + foot), sections{
			coordination: true, question: "q", hasAnswers: true, answers: []shownAnswer{{"agent10", "a\nb"}, {"agent2", ""}},
		}},
		{"broken tags", user(head + "<agent> x <agent1> y <end of agent2>\n<agentx> z <end of agentx><agent3> w <end of agent3>" + foot), sections{
			coordination: true, question: "q", hasAnswers: true, answers: []shownAnswer{{"agent3", "w"}},
		}},
		{"no answers section", user("<ORIGINAL MESSAGE> q <END OF ORIGINAL MESSAGE>"), sections{coordination: true, question: "q"}},
		{"unended question", user("<ORIGINAL MESSAGE> q"), sections{question: "<ORIGINAL MESSAGE> q"}},
		{"a reminder after it", []backends.Message{backends.User(head + foot), backends.Assistant("x"), backends.User("call a tool")}, sections{
			coordination: true, question: "q", hasAnswers: true,
		}},
		{"history", user("<CONVERSATION_HISTORY>\nUser: a\nAssistant: b\n User: no\nUser: c\nAssistant: d\n<END OF CONVERSATION_HISTORY>\n\n" + head + "x" + foot), sections{
			coordination: true, question: "q", exchanges: 2, hasAnswers: true,
		}},
		{"aware", []backends.Message{backends.System("x\n\n" + contextAware + " y")}, sections{contextAware: true}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, readSections(tc.in), cmp.AllowUnexported(sections{})); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// apply gives back both sides of a diff.
func apply(lines []line) (a, b []string) {
	for _, l := range lines {
		if l.sign != '+' {
			a = append(a, l.text)
		}
		if l.sign != '-' {
			b = append(b, l.text)
		}
	}
	return a, b
}

func TestDiffLinesHoldsBothSides(t *testing.T) {
	texts := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c"}), 0, 12)
	rapid.Check(t, func(t *rapid.T) {
		a, b := texts.Draw(t, "a"), texts.Draw(t, "b")
		lines := diffLines(a, b)
		gotA, gotB := apply(lines)
		if !slices.Equal(a, gotA) || !slices.Equal(b, gotB) {
			t.Fatalf("%v and %v came back as %v and %v", a, b, gotA, gotB)
		}
		if equal := len(a) + len(b) - len(lines); equal != longestCommon(a, b) {
			t.Fatalf("%d equal lines, want %d", equal, longestCommon(a, b))
		}
	})
}

// longestCommon is the length of the longest common subsequence, tried out.
func longestCommon(a, b []string) int {
	row := make([]int, len(b)+1)
	for _, x := range a {
		diagonal := 0
		for j, y := range b {
			above := row[j+1]
			if x == y {
				row[j+1] = diagonal + 1
			} else {
				row[j+1] = max(above, row[j])
			}
			diagonal = above
		}
	}
	return row[len(b)]
}

func TestDiffOfVeryLongTextsStaysCheap(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	text := func() []string {
		lines := make([]string, 50_000)
		for i := range lines {
			lines[i] = strings.Repeat("x", random.IntN(9))
		}
		return lines
	}
	a, b := text(), text()
	a[0], b[0] = "same", "same"
	lines := diffLines(a, b)
	gotA, gotB := apply(lines)
	if !slices.Equal(a, gotA) || !slices.Equal(b, gotB) || lines[0].sign != ' ' {
		t.Error("the sides do not come back")
	}
}
