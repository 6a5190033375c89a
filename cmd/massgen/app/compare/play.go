package compare

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/massgen/massgen"
	"github.com/massgen/massgen/cmd/massgen/app/cmdline"
	"github.com/massgen/massgen/configs"
	"github.com/massgen/massgen/internal/coordination/evidence"
	"github.com/massgen/massgen/internal/models/providers"
	"github.com/massgen/massgen/internal/system/plain"
)

// play asks what is not answered yet, and prints the table.
func (c *command) play(ctx context.Context, p *plan, how *scorer, config *configs.Config, world providers.World) (err error) {
	if err := checkEqual(c.flags.equal, p); err != nil {
		return err
	}
	opened, dir, err := c.open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, opened.Close()) }()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	r := &runner{
		program: c.program, plan: p, store: opened, world: world, stop: stop, panels: map[string]*massgen.Panel{}, models: map[agentOf]providers.Model{},
		shared: map[string]*replies{}, again: c.flags.again,
	}
	r.purse = newPurse(c.flags.maxUSD, func() { stop(errBudget) })
	r.progress = &progress{
		console: c.program.Console, spent: r.purse.total,
		isShown: cmdline.IsScreen(c.program.Env, c.program.Env.Stderr) && !c.program.Console.IsSpoken && !c.flags.isQuiet(c.program.Console),
	}
	defer func() { err = errors.Join(err, r.close()) }()
	m := &meter{plan: p, store: opened.Sessions, scorer: how}
	if err := c.prepare(ctx, r, m); err != nil {
		return err
	}
	if err := p.save(dir); err != nil {
		return err
	}
	ended := c.interruptible(ctx, r, func() error { return c.playAll(ctx, r, m) })
	r.progress.clear()
	if m.grader != nil {
		m.grader.panel = nil // what is not graded by now is left out of the table
	}
	if ended != nil && !errors.Is(ended, errInterrupted) && !errors.Is(ended, errBudget) {
		return ended
	}
	if err := c.show(context.WithoutCancel(ctx), m, dir, config); err != nil {
		return err
	}
	switch {
	case errors.Is(ended, errInterrupted):
		c.program.Console.Say("massgen: interrupted: the same command goes on")
		return cmdline.WithStatus(cmdline.ExitInterrupted, nil)
	case errors.Is(ended, errBudget):
		c.program.Console.Say("massgen: --max-usd: the budget is spent; the same command with more of it goes on")
		return cmdline.WithStatus(cmdline.ExitNoWinner, nil)
	}
	return nil
}

func (f *flags) isQuiet(console *cmdline.Console) bool { return console.IsQuiet }

// prepare limits what may be spent, says what the comparison costs, and asks a person. Nothing is changed before the
// person agrees.
func (c *command) prepare(ctx context.Context, r *runner, m *meter) (err error) {
	if most := c.flags.maxUSD; most != nil {
		for _, col := range r.plan.Columns {
			for _, u := range col.Units {
				limit(u.config, *most)
			}
		}
	}
	if err := c.connectScore(ctx, r, m); err != nil {
		return err
	}
	if err := c.confirm(ctx, r); err != nil {
		return err
	}
	if r.again {
		if err := r.forget(ctx); err != nil {
			return err
		}
		r.again = false
	}
	if r.purse.most != nil {
		r.purse.spent, err = m.spent(ctx)
	}
	return err
}

// confirm says what the comparison costs, and asks a person whether it may begin.
func (c *command) confirm(ctx context.Context, r *runner) error {
	text, isAny, err := r.estimate(ctx)
	if err != nil || !isAny {
		return err
	}
	c.program.Console.Say("massgen: %s", text)
	if c.flags.yes || !c.program.Kept.CanAsk() {
		return nil
	}
	yes, err := c.program.Kept.Asks("Go on?")
	if err == nil && !yes {
		err = errors.New("compare: nothing was asked")
	}
	return err
}

// playAll plays all columns. Samples that are to cost as much as a strategy come last.
func (c *command) playAll(ctx context.Context, r *runner, m *meter) error {
	if c.flags.equal == "" {
		return r.playColumns(ctx, func(column) bool { return true }, c.flags.atOnce)
	}
	if err := r.playColumns(ctx, func(col column) bool { return col.Kind != samples }, c.flags.atOnce); err != nil {
		return err
	}
	for i, col := range r.plan.Columns {
		if col.Kind != samples {
			continue
		}
		if err := c.equalize(ctx, r, m, i); err != nil {
			return err
		}
	}
	dir, err := c.folder(ctx)
	if err != nil {
		return err
	}
	return r.plan.save(dir)
}

func (r *runner) playColumns(ctx context.Context, wanted func(column) bool, atOnce int) error {
	left, err := r.pending(ctx, r.plan.jobs(wanted))
	if err != nil {
		return err
	}
	all := 0
	for _, n := range left.cells {
		all += n
	}
	r.progress.begin(all)
	return r.run(ctx, left.jobs, atOnce)
}

// interruptible runs do until an interrupt, which stops the runner.
func (c *command) interruptible(ctx context.Context, r *runner, do func() error) error {
	watched, done := c.program.Watch.Context(ctx)
	unwatch := context.AfterFunc(watched, func() { r.stop(errInterrupted) })
	err := do()
	unwatch()
	done()
	c.program.Watch.Finish(cmdline.ExitInterrupted)
	return err
}

// save writes the plan beside the sessions.
func (p *plan) save(dir string) error {
	text, err := plain.JSONLine(p)
	if err != nil {
		return err
	}
	file := filepath.Join(dir, planFile)
	if err := os.WriteFile(file+".new", []byte(text+"\n"), 0o600); err != nil {
		return fmt.Errorf("write the plan of the comparison: %w", err)
	}
	return os.Rename(file+".new", file)
}

// shares reports whether strategies share the first calls of an agent.
func (p *plan) shares(agent string) bool { return slices.Contains(p.Sharing, agent) }

// The values of --equal.
const (
	equalCalls  = "calls"
	equalTokens = "tokens"
	equalUSD    = "usd"
)

func checkEqual(equal string, p *plan) error {
	hasSamples, hasStrategy := false, false
	for _, c := range p.Columns {
		hasSamples = hasSamples || c.Kind == samples
		hasStrategy = hasStrategy || c.Kind == strategy
	}
	switch equal {
	case "":
		return nil
	case equalCalls, equalTokens, equalUSD:
	default:
		return fmt.Errorf("--equal is %q: it is calls, tokens or usd", plain.Line(equal))
	}
	if !hasSamples || !hasStrategy {
		return errors.New("--equal takes samples until they cost as much as a strategy: name samples and a strategy of the panel in --strategies")
	}
	return nil
}

// costOf returns what --equal compares.
func costOf(u evidence.Usage, equal string) (float64, error) {
	switch equal {
	case equalCalls:
		return float64(u.Calls), nil
	case equalTokens:
		return float64(u.InputTokens + u.OutputTokens), nil
	}
	if u.CostUSD == nil {
		return 0, errors.New("--equal usd: the price of a model is not known: state it with the key prices, or compare calls or tokens")
	}
	return *u.CostUSD, nil
}

// equalize asks a member until its samples cost as much as the dearest strategy.
func (c *command) equalize(ctx context.Context, r *runner, m *meter, at int) error {
	dearest := 0.0
	for _, col := range r.plan.Columns {
		if col.Kind != strategy {
			continue
		}
		cost, err := m.cost(ctx, col, c.flags.equal)
		if err != nil {
			return err
		}
		dearest = max(dearest, cost)
	}
	col := &r.plan.Columns[at]
	for n := 1; n <= mostSamples; n++ {
		col.sample(n)
		if err := r.playColumns(ctx, func(other column) bool { return other.Name == col.Name }, c.flags.atOnce); err != nil {
			return err
		}
		cost, err := m.cost(ctx, *col, c.flags.equal)
		if err != nil {
			return err
		}
		if cost >= dearest*(1-1e-9) { // sums of prices have binary remainders
			break
		}
	}
	return nil
}

// cost returns what a column has cost in all, shared calls in full.
func (m *meter) cost(ctx context.Context, c column, equal string) (float64, error) {
	sum := evidence.Usage{CostUSD: new(float64)}
	err := m.each(ctx, c, func(one cell) {
		for _, call := range one.calls {
			sum = sum.Plus(usageOf(call))
		}
	})
	if err != nil {
		return 0, err
	}
	return costOf(sum, equal)
}

// each reads the cells of a column that there are.
func (m *meter) each(ctx context.Context, c column, do func(one cell)) error {
	for _, q := range m.plan.Questions {
		for _, u := range c.Units {
			for run := range m.plan.Runs {
				one, ok, err := readCell(ctx, m.store, m.plan.session(u, q, run))
				if err != nil {
					return err
				}
				if ok {
					do(one)
				}
			}
		}
	}
	return nil
}

// spent returns the dollars that the cells and their grades have cost so far.
func (m *meter) spent(ctx context.Context) (usd float64, err error) {
	var graded *grader
	if m.grader != nil {
		graded = newGrader(m.grader.model, m.store)
	}
	for _, q := range m.plan.Questions {
		cells, _, err := m.read(ctx, q)
		if err != nil {
			return 0, err
		}
		if cost := m.account(cells).spent.CostUSD; cost != nil {
			usd += *cost
		}
		for _, one := range slices.Concat(slices.Concat(cells...)...) {
			if graded == nil {
				break
			}
			if err := graded.score(ctx, q, one); err != nil {
				return 0, err
			}
		}
	}
	if graded != nil {
		if cost := graded.cost().CostUSD; cost != nil {
			usd += *cost
		}
	}
	return usd, nil
}

// estimate says how many calls are to be made, and what they cost at most. isAny is false if there are none.
func (r *runner) estimate(ctx context.Context) (text string, isAny bool, err error) {
	var most float64
	calls, answers, isOpen, isPriced := 0, 0, false, true
	left, err := r.pending(ctx, r.plan.jobs(func(column) bool { return true }))
	if err != nil {
		return "", false, err
	}
	hasShared := 0
	for _, c := range r.plan.Columns {
		n := left.cells[c.Name]
		if n == 0 {
			continue
		}
		of := c.Units[0].config
		count := of.Calls()
		later := count.Most - len(of.Agents)
		first, isShared := len(of.Agents), false
		if c.Units[0].Shares {
			if isShared = hasShared >= n; isShared { // another strategy pays for them
				first -= len(r.plan.Sharing)
			}
			hasShared = max(hasShared, n)
		}
		answers += n
		calls += n * (first + later)
		isOpen = isOpen || count.IsOpen
		price, ok, err := r.price(ctx, c.Units[0], isShared, later)
		if err != nil {
			return "", false, err
		}
		isPriced = isPriced && ok
		most += float64(n) * price
	}
	if answers == 0 && left.grades == 0 {
		return "", false, nil
	}
	if left.grades > 0 {
		price := r.grading.grader.price(ctx, r.plan.longest(question.text)+prompt+answer)
		if isPriced = isPriced && price != nil; isPriced {
			most += float64(left.grades) * *price
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s, %s: %s to get with some %s", plain.Count(len(r.plan.Questions), "question"), plain.Count(len(r.plan.Columns), "column"),
		plain.Count(answers, "answer"), plain.Count(calls, "call"))
	if left.grades > 0 {
		fmt.Fprintf(&b, ", and %s of the grader at most", plain.Count(left.grades, "call"))
	}
	if isOpen {
		b.WriteString(", and more where agents improve their answers")
	}
	if isPriced {
		fmt.Fprintf(&b, "; %s at most for these calls", money(most))
	} else {
		b.WriteString("; the price of a model is not known")
	}
	if limit := r.purse.most; limit != nil {
		fmt.Fprintf(&b, ", and no more than %s in all", money(*limit))
	}
	return b.String(), true, nil
}

// money writes dollars: cents, or four digits of less.
func money(usd float64) string {
	switch {
	case usd == 0:
		return "$0"
	case usd < 0.01:
		return fmt.Sprintf("$%.4f", usd)
	}
	return fmt.Sprintf("$%.2f", usd)
}
