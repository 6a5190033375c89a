package workspace

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/massgen/massgen/agents"
)

// anyFolder takes each folder for one of an answer.
func anyFolder(string, string) bool { return true }

// snapshot makes a folder with one file.
func snapshot(t *testing.T, name, text string) string {
	t.Helper()
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	return dir
}

func TestAnswersAreShownForReading(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	must(t, os.MkdirAll(filepath.Join(dir, "answers"), 0o755))
	must(t, os.WriteFile(filepath.Join(dir, "answers", "mine"), []byte("hidden"), 0o644))
	s := open(t, Options{Dir: dir, Answers: anyFolder})
	s.is("list_files", args{"depth": 9}, `{"success":true,"path":".","entries":[]}`)
	s.is("list_files", args{"path": "answers"}, `{"success":true,"path":"answers","entries":[]}`)
	s.is("write_file", args{"path": "answers/x", "content": ""}, `{"success":false,"error":"answers/x can only be read: write to the workspace"}`)

	s.info.Answers = []agents.ShownAnswer{{Name: "agent1", Dir: snapshot(t, "a.md", "one")}, {Name: "agent2"}, {Name: "agent3", Dir: snapshot(t, "c.md", "three")}}
	s.is("list_files", args{}, `{"success":true,"path":".","entries":[{"path":"answers","type":"folder","size":0,"read_only":true}]}`)
	s.is("list_files", args{"path": "answers"}, `{"success":true,"path":"answers","entries":[{"path":"answers/agent1","type":"folder","size":0,"read_only":true},`+
		`{"path":"answers/agent3","type":"folder","size":0,"read_only":true}]}`)
	s.is("list_files", args{"path": "answers", "depth": 2}, `{"success":true,"path":"answers","entries":[{"path":"answers/agent1","type":"folder","size":0,"read_only":true},`+
		`{"path":"answers/agent1/a.md","type":"file","size":3,"read_only":true},{"path":"answers/agent3","type":"folder","size":0,"read_only":true},`+
		`{"path":"answers/agent3/c.md","type":"file","size":5,"read_only":true}]}`)
	s.is("read_file", args{"path": "answers/agent3/c.md"}, `{"success":true,"path":"answers/agent3/c.md","size":5,"content":"three"}`)
	s.is("read_file", args{"path": "answers"}, `{"success":false,"error":"answers is a folder: list_files shows what is in it"}`)
	s.is("read_file", args{"path": "answers/agent2/x"},
		`{"success":false,"error":"answers/agent2: you were shown no answer with files of that name: list_files of answers shows which there are"}`)
	s.is("search_files", args{"pattern": ".", "path": "answers"}, `{"success":true,"path":"answers","matches":[`+
		`{"path":"answers/agent1/a.md","line":1,"text":"one"},{"path":"answers/agent3/c.md","line":1,"text":"three"}]}`)
	for _, call := range []struct {
		tool string
		args args
	}{
		{"edit_file", args{"path": "answers/agent1/a.md", "old_text": "one", "new_text": "1"}},
		{"move_file", args{"from": "answers/agent1/a.md", "to": "a.md"}},
		{"move_file", args{"from": "mine", "to": "answers/agent1/mine"}},
		{"delete_file", args{"path": "answers/agent1", "recursive": true}},
		{"delete_file", args{"path": "answers", "recursive": true}},
	} {
		s.call("write_file", args{"path": "mine", "content": ""})
		if result, ok := s.call(call.tool, call.args); ok || !strings.Contains(result, "can only be read: write to the workspace") {
			t.Errorf("%s(%v) gives %s", call.tool, call.args, result)
		}
	}

	s.info.Answers = s.info.Answers[2:]
	s.is("list_files", args{"path": "answers"}, `{"success":true,"path":"answers","entries":[{"path":"answers/agent3","type":"folder","size":0,"read_only":true}]}`)
	if text, err := os.ReadFile(filepath.Join(dir, "answers", "mine")); err != nil || string(text) != "hidden" {
		t.Errorf("the file of its own has %q, %v", text, err)
	}
}

func TestWithoutAnswersTheNameIsFree(t *testing.T) {
	s := open(t, Options{})
	s.info.Answers = []agents.ShownAnswer{{Name: "agent1", Dir: t.TempDir()}}
	s.is("write_file", args{"path": "answers/x", "content": ""}, `{"success":true,"path":"answers/x","size":0,"created":true}`)
	s.is("list_files", args{}, `{"success":true,"path":".","entries":[{"path":"answers","type":"folder","size":0}]}`)
}

// TestToolsReadAnswersAtTheSameTime is for the race detector.
func TestToolsReadAnswersAtTheSameTime(t *testing.T) {
	t.Parallel()
	s := open(t, Options{Answers: anyFolder})
	var group sync.WaitGroup
	for i := range 8 {
		mine := s
		text := strings.Repeat("x", i)
		mine.info = agents.CallInfo{Answers: []agents.ShownAnswer{{Name: "agent1", Dir: snapshot(t, "a.md", text)}}}
		group.Go(func() {
			for range 20 {
				mine.is("read_file", args{"path": "answers/agent1/a.md"}, fmt.Sprintf(`{"success":true,"path":"answers/agent1/a.md","size":%d,"content":%q}`, i, text))
			}
		})
	}
	group.Wait()
}

func TestOnlyTheFinalAnswerWritesElsewhere(t *testing.T) {
	t.Parallel()
	site := snapshot(t, "old.md", "old")
	s := open(t, Options{Writes: []Mount{{"site", site}}})
	s.info.Final = false
	s.call("write_file", args{"path": "mine", "content": "x"})
	for _, call := range []struct {
		tool string
		args args
	}{
		{"write_file", args{"path": "site/new.md", "content": "x"}},
		{"edit_file", args{"path": "./site/old.md", "old_text": "old", "new_text": "new"}},
		{"move_file", args{"from": "mine", "to": "site/mine"}},
		{"move_file", args{"from": "site/old.md", "to": "old.md"}},
		{"delete_file", args{"path": "site/old.md"}},
	} {
		if result, ok := s.call(call.tool, call.args); ok || !strings.Contains(result, ": only the final answer may write there: work in your workspace until then") {
			t.Errorf("%s(%v) gives %s", call.tool, call.args, result)
		}
	}
	s.is("list_files", args{"path": "site"}, `{"success":true,"path":"site","entries":[{"path":"site/old.md","type":"file","size":3,"read_only":true}]}`)
	s.info.Final = true
	s.is("list_files", args{"path": "site"}, `{"success":true,"path":"site","entries":[{"path":"site/old.md","type":"file","size":3}]}`)
	s.is("move_file", args{"from": "mine", "to": "site/mine"}, `{"success":true,"path":"site/mine","from":"mine"}`)
	s.is("write_file", args{"path": "site/.git/hooks/post-checkout", "content": "x"},
		`{"success":false,"error":"site/.git/hooks/post-checkout cannot be changed: what is called .git stays as it is in folders from elsewhere"}`)
}

func TestToolsTellOfTheTrees(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(snapshot(t, "notes.md", ""), "notes.md")
	s := open(t, Options{Answers: anyFolder, Reads: []Mount{{"notes.md", file}}, Writes: []Mount{{"site", dir}}})
	got := toolCalled(t, s.Tools(), "list_files").Definition().Description
	want := "Lists files and folders with their sizes in bytes. In answers/agent1 and so on are the files of the answers that you were shown, for reading only." +
		" notes.md is a file from elsewhere that can be read only. site is a folder from elsewhere that can be written to by the file tools once your answer has won."
	if got != want {
		t.Error(got)
	}
	s.is("list_files", args{"path": "notes.md/x"}, `{"success":false,"error":"notes.md/x: not a directory"}`)
	if _, err := Open(Options{Dir: t.TempDir(), Answers: anyFolder, Reads: []Mount{{"Answers", dir}}}); err == nil || !strings.Contains(err.Error(), "give it another name") {
		t.Error(err)
	}
}
