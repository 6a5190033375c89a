package compare

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/massgen/massgen/cmd/massgen/app/wording"
	"github.com/massgen/massgen/cmd/massgen/internal/picture"
	"github.com/massgen/massgen/internal/coordination/evidence"
	"github.com/massgen/massgen/internal/system/plain"
)

// writePage writes the page with the pictures. It names the session of each answer.
func (c *command) writePage(of *measured, p *plan, dir string) error {
	page := picture.Comparison{
		Report: of.report, Notes: notes(of),
		Show: c.program.Kept.ProgramName() + " show SESSION --state-dir " + wording.ShellWord(dir),
	}
	columns := slices.Concat(of.table.Members, of.table.Strategies)
	for i, q := range of.questions {
		row := picture.ComparedQuestion{ID: q.ID, Question: q.Question, Expected: q.Expected}
		for _, col := range columns {
			at := slices.IndexFunc(p.Columns, func(c column) bool { return c.Name == col.Name })
			row.Answers = append(row.Answers, picture.ComparedAnswer{Right: rightOf(col.Answers[i]), Sessions: of.sessions[i][at]})
		}
		page.Questions = append(page.Questions, row)
	}
	text, err := picture.CompareHTML(page)
	if err != nil {
		return err
	}
	if err := os.WriteFile(c.flags.out.html, []byte(c.program.Console.Secrets.Redact(text)), 0o644); err != nil {
		return fmt.Errorf("--html: %w", err)
	}
	c.program.Console.Say("massgen: %s has the page", plain.Line(filepath.Clean(c.flags.out.html)))
	return nil
}

// rightOf says in how many runs an answer was right.
func rightOf(runs []evidence.Answer) string {
	right := 0
	for _, a := range runs {
		if a.Right {
			right++
		}
	}
	switch {
	case len(runs) > 1:
		return fmt.Sprintf("%d of %d", right, len(runs))
	case right == 1:
		return "right"
	case runs[0].Missing:
		return "none"
	}
	return "wrong"
}
