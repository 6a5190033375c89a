package logtree_test

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/massgen/massgen/cmd/massgen/internal/logtree"
	"github.com/massgen/massgen/contextbuild"
	"github.com/massgen/massgen/coordinator/report"
	"github.com/massgen/massgen/internal/coordination/kernel"
)

func mask(text string) string { return strings.ReplaceAll(text, "the-secret", "***") }

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// by returns an event's head about an agent in a round.
func by(agent string, round int) report.Actor { return report.Actor{Agent: agent, Round: round} }

// TestTurnIsProjected: files follow from the events, without secrets, and only their owner reads them.
func TestTurnIsProjected(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC)
	tree, err := logtree.Create(filepath.Join(t.TempDir(), "logs"), at, mask)
	must(t, err)
	defer func() { must(t, tree.Close()) }()
	if want := "log_20260102_030405_000006"; filepath.Base(tree.Dir()) != want {
		t.Errorf("%s, want %s", tree.Dir(), want)
	}
	status := tree.NextStatus()
	turn := tree.Begin(logtree.Question{Session: "s", Text: "q the-secret", Agents: []string{"b10", "b9"}, Started: at})
	apply := func(ev report.Event) {
		at = at.Add(time.Second)
		turn.Apply(report.Stamp(ev, at, false))
	}
	apply(report.StepStarted{Actor: by("b10", 1), Purpose: "coordination"})
	apply(report.StepStarted{Actor: by("b9", 1), Purpose: "coordination"})
	apply(report.Answered{StepEnd: report.StepEnd{Actor: by("b10", 1)}, Label: "b10.1", Content: "ten the-secret"})
	if got := read(t, status); got.FinishReason != "in_progress" || got.IsComplete {
		t.Errorf("%+v", got)
	}
	apply(report.Answered{StepEnd: report.StepEnd{Actor: by("b9", 1)}, Label: "b9.1", Content: "nine"})
	apply(report.StepStarted{Actor: by("b10", 2), Purpose: "coordination"})
	apply(report.StepStarted{Actor: by("b9", 2), Purpose: "coordination"})
	apply(report.Voted{StepEnd: report.StepEnd{Actor: by("b10", 2)}, Label: "b9.1", Reason: "for the-secret"})
	turn.Tick(at)
	if got := read(t, status); got.Results.Votes["b9.1"] != 1 || got.Agents["b10"].Status != "voted" || got.Agents["b9"].Status != "streaming" {
		t.Errorf("%+v", got)
	}
	apply(report.Voted{StepEnd: report.StepEnd{Actor: by("b9", 2)}, Label: "b9.1"})
	must(t, turn.End(report.Result{
		Status: kernel.Completed, Winner: "b9", Answer: "nine the-secret",
		Votes: []report.ResultVote{{Voter: "b10", For: "b9", Label: "b9.1"}, {Voter: "b9", For: "b9", Label: "b9.1"}},
	}, at))
	if got := read(t, status); got.FinishReason != "completed" || !got.IsComplete || got.Results.Votes["b9.1"] != 2 || got.Agents["b9"].Restarts != 1 {
		t.Errorf("%+v", got)
	}
	answer, err := os.ReadFile(tree.AnswerFile("b9"))
	must(t, err)
	if string(answer) != "nine ***" {
		t.Errorf("%q", answer)
	}
	votes, err := filepath.Glob(filepath.Join(filepath.Dir(status), "b10", "*", "vote.json"))
	must(t, err)
	var vote struct {
		Voter   string            `json:"voter_anon_id"`
		For     string            `json:"voted_for"`
		Options []string          `json:"available_options"`
		Labels  map[string]string `json:"answer_label_to_agent"`
	}
	text, err := os.ReadFile(votes[0])
	must(t, err)
	must(t, json.Unmarshal(text, &vote))
	if vote.Voter != "agent2" || vote.For != "b9" || len(vote.Options) != 2 || vote.Labels["b10.1"] != "b10" {
		t.Errorf("%+v", vote)
	}
	must(t, filepath.WalkDir(tree.Dir(), func(path string, e fs.DirEntry, err error) error {
		must(t, err)
		info, err := e.Info()
		must(t, err)
		if want := map[bool]fs.FileMode{true: 0o700, false: 0o600}[e.IsDir()]; info.Mode().Perm() != want {
			t.Errorf("%s has the mode %o, want %o", path, info.Mode().Perm(), want)
		}
		if e.IsDir() {
			return nil
		}
		text, err := os.ReadFile(path)
		must(t, err)
		if strings.Contains(string(text), "the-secret") {
			t.Errorf("%s has the secret", path)
		}
		return nil
	}))
}

// TestAttemptsAreApart: an attempt that is started over has its own files, and its answers and votes go.
func TestAttemptsAreApart(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	tree, err := logtree.Create(filepath.Join(t.TempDir(), "logs"), at, mask)
	must(t, err)
	defer func() { must(t, tree.Close()) }()
	status := tree.NextStatus()
	turn := tree.Begin(logtree.Question{Agents: []string{"a", "b"}, Started: at})
	for _, ev := range []report.Event{
		report.StepStarted{Actor: by("a", 1), Purpose: "coordination"},
		report.Answered{StepEnd: report.StepEnd{Actor: by("a", 1)}, Label: "a.1", Content: "poor"},
		report.StepStarted{Actor: by("b", 2), Purpose: "coordination"},
		report.Voted{StepEnd: report.StepEnd{Actor: by("b", 2)}, Label: "a.1"},
		report.Consulted{StepEnd: report.StepEnd{Actor: by("a", 2)}, Purpose: "review", Review: &contextbuild.Review{Action: "restart_orchestration", Reason: "poor"}},
		report.StepStarted{Actor: by("b", 3), Purpose: "coordination"},
		report.Answered{StepEnd: report.StepEnd{Actor: by("b", 3)}, Label: "b.1", Content: "better"},
	} {
		at = at.Add(time.Second)
		turn.Apply(report.Stamp(ev, at, false))
	}
	turn.Tick(at)
	if got := read(t, status); len(got.Results.Votes) > 0 || got.Agents["a"].Answers != 0 || got.Agents["b"].Answers != 1 {
		t.Errorf("%+v", got)
	}
	files, err := filepath.Glob(filepath.Join(tree.Dir(), "turn_1", "attempt_2", "b", "*", "context.txt"))
	must(t, err)
	if len(files) != 1 {
		t.Fatalf("%q", files)
	}
	text, err := os.ReadFile(files[0])
	must(t, err)
	if strings.Contains(string(text), "poor") {
		t.Errorf("the new attempt was shown %s", text)
	}
	must(t, turn.End(report.Result{Status: kernel.Completed, Winner: "b", Answer: "better"}, at))
}

// TestAgentsWithNamesOfFiles: an agent's folder never stands in the place of a file.
func TestAgentsWithNamesOfFiles(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	ids := []string{"status.json", "Final", "events.jsonl", "coordination_table.txt", "execution_metadata.yaml", "status.json.tmp"}
	tree, err := logtree.Create(filepath.Join(t.TempDir(), "logs"), at, mask)
	must(t, err)
	defer func() { must(t, tree.Close()) }()
	status := tree.NextStatus()
	turn := tree.Begin(logtree.Question{Agents: ids, Started: at})
	for _, id := range ids {
		turn.Apply(report.Stamp(report.Answered{StepEnd: report.StepEnd{Actor: by(id, 1)}, Label: id + ".1", Content: "x"}, at, false))
	}
	must(t, turn.End(report.Result{Status: kernel.Completed, Winner: "Final", Answer: "x"}, at))
	if got := read(t, status); !got.IsComplete || len(got.Agents) != len(ids) {
		t.Errorf("%+v", got)
	}
	answers, err := filepath.Glob(filepath.Join(filepath.Dir(status), "*_", "*", "answer.txt"))
	must(t, err)
	if len(answers) != len(ids) {
		t.Errorf("%q", answers)
	}
	if _, err := os.Stat(tree.AttemptFile("Final")); err != nil {
		t.Error(err)
	}
}

// TestLastStatusFollowsAFault: a fault in one file keeps nobody waiting for the result.
func TestLastStatusFollowsAFault(t *testing.T) {
	tree, err := logtree.Create(filepath.Join(t.TempDir(), "logs"), time.Now(), mask)
	must(t, err)
	defer func() { must(t, tree.Close()) }()
	status := tree.NextStatus()
	turn := tree.Begin(logtree.Question{Agents: []string{"a"}})
	must(t, os.WriteFile(filepath.Join(filepath.Dir(status), "a"), nil, 0o600))
	turn.Apply(report.Answered{StepEnd: report.StepEnd{Actor: by("a", 1)}, Label: "a.1", Content: "x"})
	if turn.Err() == nil {
		t.Fatal("no fault")
	}
	if err := turn.End(report.Result{Status: kernel.Completed, Winner: "a", Answer: "x"}, time.Now()); err == nil {
		t.Error("no error at the end")
	}
	if got := read(t, status); !got.IsComplete {
		t.Errorf("%+v", got)
	}
	if _, err := os.Stat(tree.AnswerFile("a")); err != nil {
		t.Error(err)
	}
}

// TestLinksLeadNowhere: an agent that can write to the folder cannot make the program write elsewhere.
func TestLinksLeadNowhere(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "outside")
	must(t, os.WriteFile(outside, []byte("as it was"), 0o600))
	tree, err := logtree.Create(filepath.Join(t.TempDir(), "logs"), time.Now(), mask)
	must(t, err)
	defer func() { must(t, tree.Close()) }()
	status := tree.NextStatus()
	turn := tree.Begin(logtree.Question{Agents: []string{"a"}})
	must(t, os.Symlink(outside, status+".tmp"))
	must(t, os.Symlink(filepath.Dir(outside), filepath.Join(filepath.Dir(status), "a")))
	turn.Tick(time.Now())
	if turn.Err() == nil {
		t.Error("the link was followed")
	}
	turn.Apply(report.Answered{StepEnd: report.StepEnd{Actor: by("a", 1)}, Label: "a.1", Content: "x"})
	if err := turn.End(report.Result{Winner: "a", Answer: "x"}, time.Now()); err == nil {
		t.Error("no error at the end")
	}
	text, err := os.ReadFile(outside)
	must(t, err)
	entries, err := os.ReadDir(filepath.Dir(outside))
	must(t, err)
	if string(text) != "as it was" || len(entries) != 1 {
		t.Errorf("%q, %d entries", text, len(entries))
	}
}

// TestDefaultFolderIsNoLink: a link in the current folder does not decide where answers go.
func TestDefaultFolderIsNoLink(t *testing.T) {
	t.Chdir(t.TempDir())
	must(t, os.Symlink(t.TempDir(), ".massgen"))
	if _, err := logtree.Create("", time.Now(), mask); err == nil || !strings.Contains(err.Error(), ".massgen is no folder") {
		t.Error(err)
	}
}

type status struct {
	FinishReason string `json:"finish_reason"`
	IsComplete   bool   `json:"is_complete"`
	Agents       map[string]struct {
		Status   string `json:"status"`
		Restarts int    `json:"times_restarted"`
		Answers  int    `json:"answer_count"`
	} `json:"agents"`
	Results struct {
		Votes map[string]int `json:"votes"`
	} `json:"results"`
}

func read(t *testing.T, file string) (s status) {
	t.Helper()
	text, err := os.ReadFile(file)
	must(t, err)
	must(t, json.Unmarshal(text, &s))
	return s
}
