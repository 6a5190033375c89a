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
	"github.com/massgen/massgen/backends"
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
	// price returns the highest price of a call with so many bytes of input; nil if it is not known.
	price func(ctx context.Context, bytes int) *float64

	mu    sync.Mutex
	busy  map[string]*sync.Mutex // by session
	spent map[string]evidence.Usage
	// silent are the sessions whose reply is neither RIGHT nor WRONG.
	silent map[string]bool
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
	return &grader{model: model, store: store, busy: map[string]*sync.Mutex{}, spent: map[string]evidence.Usage{}, silent: map[string]bool{}}
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
	model, backend := r.models[agentOf{graderScore, config.Agents[0].ID}], config.Agents[0].Backend
	g.price = func(ctx context.Context, bytes int) *float64 {
		return mostOf(ctx, model, backend, backends.User(words(bytes)))
	}
	return nil
}

// inputs returns the inputs of the calls that grade an answer, in their order. The second is asked only if the
// grader says by the first that the answer is right.
func inputs(q question, answer string) []string {
	right, graded := part("The right answer", q.Expected), part("The answer to grade", answer)
	if q.Expected == "" {
		return []string{ask(q, graded)}
	}
	return []string{ask(q, right+graded), ask(q, graded+right)}
}

// isRight reports whether the grader says that an answer is right, in both orders.
func (g *grader) isRight(ctx context.Context, q question, answer string) (bool, error) {
	for _, text := range inputs(q, answer) {
		said, err := g.grade(ctx, text)
		if err != nil || !said {
			return false, err
		}
	}
	return true, nil
}

// missing counts the calls that an answer is still to be graded with, at most. It counts what the others have cost.
func (g *grader) missing(ctx context.Context, q question, answer string) (calls int, err error) {
	all := inputs(q, answer)
	for i, text := range all {
		session := g.session(text)
		c, ok, err := readCell(ctx, g.store, session)
		if err != nil {
			return 0, err
		}
		if ok {
			g.pay(session, c)
		}
		if !ok || !isGrade(c) {
			return len(all) - i, nil
		}
		if said, _ := verdictOf(c.answer); !said {
			return 0, nil
		}
	}
	return 0, nil
}

func isGrade(c cell) bool { return c.isOver && c.hasAnswer }

func ask(q question, parts string) string {
	return part("The question", q.Question) + parts + "Is the answer to grade right? End with the word RIGHT or WRONG."
}

func part(title, text string) string { return title + ":\n<<<\n" + text + "\n>>>\n\n" }

var (
	gradePattern = regexp.MustCompile(`\b(?:RIGHT|WRONG)\b`)
	lastWord     = regexp.MustCompile(`(?i)(?:^|\n)\W*(right|wrong)\W*$`) // in a line of its own
)

// verdictOf returns what a reply says of an answer. ok is false if it says neither.
func verdictOf(reply string) (right, ok bool) {
	if words := gradePattern.FindAllString(reply, -1); len(words) > 0 {
		return words[len(words)-1] == "RIGHT", true
	}
	if found := lastWord.FindStringSubmatch(reply); found != nil {
		return strings.EqualFold(found[1], "right"), true
	}
	return false, false
}

func (g *grader) session(text string) string {
	sum := sha256.Sum256([]byte(g.model + "\n" + text))
	return "compare-grade-" + hex.EncodeToString(sum[:8])
}

// grade asks the grader, unless it was asked before.
func (g *grader) grade(ctx context.Context, text string) (bool, error) {
	session := g.session(text)
	unlock := g.lock(session)
	defer unlock()
	c, ok, err := readCell(ctx, g.store, session)
	if err != nil {
		return false, err
	}
	if !ok || !isGrade(c) {
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
	right, ok := verdictOf(c.answer)
	if !ok {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.silent[session] = true
	}
	return right, nil
}

// cost returns what the grades have cost, each once.
func (g *grader) cost() evidence.Usage {
	g.mu.Lock()
	defer g.mu.Unlock()
	sum := evidence.Usage{CostUSD: new(float64)}
	for _, session := range slices.Sorted(maps.Keys(g.spent)) {
		sum = sum.Plus(g.spent[session])
	}
	return sum
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
	for _, text := range c.texts() {
		if _, err := g.isRight(ctx, q, text); err != nil && !errors.Is(err, errNotGraded) {
			return err
		}
	}
	return nil
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
