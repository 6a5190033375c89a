package report_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/coordinator/report"
	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/internal/coordination/policy"
	"github.com/massgen/massgen/internal/coordination/turn"
	"github.com/massgen/massgen/internal/system/blob"
)

// ref names a text by itself, so that a test needs no store.
func ref(text string) blob.Ref { return blob.Ref{SHA256: text, Bytes: len(text)} }

func jsonRef(v any) blob.Ref {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return ref(string(data))
}

func source() report.Source {
	return report.Source{
		Session: "s", Turn: 1, Texts: func(ref blob.Ref) ([]byte, error) { return []byte(ref.SHA256), nil },
		Member: func(agent int) (policy.Thresholds, string) {
			return policy.Defaults().WarnAt, []string{"openai", "", "m"}[agent]
		},
	}
}

// world is a turn that a test plays.
type world struct {
	ids     []string
	machine *turn.Machine
	report  *report.Report
	journal []turn.Event
	// told are the events of the whole turn.
	told []report.Event
	at   kernel.Time
	// out are the effects under way, in the order in which they began, ask is the question
	// to a person.
	out []effect.Effect
	ask *effect.PermissionRequest
}

func newWorld(ids ...string) *world {
	m := new(turn.Machine)
	return &world{ids: ids, machine: m, report: report.New(m, source()), at: 1000}
}

// accepted is the first event of a turn whose agents have a tool.
func (w *world) accepted() turn.Accepted {
	described := effect.Turn{Session: "s", Turn: 1, Question: ref("energy?"), Limits: effect.Limits{MaxTurns: 4, MaxAttempts: 2, EndAtLimits: true}}
	for _, id := range w.ids {
		described.Agents = append(described.Agents, effect.Agent{ID: id, Model: "m", Tools: tools("find")})
	}
	return turn.Accepted{At: w.at, Rules: kernel.Defaults(w.ids...), Turn: described}
}

func tools(names ...string) blob.Ref {
	list := []backends.Tool{}
	for _, name := range names {
		list = append(list, backends.Tool{Name: name, Schema: []byte(`{"type":"object"}`)})
	}
	return jsonRef(list)
}

// apply takes an event as the journal gives it back, and returns what is told of it.
func (w *world) apply(ev turn.Event) ([]report.Event, error) {
	data, err := turn.Encode(ev)
	if err == nil {
		ev, err = turn.Decode(data)
	}
	if err != nil {
		return nil, err
	}
	commands, err := w.machine.Apply(ev)
	if err != nil {
		return nil, err
	}
	w.journal = append(w.journal, ev)
	if key, ok := turn.KeyOf(ev); ok {
		w.out = slices.DeleteFunc(w.out, func(e effect.Effect) bool { return e.EffectKey() == key })
	}
	for _, c := range commands {
		switch c := c.(type) {
		case turn.Run:
			w.out = append(w.out, c.Effect)
		case turn.RequestPermission:
			w.ask = &c.Request
		}
	}
	told := w.report.Apply(ev, commands)
	w.told = append(w.told, told...)
	return told, nil
}

// call is a call in a message: a vote for an agent with a reason, or one with a text.
type call struct {
	name, text string
	target     int
	permission effect.Permission
}

// reply is a message with a text and calls.
func (w *world) reply(text string, calls ...call) effect.ModelReply {
	message := backends.Assistant(text)
	r := effect.ModelReply{Usage: &effect.Usage{InputTokens: 10, OutputTokens: 2}}
	if text != "" {
		r.Text, r.Hash = ref(text), text
	}
	for i, c := range calls {
		message.Parts = append(message.Parts, backends.ToolCall{ID: fmt.Sprint(len(w.journal), i), Name: c.name, Arguments: c.text})
		switch c.name {
		case effect.NewAnswer:
			r.Calls = append(r.Calls, effect.Call{Name: c.name, Answer: ref(c.text), Hash: c.text})
		case effect.Vote:
			r.Calls = append(r.Calls, effect.Call{Name: c.name, Target: c.target, Reason: c.text})
		default:
			r.Calls = append(r.Calls, effect.Call{Name: c.name, Own: true, Permission: c.permission, Why: "a rule"})
		}
	}
	r.Message = jsonRef(message)
	return r
}

// failed is a call that was cut after some text.
func failed(kind, partial string) effect.ModelReply {
	r := effect.ModelReply{Failure: &effect.Failure{Kind: kind, Message: "the stream was cut"}}
	if partial != "" {
		r.Partial = ref(partial)
	}
	return r
}

// kept is the result of a snapshot.
func kept(dir string) effect.ToolReply {
	return effect.ToolReply{Result: jsonRef(agents.Snapshot{Dir: dir, Files: 1})}
}

// line is an event as a test prints it.
func line(ev report.Event) string {
	data, err := json.Marshal(report.Stamp(ev, time.Time{}, false))
	if err != nil {
		panic(err)
	}
	kind, rest, _ := strings.Cut(strings.TrimPrefix(string(data), `{"at":"0001-01-01T00:00:00Z","kind":"`), `"`)
	return kind + " {" + strings.TrimPrefix(rest, ",") + "\n"
}
