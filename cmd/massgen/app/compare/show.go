package compare

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/massgen/massgen/cmd/massgen/app/archive"
	"github.com/massgen/massgen/configs"
	"github.com/massgen/massgen/internal/coordination/evidence"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/internal/models/questions"
	"github.com/massgen/massgen/internal/system/plain"
	"github.com/massgen/massgen/sessions"
)

// show computes a comparison, and writes it as the flags say.
func (c *command) show(ctx context.Context, m *meter, dir string, config *configs.Config) error {
	if m.scorer.judge == nil {
		if err := m.openScore(); err != nil {
			return err
		}
	}
	of, err := m.measure(ctx)
	if err != nil {
		return err
	}
	console := c.program.Console
	if missing := len(m.plan.Questions) - len(of.questions); missing > 0 {
		console.Say("massgen: %d of %s are not finished, and do not count", missing, plain.Count(len(m.plan.Questions), "question"))
	}
	if c.program.Options.Display.JSON {
		err = console.PutJSON(of.report)
	} else {
		err = console.Put(table(of))
	}
	if err == nil && c.flags.out.html != "" {
		err = c.writePage(of, m.plan, dir)
	}
	if err == nil && c.flags.out.config != "" {
		err = c.writeConfig(of.report, m.plan, config)
	}
	return err
}

// table writes a comparison for a terminal.
func table(of *measured) string {
	r := of.report
	if r.Questions == 0 {
		return "no question is finished yet\n"
	}
	rows := [][]string{{"", "RIGHT", "95 %", "CALLS", "TOKENS", "COST", "AGAINST THE BEST MEMBER"}}
	for _, f := range slices.Concat(r.Members, r.Strategies) {
		rows = append(rows, []string{
			plain.Line(f.Name), percent(f.Accuracy), fmt.Sprintf("%.0f to %.0f %%", 100*f.Interval[0], 100*f.Interval[1]),
			plain.Thousands(f.Calls), plain.Thousands(f.InputTokens + f.OutputTokens), price(f.CostUSD), f.Verdict,
		})
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s, %s each\n\n%s\n", plain.Count(r.Questions, "question"), plain.Count(r.Runs, "run"), plain.Columns(rows))
	for _, line := range notes(of) {
		b.WriteString(line + "\n")
	}
	return b.String()
}

// notes are the sentences below the table.
func notes(of *measured) (lines []string) {
	r := of.report
	add := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	if r.Verdict != "" {
		add("%s.", r.Verdict)
	}
	if len(r.Members) > 1 {
		add("The best member on these questions is %s. At least one member is right on %s of them: no choice among their answers is right more often.",
			plain.Line(r.BestMember), percent(*r.Ceiling))
		if v := r.EffectiveVotes; v != nil {
			add("By their errors the %d members are worth %.1f independent ones.", len(r.Members), *v)
		}
	}
	for _, f := range r.Strategies {
		var parts []string
		if f.CalibrationError != nil {
			parts = append(parts, fmt.Sprintf("agreement %s, off by %s from the share of right answers", percent(*f.Agreement), percent(*f.CalibrationError)))
		}
		if n := f.Flips; n.RightToWrong+n.WrongToRight > 0 {
			parts = append(parts, fmt.Sprintf("members changed %d right answers to wrong ones and %d wrong ones to right ones", n.RightToWrong, n.WrongToRight))
		}
		if f.OrderConsistency != nil {
			parts = append(parts, "the judge picks the same in both orders in "+percent(*f.OrderConsistency))
		}
		if f.FirstPreference != nil {
			parts = append(parts, fmt.Sprintf("what stands first in %s", percent(*f.FirstPreference)))
		}
		if f.OwnPreference != nil {
			parts = append(parts, fmt.Sprintf("its own wrong answer though another is right in %s", percent(*f.OwnPreference)))
		}
		if f.SharedCalls > 0 {
			parts = append(parts, plain.Count(f.SharedCalls, "call")+" shared with another strategy")
		}
		if len(parts) > 0 {
			add("%s: %s.", plain.Line(f.Name), strings.Join(parts, "; "))
		}
	}
	unanswered := 0
	for _, f := range slices.Concat(r.Members, r.Strategies) {
		unanswered += f.Unanswered
	}
	switch {
	case unanswered == 1:
		add("An answer is missing, and counts as wrong.")
	case unanswered > 1:
		add("%s are missing, and count as wrong.", plain.Count(unanswered, "answer"))
	}
	if of.graded > 0 {
		add("The grader agrees with the exact text on %s of %s.", percent(float64(of.agreed)/float64(of.graded)), plain.Count(of.graded, "answer"))
	}
	if of.silent > 0 {
		add("The grader said neither RIGHT nor WRONG %s, which counts as wrong.", plain.Count(of.silent, "time"))
	}
	switch n := r.RepeatedCalls; {
	case n == 1:
		add("A call was cut off and made again.")
	case n > 1:
		add("%s were cut off and made again.", plain.Count(n, "call"))
	}
	add("All turns together took %.1f s and cost %s.", r.Seconds, price(r.SpentUSD))
	return lines
}

func percent(share float64) string { return fmt.Sprintf("%.0f %%", 100*share) }

func price(usd *float64) string {
	if usd == nil {
		return "not known"
	}
	return money(*usd)
}

// addQuestion appends the question of a turn to a file.
func (c *command) addQuestion(ctx context.Context, words []string) (err error) {
	const form = "compare --add: its form is: massgen compare --add FILE SESSION [TURN] [--expected TEXT]"
	if len(words) == 0 || len(words) > 2 {
		return errors.New(form)
	}
	opened, err := c.program.Kept.OpenIfThere(ctx, archive.ToManage)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, opened.Close()) }()
	turns, err := opened.Sessions.Turns(ctx, words[0], 0)
	if err != nil {
		return fmt.Errorf("compare --add: %w", err)
	}
	at := len(turns) - 1
	if len(words) == 2 {
		at = slices.IndexFunc(turns, func(t sessions.Turn) bool { return fmt.Sprint(t.Number) == words[1] })
	}
	if at < 0 {
		return fmt.Errorf("compare --add: session %s has no such turn that has ended", plain.Line(words[0]))
	}
	expected := turns[at].Answer
	if c.flags.out.expected != "" {
		expected = c.flags.out.expected
	}
	if strings.TrimSpace(expected) == "" {
		return errors.New("compare --add: the turn has no answer: give the right one, --expected TEXT")
	}
	if err := questions.Append(c.flags.out.add, turns[at].Question, expected); err != nil {
		return fmt.Errorf("compare --add: %w", err)
	}
	return c.program.Console.Put(fmt.Sprintf("%s has the question of turn %d of %s\n", plain.Line(c.flags.out.add), turns[at].Number, plain.Line(words[0])))
}

// writeConfig writes the config of the cheapest column that may be as good as the best.
func (c *command) writeConfig(r evidence.Report, p *plan, config *configs.Config) error {
	if config == nil {
		return errors.New("--write-config: name the config and the questions, too: massgen compare --config FILE QUESTIONS --from DIR --write-config FILE")
	}
	if isSameFile(c.flags.out.config, config.File) {
		return fmt.Errorf("--write-config: %s is the config that is compared: name another file", plain.Line(c.flags.out.config))
	}
	best, isMember := r.Cheapest()
	if best.Name == "" {
		return errors.New("--write-config: no question is finished yet")
	}
	agent, preset, keys := "", "", map[string]string{}
	switch i := slices.IndexFunc(p.Columns, func(col column) bool { return col.Name == best.Name }); {
	case isMember:
		agent = best.Name
	case p.Columns[i].Kind == samples:
		return fmt.Errorf("--write-config: the cheapest is %s, and no config asks one member several times: leave samples out of --strategies", plain.Line(best.Name))
	default:
		if keys = keysOf(config, best.Name); keys == nil {
			preset, keys = best.Name, map[string]string{}
		}
		if preset == kernel.Cascade {
			preset = quickPreset
		}
		if p.Pattern != "" {
			keys["answer_pattern"] = p.Pattern
		}
	}
	text, err := config.Chosen(agent, preset, keys)
	if err != nil {
		return fmt.Errorf("--write-config: %w", err)
	}
	if err := os.WriteFile(c.flags.out.config, text, 0o644); err != nil {
		return fmt.Errorf("--write-config: %w", err)
	}
	c.program.Console.Say("massgen: %s has the cheapest panel that may be as good as the best: %s", plain.Line(c.flags.out.config), plain.Line(best.Name))
	return nil
}

// isSameFile reports whether two paths name one file that exists.
func isSameFile(a, b string) bool {
	of, err := os.Stat(a)
	if err != nil {
		return false
	}
	other, err := os.Stat(b)
	return err == nil && os.SameFile(of, other)
}

// keysOf returns the keys of the orchestrator for a strategy, nil for a preset.
func keysOf(config *configs.Config, name string) map[string]string {
	switch name {
	case "judge":
		return map[string]string{"strategy": "judge", "final": "select"}
	case synthesizeName:
		return map[string]string{"strategy": "judge", "final": "synthesize"}
	case "cascade":
		if len(config.Orchestrator.Stages) == 0 {
			return nil // it is the preset quick
		}
		return map[string]string{"strategy": name}
	case "consensus", "blind", "majority":
		return map[string]string{"strategy": name}
	}
	return nil
}
