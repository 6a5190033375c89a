package compare

import (
	"context"
	"crypto/sha256"
	_ "embed" // for the prompt
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/massgen/massgen"
	"github.com/massgen/massgen/cmd/massgen/app/program"
	"github.com/massgen/massgen/configs"
	"github.com/massgen/massgen/internal/coordination/evidence"
	"github.com/massgen/massgen/internal/models/providers"
	"github.com/massgen/massgen/internal/system/plain"
	"github.com/massgen/massgen/sessions"
)

// graderPrompt is the system message of a grader.
//
//go:embed grader.txt
var graderPrompt string

// errNotGraded is returned for an answer that no grader has graded.
var errNotGraded = errors.New("an answer is not graded")

// grader is a model that says whether answers are right. It reads the right answer and the other one in both
// orders, and not whose answer it is. Its turns are sessions, so it is asked about an answer once.
type grader struct {
	model string
	store *sessions.Store
	panel *massgen.Panel // nil to read grades alone
	leave context.Context

	mu    sync.Mutex
	busy  map[string]*sync.Mutex // by session
	spent map[string]evidence.Usage
}

// graderConfig returns the config of a grader.
func graderConfig(model string, config *configs.Config) *configs.Config {
	c := configs.Default()
	c.Agents = providers.AgentsOf([]string{model})
	c.Agents[0].ID, c.Agents[0].SystemMessage, c.Agents[0].Context = "grader", strings.TrimSpace(graderPrompt), c.Context
	if config != nil {
		c.Providers, c.Prices = config.Providers, config.Prices
	}
	return c
}

// newGrader returns a grader that reads grades.
func newGrader(model string, store *sessions.Store) *grader {
	return &grader{model: model, store: store, busy: map[string]*sync.Mutex{}, spent: map[string]evidence.Usage{}}
}

// connect opens the model of the grader.
func (g *grader) connect(ctx context.Context, r *runner) (err error) {
	config := graderConfig(g.model, r.plan.Columns[0].Units[0].config)
	if most := r.purse.most; most != nil {
		limit(config, *most)
	}
	g.leave = ctx
	r.mu.Lock()
	defer r.mu.Unlock()
	g.panel, err = massgen.Load(context.WithoutCancel(ctx), "", program.Settled(r.settings(config, graderScore)))
	if err != nil {
		return fmt.Errorf("--score: %w", err)
	}
	r.panels[graderScore] = g.panel
	return nil
}

// isRight reports whether the grader says that an answer is right, in both orders.
func (g *grader) isRight(ctx context.Context, q question, answer string) (bool, error) {
	texts := []string{ask(q, part("The right answer", q.Expected)+part("The answer to grade", answer))}
	if q.Expected != "" {
		texts = append(texts, ask(q, part("The answer to grade", answer)+part("The right answer", q.Expected)))
	} else {
		texts[0] = ask(q, part("The answer to grade", answer))
	}
	for _, text := range texts {
		said, err := g.grade(ctx, text)
		if err != nil || !said {
			return false, err
		}
	}
	return true, nil
}

func ask(q question, parts string) string {
	return part("The question", q.Question) + parts + "Is the answer to grade right? End with the word RIGHT or WRONG."
}

func part(title, text string) string { return title + ":\n<<<\n" + text + "\n>>>\n\n" }

var gradePattern = regexp.MustCompile(`\b(?:RIGHT|WRONG)\b`)

// grade asks the grader, unless it was asked before.
func (g *grader) grade(ctx context.Context, text string) (bool, error) {
	sum := sha256.Sum256([]byte(g.model + "\n" + text))
	session := "compare-grade-" + hex.EncodeToString(sum[:8])
	unlock := g.lock(session)
	defer unlock()
	c, ok, err := readCell(ctx, g.store, session)
	if err != nil {
		return false, err
	}
	if !ok || !c.isOver || !c.hasAnswer {
		if g.panel == nil || g.leave.Err() != nil {
			return false, errNotGraded
		}
		if err := g.play(ctx, session, text, ok); err != nil {
			return false, err
		}
		if c, ok, err = readCell(ctx, g.store, session); err != nil || !ok {
			return false, errors.Join(err, errNotGraded)
		}
	}
	g.pay(session, c)
	if !c.hasAnswer {
		return false, errNotGraded
	}
	words := gradePattern.FindAllString(c.answer, -1)
	return len(words) > 0 && words[len(words)-1] == "RIGHT", nil
}

// lock lets one goroutine at a time ask about an answer.
func (g *grader) lock(session string) (unlock func()) {
	g.mu.Lock()
	if g.busy[session] == nil {
		g.busy[session] = &sync.Mutex{}
	}
	mu := g.busy[session]
	g.mu.Unlock()
	mu.Lock()
	return mu.Unlock
}

// play asks the grader. goesOn reports whether the session has a turn, which is gone on with if it can be.
func (g *grader) play(ctx context.Context, session, text string, goesOn bool) (err error) {
	var turn *massgen.Turn
	own := context.WithoutCancel(ctx)
	if goesOn {
		if turn, err = g.panel.Continue(own, session); err != nil {
			turn, err = nil, g.store.Delete(own, session)
		}
	}
	if turn == nil && err == nil {
		turn, err = g.panel.Ask(own, session, text)
	}
	if err != nil {
		return err
	}
	_, err = turn.Wait(g.leave)
	if g.leave.Err() != nil {
		turn.Leave()
		_, _ = turn.Wait(own) // the turn is left, and nothing is graded
		return errNotGraded
	}
	if err != nil {
		return fmt.Errorf("ask the grader about %s: %w", plain.Line(session), err)
	}
	return nil
}

// score has the texts of a cell graded, or reads the grades that there are.
func (g *grader) score(ctx context.Context, q question, c cell) error {
	var texts []string
	if c.hasAnswer {
		texts = append(texts, c.answer)
	}
	for _, change := range c.changes {
		texts = append(texts, change.first, change.last)
	}
	for _, p := range c.picks {
		texts = append(texts, p.shown...)
	}
	slices.Sort(texts)
	for _, text := range slices.Compact(texts) {
		if _, err := g.isRight(ctx, q, text); err != nil && !errors.Is(err, errNotGraded) {
			return err
		}
	}
	return nil
}

// cost returns what all grades have cost.
func (g *grader) cost() evidence.Usage {
	sum := evidence.Usage{CostUSD: new(float64)}
	for _, session := range slices.Sorted(maps.Keys(g.spent)) {
		sum = sum.Plus(g.spent[session])
	}
	return sum
}

// pay counts what a grade has cost.
func (g *grader) pay(session string, c cell) {
	sum := evidence.Usage{CostUSD: new(float64)}
	for _, call := range c.calls {
		sum = sum.Plus(usageOf(call))
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.spent[session] = sum
}
