package compare

import (
	"context"
	"errors"
	"testing"
)

func TestScores(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		how, pattern, expected, answer string
		want                           bool
	}{
		{"exact", "", "Paris", " Paris\n", true},
		{"exact", "", "Paris", "paris", false},
		{"exact", "", "Paris", "It is Paris", false},
		{"exact", "ANSWER: (.*)", "Paris", "ANSWER: Rome, no.\nANSWER:  Paris ", true},
		{"exact", "ANSWER: (.*)", "Paris", "Paris", false}, // no match is wrong
		{"exact", `\d+`, "12", "first 11, then 12", true},
		{"number", "", "391", "17 * 23 = 391.", true},
		{"number", "", "391", "391.5", false},
		{"number:0.5", "", "391", "391.5", true},
		{"number:0.1", "", "0.3", "about 0.4", true}, // the difference is 0.1 and a remainder
		{"number", "", "1234567", "It is 1,234,567 in all", true},
		{"number", "", "-5", "−5 degrees", true},
		{"number", "", "1e6", "1000000", true},
		{"number", "", "5", "five", false},
		{"number", "x=(.*),", "5", "x=5, y=6", true},
		{"choice", "", "B", "(b)", true},
		{"choice", "", "b", "B) Paris", true},
		{"choice", "", "B", "B. Paris is the capital", true},
		{"choice", "", "B", "I think A is wrong. The answer is B, as said.", true},
		{"choice", "", "B", "Answer: C", false},
		{"choice", "", "A", "A cat sat on it", false},
		{"contains", "", "Paris", "the city of PARIS, of course", true},
		{"contains", "", "Paris", "Rome", false},
		{"pattern", "", `(?i)^(paris|lutetia)\b`, "Lutetia, today Paris", true},
		{"pattern", "", `^Paris$`, "In Paris", false},
		{"json", "", `{"a":[1,2],"b":"x"}`, "```json\n{\"b\": \"x\", \"a\": [1, 2.0]}\n```", true},
		{"json", "", `{"a":1}`, `{"a":2}`, false},
		{"json", "", `{"a":1}`, `none`, false},
	} {
		s, err := newScorer(test.how, test.pattern)
		if err != nil {
			t.Fatal(err)
		}
		q := question{Hash: "h", Expected: test.expected}
		if err := s.check(q); err != nil {
			t.Errorf("%s %q: %v", test.how, test.expected, err)
		}
		got, err := s.isRight(t.Context(), q, test.answer)
		if err != nil || got != test.want {
			t.Errorf("%s with the pattern %q, %q for %q: %t, %v", test.how, test.pattern, test.answer, test.expected, got, err)
		}
	}
}

func TestScoresThatMeanNothingAreRefused(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"exactly":   `--score: there is no "exactly"; it is one of exact, number, choice, contains, pattern, json, command, grader`,
		"number:-1": `--score: the tolerance "-1" is no number from 0 on: write number:0.01`,
		"number:x":  `--score: the tolerance "x" is no number from 0 on: write number:0.01`,
		"exact:x":   "--score: exact takes no argument: leave out what follows the colon",
		"command":   "--score: the command is missing: write command:CMD",
		"grader:":   "--score: the grader's model is missing: write grader:TYPE/MODEL",
	} {
		if _, err := newScorer(text, ""); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
	for how, expected := range map[string]string{"exact": "", "number": "five", "choice": "Paris", "pattern": "(", "json": "{"} {
		s, err := newScorer(how, "")
		if err != nil {
			t.Fatal(err)
		}
		if err := s.check(question{Expected: expected}); err == nil {
			t.Errorf("%s takes the right answer %q", how, expected)
		}
	}
}

// TestEqualAnswersAreScoredOnce: a command or a grader costs time or money.
func TestEqualAnswersAreScoredOnce(t *testing.T) {
	t.Parallel()
	s, err := newScorer("command:true", "")
	if err != nil {
		t.Fatal(err)
	}
	times := 0
	s.judge = func(context.Context, question, string) (bool, error) {
		times++
		if times == 1 {
			return false, errors.New("it did not run")
		}
		return true, nil
	}
	q := question{Hash: "h"}
	if _, err := s.isRight(t.Context(), q, "a"); err == nil {
		t.Error("an error is lost")
	}
	for range 3 {
		if right, err := s.isRight(t.Context(), q, "a"); err != nil || !right {
			t.Errorf("%t, %v", right, err)
		}
	}
	if times != 2 {
		t.Errorf("the answer was scored %d times, and failed once", times)
	}
}

func TestMostFrequentSample(t *testing.T) {
	t.Parallel()
	s, err := newScorer("number", "")
	if err != nil {
		t.Fatal(err)
	}
	m := &meter{scorer: s}
	sampled := func(texts ...string) (units [][]cell) {
		for _, text := range texts {
			units = append(units, []cell{{answer: text, hasAnswer: text != ""}})
		}
		return units
	}
	for _, test := range []struct {
		texts []string
		want  string
	}{
		{[]string{"it is 1", "2", "2.0"}, "2"}, {[]string{"3", "2", "2", "3"}, "3"}, {[]string{"", "", "4"}, "4"}, {[]string{""}, ""},
	} {
		if got := m.mostFrequent(sampled(test.texts...), 0); got.answer != test.want {
			t.Errorf("of %q it is %q, want %q", test.texts, got.answer, test.want)
		}
	}
}

func TestVerdictOf(t *testing.T) {
	t.Parallel()
	for reply, want := range map[string][2]bool{
		"RIGHT":                             {true, true},
		"It is RIGHT or WRONG. I say WRONG": {false, true},
		"The same city.\n**Right.**":        {true, true},
		"Another city.\nwrong\n":            {false, true},
		"It has the right form.":            {false, false},
		"I cannot help with that.":          {false, false},
	} {
		if right, ok := verdictOf(reply); right != want[0] || ok != want[1] {
			t.Errorf("%q: %t, %t, want %v", reply, right, ok, want)
		}
	}
}
