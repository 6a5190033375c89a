package debugbackend

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/massgen/massgen/backends"
)

// demoRound lets each agent act once on the answers, in the order of the agents,
// and returns what they recorded and voted.
func demoRound(t *testing.T, demo backends.Backend, turn, round int, agents, answers []string, mayAnswer bool) (recorded map[int]string, votes []string) {
	t.Helper()
	recorded = map[int]string{}
	for i, agent := range agents {
		key := backends.Key{Session: "s", Turn: turn, Agent: agent, Round: round, Purpose: "coordination"}
		resp, err := backends.Collect(demo.Stream(t.Context(), panelRequest(key, "What are the <main> benefits?", mayAnswer, answers...)), nil)
		if err != nil {
			t.Fatal(err)
		}
		calls := resp.Message.ToolCalls()
		if len(calls) != 1 {
			t.Fatalf("%s: %d tool calls", key, len(calls))
		}
		var args struct {
			Content string
			Agent   string `json:"agent_id"`
		}
		if err := json.Unmarshal([]byte(calls[0].Arguments), &args); err != nil {
			t.Fatal(err)
		}
		if calls[0].Name == "new_answer" {
			recorded[i] = args.Content
		} else {
			votes = append(votes, args.Agent)
		}
	}
	return recorded, votes
}

func allEqual(votes []string, want string) bool {
	return !slices.ContainsFunc(votes, func(v string) bool { return v != want })
}

func checkAnswer(t *testing.T, text string, turn int) {
	t.Helper()
	for _, want := range []string{"What are the <main> benefits?", "canned", fmt.Sprintf("turn %d", turn)} {
		if !strings.Contains(text, want) {
			t.Errorf("answer without %q:\n%s", want, text)
		}
	}
	if strings.Count(text, "\n") > 3 {
		t.Errorf("long answer:\n%s", text)
	}
}

func TestDemoPanelAgreesAfterAChangedMind(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		demo := Demo()
		for n := 2; n <= 9; n++ {
			var agents []string
			for i := range n {
				agents = append(agents, strings.Repeat("a", i)+"gent")
			}
			for turn := 1; turn <= 3; turn++ {
				answers := make([]string, n)
				recorded, votes := demoRound(t, demo, turn, 1, agents, nil, true)
				if len(recorded) != n || len(votes) != 0 {
					t.Fatalf("round 1: %d of %d answered", len(recorded), n)
				}
				for i, text := range recorded {
					checkAnswer(t, text, turn)
					if slices.Contains(answers, text) {
						t.Errorf("two equal answers: %s", text)
					}
					answers[i] = text
				}
				recorded, votes = demoRound(t, demo, turn, 2, agents, answers, true)
				if len(recorded) != 1 || recorded[n-1] == "" || !allEqual(votes, "agent1") {
					t.Fatalf("round 2 of %d: recorded %v, votes %v", n, recorded, votes)
				}
				checkAnswer(t, recorded[n-1], turn)
				answers[n-1] = recorded[n-1]
				recorded, votes = demoRound(t, demo, turn, 3, agents, answers, true)
				if len(recorded) != 0 || len(votes) != n || !allEqual(votes, fmt.Sprintf("agent%d", n)) {
					t.Fatalf("round 3 of %d: recorded %v, votes %v", n, recorded, votes)
				}
			}
		}
	})
}

func TestDemoVotesWhenItMayNotAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		demo := Demo()
		agents := []string{"x", "y"}
		first, _ := demoRound(t, demo, 1, 1, agents, nil, true)
		recorded, votes := demoRound(t, demo, 1, 2, agents, []string{first[0], first[1]}, false)
		if len(recorded) != 0 || !slices.Equal(votes, []string{"agent1", "agent1"}) {
			t.Fatalf("recorded %v, votes %v", recorded, votes)
		}
	})
}

func TestDemoAloneAnswersInText(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		deltas := 0
		req := backends.Request{Key: backends.Key{Turn: 2, Agent: "solo", Round: 1}, Messages: []backends.Message{
			backends.User("first"), backends.Assistant("reply"), backends.User("What are the <main> benefits?\nTell me."),
		}}
		resp, err := backends.Collect(Demo().Stream(t.Context(), req), func(ev backends.Event) {
			if _, ok := ev.(backends.TextDelta); ok {
				deltas++
			}
		})
		if err != nil || len(resp.Message.ToolCalls()) != 0 {
			t.Fatalf("%v, %v", resp, err)
		}
		checkAnswer(t, resp.Message.Text(), 2)
		if took := time.Since(start); deltas < 3 || took < 150*time.Millisecond || took > 400*time.Millisecond {
			t.Errorf("%d deltas in %v", deltas, took)
		}
	})
}

func TestShort(t *testing.T) {
	long := strings.Repeat("ä", 81)
	for in, want := range map[string]string{
		"":          "",
		" one \n":   "one",
		"one\ntwo":  "one…",
		long:        strings.Repeat("ä", 80) + "…",
		long[:2*80]: strings.Repeat("ä", 80),
	} {
		if got := short(in); got != want {
			t.Errorf("short(%q) = %q, want %q", in, got, want)
		}
	}
}
