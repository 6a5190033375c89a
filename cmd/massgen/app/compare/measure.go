package compare

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/massgen/massgen/internal/coordination/evidence"
	"github.com/massgen/massgen/internal/coordination/turn"
	"github.com/massgen/massgen/sessions"
)

// measured is a comparison as far as its journals have it.
type measured struct {
	report evidence.Report
	table  evidence.Table
	// questions are those that all columns have answered in all runs; sessions has by question and
	// column the sessions of their answers.
	questions []question
	sessions  [][][]string
	// graded counts the answers where the score and the exact score could be compared, and agreed those where
	// they agree.
	graded, agreed int
	// silent counts the grader's replies that say neither RIGHT nor WRONG.
	silent int
}

// meter computes a comparison from journals.
type meter struct {
	plan   *plan
	store  *sessions.Store
	scorer *scorer
	grader *grader // nil for none
}

// read reads the cells of a question, by column, unit and run. isOver is false if one of them is not.
func (m *meter) read(ctx context.Context, q question) (cells [][][]cell, isOver bool, err error) {
	isOver = true
	for _, c := range m.plan.Columns {
		var units [][]cell
		for _, u := range c.Units {
			var runs []cell
			for run := range m.plan.Runs {
				one, _, err := readCell(ctx, m.store, m.plan.session(u, q, run))
				if err != nil {
					return nil, false, err
				}
				isOver = isOver && one.isOver
				runs = append(runs, one)
			}
			units = append(units, runs)
		}
		cells = append(cells, units)
	}
	return cells, isOver, nil
}

// measure computes all figures from the questions that are finished, and what all of them have cost.
func (m *meter) measure(ctx context.Context) (*measured, error) {
	of := &measured{table: evidence.Table{Draw: rand.New(rand.NewPCG(m.plan.Seed, 0)).IntN}}
	answers := make([][][]evidence.Answer, len(m.plan.Columns))
	spent := evidence.Usage{CostUSD: new(float64)}
	repeated, seconds := 0, 0.0
	for _, q := range m.plan.Questions {
		cells, isOver, err := m.read(ctx, q)
		if err != nil {
			return nil, err
		}
		account := m.account(cells)
		repeated += account.repeated
		seconds += account.seconds
		spent = spent.Plus(account.spent)
		if !isOver {
			continue
		}
		scored, err := m.score(ctx, q, cells, of)
		if errors.Is(err, errNotGraded) {
			continue
		}
		if err != nil {
			return nil, err
		}
		names := make([][]string, len(m.plan.Columns))
		for i, c := range m.plan.Columns {
			for run := range scored[i] {
				scored[i][run].Usage = account.usage[i][run]
			}
			answers[i] = append(answers[i], scored[i])
			for _, u := range c.Units {
				for run := range m.plan.Runs {
					names[i] = append(names[i], m.plan.session(u, q, run))
				}
			}
		}
		of.questions, of.sessions = append(of.questions, q), append(of.sessions, names)
		of.table.Hashes = append(of.table.Hashes, q.Hash)
	}
	for i, c := range m.plan.Columns {
		column := evidence.Column{Name: c.Name, Answers: answers[i]}
		if c.Kind == member {
			of.table.Members = append(of.table.Members, column)
		} else {
			of.table.Strategies = append(of.table.Strategies, column)
		}
	}
	if m.grader != nil {
		spent = spent.Plus(m.grader.cost())
		of.silent = len(m.grader.silent)
	}
	of.report = of.table.Figure()
	of.report.Runs = m.plan.Runs
	of.report.RepeatedCalls, of.report.Seconds, of.report.SpentUSD = repeated, math.Round(seconds*1000)/1000, rounded(spent.CostUSD)
	for _, list := range [][]evidence.Figures{of.report.Members, of.report.Strategies} {
		for i := range list {
			list[i].CostUSD = rounded(list[i].CostUSD)
		}
	}
	return of, nil
}

// score scores the answers to a question, by column and run.
func (m *meter) score(ctx context.Context, q question, cells [][][]cell, of *measured) (scored [][]evidence.Answer, err error) {
	for i, c := range m.plan.Columns {
		runs := make([]evidence.Answer, m.plan.Runs)
		for run := range runs {
			if runs[run], err = m.answer(ctx, q, c, cells[i], run, of); err != nil {
				return nil, err
			}
		}
		scored = append(scored, runs)
	}
	return scored, nil
}

// rounded removes the binary remainders of a sum of dollars.
func rounded(usd *float64) *float64 {
	if usd == nil {
		return nil
	}
	return new(math.Round(*usd*1e12) / 1e12)
}

// account is what the cells of a question cost: by column and run, and each call once.
type account struct {
	usage    [][]evidence.Usage
	spent    evidence.Usage
	repeated int
	seconds  float64
}

// account adds up the calls of a question. A shared call belongs to the first column that has it, and so do all calls of
// a panel that two columns have.
func (m *meter) account(cells [][][]cell) account {
	a := account{usage: make([][]evidence.Usage, len(cells)), spent: evidence.Usage{CostUSD: new(float64)}}
	for i := range cells {
		a.usage[i] = make([]evidence.Usage, m.plan.Runs)
		for run := range m.plan.Runs {
			a.usage[i][run].CostUSD = new(float64)
		}
	}
	for run := range m.plan.Runs {
		seen, counted := map[callName]bool{}, map[string]bool{}
		for i, c := range m.plan.Columns {
			for n, u := range c.Units {
				one, id := cells[i][n][run], fmt.Sprint(u.Digest, " ", u.Sample)
				if !counted[id] {
					a.seconds += one.seconds
					a.repeated += one.lost
				}
				for _, call := range one.calls {
					cost := usageOf(call)
					if name, ok := m.sharedName(u, call); counted[id] || ok && seen[name] {
						cost.SharedCalls = cost.Calls
					} else {
						a.spent = a.spent.Plus(cost)
						seen[name] = seen[name] || ok
					}
					a.usage[i][run] = a.usage[i][run].Plus(cost)
				}
				counted[id] = true
			}
		}
	}
	return a
}

// sharedName returns the name of a call that strategies share.
func (m *meter) sharedName(u unit, c call) (callName, bool) {
	if !u.Shares || !m.plan.shares(c.agent) {
		return callName{}, false
	}
	return c.name()
}

func usageOf(c call) evidence.Usage {
	u := turn.UsageOf(c.reply)
	cost := u.CostUSD
	if u.Calls == 0 {
		cost = new(float64)
	}
	return evidence.Usage{Calls: u.Calls, InputTokens: u.InputTokens, OutputTokens: u.OutputTokens, CostUSD: cost}
}

// answer scores the answer of a column.
func (m *meter) answer(ctx context.Context, q question, c column, units [][]cell, run int, of *measured) (a evidence.Answer, err error) {
	one := units[0][run]
	if c.Kind == samples {
		one = m.mostFrequent(units, run)
	}
	if a.Missing = !one.hasAnswer; a.Missing {
		return a, nil
	}
	if c.Kind == strategy {
		a.Agreement = one.agreement
	}
	if a.Right, err = m.scorer.isRight(ctx, q, one.answer); err != nil {
		return a, err
	}
	if exact, ok := m.scorer.isExact(q, one.answer); ok {
		of.graded++
		if exact == a.Right {
			of.agreed++
		}
	}
	for _, change := range one.changes {
		before, err := m.scorer.isRight(ctx, q, change.first)
		if err != nil {
			return a, err
		}
		after, err := m.scorer.isRight(ctx, q, change.last)
		if err != nil {
			return a, err
		}
		switch {
		case before && !after:
			a.RightToWrong++
		case after && !before:
			a.WrongToRight++
		}
	}
	a.Picks, err = m.picks(ctx, q, one.picks)
	a.SamePicks = len(one.picks) > 1 && one.picks[0].candidate == one.picks[1].candidate
	return a, err
}

// picks describes the picks of a judge.
func (m *meter) picks(ctx context.Context, q question, list []pick) (picks []evidence.Pick, err error) {
	for _, p := range list {
		of := evidence.Pick{IsFirst: p.best == p.first, IsOwn: p.hasOwn && p.best == p.own}
		ownIsRight, otherIsRight := false, false
		if p.hasOwn {
			if ownIsRight, err = m.scorer.isRight(ctx, q, p.own); err != nil {
				return nil, err
			}
		}
		for _, text := range p.shown {
			right, err := m.scorer.isRight(ctx, q, text)
			if err != nil {
				return nil, err
			}
			otherIsRight = otherIsRight || right
		}
		of.IsTest = p.hasOwn && !ownIsRight && otherIsRight
		picks = append(picks, of)
	}
	return picks, nil
}

// mostFrequent returns the sample whose value most samples have, the first of equals.
func (m *meter) mostFrequent(units [][]cell, run int) cell {
	count := map[string]int{}
	for _, u := range units {
		if u[run].hasAnswer {
			count[m.scorer.value(u[run].answer)]++
		}
	}
	best, most := cell{}, 0
	for _, u := range units {
		if one := u[run]; one.hasAnswer && count[m.scorer.value(one.answer)] > most {
			best, most = one, count[m.scorer.value(one.answer)]
		}
	}
	return best
}
