package configs

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestSimulatedMember(t *testing.T) {
	file := filepath.Join(t.TempDir(), "questions.csv")
	if err := os.WriteFile(file, []byte("input,target\nWhat is 1 + 1?,2\nWhy?,42\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf("agent: {backend: {type: simulated, answers: %q, accuracy: 0.75, correlation: 1, conformity: 0.5, seed: 3}}", file)
	config, err := Parse("f.yaml", []byte(text), Options{BackendTypes: []string{"simulated"}})
	if err != nil {
		t.Fatal(err)
	}
	got := config.Agents[0].Backend.Simulated
	if len(got.Questions) != 2 || got.Questions[1].Expected != "42" || got.Accuracy != 0.75 || got.Correlation != 1 || got.Conformity != 0.5 {
		t.Errorf("%+v", got)
	}
	moved := *config
	moved.Agents = []Agent{config.Agents[0]}
	moved.Agents[0].Backend.Answers = "elsewhere/questions.csv"
	if digestOf(t, &moved) != digestOf(t, config) {
		t.Error("the folder of the questions changes the digest")
	}
	moved.Agents[0].Backend.Simulated.Accuracy = 0.5
	if digestOf(t, &moved) == digestOf(t, config) {
		t.Error("the accuracy does not change the digest")
	}
}

func digestOf(t *testing.T, c *Config) string {
	t.Helper()
	digest, err := c.Digest()
	if err != nil {
		t.Fatal(err)
	}
	return digest
}

func TestErrorsOfSimulatedMembersHaveTheirLine(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{"bad.jsonl": `{"question": "Why?", "expected": 1}` + "\n" + `{"expected": 1}`, "open.csv": "question,expected,id\nWhy?,,q7\n"} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const ok = `answers: "@examples/arithmetic.jsonl", `
	for backend, want := range map[string]string{
		"type: simulated":                                         "3:5: agents[0].backend has no answers, which a simulated member needs\n3:5: agents[0].backend has no accuracy, which a simulated member needs",
		"type: simulated, " + ok + "seed: 1":                      "3:5: agents[0].backend has no accuracy, which a simulated member needs",
		"type: openai, " + ok + "accuracy: 1":                     "3:19: agents[0].backend.answers is a key of simulated members; set type: simulated, or leave it out\n3:58: agents[0].backend.accuracy is a key of simulated members; set type: simulated, or leave it out",
		"type: simulated, accuracy: 1, answers: gone.csv":         "3:44: agents[0].backend.answers: cannot read the questions: open gone.csv: no such file or directory",
		"type: simulated, accuracy: 1, answers: bad.jsonl":        "3:44: agents[0].backend.answers: bad.jsonl: line 2 has no question",
		"type: simulated, accuracy: 1, answers: open.csv":         "3:44: agents[0].backend.answers: open.csv: question q7 has no right answer; give it expected",
		`type: simulated, accuracy: 1, answers: "@examples/none"`: "3:44: agents[0].backend.answers: cannot read the questions: open none: file does not exist",
		`type: simulated, accuracy: 1, answers: ""`:               "3:44: agents[0].backend.answers is empty; name a file of questions, or leave the key out",
		"type: simulated, " + ok + "accuracy: 1.5":                "3:71: agents[0].backend.accuracy is 1.5; it must be a number from 0 to 1",
		"type: simulated, " + ok + "accuracy: 1, conformity: -1":  "3:86: agents[0].backend.conformity is -1; it must be a number from 0 to 1",
		"type: simulated, " + ok + "accuracy: 1, correlation: x":  "3:87: agents[0].backend.correlation is \"x\"; it must be a number from 0 to 1",
		"type: simulated, " + ok + "accuracy: 1, acuracy: 1":      "3:74: unknown key \"acuracy\" in agents[0].backend; did you mean accuracy?",
	} {
		_, err := Parse("f.yaml", []byte("agents:\n- backend:\n   {"+backend+"}\n"), Options{BackendTypes: []string{"simulated", "openai"}})
		got := ""
		if err != nil {
			got = strings.ReplaceAll(err.Error(), "f.yaml:", "")
		}
		if got != want {
			t.Errorf("%s:\n%s\nwant\n%s", backend, got, want)
		}
	}
	sidecall := "agent: {backend: {type: openai}}\ntopic: {backend: {type: simulated, answers: '@examples/arithmetic.jsonl'}}"
	_, err := Parse("f.yaml", []byte(sidecall), Options{BackendTypes: []string{"simulated", "openai"}})
	if want := "f.yaml:2:19: topic.backend has no accuracy, which a simulated member needs"; err == nil || err.Error() != want {
		t.Errorf("a sidecall: %v, want %s", err, want)
	}
}
