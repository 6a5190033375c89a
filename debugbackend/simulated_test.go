package debugbackend

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/internal/models/questions"
)

// sums returns n questions whose answers are numbers.
func sums(n int) []questions.Question {
	list := make([]questions.Question, n)
	for i := range list {
		list[i] = questions.Question{ID: fmt.Sprint(i), Question: fmt.Sprintf("What is %d + 1?", i), Expected: fmt.Sprint(i + 1)}
	}
	return list
}

// asked makes the request of a round for an agent that is shown some answers.
func asked(agent string, seed int64, round int, question string, shown ...string) backends.Request {
	user := questionOpen + question + questionClose
	if len(shown) > 0 {
		user += "\n\n" + answersOpen
		for i, text := range shown {
			user += fmt.Sprintf("<agent%d> %s <end of agent%d>\n", i+1, text, i+1)
		}
		user = strings.TrimSuffix(user, "\n") + answersClose
	}
	return backends.Request{
		Model: "simulated", Key: backends.Key{Turn: 1, Agent: agent, Round: round, Purpose: "coordination"},
		Messages: []backends.Message{backends.System("s"), backends.User(user)},
		Tools:    []backends.Tool{{Name: toolNewAnswer}, {Name: toolVote}},
		Params:   backends.Params{Seed: new(seed)},
	}
}

func replied(t *testing.T, s backends.Backend, req backends.Request) backends.Response {
	t.Helper()
	r, err := backends.Collect(s.Stream(t.Context(), req), nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// called returns the arguments of the only call in a reply.
func called(t *testing.T, r backends.Response, name string) map[string]string {
	t.Helper()
	var arguments map[string]string
	calls := r.Message.ToolCalls()
	if len(calls) != 1 || calls[0].Name != name || json.Unmarshal([]byte(calls[0].Arguments), &arguments) != nil {
		t.Fatalf("it called %+v, want %s", calls, name)
	}
	return arguments
}

// correlationOf is Pearson's, of two lists of errors.
func correlationOf(a, b []bool) float64 {
	var both, onlyA, onlyB, neither float64
	for i := range a {
		switch {
		case a[i] && b[i]:
			both++
		case a[i]:
			onlyA++
		case b[i]:
			onlyB++
		default:
			neither++
		}
	}
	return (both*neither - onlyA*onlyB) / math.Sqrt((both+onlyA)*(onlyB+neither)*(both+onlyB)*(onlyA+neither))
}

// TestErrorsAreAsAsked: accuracy, correlation and the values of errors come out as asked, within
// four standard errors.
func TestErrorsAreAsAsked(t *testing.T) {
	const n = 4000
	file := sums(n)
	for _, c := range []struct{ accuracy, correlation float64 }{{0.7, 0}, {0.7, 0.25}, {0.6, 0.5}, {0.8, 0.9}, {0.7, 1}} {
		s := NewSimulated(questions.Simulation{Questions: file, Accuracy: c.accuracy, Correlation: c.correlation})
		wrong, shared, different := map[string][]bool{}, 0, map[string]bool{}
		for _, q := range file {
			values := map[string]string{}
			for _, agent := range []string{"ada", "bob"} {
				values[agent] = called(t, replied(t, s, asked(agent, 5, 1, q.Question)), toolNewAnswer)["content"]
				wrong[agent] = append(wrong[agent], values[agent] != q.Expected)
			}
			if values["ada"] != q.Expected {
				different[minus(t, values["ada"], q.Expected)] = true
				if values["ada"] == values["bob"] {
					shared++
				}
			}
		}
		for agent, list := range wrong {
			right := 0.0
			for _, isWrong := range list {
				if !isWrong {
					right++
				}
			}
			if off := math.Abs(right/n - c.accuracy); off > 4*math.Sqrt(c.accuracy*(1-c.accuracy)/n) {
				t.Errorf("%+v: the accuracy of %s is %v", c, agent, right/n)
			}
		}
		got := correlationOf(wrong["ada"], wrong["bob"])
		if off := math.Abs(got - c.correlation); off > 4*math.Sqrt((1-c.correlation*c.correlation)/n)+0.02*c.correlation {
			t.Errorf("%+v: the correlation is %v", c, got)
		}
		if len(different) != 3 {
			t.Errorf("%+v: wrong answers differ by %v from the right one: want three values", c, different)
		}
		if c.correlation == 1 && got != 1 || c.correlation == 0.9 && shared < n*15/100 {
			t.Errorf("%+v: correlation %v, %d shared wrong values", c, got, shared)
		}
	}
}

func minus(t *testing.T, a, b string) string {
	t.Helper()
	var x, y int
	if _, err := fmt.Sscan(a+" "+b, &x, &y); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(x - y)
}

func TestOtherSeedsAreIndependent(t *testing.T) {
	const n = 3000
	file := sums(n)
	s := NewSimulated(questions.Simulation{Questions: file, Accuracy: 0.7, Correlation: 1})
	var a, b []bool
	for _, q := range file {
		a = append(a, called(t, replied(t, s, asked("ada", 1, 1, q.Question)), toolNewAnswer)["content"] != q.Expected)
		b = append(b, called(t, replied(t, s, asked("ada", 2, 1, q.Question)), toolNewAnswer)["content"] != q.Expected)
	}
	if got := correlationOf(a, b); math.Abs(got) > 4/math.Sqrt(n) {
		t.Errorf("the correlation is %v", got)
	}
}

// TestConformity: a right member that is outnumbered goes over to the others as often as asked, in each
// round in which it is shown their answers, and stays there.
func TestConformity(t *testing.T) {
	const n, conformity = 3000, 0.4
	file := sums(n)
	s := NewSimulated(questions.Simulation{Questions: file, Accuracy: 1, Conformity: conformity})
	gone := map[int]float64{}
	for _, q := range file {
		wasGone := false
		for round := 2; round <= 3; round++ {
			vote := called(t, replied(t, s, asked("ada", 5, round, q.Question, "wrong", q.Expected, "wrong")), toolVote)
			isGone := vote["agent_id"] == "agent1"
			if isGone {
				gone[round]++
			} else if vote["agent_id"] != "agent2" || wasGone {
				t.Fatalf("round %d: it votes for %s, and was gone before: %v", round, vote["agent_id"], wasGone)
			}
			wasGone = isGone
		}
		if vote := called(t, replied(t, s, asked("ada", 5, 2, q.Question, "wrong", q.Expected, "other")), toolVote); vote["agent_id"] != "agent2" {
			t.Fatalf("there is no most common answer, and it votes for %s", vote["agent_id"])
		}
	}
	for round, p := range map[int]float64{2: conformity, 3: 1 - (1-conformity)*(1-conformity)} {
		if off := math.Abs(gone[round]/n - p); off > 4*math.Sqrt(p*(1-p)/n) {
			t.Errorf("round %d: %v went over, want %v", round, gone[round]/n, p)
		}
	}
}

func TestSimulatedMemberActs(t *testing.T) {
	file := []questions.Question{{ID: "1", Question: "What?", Expected: "B"}}
	s := NewSimulated(questions.Simulation{Questions: file, Accuracy: 1})
	text := func(req backends.Request) string { return replied(t, s, req).Message.Text() }

	if got := called(t, replied(t, s, asked("ada", 0, 1, "What?")), toolNewAnswer); got["content"] != "B" {
		t.Errorf("the first answer is %q", got)
	}
	if got := called(t, replied(t, s, asked("ada", 0, 2, "What?", "A", "C")), toolNewAnswer); got["content"] != "B" {
		t.Errorf("its answer is not among those shown, and it answers %q", got)
	}
	follower := NewSimulated(questions.Simulation{Questions: file, Accuracy: 1, Conformity: 1})
	if got := called(t, replied(t, follower, asked("ada", 0, 2, "What?", "A", "B")), toolVote); got["agent_id"] != "agent1" {
		t.Errorf("the only other answer is agent1's, and it votes for %q", got)
	}
	last := asked("ada", 0, 3, "What?", "A", "C")
	last.Tools = last.Tools[1:]
	if got := called(t, replied(t, s, last), toolVote); got["agent_id"] != "agent1" || got["reason"] != "It says A." {
		t.Errorf("its answer is not among those shown, and it votes for %q", got)
	}

	refused := asked("ada", 0, 2, "What?", "A", "B", "B")
	refused.Messages = append(refused.Messages, backends.Message{Role: backends.RoleAssistant, Parts: []backends.Part{
		backends.ToolCall{ID: "c", Name: toolVote, Arguments: `{"agent_id":"agent2","reason":""}`},
	}})
	if got := called(t, replied(t, s, refused), toolVote); got["agent_id"] != "agent3" {
		t.Errorf("after a refused vote for agent2 it votes for %s", got["agent_id"])
	}

	alone := asked("ada", 0, 1, "")
	alone.Tools, alone.Messages = nil, []backends.Message{backends.System("s"), backends.User("Hello"), backends.Assistant("Hi"), backends.User("What?")}
	if got := text(alone); got != "B" {
		t.Errorf("alone it answers %q", got)
	}

	schema := asked("ada", 0, 2, "What?", "A", "B")
	schema.Tools, schema.Schema = nil, json.RawMessage(`{"enum":["vote","agent1","agent2"]}`)
	if got := text(schema); got != `{"action":{"name":"vote","agent_id":"agent2","reason":"It says B."}}` {
		t.Errorf("its act in JSON is %s", got)
	}
	schema.Schema = json.RawMessage(`{"enum":["vote","agent1"]}`)
	if got := text(schema); !strings.Contains(got, `"agent1"`) {
		t.Errorf("only agent1 is offered, and it acts %s", got)
	}

	sidecall := asked("", 0, 0, "Which topic?")
	if got := text(sidecall); got != ofSidecall {
		t.Errorf("a call of no agent gets %q", got)
	}
	_, err := backends.Collect(s.Stream(t.Context(), asked("ada", 0, 1, "How?")), nil)
	if want := `the simulated member ada is asked "How?", which is not among its 1 questions; one of them is "What?"`; err == nil || !strings.Contains(err.Error(), want) || backends.KindOf(err) != backends.KindBadRequest {
		t.Errorf("an unknown question: %v", err)
	}
}

func TestSimulatedJudge(t *testing.T) {
	file := []questions.Question{{ID: "1", Question: "What?", Expected: "42"}}
	s := NewSimulated(questions.Simulation{Questions: file, Accuracy: 1})
	judge := func(purpose, schema string, shown ...string) string {
		req := asked("judge", 0, 1, "What?", shown...)
		req.Key.Purpose, req.Tools, req.Schema = purpose, nil, json.RawMessage(schema)
		return replied(t, s, req).Message.Text()
	}
	want := `{"consensus":[],"partial":[],"unique":[],"contradictions":[{"about":"The answer","sides":[` +
		`{"claim":"The answer is 41.","answers":["agent1","agent3"],"quotes":[{"answer":"agent1","text":"41"}]},` +
		`{"claim":"The answer is 42.","answers":["agent2"],"quotes":[{"answer":"agent2","text":"42"}]}]}],` +
		`"blind_spots":[],"best":"agent2","why":"It says 42."}`
	if got := judge(judgement, "", "41", "42", "41"); got != want {
		t.Errorf("judgement: %s", got)
	}
	if got := judge("analysis", `{"properties":{"best":{"enum":["agent1","agent2","agent3"]}}}`, "41", "42", "41"); got != want {
		t.Errorf("analysis: %s", got)
	}
	if got := judge(judgement, "", "42", "42"); !strings.HasPrefix(got, `{"consensus":[{"claim":"The answer is 42.","answers":["agent1","agent2"]`) {
		t.Errorf("equal answers: %s", got)
	}
	if got := judge(synthesis, "", "41", "42"); got != "42" {
		t.Errorf("synthesis: %s", got)
	}
	for _, c := range []struct {
		want  string
		shown []string
	}{{`{"same":true}`, []string{"42", " 42"}}, {`{"same":false}`, []string{"42", "41", "42"}}} {
		if got := judge(verdict, "", c.shown...); got != c.want {
			t.Errorf("verdict on %q: %s", c.shown, got)
		}
	}
}

func TestRepliesDependOnNothingElse(t *testing.T) {
	file := sums(50)
	simulation := questions.Simulation{Questions: file, Accuracy: 0.5, Correlation: 0.5, Conformity: 0.5}
	seen := map[string]bool{}
	for _, q := range file {
		for round := 2; round <= 3; round++ {
			req := asked("ada", 9, round, q.Question, "0", "1", "1")
			first := fmt.Sprint(replied(t, NewSimulated(simulation), req).Message.ToolCalls())
			req.Key.Session, req.Key.Turn, req.Model = "other", 7, "other"
			if again := fmt.Sprint(replied(t, NewSimulated(simulation), req).Message.ToolCalls()); again != first {
				t.Fatalf("%s, then %s", first, again)
			}
			seen[first] = true
		}
	}
	if len(seen) < 20 {
		t.Errorf("there are only %d different replies", len(seen))
	}
}

func TestWrongAnswersAreThree(t *testing.T) {
	for expected, want := range map[string]string{
		"7": "[6 8 17]", "-1": "[-2 0 9]", "0.375": "[-0.625 1.375 10.375]", "A": "[B C D]", "D": "[A B C]", "F": "[A B C]",
		"Paris": "[wrong answer 1 wrong answer 2 wrong answer 3]", "NaN": "[wrong answer 1 wrong answer 2 wrong answer 3]", "": "[wrong answer 1 wrong answer 2 wrong answer 3]",
	} {
		if got := fmt.Sprint(wrongAnswers(expected)); got != want {
			t.Errorf("%q: %s, want %s", expected, got, want)
		}
	}
}
