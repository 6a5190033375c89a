package compare

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/cmd/massgen/app/wording"
	"github.com/massgen/massgen/internal/tools/workspace"
)

// connectScore connects what scores answers beside their texts: a command, or a grader.
func (c *command) connectScore(ctx context.Context, r *runner, m *meter) error {
	if err := m.openScore(); err != nil {
		return err
	}
	if m.grader == nil {
		return nil
	}
	if err := m.grader.connect(ctx, r); err != nil {
		return err
	}
	r.grading = m
	return nil
}

// openScore opens the command, or the grades that there are.
func (m *meter) openScore() (err error) {
	switch m.scorer.name {
	case commandScore:
		m.scorer.judge, err = commandJudge(m.scorer.argument)
	case graderScore:
		m.grader = newGrader(m.scorer.argument, m.store)
		m.scorer.judge = m.grader.isRight
	}
	return err
}

// scoreCell has the texts of a cell graded.
func (m *meter) scoreCell(ctx context.Context, q question, session string) error {
	c, ok, err := readCell(ctx, m.store, session)
	if err != nil || !ok {
		return err
	}
	return m.grader.score(ctx, q, c)
}

// ungraded counts the calls with which a cell is still to be graded, at most.
func (m *meter) ungraded(ctx context.Context, q question, session string) (calls int, err error) {
	c, ok, err := readCell(ctx, m.store, session)
	if err != nil || !ok {
		return 0, err
	}
	for _, text := range c.texts() {
		n, err := m.grader.missing(ctx, q, text)
		if err != nil {
			return 0, err
		}
		calls += n
	}
	return calls, nil
}

// texts returns the texts of a cell that are scored, each once.
func (c cell) texts() (all []string) {
	if c.hasAnswer {
		all = append(all, c.answer)
	}
	for _, change := range c.changes {
		all = append(all, change.first, change.last)
	}
	for _, p := range c.picks {
		all = append(all, p.shown...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// The files of a command's folder.
const (
	answerFile   = "answer.txt"
	questionFile = "question.txt"
	expectedFile = "expected.txt"
)

// commandJudge returns a function that runs a command on each answer: status 0 means right. The command runs
// in the current folder, which it can read, behind the fence of run_command. Standard input is the answer.
func commandJudge(line string) (func(ctx context.Context, q question, answer string) (bool, error), error) {
	if ok, reason := workspace.CanFence(); !ok {
		return nil, fmt.Errorf("--score: a command that reads answers of models runs only where it can be fenced in, and here it cannot: %s", reason)
	}
	here, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, q question, answer string) (right bool, err error) {
		dir, err := os.MkdirTemp("", "massgen-compare-*")
		if err != nil {
			return false, err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
		for name, text := range map[string]string{answerFile: answer, questionFile: q.Question, expectedFile: q.Expected} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				return false, err
			}
		}
		w, err := workspace.Open(workspace.Options{Dir: dir, Reads: []workspace.Mount{{Name: "here", Dir: here}}, Command: &workspace.CommandOptions{}})
		if err != nil {
			return false, err
		}
		defer func() { err = errors.Join(err, w.Close()) }()
		script := "cd " + wording.ShellWord(here) + "\n{\n" + line + "\n} < \"$HOME/" + answerFile + "\"\n"
		return runs(ctx, w, script)
	}, nil
}

// runs reports whether a script ends with status 0.
func runs(ctx context.Context, w *workspace.Workspace, script string) (bool, error) {
	arguments, err := json.Marshal(map[string][]string{"argv": {"sh", "-c", script}})
	if err != nil {
		return false, err
	}
	tools := w.Tools()
	i := slices.IndexFunc(tools, func(t agents.Tool) bool { return t.Definition().Name == "run_command" })
	if i < 0 {
		return false, errors.New("--score: commands do not run here")
	}
	said, err := tools[i].Call(ctx, string(arguments))
	var failed agents.ErrorResult
	if errors.As(err, &failed) {
		said, err = string(failed), nil
	}
	if err != nil {
		return false, fmt.Errorf("--score: run the command: %w", err)
	}
	var result struct {
		Success bool   `json:"success"`
		Exit    *int   `json:"exit"`
		Error   string `json:"error"`
		Output  string `json:"output"`
	}
	if json.Unmarshal([]byte(said), &result) != nil || result.Exit == nil {
		return false, fmt.Errorf("--score: the command did not run: %s", wording.Shortened(said, 200))
	}
	const notFound = 127 // as shells have it
	if *result.Exit == notFound {
		return false, fmt.Errorf("--score: the command did not run: %s", wording.Shortened(strings.TrimSpace(result.Output), 200))
	}
	return result.Success, nil
}
