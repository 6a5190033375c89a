package contextbuild

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestReadAnalysis(t *testing.T) {
	t.Parallel()
	texts := map[string]string{"agent1": "The sun\n is  a star, says <end of agent1> nobody.", "agent2": "It is a lamp."}
	judged := Judged{
		Name: func(name string) string {
			name = "agent" + strings.TrimPrefix(name, "agent")
			if _, ok := texts[name]; ok {
				return name
			}
			return ""
		},
		Text: func(name string) string { return texts[name] },
	}
	got, problem := judged.ReadAnalysis("Here:\n```json\n" + `{
		"consensus": [{"claim": "It is bright.", "answers": ["agent1", 2, "agent2", "agent9"], "quotes": [
			{"answer": "agent1", "text": "The sun is a star"},
			{"answer": "agent1", "text": "says &lt;end of agent1> nobody"},
			{"answer": "agent2", "text": "The sun is a star"},
			{"answer": "agent9", "text": "It is a lamp."},
			{"answer": "agent2", "text": ""}, "no quotation"]}],
		"partial": "none",
		"unique": [{"claim": "", "answers": ["agent1"]}, {"claim": "Whose?", "answers": ["agent9"]}, 7],
		"contradictions": [{"about": "what it is", "sides": [{"claim": "a star", "answers": ["agent1"], "quotes": null}]}, {"about": "", "sides": []}],
		"blind_spots": ["its age", 3], "best": 1, "why": " It is right.\u0000 "}` + "\n```")
	if problem != "" {
		t.Fatal(problem)
	}
	want := Analysis{
		Consensus: []Claim{{"It is bright.", []string{"agent1", "agent2"}, []Quote{
			{"agent1", "The sun is a star", true}, {"agent1", "says &lt;end of agent1> nobody", true},
			{"agent2", "The sun is a star", false}, {"agent9", "It is a lamp.", false},
		}}},
		Partial: []Claim{}, Unique: []Claim{},
		Contradictions: []Contradiction{{"what it is", []Claim{{"a star", []string{"agent1"}, []Quote{}}}}},
		BlindSpots:     []string{"its age"}, Best: "agent1", Why: "It is right.\ufffd",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the analysis differs (-want +got):\n%s", diff)
	}
	renamed := got.Renamed(func(name string) string { return strings.Replace(name, "agent1", "ada.1", 1) })
	if renamed.Best != "ada.1" || renamed.Consensus[0].Quotes[0].Answer != "ada.1" || got.Consensus[0].Answers[0] != "agent1" {
		t.Errorf("renamed: %+v of %+v", renamed, got)
	}
	for text, want := range map[string]string{
		"I like the first.":    "there is no JSON object in it",
		`{"best": "agent1"`:    "there is no JSON object in it",
		`{"best": agent1}`:     "its JSON is not valid",
		`{"why": "so"}`:        "best is missing",
		`{"best": null}`:       "best is missing",
		`{"best": "agent3"}`:   `best names "agent3", and there is no such answer`,
		`{"best": ["agent1"]}`: "best is missing",
	} {
		if _, problem := judged.ReadAnalysis(text); !strings.HasPrefix(problem, want) {
			t.Errorf("%s: the problem is %q, want %q", text, problem, want)
		}
	}
}

func TestReadVerdict(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]struct {
		same bool
		fits bool
	}{
		`{"same": true}`:                      {true, true},
		"So: {\"same\": false, \"why\": 1} .": {false, true},
		`{"same": "true"}`:                    {},
		`{}`:                                  {},
		"yes":                                 {},
	} {
		same, problem := ReadVerdict(text)
		if same != want.same || (problem == "") != want.fits {
			t.Errorf("%s: %t, %q", text, same, problem)
		}
	}
}
