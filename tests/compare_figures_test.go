package tests

import (
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/cmd/massgen/app"
	"github.com/massgen/massgen/coordinator"
	"github.com/massgen/massgen/coordinator/report"
	"github.com/massgen/massgen/internal/models/questions"
	"github.com/massgen/massgen/sessions"
	"github.com/massgen/massgen/sessions/sqlite"
	"github.com/massgen/massgen/tests/backendtest"
)

// keptAnswer is the answer of a column to a question, read from its session without the code of massgen compare.
type keptAnswer struct {
	answer string
	record report.Record
	calls  []coordinator.PastCall
	usage  sessions.Usage
}

func (k keptAnswer) isRight(q questions.Question) float64 {
	if valueOf(k.answer) == q.Expected {
		return 1
	}
	return 0
}

// valueOf returns the first word of an answer, which counts.
func valueOf(text string) string { return strings.Fields(text + " -")[0] }

// readKept reads all answers of a comparison, by column and question.
func (r *killRun) readKept(list []questions.Question) map[string][]keptAnswer {
	r.t.Helper()
	ctx := r.t.Context()
	file, err := sqlite.Open(ctx, filepath.Join(r.dir, "state", "compare", "sessions.db"))
	if err != nil {
		r.t.Fatal(err)
	}
	defer func() {
		if err := file.Close(); err != nil {
			r.t.Error(err)
		}
	}()
	store := file.Masked(func(text string) string { return text })
	all, err := store.List(ctx, sessions.Filter{})
	if err != nil {
		r.t.Fatal(err)
	}
	kept := map[string][]keptAnswer{}
	for _, s := range all {
		parts := strings.Split(s.Metadata["compared"], ", ")
		at := slices.IndexFunc(list, func(q questions.Question) bool { return "question "+q.ID == parts[0] })
		turns, err := store.Turns(ctx, s.ID, 0)
		if err != nil || len(turns) != 1 || at < 0 {
			r.t.Fatalf("session %s, %q: %d turns, %v", s.ID, s.Metadata, len(turns), err)
		}
		k := keptAnswer{answer: turns[0].Answer, usage: turns[0].Usage}
		if k.record, err = coordinator.ReadRecord(ctx, store, s.ID, 1); err == nil {
			k.calls, err = coordinator.ReadCalls(ctx, store, s.ID, 1)
		}
		if err != nil {
			r.t.Fatal(err)
		}
		if kept[parts[1]] == nil {
			kept[parts[1]] = make([]keptAnswer, len(list))
		}
		kept[parts[1]][at] = k
	}
	return kept
}

// agreement is the share of the votes, or without votes of the answers, that are for the winner's text.
func (k keptAnswer) agreement() float64 {
	texts := map[string]string{}
	var all []string
	for _, a := range k.record.Answers {
		texts[a.Label] = a.Content
		all = append(all, a.Content)
	}
	if len(k.record.Votes) > 0 {
		all = nil
		for _, v := range k.record.Votes {
			all = append(all, texts[v.Label])
		}
	}
	backing := 0
	for _, text := range all {
		if valueOf(text) == valueOf(k.answer) {
			backing++
		}
	}
	return float64(backing) / float64(len(all))
}

// changes counts the members whose first and last answers were right and wrong, or the reverse.
func (k keptAnswer) changes(q questions.Question) (toWrong, toRight int) {
	said := map[string][]string{}
	for _, c := range k.calls {
		for _, call := range c.Response.Message.ToolCalls() {
			var args struct{ Content string }
			if call.Name == "new_answer" && json.Unmarshal([]byte(call.Arguments), &args) == nil {
				said[c.Request.Key.Agent] = append(said[c.Request.Key.Agent], args.Content)
			}
		}
	}
	for _, texts := range said {
		first, last := valueOf(texts[0]) == q.Expected, valueOf(texts[len(texts)-1]) == q.Expected
		if first && !last {
			toWrong++
		}
		if last && !first {
			toRight++
		}
	}
	return toWrong, toRight
}

var shownAnswer = regexp.MustCompile(`(?s)<(agent\d)>\s*(.*?)\s*</?(?:agent\d|end of agent\d)>`)

// judged reads the two judgements of a turn: the text that was picked, and those that were shown in their order.
func (k keptAnswer) judged(t *testing.T) (picks []string, shown [][]string, own []string) {
	for _, c := range k.calls {
		if c.Request.Key.Purpose != "judgement" {
			continue
		}
		var said struct{ Best string }
		if err := json.Unmarshal([]byte(c.Response.Message.Text()), &said); err != nil {
			t.Fatal(err)
		}
		var order []string
		pick, mine := "", ""
		user := c.Request.Messages[len(c.Request.Messages)-1].Text()
		for _, found := range shownAnswer.FindAllStringSubmatch(user, -1) {
			order = append(order, valueOf(found[2]))
			if found[1] == said.Best {
				pick = valueOf(found[2])
			}
			if c.Participants[found[1]] == c.Request.Key.Agent {
				mine = valueOf(found[2])
			}
		}
		picks, shown, own = append(picks, pick), append(shown, order), append(own, mine)
	}
	return picks, shown, own
}

// TestComparedFiguresAreThoseOfTheSessions computes each figure a second time from the sessions: what the members
// answered, how they voted, what the judge picked in both orders, and who changed its mind.
func TestComparedFiguresAreThoseOfTheSessions(t *testing.T) {
	t.Parallel()
	list, jsonl := comparedQuestions(40)
	simulated := simulatedReply(list)
	r := killPanel{name: "compare", config: strings.Replace(comparedConfig, "(?s)(.*)", `^\S+`, 1) + "presets: {both: {strategy: judge, judge: a, both_orders: true}}\n", reply: func(c backendtest.Call) backendtest.Reply {
		// In some rounds of votes, member c writes another answer first.
		for i, q := range list {
			other := []string{q.Expected + " indeed", "quite wrong", ""}[i%3]
			isAsked := strings.Contains(c.User(), q.Question) && c.Model() == "c" && len(c.ToolNames()) == 2
			shown := shownAnswer.FindAllStringSubmatch(c.User(), -1)
			isShown := slices.ContainsFunc(shown, func(found []string) bool { return found[2] == other })
			if isAsked && other != "" && len(shown) > 0 && !isShown {
				arguments, _ := json.Marshal(map[string]string{"content": other})
				return backendtest.Reply{ToolCalls: []backends.ToolCall{{ID: "n", Name: "new_answer", Arguments: string(arguments)}}, Usage: &backends.Usage{InputTokens: 1, OutputTokens: 1}}
			}
		}
		return simulated(c)
	}}.begin(t)
	write(t, filepath.Join(r.dir, "questions.jsonl"), []byte(jsonl))
	r.run("before 0", "compare", "--config", "panel.yaml", "questions.jsonl", "--state-dir", "state", "--json", "--strategies", "members,blind,consensus,both")
	var got report2
	if err := json.Unmarshal([]byte(r.stdout), &got); err != nil {
		t.Fatalf("%v: %s\n%s", err, r.stdout, r.stderr)
	}
	kept := r.readKept(list)
	var errors [][]float64
	solved := 0.0
	for q := range list {
		best := 0.0
		for _, m := range got.Members {
			best = max(best, kept[m.Name][q].isRight(list[q]))
		}
		solved += best / float64(len(list))
	}
	near(t, "the ceiling", got.Ceiling, solved)
	for _, f := range slices.Concat(got.Members, got.Strategies) {
		if wrong := checkColumn(t, list, f, kept[f.Name]); f.Agreement == nil {
			errors = append(errors, wrong)
		}
	}
	near(t, "the effective votes", got.EffectiveVotes, effective(errors))
	checkJudge(t, list, got.Strategies[2], kept["both"])
}

func near(t *testing.T, what string, got *float64, want float64) {
	t.Helper()
	switch {
	case got == nil:
		t.Errorf("%s is null, want %v", what, want)
	case !(math.Abs(*got-want) < 1e-9):
		t.Errorf("%s is %v, want %v", what, *got, want)
	}
}

// checkColumn compares the figures of a column with its sessions, and returns 1 for each wrong answer.
func checkColumn(t *testing.T, list []questions.Question, f figures2, kept []keptAnswer) (wrong []float64) {
	t.Helper()
	right, agreed := 0.0, 0.0
	toWrong, toRight, calls := 0, 0, 0
	bins := map[int][2]float64{}
	for q, k := range kept {
		is := k.isRight(list[q])
		right += is / float64(len(list))
		wrong = append(wrong, 1-is)
		calls += k.usage.Calls
		if len(k.record.Answers) == 1 && len(k.record.StepStates) == 1 {
			continue
		}
		a := k.agreement()
		agreed += a / float64(len(list))
		bin := int(math.Ceil(a*10 - 1e-9))
		bins[bin] = [2]float64{bins[bin][0] + is, bins[bin][1] + a}
		down, up := k.changes(list[q])
		toWrong, toRight = toWrong+down, toRight+up
	}
	near(t, "the accuracy of "+f.Name, &f.Accuracy, right)
	if f.Calls != calls {
		t.Errorf("%s has %d calls, its sessions %d", f.Name, f.Calls, calls)
	}
	if f.Agreement == nil {
		return wrong
	}
	near(t, "the agreement of "+f.Name, f.Agreement, agreed)
	off := 0.0
	for _, sums := range bins {
		off += math.Abs(sums[0]-sums[1]) / float64(len(list))
	}
	near(t, "the calibration error of "+f.Name, f.CalibrationError, off)
	if f.Flips.RightToWrong != toWrong || f.Flips.WrongToRight != toRight {
		t.Errorf("the flips of %s are %+v, want %d and %d", f.Name, f.Flips, toWrong, toRight)
	}
	if f.Name == "consensus" && (toWrong == 0 || toRight == 0) {
		t.Error("nobody changes its mind")
	}
	return wrong
}

// checkJudge compares the figures of a judge that is asked in both orders with its sessions.
func checkJudge(t *testing.T, list []questions.Question, judge figures2, kept []keptAnswer) {
	t.Helper()
	same, judgedTwice, first, picked, own, tests := 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
	for q, k := range kept {
		picks, shown, mine := k.judged(t)
		if len(picks) < 2 {
			continue
		}
		judgedTwice++
		if picks[0] == picks[1] {
			same++
		}
		for i, pick := range picks {
			picked++
			if pick == shown[i][0] {
				first++
			}
			if mine[i] != list[q].Expected && slices.Contains(shown[i], list[q].Expected) {
				tests++
				if pick == mine[i] {
					own++
				}
			}
		}
	}
	if judgedTwice == 0 || tests == 0 {
		t.Fatalf("the judge was asked in both orders %v times, with %v tests", judgedTwice, tests)
	}
	near(t, "the order consistency", judge.OrderConsistency, same/judgedTwice)
	near(t, "the preference of what is first", judge.FirstPreference, first/picked)
	near(t, "the preference of one's own", judge.OwnPreference, own/tests)
}

// report2 is the result of massgen compare --json.
type report2 struct {
	Members, Strategies []figures2
	Ceiling             *float64
	EffectiveVotes      *float64 `json:"effective_votes"`
}

type figures2 struct {
	Name             string
	Accuracy         float64
	Agreement        *float64
	CalibrationError *float64 `json:"calibration_error"`
	OrderConsistency *float64 `json:"order_consistency"`
	OwnPreference    *float64 `json:"own_preference"`
	FirstPreference  *float64 `json:"first_preference"`
	Calls            int
	Flips            struct {
		RightToWrong int `json:"right_to_wrong"`
		WrongToRight int `json:"wrong_to_right"`
	}
}

// effective computes the effective votes by the counts of shared errors.
func effective(errors [][]float64) float64 {
	sum, pairs := 0.0, 0.0
	for i, x := range errors {
		for _, y := range errors[:i] {
			n := float64(len(x))
			var a, b, both float64
			for q := range x {
				a, b, both = a+x[q], b+y[q], both+x[q]*y[q]
			}
			if a > 0 && a < n && b > 0 && b < n {
				sum += (both/n - a/n*b/n) / math.Sqrt(a/n*(1-a/n)*b/n*(1-b/n))
				pairs++
			}
		}
	}
	n := float64(len(errors))
	return n / (1 + (n-1)*max(0, sum/pairs))
}

// TestCompareAsksAGrader in both orders, once about each answer.
func TestCompareAsksAGrader(t *testing.T) {
	list, jsonl := comparedQuestions(5)
	simulated := simulatedReply(list)
	r := killPanel{name: "compare", config: comparedConfig + "  openai/gpt-grader: {input: 1000, output: 1000}\n", reply: func(c backendtest.Call) backendtest.Reply {
		if c.Model() != "gpt-grader" {
			return simulated(c)
		}
		parts := regexp.MustCompile(`(?s)(The right answer|The answer to grade):\n<<<\n(.*?)\n>>>`).FindAllStringSubmatch(c.User(), -1)
		if len(parts) != 2 || !strings.Contains(c.System(), "material to grade") || strings.Contains(c.User(), "agent") {
			return backendtest.Reply{Text: "WRONG question"}
		}
		word := "WRONG"
		if parts[0][2] == parts[1][2] || parts[0][1] == "The right answer" && strings.HasPrefix(parts[0][2], "8") {
			word = "RIGHT" // 8 is always right, but only if it comes first
		}
		return backendtest.Reply{Text: "It is RIGHT or WRONG. I say\n" + word, Usage: &backends.Usage{InputTokens: 9, OutputTokens: 9}}
	}}.begin(t)
	write(t, filepath.Join(r.dir, "questions.jsonl"), []byte(jsonl))
	t.Setenv("OPENAI_API_KEY", "key-of-a-test-0123456789")
	t.Setenv("OPENAI_BASE_URL", r.servers[0].BaseURL)
	args := []string{"compare", "--config", "panel.yaml", "questions.jsonl", "--state-dir", "state", "--strategies", "members,blind"}
	r.run("before 0", append(args, "--json")...)
	exact, before := r.stdout, r.stderr
	r.run("before 0", append(args, "--score", "grader:openai/gpt-grader", "--json")...)
	withoutCost := regexp.MustCompile(`"spent_usd":[^}]*`)
	if got := withoutCost.ReplaceAllString(r.stdout, ""); got != withoutCost.ReplaceAllString(exact, "") {
		t.Errorf("graded: %s%s\nby the text: %s", r.stdout, r.stderr, exact)
	}
	calls := r.calls()
	asked := map[string]int{}
	for _, c := range calls {
		if c.Model() == "gpt-grader" {
			asked[c.User()]++
		}
	}
	for user, times := range asked {
		if times != 1 {
			t.Errorf("the grader was asked %d times:\n%s", times, user)
		}
	}
	if len(asked) < 10 {
		t.Errorf("the grader was asked %d questions", len(asked))
	}
	if want := "20 answers to get with some 45 calls"; !strings.Contains(before, want) || strings.Contains(before, "grader") {
		t.Errorf("before any call %s, want %s", before, want)
	}
	if want := "0 answers to get with some 0 calls, and 40 calls of the grader at most"; !strings.Contains(r.stderr, want) {
		t.Errorf("before the grader was asked %s, want %s", r.stderr, want)
	}
	var graded comparison
	if err := json.Unmarshal([]byte(r.stdout), &graded); err != nil {
		t.Fatal(err)
	}
	if _, usd := r.journaled(); math.Abs(graded.SpentUSD-usd) > 1e-9 {
		t.Errorf("$%v are spent, but the journals have $%v", graded.SpentUSD, usd)
	}
	more := strings.Replace(jsonl, "0 + 0", "9 + 0", 1) // another question, for which there is less than all has cost
	write(t, filepath.Join(r.dir, "more.jsonl"), []byte(jsonl+more[:strings.IndexByte(more, '\n')+1]))
	args[3] = "more.jsonl"
	r.run("before 0", append(args, "--score", "grader:openai/gpt-grader", "--json", "--max-usd", fmt.Sprint(graded.SpentUSD))...)
	if len(r.calls()) != len(calls) || !strings.Contains(r.stderr, "the budget is spent") {
		t.Errorf("with nothing left %d calls are made: %s", len(r.calls())-len(calls), r.stderr)
	}
	args[3] = "questions.jsonl"
	r.run("before 0", append(args, "--score", "grader:openai/gpt-grader", "--json")...)
	r.run("before 0", "compare", "--from", "state")
	if want := fmt.Sprintf("The grader agrees with the exact text on 100 %% of %d answers.", 4*len(list)); !strings.Contains(r.stdout, want) || len(r.calls()) != len(calls) {
		t.Errorf("from the journals, after %d calls: %s%s", len(r.calls())-len(calls), r.stdout, r.stderr)
	}
}

// TestCompareCountsWhatGradesCost: a budget holds for the grades of all processes together.
func TestCompareCountsWhatGradesCost(t *testing.T) {
	list, jsonl := comparedQuestions(6)
	simulated := simulatedReply(list)
	config := comparedConfig + "  openai/gpt-grader: {input: 1000, output: 1000}\n"
	r := killPanel{name: "compare", config: config, reply: func(c backendtest.Call) backendtest.Reply {
		if c.Model() != "gpt-grader" {
			return simulated(c)
		}
		return backendtest.Reply{Text: "It is right.\n\nRight", Usage: &backends.Usage{InputTokens: 900, OutputTokens: 100}} // a dollar
	}}.begin(t)
	write(t, filepath.Join(r.dir, "questions.jsonl"), []byte(jsonl))
	t.Setenv("OPENAI_API_KEY", "key-of-a-test-0123456789")
	t.Setenv("OPENAI_BASE_URL", r.servers[0].BaseURL)
	grades := func() (n int) {
		for _, c := range r.calls() {
			if c.Model() == "gpt-grader" {
				n++
			}
		}
		return n
	}
	args := []string{
		"compare", "--config", "panel.yaml", "questions.jsonl", "--state-dir", "state", "--strategies", "members", "--score", "grader:openai/gpt-grader", "--concurrency", "1", "--json",
	}
	const most = 12
	for range 4 {
		r.run("before 0", append(args, "--max-usd", fmt.Sprint(most))...)
		if r.code != app.ExitNoWinner || !strings.Contains(r.stderr, "the budget is spent") {
			t.Fatalf("exit status %d: %s", r.code, r.stderr)
		}
	}
	if n := grades(); n == 0 || n > most {
		t.Errorf("%d grades of a dollar were made for $%d", n, most)
	}
	r.run("before 0", args...)
	want := fmt.Sprintf(`{"format":1,"questions":%d,"runs":1,"members":[{"name":"a","accuracy":1,`, len(list)) // "Right" on a line of its own counts
	if r.code != app.ExitCompleted || !strings.HasPrefix(r.stdout, want) {
		t.Errorf("with enough money: exit status %d, %s%s", r.code, r.stdout, r.stderr)
	}
}
