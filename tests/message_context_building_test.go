package tests

import (
	"math"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/massgen/massgen/contextbuild"
)

// contextTurn is one turn of seed 003: what goes in, and what seed 003 says of
// the messages that come out. Sizes are in characters.
type contextTurn struct {
	name      string
	in        contextbuild.Input
	layout    []string // the first line of each section of the user message
	note      bool     // whether the system message asks for the conversation's context
	system    int
	user      int
	growth    growth // from turn 1
	exchanges int    // exchanges in the history
	answers   int
}

// growth is in whole percent, rounded half up. Seed 003 cut the first system
// value to 47.
type growth struct{ total, system, user int }

func contextTurns() []contextTurn {
	const (
		history  = "<CONVERSATION_HISTORY>"
		question = "<ORIGINAL MESSAGE> "
		answers  = "<CURRENT ANSWERS from the agents>"
	)
	benefits := "What are the main benefits of renewable energy?"
	challenges := "What about the challenges and limitations?"
	return []contextTurn{
		{
			name:   "turn1",
			in:     contextbuild.Input{Question: benefits, Participants: []string{"researcher", "analyst"}},
			layout: []string{question + benefits + " <END OF ORIGINAL MESSAGE>", answers},
			system: 389, user: 179,
		},
		{
			name: "turn2",
			in: contextbuild.Input{
				History: []contextbuild.Exchange{{
					Question: benefits,
					Answer: "Renewable energy offers several key benefits including environmental sustainability, " +
						"economic advantages, and energy security. It reduces greenhouse gas emissions, creates jobs, " +
						"and decreases dependence on fossil fuel imports.",
				}},
				Question:     challenges,
				Participants: []string{"researcher"},
				Answers: []contextbuild.Answer{
					{Agent: "researcher", Content: "Key benefits include environmental and economic advantages."},
				},
			},
			layout: []string{history, question + challenges + " <END OF ORIGINAL MESSAGE>", answers},
			note:   true,
			system: 574, user: 578,
			growth:    growth{total: 103, system: 48, user: 223},
			exchanges: 1, answers: 1,
		},
		{
			name: "turn3",
			in: contextbuild.Input{
				History: []contextbuild.Exchange{
					{
						Question: benefits,
						Answer:   "Renewable energy offers environmental, economic, and energy security benefits.",
					},
					{
						Question: challenges,
						Answer: "Main challenges include high upfront costs, intermittency issues, and infrastructure " +
							"requirements.",
					},
				},
				Question:     "How can governments support the transition?",
				Participants: []string{"researcher", "analyst"},
				Answers: []contextbuild.Answer{
					{Agent: "researcher", Content: "Benefits include environmental and economic advantages."},
					{Agent: "analyst", Content: "Challenges include costs, intermittency, and infrastructure needs."},
				},
			},
			layout: []string{
				history, question + "How can governments support the transition? <END OF ORIGINAL MESSAGE>", answers,
			},
			note:   true,
			system: 574, user: 678,
			growth:    growth{total: 120, system: 48, user: 279},
			exchanges: 2, answers: 2,
		},
	}
}

// TestMessageContextBuilding shows the exact messages of the three turns of seed
// 003, without any call of a model: run it with -v to read them.
func TestMessageContextBuilding(t *testing.T) {
	for _, turn := range contextTurns() {
		t.Run(turn.name, func(t *testing.T) {
			got := contextbuild.Build(turn.in)
			t.Logf("system message\n%s", got.System)
			t.Logf("user message\n%s", got.User)
			exact := filepath.Join("..", "contextbuild", "testdata", "exact", turn.name)
			sameAsFile(t, exact+".system.txt", got.System)
			sameAsFile(t, exact+".user.txt", got.User)
		})
	}
}

func sameAsFile(t *testing.T, path, got string) {
	t.Helper()
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("message differs from %s (-want +got):\n%s", path, diff)
	}
}

// TestMessageContextLayout checks which sections each turn has, in which order,
// and what is in them.
func TestMessageContextLayout(t *testing.T) {
	sectionHead := regexp.MustCompile(`(?:^|\n\n)(<[^\n]+)`)
	question := regexp.MustCompile(`(?m)^User: `)
	answer := regexp.MustCompile(`(?m)^<agent\d+> .* <end of agent\d+>$`)
	noAnswers := regexp.MustCompile(`(?m)^\(no answers available yet\)$`)
	note := regexp.MustCompile(`\n {12}\nIMPORTANT: [^\n]+$`)
	for _, turn := range contextTurns() {
		t.Run(turn.name, func(t *testing.T) {
			got := contextbuild.Build(turn.in)
			var layout []string
			for _, match := range sectionHead.FindAllStringSubmatch(got.User, -1) {
				layout = append(layout, match[1])
			}
			if diff := cmp.Diff(turn.layout, layout); diff != "" {
				t.Errorf("sections differ (-want +got):\n%s", diff)
			}
			if n := len(question.FindAllString(got.User, -1)); n != turn.exchanges {
				t.Errorf("%d exchanges in the history, want %d", n, turn.exchanges)
			}
			if n := len(answer.FindAllString(got.User, -1)); n != turn.answers {
				t.Errorf("%d current answers, want %d", n, turn.answers)
			}
			if noAnswers.MatchString(got.User) != (turn.answers == 0) {
				t.Errorf("the line for no answers stands beside %d answers", turn.answers)
			}
			if note.MatchString(got.System) != turn.note {
				t.Errorf("context note present: %v, want %v", !turn.note, turn.note)
			}
		})
	}
}

// TestMessageContextGrowth checks the sizes and the growth table of seed 003.
func TestMessageContextGrowth(t *testing.T) {
	turns := contextTurns()
	base := turns[0]
	for _, turn := range turns {
		t.Run(turn.name, func(t *testing.T) {
			got := contextbuild.Build(turn.in)
			system, user := utf8.RuneCountInString(got.System), utf8.RuneCountInString(got.User)
			if system != turn.system || user != turn.user {
				t.Errorf("%d + %d characters, want %d + %d", system, user, turn.system, turn.user)
			}
			grown := growth{
				total:  percent(system+user, base.system+base.user),
				system: percent(system, base.system),
				user:   percent(user, base.user),
			}
			if grown != turn.growth {
				t.Errorf("growth %+v, want %+v", grown, turn.growth)
			}
			t.Logf("%d characters (%+d %%): system %d (%+d %%), user %d (%+d %%)",
				system+user, grown.total, system, grown.system, user, grown.user)
		})
	}
}

// percent returns by how much size exceeds base.
func percent(size, base int) int {
	return int(math.Floor(100*float64(size-base)/float64(base) + 0.5))
}
