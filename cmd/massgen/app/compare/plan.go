package compare

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/configs"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/internal/models/attach"
	"github.com/massgen/massgen/internal/models/questions"
	"github.com/massgen/massgen/internal/system/plain"
)

// The names of strategies that are no strategies of a config.
const (
	membersName    = "members"
	samplesName    = "samples"
	synthesizeName = "synthesize"
)

// quickPreset has the stages of the strategy cascade where the config has none.
const quickPreset = "quick"

// mostSamples is how often a member is asked at most.
const mostSamples = 64

// plan is a comparison: its questions, and what answers them. It is stored beside the sessions, so that all
// figures can be computed again.
type plan struct {
	Format    int        `json:"format"`
	Questions []question `json:"questions"`
	Runs      int        `json:"runs"`
	Seed      uint64     `json:"seed"`
	Columns   []column   `json:"columns"`
	// Sharing are the ids of the agents whose first calls are shared by strategies.
	Sharing []string `json:"sharing"`
	// Score and Pattern are the flags --score and --answer-pattern, or the config's pattern.
	Score   string `json:"score"`
	Pattern string `json:"answer_pattern,omitempty"`
}

// planFormat is the value of plan.Format.
const planFormat = 1

// question is a question with the hash of all that belongs to it.
type question struct {
	ID       string          `json:"id"`
	Question string          `json:"question"`
	Expected string          `json:"expected,omitempty"`
	Hash     string          `json:"hash"`
	files    []backends.File // read when the comparison begins
}

// kind says what a column is.
type kind string

const (
	member   kind = "member"
	strategy kind = "strategy"
	samples  kind = "samples"
)

// column is one line of the table.
type column struct {
	Name  string `json:"name"`
	Kind  kind   `json:"kind"`
	Units []unit `json:"units"` // one, or the samples
	// equals is the member that samples are taken of.
	equals int
}

// unit is a panel that answers each question once in each run.
type unit struct {
	// Digest is that of the agents and the rules. Sample counts the samples of a member
	// from 1, and is 0 for any other unit.
	Digest string `json:"digest"`
	Sample int    `json:"sample,omitempty"`
	// Shares reports whether the panel's first calls are shared with other panels.
	Shares bool `json:"shares,omitempty"`
	config *configs.Config
}

// hash returns the hash of a cell: the answer of a unit to a question in a run.
func (p *plan) hash(u unit, q question, run int) [sha256.Size]byte {
	return sha256.Sum256(fmt.Appendf(nil, "%s %s %d %d %d", q.Hash, u.Digest, u.Sample, run, p.Seed))
}

// session returns the id of the session of a cell.
func (p *plan) session(u unit, q question, run int) string {
	sum := p.hash(u, q, run)
	return "compare-" + hex.EncodeToString(sum[:8])
}

// seed returns the seed of the orders and the peers that a turn draws.
func (p *plan) seed(u unit, q question, run int) uint64 {
	sum := p.hash(u, q, run)
	return binary.BigEndian.Uint64(sum[8:])
}

// seedOffset returns what is added to the seeds of the agents, so that runs and samples differ. The first
// run of the first seed has the config's own seeds.
func (p *plan) seedOffset(u unit, run int) int64 {
	const runs, all = 1000, 1_000_000
	return (int64(p.Seed)-1)*all + int64(run)*runs + int64(u.Sample)
}

// mostQuestionBytes is the size of the largest file of questions: 16 MiB.
const mostQuestionBytes = 16 << 20

// readQuestions reads the questions of a file, with their own files, whose paths are relative to its folder. The
// path may be @examples/NAME.
func readQuestions(file string, limit int) ([]question, error) {
	data, err := readFile(file)
	if err != nil {
		return nil, fmt.Errorf("cannot read the questions: %w", err)
	}
	list, err := questions.Parse(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", plain.Line(file), err)
	}
	if limit > 0 {
		list = list[:min(limit, len(list))]
	}
	all := make([]question, len(list))
	for i, q := range list {
		for at, path := range q.Files {
			if !filepath.IsAbs(path) {
				q.Files[at] = filepath.Join(filepath.Dir(file), path)
			}
		}
		if all[i], err = withFiles(q); err != nil {
			return nil, fmt.Errorf("%s: question %s: %w", plain.Line(file), plain.Line(q.ID), err)
		}
	}
	return all, nil
}

func readFile(file string) (data []byte, err error) {
	if name, isExample := strings.CutPrefix(file, "@examples/"); isExample {
		data, ok := configs.ReadExample(name)
		if !ok {
			return nil, fmt.Errorf("there is no example %s", plain.Line(name))
		}
		return data, nil
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	data, err = io.ReadAll(io.LimitReader(f, mostQuestionBytes+1))
	if err == nil && len(data) > mostQuestionBytes {
		err = fmt.Errorf("%s has more than %d bytes", plain.Line(file), mostQuestionBytes)
	}
	return data, err
}

func withFiles(q questions.Question) (question, error) {
	one := question{ID: q.ID, Question: q.Question, Expected: q.Expected}
	sum := sha256.New()
	_, _ = fmt.Fprintf(sum, "%q %q", q.Question, q.Expected) // a hash takes all
	for _, path := range q.Files {
		f, err := attach.Open(path)
		if err != nil {
			return one, err
		}
		one.files = append(one.files, f)
		_, _ = fmt.Fprintf(sum, " %q %x", f.Name, sha256.Sum256(f.Data)) // a hash takes all
	}
	one.Hash = hex.EncodeToString(sum.Sum(nil)[:16])
	return one, nil
}

// newPlan plans the strategies of a config.
func newPlan(config *configs.Config, list []question, f *flags) (*plan, error) {
	config = alone(config, f.pattern)
	p := &plan{
		Format: planFormat, Questions: list, Runs: f.runs, Seed: f.seed, Score: cmp.Or(f.score, exactScore), Pattern: config.Orchestrator.AnswerPattern,
		Columns: []column{}, Sharing: sharing(config),
	}
	names := strings.Split(f.strategies, ",")
	if f.strategies == "" {
		names = defaults(config)
	}
	for _, name := range names {
		name = strings.TrimSpace(name)
		if err := p.add(config, name, f); err != nil {
			return nil, fmt.Errorf("--strategies: %s: %w", plain.Line(name), err)
		}
	}
	return p, nil
}

// scorer returns the scorer of the questions.
func (p *plan) scorer() (*scorer, error) {
	how, err := newScorer(p.Score, p.Pattern)
	if err != nil {
		return nil, err
	}
	for _, q := range p.Questions {
		if err := how.check(q); err != nil {
			return nil, fmt.Errorf("question %s: %w", plain.Line(q.ID), err)
		}
	}
	return how, nil
}

// checkRead returns an error for a plan that was read from a file and that no comparison has written.
func (p *plan) checkRead() error {
	switch {
	case p.Format != planFormat:
		return fmt.Errorf("its format is %d, and this program reads %d", p.Format, planFormat)
	case p.Runs < 1 || p.Runs > mostRuns:
		return fmt.Errorf("it has %d runs", p.Runs)
	case len(p.Questions) == 0 || len(p.Columns) == 0:
		return errors.New("it has no questions or no columns")
	}
	for _, c := range p.Columns {
		isKnown := slices.Contains([]kind{member, strategy, samples}, c.Kind)
		if !isKnown || len(c.Units) == 0 {
			return fmt.Errorf("its column %s has no kind or no units", plain.Line(c.Name))
		}
	}
	return nil
}

// defaults returns the strategies that are compared unless others are named.
func defaults(config *configs.Config) []string {
	names := []string{membersName}
	if len(config.Agents) > 1 {
		names = append(names, string(kernel.Blind), string(kernel.Consensus))
		if config.Orchestrator.AnswerPattern != "" {
			names = append(names, string(kernel.ByValue))
		}
	}
	return names
}

// alone returns the config without what carries over from one question to another, and with the pattern
// of the flag.
func alone(config *configs.Config, pattern string) *configs.Config {
	c := *config
	c.Topic.Made, c.Memory.Made = false, false
	if pattern == "" {
		return &c
	}
	return c.WithPattern(pattern)
}

// sharing returns the agents that have no tools: the same request has the same meaning in each panel.
func sharing(config *configs.Config) []string {
	ids := []string{}
	if config.Orchestrator.Check.IsSet() {
		return ids
	}
	for i, a := range config.Agents {
		t := a.Tools
		if t.CWD == "" && len(config.ContextPaths(i)) == 0 && len(t.Servers) == 0 && len(config.Servers) == 0 && !a.Backend.Params.Hosted.Any() {
			ids = append(ids, a.ID)
		}
	}
	return ids
}

// add adds the columns of a strategy.
func (p *plan) add(config *configs.Config, name string, f *flags) error {
	switch name {
	case membersName, samplesName:
		for i := range config.Agents {
			u, err := newUnit(memberOf(config, i), false)
			if err != nil {
				return err
			}
			c := column{Name: config.Agents[i].ID, Kind: member, Units: []unit{u}, equals: i}
			if name == samplesName {
				c.Name, c.Kind = samplesName+":"+c.Name, samples
				c.sample(f.samples)
			}
			if err := p.append(c); err != nil {
				return err
			}
		}
		return nil
	}
	with, err := decided(config, name)
	if err != nil {
		return err
	}
	u, err := newUnit(with, true)
	if err != nil {
		return err
	}
	return p.append(column{Name: name, Kind: strategy, Units: []unit{u}})
}

func (p *plan) append(c column) error {
	if slices.ContainsFunc(p.Columns, func(other column) bool { return other.Name == c.Name }) {
		return errors.New("it is named twice, or is the id of an agent, too: name it once")
	}
	p.Columns = append(p.Columns, c)
	return nil
}

// sample sets how many samples a column has.
func (c *column) sample(n int) {
	first := c.Units[0]
	c.Units = nil
	for i := range n {
		first.Sample = i + 1
		c.Units = append(c.Units, first)
	}
}

// memberOf returns a config with one of the agents, which answers alone.
func memberOf(config *configs.Config, i int) *configs.Config {
	c := *config
	c.Agents = config.Agents[i : i+1]
	rules := kernel.Defaults()
	own := config.Orchestrator
	rules.TurnLimit, rules.RoundGrace, rules.Check = own.Rules.TurnLimit, own.Rules.RoundGrace, own.Rules.Check
	c.Orchestrator.Rules, c.Orchestrator.Deciding, c.Orchestrator.Voting = rules, configs.Deciding{}, configs.Voting{Check: own.Check}
	return &c
}

// decided returns a config that decides by a strategy or a preset.
func decided(config *configs.Config, name string) (*configs.Config, error) {
	if len(config.Agents) < 2 {
		return nil, errors.New("the config has one agent, which nobody votes with: leave the strategy out, or add agents")
	}
	base, final := name, kernel.WinnerReuse
	if name == synthesizeName {
		base, final = string(kernel.ByJudge), kernel.SynthesizeByJudge
	}
	switch base {
	case string(kernel.ByJudge):
		with, err := config.WithPreset("", base)
		if err == nil {
			with.Orchestrator.Rules.Final = final
		}
		return with, err
	case kernel.Cascade:
		if len(config.Orchestrator.Stages) == 0 {
			return config.WithPreset(quickPreset, "")
		}
		return config.WithPreset("", base)
	case string(kernel.Consensus), string(kernel.Blind), string(kernel.ByValue):
		return config.WithPreset("", base)
	}
	return config.WithPreset(name, "")
}

func newUnit(config *configs.Config, shares bool) (unit, error) {
	digest, err := config.Digest()
	if err != nil {
		return unit{}, err
	}
	rules, err := plain.JSON(config.Orchestrator.Rules)
	if err != nil {
		return unit{}, err
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %s", digest, rules))
	return unit{Digest: hex.EncodeToString(sum[:8]), Shares: shares, config: config}, nil
}
