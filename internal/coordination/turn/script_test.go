package turn_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/massgen/massgen/internal/coordination/budget"
	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/internal/coordination/turn"
	"github.com/massgen/massgen/internal/system/blob"
)

// TestScripts plays the turns of testdata/scripts, one topic a file. The commands:
//
//	accept agents=(ada,bob) pace= final= no_self_vote max_rounds= first_limit= grace= turn_limit= max_turns= max_attempts= asides=(topic,summary) max_usd= max_tokens= max_calls=
//	       session_max_usd= session_max_tokens= session_max_calls= before_usd= before_tokens= before_calls= workspaces=(ada)
//	reply AGENT [round= index= purpose=]   with a line for each part of the message:
//	       text WORDS | answer WORDS | vote AGENT REASON | tool NAME | stray NAME | asked NAME | denied NAME WHY | usage INPUT OUTPUT | question WORDS
//	       The purpose of a sidecall stands in the agent's place.
//	fail AGENT [abandoned]                 with the error as input
//	result AGENT N [claims= abandoned]     with the tool's result as input
//	kept AGENT [final error]               with the snapshot's result as input
//	tools AGENT [WORD]                     with other tools from now on, or with none
//	decide AGENT N yes | no
//	reserve AGENT usd= tokens= [least_usd= least_tokens=]   for an attempt of its call
//	settle AGENT [usd= tokens=]            with nothing, nobody knows what it cost
//	woke | interrupt | resume [branched] | note WORD | pause | unpause | dismiss AGENT
//	commit asides=(facts)                  after the end
//	outcome [tools]                        prints the result and the usage
//	states                                 what the agents' steps wait for
//
// Each takes at=SECONDS; time stands still without it. A reply answers the
// agent's call that is out, unless it says which. After each event the machine is
// written to JSON and read again, as is the event before it.
func TestScripts(t *testing.T) {
	t.Parallel()
	datadriven.Walk(t, "testdata/scripts", func(t *testing.T, path string) {
		s := &script{}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			return s.run(t, d)
		})
	})
}

type script struct {
	t        *testing.T
	d        *datadriven.TestData
	m        *turn.Machine
	ids      []string
	at       kernel.Time
	messages int
	out      map[int]effect.Key // the model call of each agent
}

func (s *script) run(t *testing.T, d *datadriven.TestData) string {
	s.t, s.d = t, d
	switch d.Cmd {
	case "outcome":
		return s.outcome()
	case "states":
		return s.states()
	}
	if d.Cmd == "accept" {
		*s = script{t: t, d: d, m: &turn.Machine{}, out: map[int]effect.Key{}}
		s.ids = s.arg("agents")
	}
	var seconds float64
	if d.MaybeScanArgs(t, "at", &seconds) {
		s.at = kernel.Time(seconds * 1000)
	}
	commands, err := s.m.Apply(decoded(t, s.event()))
	if err != nil {
		return "error: " + err.Error()
	}
	s.m = again(t, s.m)
	return s.told(commands)
}

// states are what the agents' steps wait for.
func (s *script) states() string {
	var b strings.Builder
	for i, id := range s.ids {
		fmt.Fprintf(&b, "%s %s\n", id, s.m.StepState(i))
	}
	return b.String()
}

func (s *script) event() turn.Event {
	switch s.d.Cmd {
	case "accept":
		return s.accepted()
	case "reply":
		return turn.ModelDone{At: s.at, Key: s.key(), Reply: s.reply()}
	case "fail":
		failure := effect.Failure{Kind: "network", Message: strings.TrimSpace(s.d.Input), Abandoned: s.d.HasArg("abandoned")}
		return turn.ModelDone{At: s.at, Key: s.key(), Reply: effect.ModelReply{Failure: &failure}}
	case "result":
		key := s.key()
		key.Index = s.number(s.d.CmdArgs[1].Key)
		if key.Purpose = "tool"; s.d.HasArg("final") {
			key.Purpose = "final_tool"
		}
		reply := effect.ToolReply{Index: key.Index, Result: ref(strings.TrimSpace(s.d.Input)), Abandoned: s.d.HasArg("abandoned")}
		s.d.MaybeScanArgs(s.t, "claims", &reply.Index)
		return turn.ToolDone{At: s.at, Key: key, Reply: reply}
	case "kept":
		key := s.key()
		key.Index, key.Purpose = 0, effect.Snapshot
		if s.d.HasArg("final") {
			key.Purpose = effect.FinalSnapshot
		}
		return turn.ToolDone{At: s.at, Key: key, Reply: effect.ToolReply{Result: ref(strings.TrimSpace(s.d.Input)), Error: s.d.HasArg("error")}}
	case "woke":
		return kernel.Woke{At: s.at}
	case "interrupt":
		return kernel.Interrupted{At: s.at}
	case "resume":
		return turn.Resumed{At: s.at, Branched: s.d.HasArg("branched")}
	case "pause":
		return turn.Paused{At: s.at}
	case "unpause":
		return turn.Unpaused{At: s.at}
	case "dismiss":
		return kernel.Dismissed{At: s.at, Agent: s.key().Agent}
	case "note":
		return turn.Noted{At: s.at, Note: ref(s.d.CmdArgs[0].Key)}
	case "reserve":
		return turn.Reserving{At: s.at, Key: s.key(), Most: *s.amount(""), Least: s.least()}
	case "settle":
		return turn.Settled{At: s.at, Key: s.key(), Spent: s.amount("")}
	case "decide":
		key := s.key()
		key.Index, key.Purpose = s.number(s.d.CmdArgs[1].Key), "tool"
		return turn.Decided{At: s.at, Key: key, Allow: s.d.CmdArgs[2].Key == "yes"}
	case "tools":
		return s.toolsChanged()
	case "commit":
		return turn.Committed{At: s.at, Sidecalls: s.sidecalls()}
	}
	s.d.Fatalf(s.t, "unknown command")
	return nil
}

func (s *script) accepted() turn.Accepted {
	rules := kernel.Defaults(s.ids...)
	s.d.MaybeScanArgs(s.t, "pace", (*string)(&rules.Pace))
	s.d.MaybeScanArgs(s.t, "final", (*string)(&rules.Final))
	s.d.MaybeScanArgs(s.t, "max_rounds", &rules.MaxRounds)
	rules.SelfVote = !s.d.HasArg("no_self_vote")
	for name, limit := range map[string]*time.Duration{
		"first_limit": &rules.FirstRoundLimit, "grace": &rules.RoundGrace,
		"turn_limit": &rules.TurnLimit, "straggler": &rules.StragglerGrace,
	} {
		var seconds int
		if s.d.MaybeScanArgs(s.t, name, &seconds) {
			*limit = time.Duration(seconds) * time.Second
		}
	}
	described := effect.Turn{Session: "s", Turn: 1, Question: ref("q"), Limits: effect.Limits{MaxTurns: 10, MaxAttempts: 3, EndAtLimits: true}}
	s.d.MaybeScanArgs(s.t, "max_turns", &described.Limits.MaxTurns)
	s.d.MaybeScanArgs(s.t, "max_attempts", &described.Limits.MaxAttempts)
	described.Agents, described.Sidecalls = make([]effect.Agent, len(s.ids)), s.sidecalls()
	if s.d.HasArg("workspaces") {
		for _, id := range s.arg("workspaces") {
			described.Agents[slices.Index(s.ids, id)].Workspace = true
		}
	}
	if s.d.HasArg("agents_missing") {
		described.Agents = nil
	}
	return turn.Accepted{At: s.at, Rules: rules, Turn: described, Budget: s.allowance()}
}

// allowance is the budget's.
func (s *script) allowance() budget.Allowance {
	a := budget.Allowance{Limits: s.limits(""), Session: s.limits("session_")}
	var usd float64
	s.d.MaybeScanArgs(s.t, "before_usd", &usd)
	s.d.MaybeScanArgs(s.t, "before_tokens", &a.Before.Tokens)
	s.d.MaybeScanArgs(s.t, "before_calls", &a.Before.Calls)
	a.Before.USD = budget.Dollars(usd)
	return a
}

func (s *script) limits(of string) (l budget.Limits) {
	var usd float64
	if s.d.MaybeScanArgs(s.t, of+"max_usd", &usd) {
		most := budget.Dollars(usd)
		l.USD = &most
	}
	for name, limit := range map[string]**int{"max_tokens": &l.Tokens, "max_calls": &l.Calls} {
		var n int
		if s.d.MaybeScanArgs(s.t, of+name, &n) {
			*limit = &n
		}
	}
	return l
}

// least is that of a reservation, zero if there is none.
func (s *script) least() budget.Amount {
	if least := s.amount("least_"); least != nil {
		return *least
	}
	return budget.Amount{}
}

// amount is that of one request, nil if there is none. The prefix begins its arguments' names.
func (s *script) amount(prefix string) *budget.Amount {
	if !s.d.HasArg(prefix+"tokens") && !s.d.HasArg(prefix+"usd") {
		return nil
	}
	a := budget.Amount{Calls: 1}
	var usd float64
	s.d.MaybeScanArgs(s.t, prefix+"usd", &usd)
	s.d.MaybeScanArgs(s.t, prefix+"tokens", &a.Tokens)
	a.USD = budget.Dollars(usd)
	return &a
}

func (s *script) sidecalls() (list []effect.Sidecall) {
	if !s.d.HasArg("asides") {
		return nil
	}
	for _, purpose := range s.arg("asides") {
		list = append(list, effect.Sidecall{Purpose: effect.Purpose(purpose)})
	}
	return list
}

func isSidecall(id string) bool {
	return slices.Contains([]effect.Purpose{effect.TopicDetection, effect.Summarizing, effect.FactExtraction}, effect.Purpose(id))
}

func (s *script) key() effect.Key {
	id := s.d.CmdArgs[0].Key
	if isSidecall(id) {
		return effect.Sidecall{Purpose: effect.Purpose(id)}.Key()
	}
	agent := slices.Index(s.ids, id)
	if agent < 0 {
		agent = s.number(id)
	}
	key, ok := s.out[agent]
	if !ok {
		key = effect.Key{Agent: agent, Round: 1, Purpose: effect.Coordination}
	}
	s.d.MaybeScanArgs(s.t, "round", &key.Round)
	s.d.MaybeScanArgs(s.t, "index", &key.Index)
	s.d.MaybeScanArgs(s.t, "purpose", (*string)(&key.Purpose))
	return key
}

func (s *script) reply() effect.ModelReply {
	s.messages++
	r := effect.ModelReply{Message: ref(fmt.Sprintf("m%d", s.messages))}
	for line := range strings.Lines(s.d.Input) {
		kind, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		first, words, _ := strings.Cut(rest, " ")
		switch kind {
		case "text":
			r.Text, r.Hash = ref(rest), rest
		case "answer":
			r.Calls = append(r.Calls, effect.Call{Name: effect.NewAnswer, Answer: ref(rest), Hash: rest})
		case "vote":
			r.Calls = append(r.Calls, effect.Call{Name: effect.Vote, Target: slices.Index(s.ids, first), Reason: words})
		case "tool":
			r.Calls = append(r.Calls, effect.Call{Name: rest, Own: true})
		case "stray":
			r.Calls = append(r.Calls, effect.Call{Name: rest})
		case "asked":
			r.Calls = append(r.Calls, effect.Call{Name: rest, Own: true, Permission: effect.Asked})
		case "denied":
			r.Calls = append(r.Calls, effect.Call{Name: first, Own: true, Permission: effect.Denied, Why: words})
		case "question":
			r.Change.Question = ref(rest)
		case "usage":
			r.Usage = &effect.Usage{InputTokens: s.number(first), OutputTokens: s.number(words), CachedInputTokens: 1}
		default:
			s.d.Fatalf(s.t, "a reply has no %q", kind)
		}
	}
	return r
}

func (s *script) arg(name string) []string {
	arg, ok := s.d.Arg(name)
	if !ok {
		s.d.Fatalf(s.t, "%s is missing", name)
	}
	return arg.Vals
}

func (s *script) number(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		s.d.Fatalf(s.t, "%v", err)
	}
	return n
}

func ref(text string) blob.Ref { return blob.Ref{SHA256: text, Bytes: len(text)} }

// decoded is the event as the journal gives it back.
func decoded(t *testing.T, ev turn.Event) turn.Event {
	data, err := turn.Encode(ev)
	if err != nil {
		t.Fatal(err)
	}
	back, err := turn.Decode(data)
	if err != nil {
		t.Fatal(err)
	}
	return back
}

// again is the machine as its JSON gives it back.
func again(t interface{ Fatal(...any) }, m *turn.Machine) *turn.Machine {
	data, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	back := &turn.Machine{}
	if err := json.Unmarshal(data, back); err != nil {
		t.Fatal(err)
	}
	return back
}

func (s *script) told(commands []turn.Command) string {
	var b strings.Builder
	for _, c := range commands {
		switch c := c.(type) {
		case turn.Run:
			key := c.Effect.EffectKey()
			if key.Agent == effect.NoAgent {
				fmt.Fprintf(&b, "run %s\n", key.Purpose)
				continue
			}
			if _, isModel := c.Effect.(effect.ModelCall); isModel {
				s.out[key.Agent] = key
			}
			fmt.Fprintf(&b, "run %s %s round=%d%s\n", s.ids[key.Agent], describeEffect(c.Effect), key.Round, describeTools(c.Effect))
		case kernel.Cancel:
			who := "asides"
			if c.Agent != effect.NoAgent {
				who = s.ids[c.Agent]
			}
			fmt.Fprintf(&b, "cancel %s\n", who)
		case turn.NewTools:
			fmt.Fprintf(&b, "tools %s: %q -> %q\n", s.ids[c.Agent], c.Before.SHA256, c.After.SHA256)
		case turn.Clock:
			fmt.Fprintf(&b, "clock runs=%t\n", c.Runs)
		case kernel.Wake:
			fmt.Fprintf(&b, "wake at=%gs\n", float64(c.At)/1000)
		case turn.RequestPermission:
			fmt.Fprintf(&b, "ask %s %s.%d %s\n", s.ids[c.Request.Key.Agent], c.Request.Key.Purpose, c.Request.Key.Index, c.Request.Name)
		case turn.ToolEnded:
			fmt.Fprintf(&b, "%s %s %s.%d %s%s\n", c.Call.State, s.ids[c.Call.Call.Key.Agent], c.Call.Call.Key.Purpose, c.Call.Call.Key.Index,
				c.Call.Call.Name, strings.TrimSuffix(" ("+c.Call.Why+")", " ()"))
		case turn.Granted:
			fmt.Fprintf(&b, "grant %s", s.who(c.Key))
			if c.Less > 0 {
				fmt.Fprintf(&b, " less=%d", c.Less)
			}
			b.WriteString("\n")
		case turn.HeldUp:
			fmt.Fprintf(&b, "hold up %s: %s\n", s.who(c.Key), c.Why)
		case turn.Refused:
			fmt.Fprintf(&b, "refuse %s: %s\n", s.who(c.Key), c.Why)
		case turn.NoteAccepted:
			fmt.Fprintf(&b, "take note %s\n", c.Text.SHA256)
		case kernel.Finish:
			b.WriteString("finish\n")
		case turn.StepStarted:
			fmt.Fprintf(&b, "start %s %s round=%d\n", s.ids[c.Agent], c.Purpose, c.Round)
		case turn.SidecallStarted:
			fmt.Fprintf(&b, "start %s\n", c.Sidecall.Purpose)
		case turn.SidecallEnded:
			fmt.Fprintln(&b, strings.TrimSpace(fmt.Sprintf("end %s: %s %s", c.Outcome.Purpose, describeUsage(c.Usage), c.Outcome.Failure)))
		case turn.StepEnded:
			fmt.Fprintf(&b, "end %s %s round=%d: %s\n", s.ids[c.Agent], c.Purpose, c.Round, describeEnd(c))
		}
	}
	if b.Len() == 0 {
		return "nothing\n"
	}
	return b.String()
}

func (s *script) who(key effect.Key) string {
	if key.Agent == effect.NoAgent {
		return string(key.Purpose)
	}
	return fmt.Sprintf("%s %s.%d", s.ids[key.Agent], key.Purpose, key.Index)
}

func describeEffect(e effect.Effect) string {
	switch e := e.(type) {
	case effect.ModelCall:
		updates := 0
		for _, entry := range e.Transcript {
			if entry.Update != nil {
				updates++
			}
		}
		text := fmt.Sprintf("%s.%d answers=%d may_answer=%t own_tools=%t votes=%d entries=%d updates=%d",
			e.Key.Purpose, e.Key.Index, len(e.Offer.Shown), e.Offer.MayAnswer, e.OwnTools, len(e.Votes), len(e.Transcript), updates)
		if n := e.NotesTold(); n > 0 {
			text += fmt.Sprintf(" notes=%d (%d from the start)", n, len(e.Notes))
		}
		return text
	case effect.ToolCall:
		return strings.TrimSpace(fmt.Sprintf("%s.%d %s", e.Key.Purpose, e.Key.Index, e.Name))
	}
	return fmt.Sprintf("%T", e)
}

func describeEnd(c turn.StepEnded) string {
	text := fmt.Sprintf("%s after %gs, %s", c.Outcome.Kind, float64(c.Elapsed)/1000, describeUsage(c.Usage))
	if c.Label != "" {
		text += ", label " + c.Label
	}
	if c.Void != "" {
		text += ", void: " + c.Void
	}
	if c.Outcome.Reason != "" {
		text += " (" + c.Outcome.Reason + ")"
	}
	return text
}

func describeUsage(u budget.Usage) string {
	return fmt.Sprintf("%d calls %d+%d tokens %d cached %d unknown", u.Calls, u.InputTokens, u.OutputTokens, u.CachedInputTokens, u.UnknownCalls)
}

func (s *script) outcome() string {
	var b strings.Builder
	r := s.m.Result()
	fmt.Fprintf(&b, "over=%t %s text=%q", s.m.Over(), r.Status, r.Text.SHA256)
	if r.Winner != nil {
		fmt.Fprintf(&b, " winner=%s", s.m.Label(*r.Winner))
	}
	if r.Work != (blob.Ref{}) {
		fmt.Fprintf(&b, " work=%q", r.Work.SHA256)
	}
	fmt.Fprintf(&b, " votes=%d void=%d abandoned=%v\n", len(r.Votes), len(r.Void), s.m.Abandoned())
	for _, w := range r.Warnings {
		fmt.Fprintf(&b, "warning: %s\n", w)
	}
	for _, a := range r.All {
		if a.Work != (blob.Ref{}) {
			fmt.Fprintf(&b, "%s has %q\n", s.m.Label(a), a.Work.SHA256)
		}
	}
	for _, u := range s.m.Unkept() {
		fmt.Fprintf(&b, "unkept: %s final=%t %q\n", s.ids[u.Agent], u.Final, u.Reason.SHA256)
	}
	if s.d.HasArg("tools") {
		fmt.Fprintf(&b, "tool calls: %d\n", len(s.m.ToolCalls()))
	}
	if outcomes := s.m.SidecallOutcomes(); len(outcomes) > 0 {
		fmt.Fprintf(&b, "asides: %d, %s, then %s, question=%q\n", len(outcomes),
			describeUsage(s.m.SidecallsUsage()), describeUsage(s.m.UsageAfter()), s.m.Turn().Question.SHA256)
	}
	if l := s.m.Ledger(); l.Asked > 0 {
		fmt.Fprintf(&b, "budget: used %s %d tokens %d calls, of these unknown %s %d %d, over %s %d\n", l.Used().USD, l.Used().Tokens, l.Used().Calls,
			l.Used().USD-l.Spent.USD, l.Used().Tokens-l.Spent.Tokens, l.Used().Calls-l.Spent.Calls, l.Over.USD, l.Over.Tokens)
	}
	for _, n := range s.m.Notes() {
		fmt.Fprintf(&b, "note %s seen by %d\n", n.Text.SHA256, n.SeenBy)
	}
	if n := s.m.Repeated(); n > 0 {
		fmt.Fprintf(&b, "repeated: %d\n", n)
	}
	for i, u := range s.m.Usage() {
		fmt.Fprintf(&b, "%s: %s, %s\n", s.ids[i], r.Agents[i].State, describeUsage(u))
	}
	return b.String()
}
