package configs

import (
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/massgen/massgen/internal/coordination/election"
	"github.com/massgen/massgen/internal/coordination/kernel"
)

// Voting says how votes are counted, what agents are shown, and how answers are checked. What the
// rules have as it is stands there.
type Voting struct {
	// Weights are weights of votes, by agent; an agent without one has the weight 1.
	Weights map[string]int
	// AnswerOrder is config or shuffled; empty means config. Seed is the seed of that and of drawn
	// peers; nil has each turn draw one.
	AnswerOrder string
	Seed        *int64
	Check       Check
}

// IsShuffled reports whether agents are shown answers in a drawn order.
func (v Voting) IsShuffled() bool { return v.AnswerOrder == orderShuffled }

// Check is a check of answers; the zero value is none.
type Check struct {
	Command []string
	Pattern string
	// Mode says what a failure means; empty means required.
	Mode kernel.CheckMode
	// Tries is how many answers of a step are checked; 0 means 2.
	Tries int
}

// IsSet reports whether answers are checked.
func (c Check) IsSet() bool { return len(c.Command) > 0 || c.Pattern != "" }

const (
	orderConfig   = "config"
	orderShuffled = "shuffled"
	defaultTries  = 2
	mostTries     = 10
)

// decisions returns the rules of voting.
func decisions() []election.Rule {
	return []election.Rule{
		election.AllVoted, election.Majority, election.Unanimous, election.Quorum, election.Approval, election.Ranked,
	}
}

// votingKeys are the keys about votes, peers and checks.
func votingKeys() []key[Orchestrator] {
	yes := func(field func(*Orchestrator) *bool) item[Orchestrator] { return value(boolean(), field).zero("") }
	return []key[Orchestrator]{
		{"quorum", value(quorumParser(), func(o *Orchestrator) *float64 { return &o.Rules.Quorum }).zero("")},
		{"weights", item[Orchestrator]{read: readWeights, show: func(o *Orchestrator) string { return weightsText(o.Weights) }}},
		{"ties", enum(func(o *Orchestrator) *election.Ties { return &o.Rules.Ties }, election.ByConfig, election.Earliest, election.ByJudge, election.NoTies)},
		{"stop_early", yes(func(o *Orchestrator) *bool { return &o.Rules.StopEarly })},
		{"both_orders", yes(func(o *Orchestrator) *bool { return &o.Rules.BothOrders })},
		{"answer_order", enum(func(o *Orchestrator) *string { return &o.AnswerOrder }, orderConfig, orderShuffled)},
		{"seed", optional(integer[int64](0, math.MaxInt64), func(o *Orchestrator) **int64 { return &o.Seed })},
		{"straggler_factor", value(number(1, 1000), func(o *Orchestrator) *float64 { return &o.Rules.StragglerFactor }).zero("")},
		{"peers", item[Orchestrator]{read: readPeers, show: func(o *Orchestrator) string { return peersText(o.Rules.Peers) }}},
		{"check", item[Orchestrator]{read: readCheck, show: func(o *Orchestrator) string { return o.Check.text() }}},
	}
}

func quorumParser() parser[float64] {
	return parser[float64]{"a whole number from 1 on, or a share between 0 and 1", func(s scalar) (float64, bool) {
		v, ok := s.float()
		return v, ok && (v > 0 && v < 1 || v >= 1 && v == math.Trunc(v) && v <= math.MaxInt32)
	}}
}

// readWeights reads a mapping of ids to weights.
func readWeights(r *reader, at string, n *yaml.Node, o *Orchestrator) {
	if isNull(n) {
		return
	}
	o.Weights = nil
	for _, e := range r.doc.entries(at, n) {
		path := join(at, e.key.Value)
		if w, ok := parseScalar(r, path, e.value, integer(1, election.MaxWeight)); ok {
			if o.Weights == nil {
				o.Weights = map[string]int{}
			}
			o.Weights[e.key.Value] = w
		}
	}
}

func weightsText(weights map[string]int) string {
	var parts []string
	for _, id := range slices.Sorted(maps.Keys(weights)) {
		parts = append(parts, fmt.Sprintf("%s %d", id, weights[id]))
	}
	return strings.Join(parts, ", ")
}

func peersSection() section[kernel.Peers] {
	return section[kernel.Peers]{keys: []key[kernel.Peers]{
		{"ring", value(integer(1, 100_000), func(p *kernel.Peers) *int { return &p.Ring })},
		{"random", value(integer(1, 100_000), func(p *kernel.Peers) *int { return &p.Random })},
	}}
}

// readPeers reads whose answers an agent is shown.
func readPeers(r *reader, at string, n *yaml.Node, o *Orchestrator) {
	if isNull(n) {
		return
	}
	o.Rules.Peers = kernel.Peers{}
	ok := readSection(r, at, n, peersSection(), &o.Rules.Peers)
	if p := o.Rules.Peers; ok && (p.Ring == 0) == (p.Random == 0) {
		r.doc.fail(n, "%s has either ring or random; write {ring: 2} or {random: 2}", at)
	}
}

func peersText(p kernel.Peers) string {
	switch {
	case p.Ring > 0:
		return fmt.Sprintf("the next %d", p.Ring)
	case p.Random > 0:
		return fmt.Sprintf("%d, drawn", p.Random)
	}
	return ""
}

func checkSection() section[Check] {
	return section[Check]{keys: []key[Check]{
		{"command", by(func(r *reader, at string, n *yaml.Node, c *Check) { c.Command = r.texts(at, n, textParser()) })},
		{"pattern", by(readCheckPattern)},
		{"mode", enum(func(c *Check) *kernel.CheckMode { return &c.Mode }, kernel.CheckRequired, kernel.CheckShown)},
		{"tries", value(integer(1, mostTries), func(c *Check) *int { return &c.Tries })},
	}}
}

// readCheck reads a check of answers.
func readCheck(r *reader, at string, n *yaml.Node, o *Orchestrator) {
	if isNull(n) {
		return
	}
	o.Check = Check{Mode: kernel.CheckRequired, Tries: defaultTries}
	ok := readSection(r, at, n, checkSection(), &o.Check)
	if c := o.Check; ok && (len(c.Command) == 0) == (c.Pattern == "") {
		r.doc.fail(n, "%s has either a command or a pattern; write {command: [go, test, ./...]} or {pattern: '…'}", at)
	}
}

func readCheckPattern(r *reader, at string, n *yaml.Node, c *Check) {
	text, ok := parseScalar(r, at, n, textParser())
	if !ok {
		return
	}
	if _, err := regexp.Compile(text); err != nil || text == "" {
		r.doc.fail(n, "%s is no regular expression of Go's package regexp: %v", at, err)
		return
	}
	c.Pattern = text
}

func (c Check) text() string {
	if !c.IsSet() {
		return ""
	}
	return fmt.Sprintf("%s, %s, %d tries", strings.Join(append(slices.Clone(c.Command), c.Pattern), " "), c.Mode, c.Tries)
}

// votingRules returns the rules of the keys about votes, peers and checks.
func votingRules() []strategyRule {
	decision := func(p *strategyPlan) string {
		if p.decider() != kernel.ByJudge && p.Rules.Decision == election.Quorum && p.Rules.Quorum == 0 {
			return "decision: quorum needs its number; add quorum:, a number of votes or a share such as 0.6"
		}
		return judged("decision")(p)
	}
	return []strategyRule{
		{"decision", decision, func(o, d *Orchestrator) { o.Rules.Decision = d.Rules.Decision }},
		{"self_vote", judged("self_vote"), func(o, d *Orchestrator) { o.Rules.SelfVote = d.Rules.SelfVote }},
		{"weights", (*strategyPlan).weightsFault, func(o, _ *Orchestrator) { o.Weights = nil }},
		{"quorum", (*strategyPlan).quorumFault, func(o, _ *Orchestrator) { o.Rules.Quorum = 0 }},
		{"stop_early", judged("stop_early"), func(o, _ *Orchestrator) { o.Rules.StopEarly = false }},
		{"both_orders", func(p *strategyPlan) string {
			if p.Rules.BothOrders && p.decider() != kernel.ByJudge {
				return "both_orders has a judge that decides judge twice, and no judge decides; set strategy: judge, or leave it out"
			}
			return ""
		}, func(o, _ *Orchestrator) { o.Rules.BothOrders = false }},
		{"ties", (*strategyPlan).tiesFault, func(o, _ *Orchestrator) { o.Rules.Ties = "" }},
		{"peers", (*strategyPlan).peersFault, func(o, _ *Orchestrator) { o.Rules.Peers = kernel.Peers{} }},
	}
}

// judged is the rule of a key about votes.
func judged(key string) func(p *strategyPlan) string {
	return func(p *strategyPlan) string {
		if p.decider() == kernel.ByJudge {
			return key + " has no effect with strategy judge, under which the judge decides; leave it out"
		}
		return ""
	}
}

func (p *strategyPlan) weightsFault() string {
	for _, id := range slices.Sorted(maps.Keys(p.Weights)) {
		if !slices.Contains(p.ids, id) {
			return fmt.Sprintf("weights names %s, and there is no such agent; the agents are %s", quoted(id), strings.Join(p.ids, ", "))
		}
	}
	return judged("weights")(p)
}

func (p *strategyPlan) quorumFault() string {
	sum := 0
	for _, w := range p.weightsInOrder() {
		sum += w
	}
	switch fault := judged("quorum")(p); {
	case fault != "":
		return fault
	case p.Rules.Decision != election.Quorum:
		return "quorum has no effect without decision: quorum; add that, or leave it out"
	case p.Rules.Quorum > float64(sum):
		return fmt.Sprintf("quorum is %v, and all votes together weigh %d; lower it", p.Rules.Quorum, sum)
	}
	return ""
}

// weightsInOrder returns the weight of each agent.
func (p *strategyPlan) weightsInOrder() []int {
	weights := make([]int, len(p.ids))
	for i, id := range p.ids {
		weights[i] = max(p.Weights[id], 1)
	}
	return weights
}

func (p *strategyPlan) tiesFault() string {
	switch {
	case p.decider() == kernel.ByJudge && !p.Rules.BothOrders:
		return "ties has no effect with strategy judge, which picks one answer; add both_orders: true, or leave it out"
	case p.Rules.Ties == election.ByJudge && !p.given["judge"] && !p.Deciding.isJudged(p.hasSchema):
		return "ties: judge needs a judge; add judge:, the id of an agent or {backend: {…}}"
	}
	return ""
}

func (p *strategyPlan) peersFault() string {
	peers, most := p.Rules.Peers, len(p.ids)-2
	k := max(peers.Ring, peers.Random)
	switch d := p.decider(); {
	case len(p.ids) == 1:
		return "peers are other agents, and there is one agent; add agents, or leave it out"
	case d == kernel.ByJudge || d == kernel.ByValue:
		return fmt.Sprintf("peers has no effect with strategy %s, under which nobody votes on what it is shown; leave it out", d)
	case p.Rules.Decision == election.Ranked:
		return "peers does not go with decision: ranked: an agent cannot rank what it is not shown; keep one"
	case k > most:
		return fmt.Sprintf("peers shows %d of %d agents, and may show from 1 to %d, the number of agents less two; leave it out to show all", k, len(p.ids), most)
	}
	return ""
}

// isJudged reports whether a judge is consulted.
func (p *strategyPlan) isJudged(hasSchema bool) bool {
	return p.Deciding.isJudged(hasSchema) || p.Rules.Ties == election.ByJudge
}

// resolveVoting puts weights and the check into the rules.
func (p *strategyPlan) resolveVoting() {
	if p.Rules.Weights = nil; len(p.Weights) > 0 {
		p.Rules.Weights = p.weightsInOrder()
	}
	p.Rules.Check = p.Check.Mode
}
