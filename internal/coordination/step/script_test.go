package step_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/internal/coordination/policy"
	"github.com/massgen/massgen/internal/coordination/step"
	"github.com/massgen/massgen/internal/system/blob"
)

// TestScripts plays the steps of testdata/scripts, one topic a file. The commands:
//
//	begin agent= round= purpose= set= shown=(0,1:hash) no_answer vote=(0) votes= max_turns= max_attempts= max_tool_calls= old overlap= snapshot check=TRIES notes=(a,b) context=N
//	reply      with a line for each part of the message:
//	             text WORDS | markup | unfit PROBLEM | answer [OVERLAPS] WORDS | vote AGENT REASON |
//	             cut WORD | blank WORDS |
//	             tool NAME (the agent's own) | asked NAME | denied NAME WHY | stray NAME (nobody's) | bad NAME PROBLEM
//	fail       with the error as input
//	result N [error]   with the result as input; 0 is that of a snapshot that is out, too
//	approve N | refuse N [reason]
//	restrict | cancel | update set= shown= no_answer vote= | note WORD
//	waits PURPOSE INDEX [round=]
//	recall     the model call that is out, and that nobody has sent
//	state      what is out, and how many notes the call that is out tells
//
// With context=N a step is sent up to N of its messages, and a summary of the others.
// With old a step is one of a journal that does not have EndAtLimits. With final_message it is one of a
// new turn, which tells the last turn in a message of its own.
// The answer of agent 1 has the hash h1 unless shown=1:hash says another. After
// each command the step is written to JSON and read again.
func TestScripts(t *testing.T) {
	t.Parallel()
	datadriven.Walk(t, "testdata/scripts", func(t *testing.T, path string) {
		s := &script{}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			return s.run(t, d)
		})
	})
}

// script is a step under test. Messages are m1, m2, … and calls c1, c2, ….
type script struct {
	step            *step.Machine
	messages, calls int
	printed         int // how many entries of the transcript
}

func (s *script) run(t *testing.T, d *datadriven.TestData) string {
	if d.Cmd == "begin" {
		*s = script{}
		step, effects := step.Begin(task(t, d))
		s.step = step
		return s.told(effects, nil)
	}
	if d.Cmd == "waits" {
		return fmt.Sprintln(s.step.Waits(key(t, d)))
	}
	if d.Cmd == "state" {
		calling, isCalling := s.step.Calling()
		if !isCalling {
			return fmt.Sprintf("%d out\n", s.step.Out())
		}
		return fmt.Sprintf("%d out, calling %s with %d notes\n", s.step.Out(), calling, s.step.NotesTold())
	}
	if d.Cmd == "recall" {
		call, ok := s.step.Recall()
		if !ok {
			return "no call is out\n"
		}
		s.printed = 0
		return s.told([]effect.Effect{call}, nil)
	}
	before := encode(t, s.step)
	effects, err := give(s.step, s.event(t, d))
	if err != nil && encode(t, s.step) != before {
		t.Errorf("%s: the refused event changed the step", d.Pos)
	}
	s.step = decode(t, encode(t, s.step))
	return s.told(effects, err)
}

// permitted is a person's answer to the question whose key has the index.
type permitted struct {
	index  int
	allow  bool
	reason string
}

// give gives a step an event: the result of an effect, a command of the kernel, the text of a note,
// or a person's answer.
func give(s *step.Machine, ev any) ([]effect.Effect, error) {
	switch ev := ev.(type) {
	case effect.Reply:
		return s.Apply(ev)
	case blob.Ref:
		s.AddNote(ev)
	case permitted:
		return s.Permit(ev.index, ev.allow, ev.reason), nil
	case kernel.Command:
		return nil, s.Obey(ev)
	}
	return nil, nil
}

func (s *script) event(t *testing.T, d *datadriven.TestData) any {
	switch d.Cmd {
	case "reply":
		return s.reply(t, d)
	case "fail":
		return effect.ModelReply{Failure: &effect.Failure{
			Kind: "network", Message: strings.TrimSpace(d.Input), NoTools: d.HasArg("no_tools"),
		}}
	case "result":
		index, err := strconv.Atoi(d.CmdArgs[0].Key)
		if err != nil {
			d.Fatalf(t, "%v", err)
		}
		return effect.ToolReply{Index: index, Result: ref(strings.TrimSpace(d.Input)), Error: d.HasArg("error")}
	case "approve", "refuse":
		a := permitted{index: number(t, d.CmdArgs[0].Key), allow: d.Cmd == "approve"}
		d.MaybeScanArgs(t, "reason", &a.reason)
		return a
	case "restrict":
		return kernel.Restrict{}
	case "cancel":
		return kernel.Cancel{}
	case "update":
		return kernel.Update{Offer: offer(t, d)}
	case "note":
		return ref(d.CmdArgs[0].Key)
	}
	d.Fatalf(t, "unknown command")
	return nil
}

func (s *script) reply(t *testing.T, d *datadriven.TestData) effect.ModelReply {
	s.messages++
	r := effect.ModelReply{Message: ref(fmt.Sprintf("m%d", s.messages))}
	for line := range strings.Lines(d.Input) {
		kind, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		if kind == "text" {
			r.Text, r.Hash = ref(rest), rest
			continue
		}
		if kind == "cut" {
			r.Finish, r.Cut = rest, true
			continue
		}
		if kind == "blank" {
			r.Blank = rest
			continue
		}
		if kind == "markup" {
			r.Markup = true
			continue
		}
		if kind == "unfit" {
			r.Problem = rest
			continue
		}
		s.calls++
		c := call(t, kind, rest)
		c.ID = fmt.Sprintf("c%d", s.calls)
		r.Calls = append(r.Calls, c)
	}
	return r
}

func call(t *testing.T, kind, rest string) effect.Call {
	first, words, _ := strings.Cut(rest, " ")
	switch kind {
	case "answer":
		c := effect.Call{Name: effect.NewAnswer}
		if list, ok := strings.CutPrefix(rest, "["); ok {
			list, rest, _ = strings.Cut(list, "] ")
			for _, n := range strings.Fields(list) {
				c.Overlaps = append(c.Overlaps, number(t, n))
			}
		}
		if rest != "" {
			c.Answer, c.Hash = ref(rest), rest
		}
		return c
	case "vote":
		return effect.Call{Name: effect.Vote, Target: number(t, first), Reason: words}
	case "tool":
		return effect.Call{Name: rest, Own: true}
	case "asked":
		return effect.Call{Name: rest, Own: true, Permission: effect.Asked, Why: "a rule"}
	case "denied":
		return effect.Call{Name: first, Own: true, Permission: effect.Denied, Why: words}
	case "stray":
		return effect.Call{Name: rest}
	case "bad":
		return effect.Call{Name: first, Problem: words}
	}
	t.Fatalf("a reply has no %q", kind)
	return effect.Call{}
}

func number(t *testing.T, text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func ref(text string) blob.Ref { return blob.Ref{SHA256: text, Bytes: len(text)} }

func task(t *testing.T, d *datadriven.TestData) step.Task {
	task := step.Task{
		Agent: 1, Round: 2, Purpose: effect.Coordination, Offer: offer(t, d),
		Limits: effect.Limits{MaxTurns: 10, MaxAttempts: 3, EndAtLimits: !d.HasArg("old"), FinalMessage: d.HasArg("final_message")},
	}
	d.MaybeScanArgs(t, "agent", &task.Agent)
	d.MaybeScanArgs(t, "round", &task.Round)
	d.MaybeScanArgs(t, "purpose", (*string)(&task.Purpose))
	d.MaybeScanArgs(t, "max_turns", &task.Limits.MaxTurns)
	d.MaybeScanArgs(t, "max_attempts", &task.Limits.MaxAttempts)
	d.MaybeScanArgs(t, "max_tool_calls", &task.Limits.MaxToolCalls)
	d.MaybeScanArgs(t, "overlap", &task.Limits.MaxOverlap)
	if notes, ok := d.Arg("notes"); ok {
		for _, note := range notes.Vals {
			task.Notes = append(task.Notes, ref(note))
		}
	}
	task.Snapshot = d.HasArg("snapshot")
	if d.HasArg("check") {
		task.Check = &effect.Check{Pattern: "x"}
		d.ScanArgs(t, "check", &task.Check.Tries)
	}
	if d.HasArg("context") {
		limits := policy.StepLimits{Kind: policy.Summarize, SummaryWords: 50}
		d.ScanArgs(t, "context", &limits.Messages)
		limits.Keep, task.Context = limits.Messages, &limits
	}
	task.JSON, task.MayUseJSON = d.HasArg("json"), d.HasArg("may_use_json")
	if d.HasArg("votes") {
		task.Votes = []kernel.Vote{{Voter: 0, For: task.Agent, Reason: "good"}}
	}
	return task
}

func offer(t *testing.T, d *datadriven.TestData) kernel.Offer {
	o := kernel.Offer{Shown: []kernel.Answer{}, MayAnswer: !d.HasArg("no_answer"), MayVote: []int{}}
	d.MaybeScanArgs(t, "set", &o.Set)
	if shown, ok := d.Arg("shown"); ok {
		for _, v := range shown.Vals {
			agent, hash, _ := strings.Cut(v, ":")
			if hash == "" {
				hash = "h" + agent
			}
			o.Shown = append(o.Shown, kernel.Answer{Agent: number(t, agent), N: 1, Round: 1, Text: ref(hash), Hash: hash})
		}
	}
	if vote, ok := d.Arg("vote"); ok {
		for _, v := range vote.Vals {
			o.MayVote = append(o.MayVote, number(t, v))
		}
	}
	return o
}

func key(t *testing.T, d *datadriven.TestData) effect.Key {
	k := effect.Key{Agent: 1, Round: 2, Purpose: effect.Purpose(d.CmdArgs[0].Key), Index: number(t, d.CmdArgs[1].Key)}
	d.MaybeScanArgs(t, "agent", &k.Agent)
	d.MaybeScanArgs(t, "round", &k.Round)
	return k
}

func encode(t interface{ Fatal(...any) }, s *step.Machine) string {
	data, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func decode(t interface{ Fatal(...any) }, data string) *step.Machine {
	s := &step.Machine{}
	if err := json.Unmarshal([]byte(data), s); err != nil {
		t.Fatal(err)
	}
	return s
}

// told describes the effects of an event. Of a transcript, it has only the entries that are new
// since the call before are shown.
func (s *script) told(effects []effect.Effect, err error) string {
	var b strings.Builder
	for _, e := range effects {
		switch e := e.(type) {
		case effect.ModelCall:
			if e.Key.Purpose.IsStepSummary() {
				fmt.Fprintf(&b, "call %s of %d entries, %s\n", e.Key, len(e.Transcript), describeSummary(e.Summary))
				continue
			}
			fmt.Fprintf(&b, "call %s own_tools=%t votes=%d %s", e.Key, e.OwnTools, len(e.Votes), describeOffer(e.Offer))
			if agents := shown(e.Current().Shown); !slices.Equal(agents, shown(e.Offer.Shown)) {
				fmt.Fprintf(&b, " now=%v", agents)
			}
			if len(e.Notes) > 0 {
				fmt.Fprintf(&b, " notes=%v", texts(e.Notes))
			}
			if e.JSON {
				b.WriteString(" json")
			}
			if e.Summary != nil {
				b.WriteString(" with " + describeSummary(e.Summary))
			}
			b.WriteByte('\n')
			for _, entry := range e.Transcript[s.printed:] {
				fmt.Fprintf(&b, "  %s\n", describeEntry(entry))
			}
			s.printed = len(e.Transcript)
		case effect.ToolCall:
			if e.IsSnapshot() {
				fmt.Fprintf(&b, "call %s\n", e.Key)
				continue
			}
			if e.IsCheck() {
				fmt.Fprintf(&b, "call %s answer=%s work=%s\n", e.Key, e.Answer.SHA256, e.Work.SHA256)
				continue
			}
			fmt.Fprintf(&b, "call %s %s: number %d of %s\n", e.Key, e.Name, e.Call, e.Message.SHA256)
		}
	}
	for _, a := range s.step.NewPermissionRequests() {
		fmt.Fprintf(&b, "ask %s %s (%s): number %d of %s\n", a.Key, a.Name, a.Why, a.Call, a.Message.SHA256)
	}
	for _, r := range s.step.NewRefusals() {
		fmt.Fprintf(&b, "%s %s %s (%s): number %d of %s\n", r.State, r.Call.Key, r.Call.Name, r.Why, r.Call.Call, r.Call.Message.SHA256)
	}
	switch o := s.step.Outcome(); {
	case err != nil:
		fmt.Fprintf(&b, "error: %v\n", err)
	case o.Kind != "":
		fmt.Fprintln(&b, describeOutcome(o))
	case len(effects) == 0:
		b.WriteString("waiting\n")
	}
	return b.String()
}

func describeSummary(s *effect.StepSummary) string {
	if s == nil {
		return "no summary"
	}
	return fmt.Sprintf("%q for %d", s.Text.SHA256, s.Entries)
}

func describeOffer(o kernel.Offer) string {
	return fmt.Sprintf("set=%d shown=%v may_answer=%t may_vote=%v", o.Set, shown(o.Shown), o.MayAnswer, o.MayVote)
}

func shown(answers []kernel.Answer) []int {
	var agents []int
	for _, a := range answers {
		agents = append(agents, a.Agent)
	}
	return agents
}

func texts(refs []blob.Ref) []string {
	list := make([]string, len(refs))
	for i, r := range refs {
		list[i] = r.SHA256
	}
	return list
}

func describeEntry(e effect.Entry) string {
	words := []string{string(e.Kind)}
	if e.CallID != "" {
		words = append(words, e.CallID, e.Name)
	}
	if e.Text != (blob.Ref{}) {
		words = append(words, strconv.Quote(e.Text.SHA256))
	}
	if e.Error {
		words = append(words, "error")
	}
	if e.JSON {
		words = append(words, "json")
	}
	if n := e.Notice; n != nil {
		words = append(words, fmt.Sprintf("notice %s agent=%d votable=%t %q", n.Code, n.Agent, n.Votable, n.Detail))
	}
	if e.Kind == effect.Reminder {
		words = append(words, fmt.Sprintf("may_answer=%t may_vote=%t", e.MayAnswer, e.MayVote))
	}
	if e.Update != nil {
		words = append(words, "+ update "+describeOffer(*e.Update))
	}
	if len(e.Notes) > 0 {
		words = append(words, fmt.Sprintf("+ notes %v", texts(e.Notes)))
	}
	if e.Final {
		words = append(words, "+ final turn")
	}
	return strings.Join(words, " ")
}

func describeOutcome(o step.Outcome) string {
	words := []string{string(o.Kind), fmt.Sprintf("seen=%d", o.Seen)}
	switch o.Kind {
	case step.Answered, step.OutOfTurns:
		if o.Answer != (blob.Ref{}) {
			words = append(words, fmt.Sprintf("%q hash=%q", o.Answer.SHA256, o.Hash))
		}
		if o.Work != (blob.Ref{}) {
			words = append(words, "work="+o.Work.SHA256)
		}
		if o.Unkept != (blob.Ref{}) {
			words = append(words, "unkept="+o.Unkept.SHA256)
		}
		if o.FailedCheck {
			words = append(words, "failed check "+strconv.Quote(o.Check.SHA256))
		}
	case step.Voted:
		words = append(words, fmt.Sprintf("for=%d", o.For))
	}
	if o.Reason != "" {
		words = append(words, "("+o.Reason+")")
	}
	return strings.Join(words, " ")
}
