package compare

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/massgen/massgen"
	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/cmd/massgen/app/archive"
	"github.com/massgen/massgen/cmd/massgen/app/cmdline"
	"github.com/massgen/massgen/cmd/massgen/app/program"
	"github.com/massgen/massgen/configs"
	"github.com/massgen/massgen/coordinator"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/internal/models/providers"
	"github.com/massgen/massgen/internal/models/retry"
	"github.com/massgen/massgen/internal/setup/panels"
	"github.com/massgen/massgen/internal/storage/store"
	"github.com/massgen/massgen/internal/system/plain"
	"github.com/massgen/massgen/sessions"
)

// runner plays the turns of a comparison.
type runner struct {
	program  *program.Program
	plan     *plan
	store    *store.Store
	world    providers.World
	purse    *purse
	progress *progress
	// grading has the texts of a cell graded; nil without a grader.
	grading *meter
	// stop ends the comparison. Turns under way can be resumed.
	stop context.CancelCauseFunc
	// again has finished cells count as open, until they are forgotten.
	again bool

	mu     sync.Mutex
	panels map[string]*massgen.Panel // by the digest of the unit
	models map[agentOf]providers.Model
	shared map[string]*replies // by session
}

// agentOf names an agent, or a consultant, of a panel.
type agentOf struct{ digest, id string }

var (
	// errInterrupted ends a comparison by an interrupt.
	errInterrupted = errors.New("interrupted")
	// errBudget ends a comparison whose money is spent.
	errBudget = errors.New("the budget is spent")
)

// job is what one worker does: the units that answer a question one after the other in a run.
type job struct {
	question question
	run      int
	units    []place
}

// place is a unit with the name of its column.
type place struct {
	unit
	column string
}

// jobs returns the work of the columns that are wanted, by question. Strategies that share calls make one
// job: the first in the order of the plan makes the calls, and the others find its replies.
func (p *plan) jobs(wanted func(column) bool) (list []job) {
	for _, q := range p.Questions {
		for run := range p.Runs {
			together := job{question: q, run: run}
			for _, c := range p.Columns {
				for _, u := range c.Units {
					switch at := (place{u, c.Name}); {
					case !wanted(c):
					case u.Shares:
						together.units = append(together.units, at)
					default:
						list = append(list, job{q, run, []place{at}})
					}
				}
			}
			if len(together.units) > 0 {
				list = append(list, together)
			}
		}
	}
	return list
}

// run plays all jobs, so many at once. The error is errInterrupted or errBudget if there is more to do.
func (r *runner) run(ctx context.Context, list []job, atOnce int) error {
	waiting := make(chan job)
	var workers sync.WaitGroup
	for range min(atOnce, len(list)) {
		workers.Go(func() {
			for j := range waiting {
				if err := r.do(ctx, j); err != nil {
					r.stop(err)
				}
			}
		})
	}
	for _, j := range list {
		if ctx.Err() != nil {
			break
		}
		select {
		case waiting <- j:
		case <-ctx.Done():
		}
	}
	close(waiting)
	workers.Wait()
	return context.Cause(ctx)
}

// do plays the turns of a job.
func (r *runner) do(ctx context.Context, j job) error {
	known := newReplies()
	for _, u := range j.units { // a strategy that is new in the plan may stand before one that is finished
		if session := r.plan.session(u.unit, j.question, j.run); u.Shares {
			r.share(session, known)
			if err := r.learn(ctx, session, known); err != nil {
				return fmt.Errorf("question %s, %s: %w", plain.Line(j.question.ID), u.column, err)
			}
		}
	}
	for i, u := range j.units {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		session := r.plan.session(u.unit, j.question, j.run)
		isNew, err := r.answer(ctx, j, u, session)
		if err == nil && r.grading != nil {
			err = r.grading.scoreCell(ctx, j.question, session)
		}
		if err == nil && isNew && u.Shares && i < len(j.units)-1 {
			err = r.learn(ctx, session, known)
		}
		if errors.Is(err, sessions.ErrBusy) {
			return fmt.Errorf("question %s, %s: another massgen compare is asking it: wait for that, and run the command again", plain.Line(j.question.ID), u.column)
		}
		if err != nil && !errors.Is(err, coordinator.ErrLeft) {
			return fmt.Errorf("question %s, %s: %w", plain.Line(j.question.ID), u.column, err)
		}
	}
	return nil
}

// learn adds the first replies of a turn, if there is one, to those that the other strategies take.
func (r *runner) learn(ctx context.Context, session string, known *replies) error {
	c, ok, err := readCell(ctx, r.store.Sessions, session)
	if err != nil || !ok {
		return err
	}
	return c.loadReplies(ctx, r.store.Sessions, known)
}

// share sets the replies that the turns of a session take part in.
func (r *runner) share(session string, known *replies) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.shared[session] = known
}

func (r *runner) repliesFor(session string) *replies {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.shared[session]
}

// answer plays the turn of a cell to its end. isNew is false for one that is there already.
func (r *runner) answer(ctx context.Context, j job, u place, session string) (isNew bool, err error) {
	status, err := statusOf(ctx, r.store.Sessions, session)
	if err != nil || isFinal(status) {
		return false, err
	}
	panel, err := r.panel(ctx, u.unit)
	if err != nil {
		return false, err
	}
	turn, err := r.begin(ctx, panel, j, u, session, status)
	if err != nil {
		return false, err
	}
	result, err := turn.Wait(ctx)
	if ctx.Err() != nil {
		turn.Leave()
		result, err = turn.Wait(context.WithoutCancel(ctx))
	}
	if err == nil {
		r.progress.done()
		if result.Winner == "" {
			r.progress.warn(u.column + " gives no answer: " + result.Reason())
		}
	}
	return true, err
}

// work is what is to be done: jobs with cells that are not finished or not graded, the number of cells that are not
// finished by column, and the most calls of the grader.
type work struct {
	jobs   []job
	cells  map[string]int
	grades int
}

// pending returns the work that jobs have left.
func (r *runner) pending(ctx context.Context, list []job) (rest work, err error) {
	rest.cells = map[string]int{}
	for _, j := range list {
		isFinished := true
		for _, u := range j.units {
			session := r.plan.session(u.unit, j.question, j.run)
			status, err := statusOf(ctx, r.store.Sessions, session)
			if err != nil {
				return work{}, err
			}
			grades := 0
			if r.again || !isFinal(status) {
				isFinished = false
				rest.cells[u.column]++
				grades = len(inputs(j.question, ""))
			} else if r.grading != nil {
				if grades, err = r.grading.ungraded(ctx, j.question, session); err != nil {
					return work{}, err
				}
				isFinished = isFinished && grades == 0
			}
			if r.grading != nil {
				rest.grades += grades
			}
		}
		if !isFinished {
			rest.jobs = append(rest.jobs, j)
		}
	}
	return rest, nil
}

// isFinal reports whether a cell is finished. A turn without an answer, as when a service is down, is played
// again by the next comparison.
func isFinal(status kernel.Status) bool {
	switch status {
	case "", sessions.Running, kernel.Cut, kernel.AllFailed:
		return false
	}
	return true
}

// begin begins the turn of a cell, or goes on with one that a process left.
func (r *runner) begin(ctx context.Context, panel *massgen.Panel, j job, u place, session string, status kernel.Status) (*massgen.Turn, error) {
	ctx = context.WithoutCancel(ctx) // the turn is left, not cancelled
	ctx = panels.WithSeeds(ctx, r.plan.seedOffset(u.unit, j.run), r.plan.seed(u.unit, j.question, j.run))
	if status == sessions.Running {
		turn, err := panel.Continue(ctx, session)
		var other *coordinator.OtherPanelError
		var differs *coordinator.Difference
		if !errors.As(err, &other) && !errors.As(err, &differs) {
			return turn, err
		}
	}
	if status != "" {
		if err := archive.DeleteSession(ctx, r.store, session); err != nil {
			return nil, err
		}
	}
	ctx = sessions.WithMetadata(ctx, session, map[string]string{"compared": fmt.Sprintf("question %s, %s, run %d", plain.Line(j.question.ID), u.column, j.run+1)})
	files := make([]massgen.File, len(j.question.files))
	for i, f := range j.question.files {
		files[i] = massgen.File{Name: f.Name, Data: f.Data}
	}
	return panel.AskWith(ctx, session, j.question.Question, files...)
}

// panel returns the panel of a unit, which is opened once.
func (r *runner) panel(ctx context.Context, u unit) (*massgen.Panel, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if p := r.panels[u.Digest]; p != nil {
		return p, nil
	}
	p, err := massgen.Load(context.WithoutCancel(ctx), u.config.File, program.Settled(r.settings(u.config, u.Digest)))
	if err != nil {
		return nil, err
	}
	r.panels[u.Digest] = p
	if p.IsDemo() {
		return nil, fmt.Errorf("compare: %s; @examples/simulated has members to try it with", panels.DemoNotice)
	}
	return p, nil
}

// settings returns the settings of the panel of a config.
func (r *runner) settings(config *configs.Config, digest string) panels.Settings {
	return panels.Settings{
		Settings: providers.Settings{World: r.world, Config: config, Secrets: r.program.Console.Secrets, Log: r.program.Log},
		Store:    r.store, Listener: panels.Listener{Warn: r.progress.warn},
		Around: func(agent string, m providers.Model) backends.Backend { return r.around(agentOf{digest, agent}, m) },
	}
}

// forget deletes the sessions of all cells, so that they are played again.
func (r *runner) forget(ctx context.Context) error {
	for _, j := range r.plan.jobs(func(column) bool { return true }) {
		for _, u := range j.units {
			session := r.plan.session(u.unit, j.question, j.run)
			if status, err := statusOf(ctx, r.store.Sessions, session); err != nil || status == "" {
				if err != nil {
					return err
				}
				continue
			}
			if err := archive.DeleteSession(ctx, r.store, session); err != nil {
				return err
			}
		}
	}
	return nil
}

// close closes the panels.
func (r *runner) close() (err error) {
	for _, p := range r.panels {
		err = errors.Join(err, p.Close())
	}
	return err
}

// limiters returns the limits of services for all panels of a comparison together.
func limiters() providers.LimiterOf {
	var mu sync.Mutex
	known := map[string]retry.Limiter{}
	return func(account string, l retry.Limits) retry.Limiter {
		mu.Lock()
		defer mu.Unlock()
		if known[account] == nil {
			known[account] = retry.NewLimiter(l)
		}
		return known[account]
	}
}

// progress shows how far a comparison is, on a terminal in one line that is redrawn.
type progress struct {
	console *cmdline.Console
	isShown bool
	spent   func() float64

	mu         sync.Mutex
	all, ended int
	began      time.Time
	drawn      time.Time
	warned     map[string]bool
}

// begin sets how many answers are to come.
func (p *progress) begin(all int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.all, p.ended, p.began = all, 0, time.Now()
}

// done counts an answer.
func (p *progress) done() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended++
	const interval = 200 * time.Millisecond
	if !p.isShown || time.Since(p.drawn) < interval && p.ended < p.all {
		return
	}
	p.drawn = time.Now()
	p.console.Write("\r\x1b[K" + p.line())
}

// line returns the bar, with the time that is left and the money that was spent.
func (p *progress) line() string {
	const width = 30
	full := width * p.ended / max(p.all, 1)
	bar := make([]byte, width)
	for i := range bar {
		bar[i] = '-'
		if i < full {
			bar[i] = '#'
		}
	}
	left := time.Duration(float64(time.Since(p.began)) / float64(max(p.ended, 1)) * float64(p.all-p.ended)).Round(time.Second)
	return fmt.Sprintf("[%s] %d of %d answers · %s left · %s", bar, p.ended, p.all, left, money(p.spent()))
}

// clear removes the line.
func (p *progress) clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.isShown && !p.drawn.IsZero() {
		p.console.Write("\r\x1b[K")
		p.drawn = time.Time{}
	}
}

// warn shows a warning once: each panel has the same ones.
func (p *progress) warn(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.warned[text] {
		return
	}
	if p.warned == nil {
		p.warned = map[string]bool{}
	}
	p.warned[text] = true
	p.console.Warn(text)
}
