package agents

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"time"

	"github.com/massgen/massgen/contextbuild"
	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/system/blob"
	"github.com/massgen/massgen/internal/system/plain"
)

// RunCheck runs the command of a check on a copy of a folder, or in an empty one if dir is "". The answer
// is its standard input. The error is for a command that could not run.
type RunCheck func(ctx context.Context, argv []string, dir, answer string, limit time.Duration) (exit int, output string, err error)

// Checked is the record of a check.
type Checked struct {
	Passed bool `json:"passed"`
	Exit   int  `json:"exit"`
	// Output is the end of what the command wrote, or says which pattern did not match.
	Output string `json:"output"`
}

// mostCheckOutput is how many bytes are kept from the end of a check's output.
const mostCheckOutput = 4 << 10

// checkAnswer checks an answer (rule 20). One whose check could not run has failed.
func (d *Doer) checkAnswer(ctx context.Context, turn *effect.Turn, e effect.ToolCall) (effect.Reply, error) {
	stored := context.WithoutCancel(ctx)
	texts := LookupIn(stored, d.of(turn).cache)
	answer, err := texts(e.Answer)
	if err != nil {
		return nil, fmt.Errorf("read the answer to check: %w", err)
	}
	work, err := ReadSnapshot(texts, e.Work)
	if err != nil {
		return nil, err
	}
	checked := d.checked(ctx, turn, string(answer), work.Dir)
	checked.Output = plain.LastBytes(contextbuild.Clean(checked.Output), mostCheckOutput)
	ref, err := PutJSON(stored, d.Blobs, checked)
	reply := effect.ToolReply{Index: e.Key.Index, Result: ref, Error: !checked.Passed}
	if reply.Error && ctx.Err() != nil { // the answer has not failed: its check was ended
		reply.State = effect.ToolCancelled
	}
	return reply, err
}

func (d *Doer) checked(ctx context.Context, turn *effect.Turn, answer, dir string) Checked {
	check := *turn.Check
	if check.Pattern != "" {
		pattern, err := regexp.Compile(check.Pattern)
		switch {
		case err != nil:
			return Checked{Exit: -1, Output: fmt.Sprintf("the pattern of the check is wrong: %v", err)}
		case !pattern.MatchString(answer):
			return Checked{Exit: 1, Output: fmt.Sprintf("the answer does not match the pattern %s", check.Pattern)}
		}
		return Checked{Passed: true}
	}
	exit, output, err := -1, "", errors.New("checks do not run here")
	if d.RunCheck != nil {
		exit, output, err = d.RunCheck(ctx, check.Command, dir, answer, time.Duration(turn.Limits.ToolLimit)*time.Millisecond)
	}
	if err != nil {
		return Checked{Exit: -1, Output: fmt.Sprintf("the check could not run: %v", err)}
	}
	return Checked{Passed: exit == 0, Exit: exit, Output: output}
}

// ReadChecked reads the record that an answer's Check refers to. It must not be zero.
func ReadChecked(texts Lookup, check blob.Ref) (Checked, error) {
	c, err := readJSON[Checked](texts, check)
	if err != nil {
		return c, fmt.Errorf("read the record of a check: %w", err)
	}
	return c, nil
}
