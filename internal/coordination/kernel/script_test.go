package kernel

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/massgen/massgen/internal/coordination/election"
	"github.com/massgen/massgen/internal/system/blob"
)

// TestRules plays the scripts of testdata/rules, one file for each rule. A script
// feeds events to a machine and shows the commands that follow. Times are in
// milliseconds; an event without one comes at the time of the event before it.
func TestRules(t *testing.T) {
	t.Parallel()
	datadriven.Walk(t, "testdata/rules", func(t *testing.T, path string) {
		s := &script{}
		datadriven.RunTest(t, path, s.run)
	})
}

// script is a machine and the time that its script has come to.
type script struct {
	m   *Machine
	now Time
}

func (s *script) run(t *testing.T, d *datadriven.TestData) string {
	switch d.Cmd {
	case "new":
		return s.start(t, d)
	case "state":
		return s.m.Describe()
	case "result":
		return s.result()
	case "reload":
		return s.reload(t, d)
	case "accepted", "counted":
		return s.last(t, d)
	}
	var at int64
	if d.MaybeScanArgs(t, "at", &at) {
		s.now = Time(at)
	}
	commands, err := s.m.Apply(s.event(t, d))
	if err != nil {
		return err.Error()
	}
	var b strings.Builder
	for _, c := range commands {
		fmt.Fprintln(&b, s.m.DescribeCommand(c))
	}
	if len(commands) == 0 {
		return "(nothing)"
	}
	return b.String()
}

// start makes a machine: new agents=(a,b,c), and any setting that differs from
// the defaults.
func (s *script) start(t *testing.T, d *datadriven.TestData) string {
	cfg := Defaults()
	durations := map[string]*time.Duration{
		"straggler_grace": &cfg.StragglerGrace, "first_round_limit": &cfg.FirstRoundLimit, "round_limit": &cfg.RoundLimit,
		"round_grace": &cfg.RoundGrace, "turn_limit": &cfg.TurnLimit, "consultation_limit": &cfg.ConsultationLimit,
	}
	for _, arg := range d.CmdArgs {
		var err error
		switch value := arg.Vals[0]; arg.Key {
		case "agents":
			cfg.Agents = arg.Vals
		case "pace":
			cfg.Pace = Pace(value)
		case "decision":
			cfg.Decision = election.Rule(value)
		case "final":
			cfg.Final = Strategy(value)
		case "decider":
			cfg.Decider = Decider(value)
		case "agree":
			cfg.Agree = Agreement(value)
		case "judge":
			cfg.Judge = value
		case "analysis":
			cfg.Analysis = true
		case "values":
			cfg.Values = true
		case "verdict_by_other":
			cfg.VerdictByOther = true
		case "stages": // each the agents' ids in one word
			for _, stage := range arg.Vals {
				var members []int
				for _, id := range strings.Split(stage, "") {
					members = append(members, slices.Index(cfg.Agents, id))
				}
				cfg.Stages = append(cfg.Stages, members)
			}
		case "check":
			cfg.Check = CheckMode(value)
		case "ties":
			cfg.Ties = election.Ties(value)
		case "stop_early":
			cfg.StopEarly = true
		case "both_orders":
			cfg.BothOrders = true
		case "quorum":
			_, err = fmt.Sscan(value, &cfg.Quorum)
		case "straggler_factor":
			_, err = fmt.Sscan(value, &cfg.StragglerFactor)
		case "ring":
			_, err = fmt.Sscan(value, &cfg.Peers.Ring)
		case "random":
			_, err = fmt.Sscan(value, &cfg.Peers.Random)
		case "weights":
			_, err = fmt.Sscan(strings.Join(arg.Vals, " "), weightsOf(&cfg, len(arg.Vals))...)
		case "max_rounds":
			_, err = fmt.Sscan(value, &cfg.MaxRounds)
		case "per_agent":
			_, err = fmt.Sscan(value, &cfg.MaxNewAnswersPerAgent)
		case "global":
			_, err = fmt.Sscan(value, &cfg.MaxNewAnswersGlobal)
		case "restarts":
			_, err = fmt.Sscan(value, &cfg.MaxRestarts)
		case "lead":
			_, err = fmt.Sscan(value, &cfg.LeadCap)
		case "self_vote":
			_, err = fmt.Sscan(value, &cfg.SelfVote)
		default:
			if durations[arg.Key] == nil {
				d.Fatalf(t, "unknown setting %s", arg.Key)
			}
			*durations[arg.Key], err = time.ParseDuration(value)
		}
		if err != nil {
			d.Fatalf(t, "%s: %v", arg.Key, err)
		}
	}
	m, err := New(cfg)
	if err != nil {
		return err.Error()
	}
	s.m, s.now = m, 0
	return "ok"
}

// weightsOf makes room for so many weights.
func weightsOf(cfg *Config, n int) (places []any) {
	cfg.Weights = make([]int, n)
	for i := range cfg.Weights {
		places = append(places, &cfg.Weights[i])
	}
	return places
}

func (s *script) event(t *testing.T, d *datadriven.TestData) Event {
	var text, reason, target string
	d.MaybeScanArgs(t, "text", &text)
	d.MaybeScanArgs(t, "reason", &reason)
	d.MaybeScanArgs(t, "for", &target)
	ref := blob.Ref{SHA256: text, Bytes: len(text)}
	switch d.Cmd {
	case "accept":
		return Opened{At: s.now}
	case "wake":
		return Woke{At: s.now}
	case "interrupt":
		return Interrupted{At: s.now}
	case "budget":
		return BudgetSpent{At: s.now}
	case "consulted":
		ev := Consulted{At: s.now, Same: d.HasArg("same"), Analysis: ref, Reason: reason}
		if target != "" {
			ev.Best = s.agent(target)
		}
		return ev
	case "presented":
		return Presented{At: s.now, Answer: ref, Reason: reason}
	}
	agent := s.agent(d.CmdArgs[0].Key)
	seen := 0
	if agent >= 0 && agent < len(s.m.s.Members) {
		seen = s.m.s.Members[agent].Seen
	}
	d.MaybeScanArgs(t, "seen", &seen)
	switch d.Cmd {
	case "answer":
		var value string
		d.MaybeScanArgs(t, "value", &value)
		return Answered{At: s.now, Agent: agent, Seen: seen, Answer: ref, Hash: text, Value: value, FailedCheck: d.HasArg("failed")}
	case "vote":
		ev := Voted{At: s.now, Agent: agent, Seen: seen, For: s.agent(target), Reason: reason}
		for _, arg := range d.CmdArgs {
			if arg.Key == "others" {
				for _, id := range arg.Vals {
					ev.Others = append(ev.Others, s.agent(id))
				}
			}
		}
		return ev
	case "out_of_turns":
		return OutOfTurns{At: s.now, Agent: agent, Seen: seen, Answer: ref, Hash: text, Reason: reason}
	case "abstain":
		return Abstained{At: s.now, Agent: agent, Seen: seen, Reason: reason}
	case "fail":
		return Failed{At: s.now, Agent: agent, Reason: reason}
	case "dismiss":
		return Dismissed{At: s.now, Agent: agent}
	case "stopped":
		return Stopped{At: s.now, Agent: agent}
	}
	d.Fatalf(t, "unknown command %s", d.Cmd)
	return nil
}

// last shows what became of an agent's last act: accepted a text=x, counted a.
func (s *script) last(t *testing.T, d *datadriven.TestData) string {
	var text string
	d.MaybeScanArgs(t, "text", &text)
	agent := s.agent(d.CmdArgs[0].Key)
	label, void := s.m.LastVote(agent)
	if d.Cmd == "accepted" {
		label, void = s.m.LastAnswer(agent, blob.Ref{SHA256: text, Bytes: len(text)})
	}
	return fmt.Sprintf("label=%q void=%q", label, void)
}

// agent is the index of an id; one that nobody has is out of range.
func (s *script) agent(id string) int {
	for i, have := range s.m.cfg.Agents {
		if have == id {
			return i
		}
	}
	if id == VerdictID {
		return len(s.m.cfg.Agents) + 1
	}
	return len(s.m.cfg.Agents)
}

func (s *script) result() string {
	r := s.m.Result()
	var b strings.Builder
	winner := "none"
	if r.Winner != nil {
		winner = s.m.Label(*r.Winner)
	}
	fmt.Fprintf(&b, "%s winner=%s text=%q rounds=%d", r.Status, winner, r.Text.SHA256, r.Rounds)
	if cfg := s.m.cfg; cfg.Quorum != 0 || cfg.Weights != nil || cfg.Decision == election.Approval || cfg.Decision == election.Ranked {
		fmt.Fprintf(&b, " agreement=%d/%d", r.Backing, r.Ballots)
	}
	b.WriteByte('\n')
	for _, a := range r.Answers {
		fmt.Fprintf(&b, "  answer %s of round %d\n", s.m.Label(a), a.Round)
	}
	fmt.Fprintf(&b, "  accepted in all: %d\n", len(r.All))
	for _, v := range r.Votes {
		fmt.Fprintf(&b, "  vote %s -> %s round=%d %s\n", s.m.cfg.Agents[v.Voter], v.Label, v.Round, v.Reason)
	}
	for _, v := range r.Void {
		fmt.Fprintf(&b, "  void %s -> %s round=%d: %s\n", s.m.cfg.Agents[v.Voter], v.Label, v.Round, v.Void)
	}
	for i, a := range r.Agents {
		fmt.Fprintf(&b, "  %s %s", s.m.cfg.Agents[i], a.State)
		if a.Reason != "" {
			fmt.Fprintf(&b, " (%s)", a.Reason)
		}
		b.WriteByte('\n')
	}
	if r.Stage > 0 {
		fmt.Fprintf(&b, "  stage %d\n", r.Stage)
	}
	if r.Analysis != (blob.Ref{}) {
		fmt.Fprintf(&b, "  analysis %q, judged=%t\n", r.Analysis.SHA256, r.Judged)
	}
	for _, w := range r.Warnings {
		fmt.Fprintf(&b, "  warning: %s\n", w)
	}
	return b.String()
}

// reload takes the machine through JSON; version=N changes the version on the
// way.
func (s *script) reload(t *testing.T, d *datadriven.TestData) string {
	data, err := json.Marshal(s.m)
	if err != nil {
		d.Fatalf(t, "%v", err)
	}
	var version string
	if d.MaybeScanArgs(t, "version", &version) {
		data = []byte(strings.Replace(string(data), `"version":1`, `"version":`+version, 1))
	}
	m := new(Machine)
	if err := json.Unmarshal(data, m); err != nil {
		return err.Error()
	}
	s.m = m
	return s.m.Describe()
}
