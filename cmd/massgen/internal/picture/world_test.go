package picture_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/cmd/massgen/internal/picture"
	"github.com/massgen/massgen/contextbuild"
	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/internal/coordination/turn"
	"github.com/massgen/massgen/internal/system/blob"
)

// began is when the turns of these tests begin, in milliseconds: 2026-11-01 08:00:00 UTC.
const began kernel.Time = 1793520000000

// ref names a text by itself, so that a test needs no store.
func ref(text string) blob.Ref { return blob.Ref{SHA256: text, Bytes: len(text)} }

func jsonRef(v any) blob.Ref {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return ref(string(data))
}

// world is a turn that a test plays.
type world struct {
	t       *testing.T
	ids     []string
	machine turn.Machine
	journal [][]byte
	at      kernel.Time
	out     []effect.Effect // under way
	inputs  map[backends.Key]string
}

// play begins a turn at a pace.
func play(t *testing.T, pace kernel.Pace, question string, ids ...string) *world {
	rules := kernel.Defaults(ids...)
	rules.Pace = pace
	return begin(t, rules, question, nil)
}

// begin begins a turn under some rules. A judge that is not nil is no member of the panel.
func begin(t *testing.T, rules kernel.Config, question string, judge *effect.Agent) *world {
	ids := rules.Agents
	w := &world{t: t, ids: ids, at: began, inputs: map[backends.Key]string{}}
	described := effect.Turn{Session: "s", Turn: 1, Question: ref(question), Judge: judge, Limits: effect.Limits{MaxTurns: 4, MaxAttempts: 2, EndAtLimits: true}}
	for _, id := range ids {
		described.Agents = append(described.Agents, effect.Agent{ID: id, Model: "model-of-" + id, Tools: jsonRef([]backends.Tool{{Name: "find", Schema: []byte(`{}`)}})})
	}
	w.add(turn.Accepted{At: w.at, Rules: rules, Turn: described})
	return w
}

// after says when the next events happen: so many milliseconds after the beginning.
func (w *world) after(ms int) *world {
	w.at = began + kernel.Time(ms)
	return w
}

func (w *world) add(ev turn.Event) {
	w.t.Helper()
	data, err := turn.Encode(ev)
	if err != nil {
		w.t.Fatal(err)
	}
	w.journal = append(w.journal, data)
	commands, err := w.machine.Apply(ev)
	if err != nil {
		w.t.Fatalf("%T: %v", ev, err)
	}
	if key, ok := turn.KeyOf(ev); ok {
		w.out = slices.DeleteFunc(w.out, func(e effect.Effect) bool { return e.EffectKey() == key })
	}
	for _, c := range commands {
		if run, ok := c.(turn.Run); ok {
			w.out = append(w.out, run.Effect)
		}
	}
}

// key is that of an agent's effect under way.
func (w *world) key(agent string) effect.Key {
	w.t.Helper()
	for _, e := range w.out {
		if key := e.EffectKey(); key.Agent >= 0 && w.ids[key.Agent] == agent {
			return key
		}
	}
	w.t.Fatalf("nothing of %s is under way", agent)
	return effect.Key{}
}

// reply has an agent's model call a tool.
func (w *world) reply(agent string, call effect.Call, arguments string) {
	w.t.Helper()
	call.ID = fmt.Sprint(len(w.journal))
	message := backends.Message{Role: backends.RoleAssistant, Parts: []backends.Part{backends.ToolCall{ID: call.ID, Name: call.Name, Arguments: arguments}}}
	key := w.key(agent)
	w.add(turn.ModelDone{At: w.at, Key: key, Reply: effect.ModelReply{
		Message: jsonRef(message), Calls: []effect.Call{call}, Usage: &effect.Usage{InputTokens: 1200, OutputTokens: 34, CostUSD: new(0.0025)},
	}})
	w.inputs[backends.Key{Session: "s", Turn: 1, Agent: agent, Round: key.Round, Purpose: string(key.Purpose), Index: key.Index}] = "--- user ---\nwhat " + agent + " was sent\n"
}

func (w *world) answer(agent, text string) {
	w.t.Helper()
	w.reply(agent, effect.Call{Name: effect.NewAnswer, Answer: ref(text), Hash: text}, text)
}

func (w *world) vote(agent, target, reason string) {
	w.t.Helper()
	w.reply(agent, effect.Call{Name: effect.Vote, Target: slices.Index(w.ids, target), Reason: reason}, reason)
}

func (w *world) tool(agent, arguments string) {
	w.t.Helper()
	w.reply(agent, effect.Call{Name: "find", Own: true}, arguments)
}

func (w *world) result(agent, text string) {
	w.t.Helper()
	key := w.key(agent)
	w.add(turn.ToolDone{At: w.at, Key: key, Reply: effect.ToolReply{Index: key.Index, Result: ref(text)}})
}

func (w *world) fail(agent, kind, partial string) {
	w.t.Helper()
	w.add(turn.ModelDone{At: w.at, Key: w.key(agent), Reply: effect.ModelReply{
		Failure: &effect.Failure{Kind: kind, Message: "the stream was cut"}, Partial: ref(partial),
	}})
}

func (w *world) draw() picture.Picture {
	w.t.Helper()
	p, err := picture.New(w.journal, picture.Source{
		Session: "s", Turn: 1, Inputs: w.inputs, Texts: func(ref blob.Ref) ([]byte, error) { return []byte(ref.SHA256), nil },
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return p
}

// panel is a turn with all that a picture can have.
func panel(t *testing.T) *world {
	w := play(t, kernel.PaceRounds, "How much of the world's power is renewable?", "ada", "bob", "cyd", "dan")
	w.after(800).tool("ada", `{"query":"share of renewables"}`)
	w.after(1200).result("ada", "30 percent")
	w.after(1500).fail("dan", "timeout", "I think that")
	w.after(2000).answer("ada", "About 30 %.")
	w.after(2600).answer("bob", "A third.")
	w.after(3000).answer("cyd", "Some of it.")
	w.after(3600).vote("ada", "bob", "it is the shortest")
	w.after(3700).add(turn.Noted{At: w.at, Note: ref("In percent, please.")})
	w.after(4000).add(turn.Resumed{At: w.at})
	w.after(4300).vote("bob", "ada", "it has a number")
	w.after(4800).answer("cyd", "Renewables had a share of 30 % of the power in 2023.")
	w.after(5400).vote("ada", "cyd", "it names the year")
	w.after(5600).vote("bob", "cyd", "it is the most exact")
	w.after(6000).vote("cyd", "cyd", "it is right")
	return w
}

// judged is a turn that a judge outside of the panel decides.
func judged(t *testing.T) *world {
	rules := kernel.Defaults("ada", "bob")
	rules.Decider, rules.Judge = kernel.ByJudge, kernel.JudgeID
	w := begin(t, rules, "Which is larger?", &effect.Agent{ID: kernel.JudgeID, Model: "model-of-judge"})
	w.after(300).answer("ada", "The first.")
	w.after(900).answer("bob", "The second.")
	w.ids = append(w.ids, kernel.JudgeID)
	said := func(claim string, answers ...string) []contextbuild.Claim {
		quotes := []contextbuild.Quote{{Answer: answers[0], Text: claim, Found: answers[0] == "agent1"}}
		return []contextbuild.Claim{{Claim: claim, Answers: answers, Quotes: quotes}}
	}
	analysis := jsonRef(contextbuild.Analysis{
		Consensus: said("One is larger.", "agent1", "agent2"), Partial: []contextbuild.Claim{}, Unique: said("It is the second.", "agent2"),
		Contradictions: []contextbuild.Contradiction{{About: "Which", Sides: append(said("the first", "agent1"), said("the second", "agent2")...)}},
		BlindSpots:     []string{"Neither says by how much."}, Best: "agent2", Why: "It is right.",
	})
	w.after(2000).add(turn.ModelDone{At: w.at, Key: w.key(kernel.JudgeID), Reply: effect.ModelReply{
		Message: jsonRef(backends.Assistant("{}")), Opinion: &effect.Opinion{Best: 1, Analysis: analysis},
		Usage: &effect.Usage{InputTokens: 2400, OutputTokens: 120, CostUSD: new(0.01)},
	}})
	return w
}

// eager is a turn in which agents do not wait for each other.
func eager(t *testing.T) *world {
	w := play(t, kernel.PaceEager, "Which is larger?", "ada", "bob")
	w.after(300).answer("ada", "The first.")
	w.after(900).answer("bob", "The second.")
	for ms := 1500; !w.machine.Over(); ms += 400 {
		w.after(ms)
		w.vote(w.ids[w.out[0].EffectKey().Agent], "bob", "it is larger")
	}
	return w
}

// interrupted is a turn whose process was killed in round 2.
func interrupted(t *testing.T) *world {
	w := play(t, kernel.PaceRounds, "Why?", "ada", "bob")
	w.after(61000).answer("ada", "Because.")
	w.after(122000).answer("bob", "Why not?")
	w.after(125000).vote("ada", "bob", "it is a question")
	return w
}

// alone is a turn of a panel of one.
func alone(t *testing.T) *world {
	w := play(t, kernel.PaceRounds, "Hello?", "ada")
	message := backends.Assistant("Hello.")
	w.after(450).add(turn.ModelDone{At: w.at, Key: w.key("ada"), Reply: effect.ModelReply{Message: jsonRef(message), Text: ref("Hello."), Hash: "h"}})
	return w
}

// crowd is a turn of a hundred agents.
func crowd(t *testing.T) *world {
	var ids []string
	for i := range 100 {
		ids = append(ids, fmt.Sprintf("agent%d", i+1))
	}
	w := play(t, kernel.PaceRounds, "Who?", ids...)
	for i, id := range ids {
		w.after(100+10*i).answer(id, "I, "+id)
	}
	for i, id := range ids {
		w.after(2000+10*i).vote(id, "agent7", "lucky")
	}
	return w
}
