package tests

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/backends/openai"
	"github.com/massgen/massgen/coordinator"
	"github.com/massgen/massgen/coordinator/report"
	"github.com/massgen/massgen/debugbackend"
	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/internal/system/blob"
	"github.com/massgen/massgen/sessions"
	"github.com/massgen/massgen/sessions/sqlite"
	"github.com/massgen/massgen/tests/backendtest"
)

// weather is the tool of seed 000's example.
type weather struct{}

func (weather) Definition() backends.Tool {
	schema := `{"type":"object","properties":{"city":{"type":"string"},"day":{"type":"string"}},"required":["city"]}`
	return backends.Tool{Name: "weather", Description: "The weather in a city.", Schema: json.RawMessage(schema)}
}

func (weather) Call(_ context.Context, arguments string) (string, error) {
	if strings.Contains(arguments, "tomorrow") {
		return "55°F, partly cloudy", nil
	}
	return "52°F, cloudy, 30% chance of rain", nil
}

// forecaster answers the two questions of seed 000, appendix B.1. For the second it can
// know the city only from the first.
const forecaster = `
rules:
  - when: {turn: 1, last: user}
    reply: {text: "Let me look.", tool_calls: [{id: call_1, name: weather, arguments: {city: Seattle}}]}
  - when: {turn: 1, contains: 52°F}
    reply: {text: "It is 52°F and cloudy in Seattle."}
  - when: {turn: 2+, contains: "What about tomorrow?", last: user}
    reply: {tool_calls: [{id: call_1, name: weather, arguments: {city: Seattle, day: tomorrow}}]}
  - when: {turn: 2+, contains: 55°F}
    reply: {text: "Tomorrow Seattle will be partly cloudy."}
`

// seattle is the exact list that the first call of the second turn is sent.
const seattle = `{"role":"system","parts":[{"type":"text","text":"You tell the weather."}]}
{"role":"user","parts":[{"type":"text","text":"What's the weather in Seattle?"}]}
{"role":"assistant","parts":[{"type":"text","text":"Let me look."},{"type":"tool_call","id":"call_1","name":"weather","arguments":"{\"city\":\"Seattle\"}"}]}
{"role":"tool","parts":[{"type":"tool_result","call_id":"call_1","name":"weather","content":"52°F, cloudy, 30% chance of rain"}]}
{"role":"assistant","parts":[{"type":"text","text":"It is 52°F and cloudy in Seattle."}]}
{"role":"user","parts":[{"type":"text","text":"What about tomorrow?"}]}
`

// TestSecondTurnKnowsTheToolCallsOfTheFirst closes the store after the first turn, and
// asks the second question in the session itself, in a branch, and in a copy that was
// exported and imported.
func TestSecondTurnKnowsTheToolCallsOfTheFirst(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "sessions.db")
	exported := &bytes.Buffer{}
	onDisk(t, path, func(store *sqlite.Store) {
		_, r := forecast(t, store, "s", "What's the weather in Seattle?")
		if r.Answer != "It is 52°F and cloudy in Seattle." || r.Usage.Calls != 2 {
			t.Fatalf("the first turn: %+v", r)
		}
		_, err := store.Branch(t.Context(), "s", 1, "branch")
		if err == nil {
			err = store.Export(t.Context(), "s", exported)
		}
		if err != nil {
			t.Fatal(err)
		}
	})
	second := func(store *sqlite.Store, session string) {
		t.Helper()
		calls, r := forecast(t, store, session, "What about tomorrow?")
		if r.Answer != "Tomorrow Seattle will be partly cloudy." || r.Turn != 2 || len(r.Warnings) > 0 {
			t.Errorf("%s: the second turn: %+v", session, r)
		}
		var sent strings.Builder
		for _, m := range calls[0].Request.Messages {
			sent.WriteString(encoded(t, m) + "\n")
		}
		if diff := cmp.Diff(seattle, sent.String()); diff != "" {
			t.Errorf("%s: the second turn is sent (-want +got):\n%s", session, diff)
		}
		if kept, err := store.Session(t.Context(), session); err != nil || kept.Messages != 8 {
			t.Errorf("%s has %d messages, %v", session, kept.Messages, err)
		}
	}
	onDisk(t, path, func(store *sqlite.Store) {
		second(store, "s")
		if err := store.Delete(t.Context(), "s"); err != nil {
			t.Fatal(err)
		}
		second(store, "branch")
	})
	onDisk(t, filepath.Join(t.TempDir(), "another.db"), func(store *sqlite.Store) {
		if _, err := store.Import(t.Context(), exported, "copy"); err != nil {
			t.Fatal(err)
		}
		second(store, "copy")
	})
}

// onDisk opens a store for use, and closes it.
func onDisk(t *testing.T, path string, use func(*sqlite.Store)) {
	t.Helper()
	store, err := sqlite.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	use(store)
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
}

// forecast asks the forecaster, and returns its calls with the result.
func forecast(t *testing.T, store coordinator.Store, session, question string) ([]debugbackend.Call, report.Result) {
	t.Helper()
	script, err := debugbackend.ParseScript([]byte(forecaster))
	if err != nil {
		t.Fatal(err)
	}
	recorder := debugbackend.NewRecorder(debugbackend.Options{})
	p := solo(t, store, coordinator.Agent{
		ID: "forecaster", SystemMessage: "You tell the weather.", Backend: recorder.Wrap(debugbackend.NewScripted(script)), Tools: []agents.Tool{weather{}},
	})
	r := p.askIn(t, session, question)
	p.Wait()
	return recorder.Calls(), r
}

// solo is a panel of one.
func solo(t *testing.T, store coordinator.Store, a coordinator.Agent) panel {
	t.Helper()
	p, err := coordinator.New(coordinator.Options{Store: store, Agents: []coordinator.Agent{a}})
	if err != nil {
		t.Fatal(err)
	}
	return panel{Panel: p}
}

// TestSessionMovesToAnotherModel has a model use a tool in the first turn and go on in
// the second, and another model go on in the third. What only the first can read goes
// back to it, and not to the other; the requests are valid.
func TestSessionMovesToAnotherModel(t *testing.T) {
	t.Parallel()
	perMove(t, func(t *testing.T, m move) {
		store := sessions.NewMemory()
		ask := func(p protocol, reply func(backendtest.Call) backendtest.Reply) []backendtest.Call {
			t.Helper()
			server, adapter := p.serve(t, reply)
			agent := coordinator.Agent{ID: "agent1", Model: p.model, Backend: adapter, Tools: []agents.Tool{lookup{}}}
			if p.model != "gpt-4.1" {
				agent.Params.ReasoningEffort = "low"
			}
			if r := solo(t, store, agent).ask(t, "What is it?"); r.Status != kernel.Completed {
				t.Fatalf("%+v", r)
			}
			return server.Calls()
		}
		ask(m.from, func(c backendtest.Call) backendtest.Reply {
			if c.Number == 1 {
				return thinking(m.from.model, toolCall("lookup", `{"word":"sun"}`))
			}
			return thinking(m.from.model, backendtest.Reply{Text: "So it is."})
		})
		answer := func(backendtest.Call) backendtest.Reply { return backendtest.Reply{Text: "Still so."} }
		again, moved := ask(m.from, answer)[0], ask(m.to, answer)[0]
		if problem := invalid(t, m.from, again); problem != "" {
			t.Errorf("%s was sent %s:\n%s", m.from.model, problem, again.Body)
		}
		checkMoved(t, m.to, moved, m.from.model)
		if kept := strings.Contains(string(again.Body), signature(m.from.model)); kept != (m.from.name != "openai") {
			t.Errorf("%s is sent its own signature: %t\n%s", m.from.model, kept, again.Body)
		}
		for _, call := range []backendtest.Call{again, moved} {
			if got := toolResults(call.Messages()); !slices.Equal(got, []string{`found {"word":"sun"}`}) {
				t.Errorf("the results are %q", got)
			}
		}
	})
}

// orphans are lists of messages in which a call or a result stands alone, by what is
// said when they are repaired. Their texts are put.
func orphans(put func(string) blob.Ref) map[string][]effect.Entry {
	call := effect.Entry{Kind: effect.Assistant, Text: put(
		`{"role":"assistant","parts":[{"type":"tool_call","id":"call_1","name":"lookup","arguments":"{}"}]}`)}
	answer := effect.Entry{Kind: effect.Assistant, Text: put(`{"role":"assistant","parts":[{"type":"text","text":"So it is."}]}`)}
	result := effect.Entry{Kind: effect.Result, CallID: "call_2", Name: "lookup", Text: put("lost")}
	return map[string][]effect.Entry{
		`message 2: the call "call_1" of lookup has no result, and was given one that says so`: {call, answer},
		`message 2: the result for "call_2" was left out: no call waits for it`:                {result, answer},
	}
}

// TestDamagedSessionIsRepairedOnLoad imports sessions in which a call or a result
// stands alone. Each protocol's server is sent a valid request, the result says what
// was repaired, and the store has the original.
func TestDamagedSessionIsRepairedOnLoad(t *testing.T) {
	t.Parallel()
	texts := map[blob.Ref]string{}
	noted := orphans(func(text string) blob.Ref {
		ref := sessions.RefOf([]byte(text))
		texts[ref] = text
		return ref
	})
	for note, list := range noted {
		exported := damaged(t, texts, list)
		perProtocol(t, func(t *testing.T, p protocol) {
			onDisk(t, filepath.Join(t.TempDir(), "sessions.db"), func(store *sqlite.Store) {
				if _, err := store.Import(t.Context(), bytes.NewReader(exported), ""); err != nil {
					t.Fatal(err)
				}
				server, adapter := p.serve(t, func(backendtest.Call) backendtest.Reply { return backendtest.Reply{Text: "Still so."} })
				r := solo(t, store, coordinator.Agent{ID: "agent1", Model: p.model, Backend: adapter, Tools: []agents.Tool{lookup{}}}).ask(t, "And now?")
				want := []string{"turn 1 was repaired before it was shown: " + note}
				if diff := cmp.Diff(want, r.Warnings); diff != "" || r.Answer != "Still so." {
					t.Errorf("answer %q, warnings (-want +got):\n%s", r.Answer, diff)
				}
				sent := server.Calls()[0]
				if problem := invalid(t, p, sent); problem != "" {
					t.Errorf("it was sent %s:\n%s", problem, sent.Body)
				}
				turns, err := store.Turns(t.Context(), "s", 0)
				if err != nil {
					t.Fatal(err)
				}
				if kept, err := store.Get(t.Context(), turns[0].Messages); err != nil || string(kept) != encoded(t, list) {
					t.Errorf("the original is %s, %v", kept, err)
				}
			})
		})
	}
}

// damaged exports a session whose one turn has the list.
func damaged(t *testing.T, texts map[blob.Ref]string, list []effect.Entry) []byte {
	t.Helper()
	store := sessions.NewMemory()
	if _, err := store.Begin(t.Context(), "s", "What is it?"); err != nil {
		t.Fatal(err)
	}
	ended := sessions.Ended{Status: kernel.Completed, Winner: "agent1", Answer: "So it is.", MessageCount: 3}
	var err error
	for _, text := range texts {
		if _, err = store.Put(t.Context(), []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if ended.Messages, err = store.Put(t.Context(), []byte(encoded(t, list))); err != nil {
		t.Fatal(err)
	}
	if err := store.End(t.Context(), "s", 1, ended); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := store.Export(t.Context(), "s", &out); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestSessionMovesBetweenTheAPIsOfAModel: the same model of the same provider is called over
// the Responses API, then over chat completions, and over the first again. What it thought goes
// back to it where it can read it, and each request is valid.
func TestSessionMovesBetweenTheAPIsOfAModel(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := sessions.NewMemory()
		over, chat := responses(), openAI()
		chat.model = over.model
		chat.adapter = func(provider, baseURL string, transport http.RoundTripper) (backends.Backend, error) {
			return openai.NewDialect(openai.Config{Provider: provider, BaseURL: baseURL, APIKey: testKey, Transport: transport}, openai.Dialect{API: "chat"})
		}
		ask := func(p protocol, thought string) backendtest.Call {
			t.Helper()
			server, adapter := p.serve(t, refusing(t, p, func(c backendtest.Call) backendtest.Reply {
				r := backendtest.Reply{Text: "So it is."}
				if c.Number == 1 {
					r = toolCall("lookup", `{"word":"sun"}`)
				}
				r.Reasoning, r.Signature = thought, "sealed "+thought
				return r
			}))
			agent := coordinator.Agent{ID: "agent1", Model: p.model, Backend: adapter, Tools: []agents.Tool{lookup{}}}
			if r := solo(t, store, agent).ask(t, "What is it?"); r.Status != kernel.Completed {
				t.Fatalf("%+v", r)
			}
			return server.Calls()[1]
		}
		for _, c := range []struct {
			p       protocol
			thought string
			sees    []string
			results int
		}{
			{over, "first", []string{"sealed first"}, 1},
			{chat, "second", nil, 2},
			{over, "third", []string{"sealed first", "sealed third"}, 3},
		} {
			sent := ask(c.p, c.thought)
			if problem := invalid(t, c.p, sent); problem != "" {
				t.Errorf("%s: it was sent %s:\n%s", c.thought, problem, sent.Body)
			}
			for _, seal := range []string{"sealed first", "sealed second", "sealed third"} {
				if strings.Contains(string(sent.Body), seal) != slices.Contains(c.sees, seal) {
					t.Errorf("%s: %q is wrong in\n%s", c.thought, seal, sent.Body)
				}
			}
			if got := len(toolResults(sent.Messages())); got != c.results {
				t.Errorf("%s: %d results, want %d", c.thought, got, c.results)
			}
		}
	})
}
