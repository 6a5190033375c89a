package questions

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	want := []Question{{"1", "What is 2 + 2?", "4", nil}, {"b", "Which city, \"the\" capital?", "Paris", nil}, {"3", "Why?", "", nil}}
	for name, text := range map[string]string{
		"jsonl": `{"question": "What is 2 + 2?", "expected": 4, "level": [1]}
{"id": "b", "question": " Which city, \"the\" capital? ", "expected": "Paris"}

{"question": "Why?", "expected": null}
`,
		"synonyms":   `{"input": "What is 2 + 2?", "target": "4"}` + "\n" + `{"id": "b", "input": "Which city, \"the\" capital?", "target": "Paris"}` + "\n" + `{"input": "Why?"}`,
		"csv":        "id,Question,expected,level\n,What is 2 + 2?,4,1\nb,\"Which city, \"\"the\"\" capital?\",Paris,\n,Why?,,\n",
		"other ends": "\uFEFFinput,target,id\r\nWhat is 2 + 2?,4,\r\n\"Which city, \"\"the\"\" capital?\",Paris,b\r\nWhy?,,\r\n",
	} {
		got, err := Parse([]byte(text))
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	for _, text := range []string{`{"question": "Which?", "files": ["a.png", "b c.pdf"]}`, "question,files\nWhich?,a.png; b c.pdf\n"} {
		got, err := Parse([]byte(text))
		if err != nil || !reflect.DeepEqual(got[0].Files, []string{"a.png", "b c.pdf"}) {
			t.Errorf("files of %s: %q, %v", text, got, err)
		}
	}
	got, err := Parse([]byte(`{"question": "Which?", "files": ["a.png"]}` + "\n" + `{"question": "Which?", "files": ["b.png"]}`))
	if err != nil || len(got) != 2 {
		t.Errorf("one question about two files: %q, %v", got, err)
	}
	got, err = Parse([]byte(`{"question": "Which?", "expected": {"a": [1, true]}}`))
	if err != nil || got[0].Expected != `{"a":[1,true]}` {
		t.Errorf("an object: %q, %v", got, err)
	}
}

func TestParseNamesTheLine(t *testing.T) {
	for text, want := range map[string]string{
		"":                          "there are no questions in it",
		"question,expected\n":       "there are no questions in it",
		"q,expected\nWhy?,4\n":      "line 1: there is no column question; a file is CSV with names of columns, or JSONL with an object a line",
		"question,question\nWhy?,4": "line 1: two columns are named question",
		"question,expected\nWhy?\n": "line 2: wrong number of fields",
		"question,input\nWhy?,How?": "line 2 has question and input, which mean the same: keep one",
		"question,expected\n\n,4\n": "line 3 has no question",
		"question,expected\n\"Why\nnot?\",4\nHow?,5\nHow?,6":                        "line 5 has the question of line 4",
		"{\"question\": \"Why?\"}\n\n{\"question\": 1":                              "line 3 is not a JSON object: unexpected end of JSON input",
		"{\"question\": \"Why?\", \"id\": 7}\n{\"input\": \"How?\", \"id\": \"7\"}": `line 2 has the id "7" of line 1`,
		"{\"question\": \"Why?\", \"expected\": \"1\", \"target\": 1}":              "line 1 has expected and target, which mean the same: keep one",
		"question\n\xff\xfe\xfd,":                                                   "",
	} {
		got, err := Parse([]byte(text))
		if err == nil || want != "" && err.Error() != want {
			t.Errorf("%q: %q, %v, want %s", text, got, err, want)
		}
	}
}

func TestAppend(t *testing.T) {
	file := filepath.Join(t.TempDir(), "questions.jsonl")
	for _, q := range []Question{{Question: "What is <2>?", Expected: "4"}, {Question: "Why?", Expected: "a\nb"}} {
		if err := Append(file, q.Question, q.Expected); err != nil {
			t.Fatal(err)
		}
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"question":"What is <2>?","expected":"4"}` + "\n" + `{"question":"Why?","expected":"a\nb"}` + "\n"
	if string(data) != want {
		t.Errorf("the file has %q", data)
	}
	if err := Append(file, "Why?", "c"); err == nil || !strings.Contains(err.Error(), "line 3 has the question of line 2") {
		t.Errorf("a question that is there: %v", err)
	}
	if err := os.WriteFile(file, []byte("question,expected\nWhy?,a\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Append(file, "How?", "c"); err == nil || !strings.Contains(err.Error(), "is no JSONL") {
		t.Errorf("CSV: %v", err)
	}
}
