package report_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/coordinator/report"
	"github.com/massgen/massgen/internal/coordination/budget"
	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/internal/coordination/policy"
	"github.com/massgen/massgen/internal/coordination/turn"
)

// TestScripts plays the turns of testdata/turns, one topic a file: the journal goes in, events and
// results come out. The commands:
//
//	accept agents=(ada,bob) workspace=ada step=ada warn=ada max_calls= aside=summary
//	       of which ada has a workspace, small steps, and a context that is nearly full
//	reply AGENT [truncated fallback]       with a line for each part of the message:
//	       text WORDS | answer WORDS | vote AGENT REASON | tool NAME ARGUMENTS | asked NAME ARGUMENTS | denied NAME ARGUMENTS
//	       The purpose of a sidecall stands in the agent's place.
//	fail AGENT KIND                        with the text that had come as input
//	result AGENT [error]                   of the agent's first tool under way, with the text as input
//	kept AGENT [error]                     with the folder, or why not, as input
//	tools AGENT NAME ...                   the agent's tools from now on
//	decide yes | no
//	reserve AGENT | settle AGENT
//	note WORDS | interrupt | pause | unpause | resume | dismiss AGENT
//	outcome FIELD ...                      prints fields of the result
//	journal                                prints what the journal has beside the result
//
// Each event takes at=SECONDS since the turn began; time stands still without it. What is
// told of an event is printed as JSON, behind its kind.
func TestScripts(t *testing.T) {
	t.Parallel()
	datadriven.Walk(t, "testdata/turns", func(t *testing.T, path string) {
		s := &script{}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			s.t, s.d = t, d
			return s.run()
		})
	})
}

type script struct {
	*world
	t *testing.T
	d *datadriven.TestData
}

func (s *script) run() string {
	switch s.d.Cmd {
	case "accept":
		s.world = newWorld(s.arg("agents")...)
	case "outcome":
		r, err := s.report.Result(report.Unjournaled{Duration: 7 * time.Second, Repairs: []string{"turn 1 was repaired"}})
		return s.fields(r, err, s.words())
	case "journal":
		shown, err := report.Project(s.journal, source())
		if err != nil {
			s.t.Fatal(err)
		}
		kept, err := shown.Record()
		work := struct {
			report.Record
			Final agents.Snapshot
		}{kept, kept.Final}
		return s.fields(work, err, []string{"answers", "votes", "void_votes", "tool_calls", "partials", "notes", "Final"})
	}
	var seconds float64
	if s.d.MaybeScanArgs(s.t, "at", &seconds) {
		s.at = kernel.Time(1000 + 1000*seconds)
	}
	told, err := s.apply(s.event())
	if err != nil {
		return "error: " + err.Error()
	}
	var b strings.Builder
	for _, ev := range told {
		b.WriteString(line(ev))
	}
	return b.String()
}

// fields prints the JSON of fields of a value.
func (s *script) fields(v any, err error, names []string) string {
	if err != nil {
		return "error: " + err.Error()
	}
	var b strings.Builder
	all := map[string]json.RawMessage{}
	if err := json.Unmarshal([]byte(jsonRef(v).SHA256), &all); err != nil {
		s.t.Fatal(err)
	}
	for _, name := range names {
		fmt.Fprintf(&b, "%s: %s\n", name, all[name])
	}
	return b.String()
}

func (s *script) event() turn.Event {
	switch s.d.Cmd {
	case "accept":
		return s.begun()
	case "reply":
		return turn.ModelDone{At: s.at, Key: s.key(isModel), Reply: s.message()}
	case "fail":
		return turn.ModelDone{At: s.at, Key: s.key(isModel), Reply: failed(s.words()[1], strings.TrimSpace(s.d.Input))}
	case "result", "kept":
		key := s.key(func(e effect.Effect) bool { return !isModel(e) })
		reply := effect.ToolReply{Result: ref(strings.TrimSpace(s.d.Input)), Error: s.d.HasArg("error")}
		if s.d.Cmd == "kept" && !reply.Error {
			reply = kept(strings.TrimSpace(s.d.Input))
		}
		reply.Index = key.Index
		return turn.ToolDone{At: s.at, Key: key, Reply: reply}
	case "tools":
		return turn.ToolsChanged{At: s.at, Agent: s.agent(s.words()[0]), Tools: tools(s.words()[1:]...)}
	case "decide":
		return turn.Decided{At: s.at, Key: s.ask.Key, Allow: s.d.HasArg("yes"), Reason: "the user said no"}
	case "reserve":
		return turn.Reserving{At: s.at, Key: s.key(isModel), Most: budget.Amount{Calls: 1, Tokens: 100}}
	case "settle":
		return turn.Settled{At: s.at, Key: s.key(isModel), Spent: &budget.Amount{Calls: 1, Tokens: 12}}
	case "note":
		return turn.Noted{At: s.at, Note: ref(strings.Join(s.words(), " "))}
	case "interrupt":
		return kernel.Interrupted{At: s.at}
	case "pause":
		return turn.Paused{At: s.at}
	case "unpause":
		return turn.Unpaused{At: s.at}
	case "dismiss":
		return kernel.Dismissed{At: s.at, Agent: s.agent(s.words()[0])}
	case "resume":
		return turn.Resumed{At: s.at}
	}
	s.d.Fatalf(s.t, "unknown command")
	return nil
}

func (s *script) begun() turn.Accepted {
	accepted := s.accepted()
	for i, id := range s.ids {
		agent := &accepted.Turn.Agents[i]
		agent.Workspace = slices.Contains(s.arg("workspace"), id)
		if slices.Contains(s.arg("step"), id) {
			agent.Step = &policy.StepLimits{Kind: policy.Prune, Messages: 2, Keep: 1, FirstTokens: 97, Window: 100}
		}
		if slices.Contains(s.arg("warn"), id) {
			s.report.SetWarnings([]report.AgentContextWarning{{Agent: id, ContextWarning: report.ContextWarning{
				SessionID: "s", MessageCount: 9, EstimatedTokens: 90, Window: 100, Warning: policy.ApproachingLimit,
			}}})
		}
	}
	for _, purpose := range s.arg("aside") {
		accepted.Turn.Sidecalls = append(accepted.Turn.Sidecalls, effect.Sidecall{Purpose: effect.Purpose(purpose)})
	}
	for _, most := range s.arg("max_calls") {
		n, err := strconv.Atoi(most)
		if err != nil {
			s.t.Fatal(err)
		}
		accepted.Budget.Calls = &n
	}
	return accepted
}

func (s *script) message() effect.ModelReply {
	var calls []call
	text := ""
	for part := range strings.Lines(s.d.Input) {
		kind, rest, _ := strings.Cut(strings.TrimSpace(part), " ")
		first, words, _ := strings.Cut(rest, " ")
		switch kind {
		case "text":
			text = rest
		case "answer":
			calls = append(calls, call{name: effect.NewAnswer, text: rest})
		case "vote":
			calls = append(calls, call{name: effect.Vote, target: s.agent(first), text: words})
		case "tool":
			calls = append(calls, call{name: first, text: words})
		case "asked":
			calls = append(calls, call{name: first, text: words, permission: effect.Asked})
		case "denied":
			calls = append(calls, call{name: first, text: words, permission: effect.Denied})
		}
	}
	reply := s.reply(text, calls...)
	reply.Truncated = s.d.HasArg("truncated")
	s.d.MaybeScanArgs(s.t, "finish", &reply.Finish)
	reply.Cut = s.d.HasArg("cut")
	if s.d.HasArg("fallback") {
		reply.Fallback = &effect.Fallback{From: "one/a", To: "two/b", Reason: "busy"}
	}
	return reply
}

func isModel(e effect.Effect) bool {
	_, ok := e.(effect.ModelCall)
	return ok
}

// key is that of the first effect under way, of those that are meant, of an agent or of an
// sidecall's purpose.
func (s *script) key(meant func(effect.Effect) bool) effect.Key {
	for _, e := range s.out {
		if key := e.EffectKey(); meant(e) && report.ActorOf(key, func(i int) string { return s.ids[i] }).Agent == s.words()[0] {
			return key
		}
	}
	s.d.Fatalf(s.t, "nothing of it is under way")
	return effect.Key{}
}

func (s *script) agent(id string) int { return slices.Index(s.ids, id) }

// words are the arguments without a value.
func (s *script) words() (words []string) {
	for _, a := range s.d.CmdArgs {
		if len(a.Vals) == 0 {
			words = append(words, a.Key)
		}
	}
	return words
}

func (s *script) arg(name string) []string {
	a, _ := s.d.Arg(name)
	return a.Vals
}
