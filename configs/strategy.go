package configs

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/massgen/massgen/internal/coordination/kernel"
)

// Deciding says how a turn is decided.
type Deciding struct {
	// Strategy is consensus, blind, majority, judge or cascade; empty means consensus.
	Strategy string
	// Stages are the stages of a cascade: ids of agents, or allAgents. Agree says when a stage agrees,
	// and Then which strategy follows the last one. Both may be empty.
	Stages [][]string
	Agree  kernel.Agreement
	Then   kernel.Decider
	Judge  Judge
	// Verdict gives the verdicts. If it names no model, the judge does.
	Verdict Backend
	// Final says whether the judge selects the answer or synthesizes one; empty means select.
	Final string
	// Analysis has the judge compare the answers after an election.
	Analysis bool
	// AnswerPattern finds the value of an answer; empty for none.
	AnswerPattern string
}

// Judge is consulted about the answers.
type Judge struct {
	// Agent is the id of an agent. If it is empty and Backend names no model, it is the first agent's.
	Agent string
	// SystemMessage and Backend are those of a judge outside of the panel.
	SystemMessage string
	Backend       Backend
	// Limit is the longest time of a consultation.
	Limit time.Duration
}

// IsOutside reports whether the judge is no agent of the panel.
func (j Judge) IsOutside() bool { return namesModel(j.Backend) }

const (
	allAgents         = "all"
	finalSelect       = "select"
	finalSynthesize   = "synthesize"
	consultationLimit = 300 * time.Second
)

func strategies() []string {
	return []string{string(kernel.Consensus), string(kernel.Blind), string(kernel.ByValue), string(kernel.ByJudge), kernel.Cascade}
}

// decidingKeys are the keys of Deciding.
func decidingKeys() []key[Deciding] {
	final := enum(func(d *Deciding) *string { return &d.Final }, finalSelect, finalSynthesize)
	return []key[Deciding]{
		{"strategy", enum(func(d *Deciding) *string { return &d.Strategy }, strategies()...)},
		{"cascade", item[Deciding]{read: readCascade, show: func(d *Deciding) string { return stagesText(d.Stages) }}},
		{"agree", enum(func(d *Deciding) *kernel.Agreement { return &d.Agree }, kernel.AgreeByText, kernel.AgreeByVerdict)},
		{"then", item[Deciding]{read: readThen, show: func(d *Deciding) string { return string(d.Then) }}},
		{"judge", item[Deciding]{read: readJudge, show: func(d *Deciding) string { return d.Judge.Agent }}},
		{"verdict", mapping(verdictSection, func(d *Deciding) *Deciding { return d })},
		{"final", final},
		{"analysis", value(boolean(), func(d *Deciding) *bool { return &d.Analysis }).zero("")},
		{"answer_pattern", item[Deciding]{read: readAnswerPattern, show: func(d *Deciding) string { return d.AnswerPattern }}},
	}
}

func judgeSection() section[Judge] {
	return section[Judge]{keys: []key[Judge]{
		{"backend", by(func(r *reader, at string, n *yaml.Node, j *Judge) { r.callBackend(at, n, &j.Backend) })},
		{"system_message", text(func(j *Judge) *string { return &j.SystemMessage })},
		{"limit", value(duration(), func(j *Judge) *time.Duration { return &j.Limit })},
	}}
}

func verdictSection() section[Deciding] {
	return section[Deciding]{keys: []key[Deciding]{
		{"backend", by(func(r *reader, at string, n *yaml.Node, d *Deciding) { r.callBackend(at, n, &d.Verdict) })},
	}}
}

// readJudge reads the id of an agent, or a judge outside of the panel.
func readJudge(r *reader, at string, n *yaml.Node, d *Deciding) {
	if isNull(n) {
		return
	}
	d.Judge = Judge{Limit: consultationLimit}
	if deref(n).Kind == yaml.MappingNode {
		readSection(r, at, n, judgeSection(), &d.Judge)
		if d.Judge.SystemMessage != "" && !d.Judge.IsOutside() {
			r.doc.fail(n, "%s has a system_message and no backend; give it a backend, or put the message into the agent's", at)
		}
		return
	}
	if id, ok := parseScalar(r, at, n, textParser()); ok {
		d.Judge.Agent = id
	}
}

func readThen(r *reader, at string, n *yaml.Node, d *Deciding) {
	name, ok := parseScalar(r, at, n, textParser())
	switch {
	case !ok:
	case name == kernel.Cascade:
		r.doc.fail(n, "%s is cascade; another strategy must decide when no stage has agreed", at)
	case !slices.Contains(strategies(), name):
		r.doc.fail(n, "%s is %s; it must be one of %s", at, quoted(name), strings.Join(strategies()[:4], ", "))
	default:
		d.Then = kernel.Decider(name)
	}
}

// readAnswerPattern reads a regular expression, whose text may have any signs.
func readAnswerPattern(r *reader, at string, n *yaml.Node, d *Deciding) {
	text, ok := parseScalar(r, at, n, textParser())
	if !ok {
		return
	}
	if _, err := regexp.Compile(text); err != nil || text == "" {
		r.doc.fail(n, "%s is no regular expression of Go's package regexp: %v", at, err)
		return
	}
	d.AnswerPattern = text
}

// readCascade reads the stages, each a list of ids or the word all.
func readCascade(r *reader, at string, n *yaml.Node, d *Deciding) {
	d.Stages = nil
	const wanted = "a list of stages, each a list of agents' ids or the word all"
	for i, stage := range r.doc.list(at, n, wanted) {
		path := fmt.Sprintf("%s[%d]", at, i)
		if deref(stage).Kind == yaml.ScalarNode {
			if word, ok := parseScalar(r, path, stage, textParser()); ok && word == allAgents {
				d.Stages = append(d.Stages, []string{allAgents})
			} else if ok {
				r.doc.fail(stage, "%s is %s; a stage is a list of agents' ids or the word all", path, quoted(word))
			}
			continue
		}
		d.Stages = append(d.Stages, r.texts(path, stage, textParser()))
	}
}

func stagesText(stages [][]string) string {
	var parts []string
	for _, stage := range stages {
		parts = append(parts, strings.Join(stage, " "))
	}
	return strings.Join(parts, ", ")
}

// decider returns the strategy that decides over all first answers.
func (d Deciding) decider() kernel.Decider {
	if d.Strategy != kernel.Cascade {
		return kernel.Decider(d.Strategy)
	}
	if d.Then == "" {
		return kernel.Consensus
	}
	return d.Then
}

// agreement returns when a stage agrees.
func (d Deciding) agreement(hasSchema bool) kernel.Agreement {
	switch {
	case d.Agree != "":
		return d.Agree
	case d.AnswerPattern != "" || hasSchema:
		return kernel.AgreeByText
	}
	return kernel.AgreeByVerdict
}

// isJudged reports whether a judge is consulted.
func (d Deciding) isJudged(hasSchema bool) bool {
	asksForVerdict := d.Strategy == kernel.Cascade && d.agreement(hasSchema) == kernel.AgreeByVerdict && !namesModel(d.Verdict)
	return d.decider() == kernel.ByJudge || d.Analysis || asksForVerdict
}

// strategyRule says when a key of the orchestrator means nothing beside the strategy.
type strategyRule struct {
	key string
	// fault returns why, "" if it means something.
	fault func(p *strategyPlan) string
	// reset sets the default of the key.
	reset func(o, standard *Orchestrator)
}

// strategyPlan is an orchestrator with the agents that it is for.
type strategyPlan struct {
	*Orchestrator
	ids       []string
	hasSchema bool
	given     map[string]bool // keys of the orchestrator
}

// strategyRules returns the rules of all keys, in the order in which faults are looked for.
func strategyRules() []strategyRule {
	rules := []strategyRule{
		{"strategy", (*strategyPlan).strategyFault, func(o, d *Orchestrator) { o.Strategy = d.Strategy }},
		{"pace", func(p *strategyPlan) string {
			if p.Rules.Pace == kernel.PaceEager && p.Strategy != "" && p.Strategy != string(kernel.Consensus) {
				return fmt.Sprintf("pace: eager has no effect with strategy %s, whose first answers are all given before anything is decided; leave it out", p.Strategy)
			}
			if p.Rules.Pace == kernel.PaceEager && p.Rules.Peers != (kernel.Peers{}) {
				return "pace: eager does not go with peers, who are chosen for a round; leave it out"
			}
			return ""
		}, func(o, d *Orchestrator) { o.Rules.Pace = d.Rules.Pace }},
		{"cascade", (*strategyPlan).cascadeFault, func(o, _ *Orchestrator) { o.Stages = nil }},
		{"agree", onlyInCascades("agree"), func(o, _ *Orchestrator) { o.Agree = "" }},
		{"then", onlyInCascades("then"), func(o, _ *Orchestrator) { o.Then = "" }},
		{"verdict", (*strategyPlan).verdictFault, func(o, _ *Orchestrator) { o.Verdict = Backend{} }},
		{"analysis", func(p *strategyPlan) string {
			if p.Analysis && len(p.ids) == 1 {
				return "analysis compares answers, and there is one agent; add an agent, or leave it out"
			}
			return ""
		}, func(o, _ *Orchestrator) { o.Analysis = false }},
		{"judge", (*strategyPlan).judgeFault, func(o, _ *Orchestrator) { o.Judge = Judge{} }},
		{"final", func(p *strategyPlan) string {
			if p.decider() != kernel.ByJudge {
				return "final says what a judge does that decides, and no judge decides; set strategy: judge, or leave it out"
			}
			return ""
		}, func(o, _ *Orchestrator) { o.Final = "" }},
		{"final_answer_strategy", func(p *strategyPlan) string {
			if p.given["final"] {
				return "final_answer_strategy stands beside final, which says the same of a judge; keep one"
			}
			return ""
		}, func(o, d *Orchestrator) { o.Rules.Final = d.Rules.Final }},
	}
	rules = append(rules, improving("max_rounds", func(o, d *Orchestrator) { o.Rules.MaxRounds = d.Rules.MaxRounds }),
		improving("max_new_answers_per_agent", func(o, d *Orchestrator) { o.Rules.MaxNewAnswersPerAgent = d.Rules.MaxNewAnswersPerAgent }),
		improving("max_new_answers_global", func(o, d *Orchestrator) { o.Rules.MaxNewAnswersGlobal = d.Rules.MaxNewAnswersGlobal }),
		improving("answer_novelty_requirement", func(o, d *Orchestrator) {
			o.AnswerNoveltyRequirement, o.Limits.MaxOverlap = d.AnswerNoveltyRequirement, d.Limits.MaxOverlap
		}),
	)
	return append(rules, votingRules()...)
}

func (p *strategyPlan) strategyFault() string {
	switch {
	case len(p.ids) == 1 && p.Strategy != "" && p.Strategy != string(kernel.Consensus):
		return fmt.Sprintf("strategy %s needs at least two agents; add one, or leave it out", p.Strategy)
	case p.Strategy == kernel.Cascade && len(p.Stages) == 0:
		return "strategy cascade needs its stages; add cascade:, such as [[a, b], all]"
	case p.decider() == kernel.ByValue && p.AnswerPattern == "" && !p.hasSchema:
		return "strategy majority counts equal values; add answer_pattern:, a regular expression that finds the value of an answer, or ask with a schema"
	case p.isJudged(p.hasSchema) && p.hasAgent(kernel.JudgeID):
		return fmt.Sprintf("an agent has the id %s, which is the judge's; rename the agent", kernel.JudgeID)
	case p.Strategy == kernel.Cascade && namesModel(p.Verdict) && p.hasAgent(kernel.VerdictID):
		return fmt.Sprintf("an agent has the id %s, which is that of the verdict's model; rename the agent", kernel.VerdictID)
	}
	return ""
}

// hasAgent reports whether an agent has an id, in capital letters or not.
func (p *strategyPlan) hasAgent(id string) bool {
	return slices.ContainsFunc(p.ids, func(own string) bool { return strings.EqualFold(own, id) })
}

func onlyInCascades(key string) func(*strategyPlan) string {
	return func(p *strategyPlan) string {
		if p.Strategy != kernel.Cascade {
			return key + " has no effect without strategy: cascade; add that, or leave it out"
		}
		return ""
	}
}

func (p *strategyPlan) cascadeFault() string {
	if fault := onlyInCascades("cascade")(p); fault != "" {
		return fault
	}
	asked := map[string]bool{}
	for i, stage := range p.stages() {
		isNew, in := false, map[string]bool{}
		for _, id := range stage {
			if !slices.Contains(p.ids, id) {
				return fmt.Sprintf("stage %d of the cascade names %s, and there is no such agent; the agents are %s", i+1, quoted(id), strings.Join(p.ids, ", "))
			}
			if in[id] {
				return fmt.Sprintf("stage %d of the cascade names %s twice; name it once", i+1, id)
			}
			isNew, in[id] = isNew || !asked[id], true
			asked[id] = true
		}
		switch {
		case len(stage) < 2 && !p.Check.IsSet():
			return fmt.Sprintf("stage %d of the cascade has one agent, and could never agree; name two or more, or add check:", i+1)
		case !isNew:
			return fmt.Sprintf("stage %d of the cascade asks no agent that an earlier stage has not asked; leave it out", i+1)
		}
	}
	for _, id := range p.ids {
		if !asked[id] {
			return fmt.Sprintf("agent %s is in no stage of the cascade; end it with the stage all", id)
		}
	}
	return ""
}

// stages returns the ids of each stage.
func (p *strategyPlan) stages() [][]string {
	list := make([][]string, len(p.Stages))
	for i, stage := range p.Stages {
		if list[i] = stage; len(stage) == 1 && stage[0] == allAgents {
			list[i] = p.ids
		}
	}
	return list
}

func (p *strategyPlan) verdictFault() string {
	if fault := onlyInCascades("verdict")(p); fault != "" {
		return fault
	}
	if p.agreement(p.hasSchema) != kernel.AgreeByVerdict {
		return "verdict has no effect where answers agree by their texts; add agree: verdict, or leave it out"
	}
	return ""
}

func (p *strategyPlan) judgeFault() string {
	switch id := p.Judge.Agent; {
	case !p.isJudged(p.hasSchema):
		return "nothing asks the judge; set strategy: judge, analysis: true or ties: judge, or leave it out"
	case id != "" && !slices.Contains(p.ids, id):
		return fmt.Sprintf("judge names %s, and there is no such agent; the agents are %s, and a judge beside them has a backend", quoted(id), strings.Join(p.ids, ", "))
	}
	return ""
}

// improving is the rule of a key about answers that are improved.
func improving(key string, reset func(o, standard *Orchestrator)) strategyRule {
	return strategyRule{key, func(p *strategyPlan) string {
		switch d := p.decider(); d {
		case kernel.Blind, kernel.ByValue, kernel.ByJudge:
			return fmt.Sprintf("%s has no effect with strategy %s, under which nobody improves an answer; leave it out", key, d)
		}
		return ""
	}, reset}
}

// checkStrategy reports what means nothing beside the strategy, each with its line.
func (k *checker) checkStrategy() {
	c := k.config
	if len(c.Agents) == 0 {
		return
	}
	p := c.plan(&c.Orchestrator)
	for _, rule := range strategyRules() {
		n := k.places["orchestrator."+rule.key]
		if rule.key == "strategy" && !p.given["strategy"] && p.given["analysis"] { // a judge is needed for that too
			n = k.places["orchestrator.analysis"]
		} else if !p.given[rule.key] {
			continue
		}
		if fault := rule.fault(p); fault != "" {
			k.fail(n, "%s", fault)
		}
	}
	if agree := k.places["orchestrator.agree"]; p.Agree == kernel.AgreeByText && p.AnswerPattern == "" && !p.hasSchema {
		k.warn(agree, "orchestrator.agree: text without answer_pattern: a stage agrees only if its answers are the same text")
	}
	if judge := p.isJudged(p.hasSchema) && !p.Judge.IsOutside(); judge && len(k.issues) == 0 {
		n := k.places["orchestrator.judge"]
		if n == nil {
			n = k.places["orchestrator.strategy"]
		}
		if n == nil {
			n = k.places["orchestrator.analysis"]
		}
		k.remark(n, "the judge is %s, whose answer it judges too; a judge of another provider prefers none: judge: {backend: {…}}", p.judgeID())
	}
}

// plan returns an orchestrator with the agents of the config.
func (c *Config) plan(o *Orchestrator) *strategyPlan {
	p := &strategyPlan{Orchestrator: o, hasSchema: c.layers.hasSchema, given: c.layers.given}
	for _, a := range c.Agents {
		p.ids = append(p.ids, a.ID)
	}
	return p
}

// judgeID returns the id of the judge.
func (p *strategyPlan) judgeID() string {
	switch {
	case p.Judge.IsOutside():
		return kernel.JudgeID
	case p.Judge.Agent != "":
		return p.Judge.Agent
	}
	return p.ids[0]
}

// resolve puts the strategy into the rules.
func (p *strategyPlan) resolve() {
	if p.isJudged(p.hasSchema) && p.Judge.Limit == 0 {
		p.Judge.Limit = consultationLimit
	}
	rules := &p.Rules
	rules.Decider, rules.Analysis = p.decider(), p.Analysis
	p.resolveVoting()
	if p.isJudged(p.hasSchema) {
		rules.Judge = p.judgeID()
	}
	if rules.Judge != "" || namesModel(p.Verdict) {
		rules.ConsultationLimit = p.Judge.Limit
	}
	if p.Strategy == kernel.Cascade {
		rules.Stages = nil
		for _, stage := range p.stages() {
			var indices []int
			for _, id := range stage {
				indices = append(indices, slices.Index(p.ids, id))
			}
			rules.Stages = append(rules.Stages, indices)
		}
		rules.Agree, rules.VerdictByOther = p.agreement(p.hasSchema), namesModel(p.Verdict)
		if rules.VerdictByOther && rules.ConsultationLimit == 0 {
			rules.ConsultationLimit = consultationLimit
		}
	}
	if p.Final == finalSynthesize {
		rules.Final = kernel.SynthesizeByJudge
	}
}
