package massgen_test

import (
	"context"
	"errors"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/massgen/massgen"
	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/internal/system/blob"
	"github.com/massgen/massgen/sessions"
	"github.com/massgen/massgen/tests/backendtest"
)

// caller is a model that calls a tool once, with arguments, and then answers with the result.
func caller(t *testing.T, tool, arguments string) *backendtest.Server {
	return backendtest.NewServer(t, func(c backendtest.Call) backendtest.Reply {
		messages := c.Messages()
		for _, part := range messages[len(messages)-1].Parts {
			if result, ok := part.(backends.ToolResult); ok {
				return backendtest.Reply{Text: "It " + result.Content}
			}
		}
		return backendtest.Reply{ToolCalls: []backends.ToolCall{{ID: "1", Name: tool, Arguments: arguments}}}
	})
}

// echo is a model that answers with the words of its input's last message, each time with the
// number of messages.
func echo(t *testing.T) *backendtest.Server {
	return backendtest.NewServer(t, func(c backendtest.Call) backendtest.Reply {
		var said []string
		for _, m := range c.Messages() {
			said = append(said, m.Text())
		}
		return backendtest.Reply{Text: strings.Join(said, " / ")}
	})
}

func load(t *testing.T, config string, opts ...massgen.Option) *massgen.Panel {
	t.Helper()
	file := filepath.Join(t.TempDir(), "panel.yaml")
	if err := os.WriteFile(file, []byte(config), 0o644); err != nil {
		t.Fatal(err)
	}
	return made(t)(massgen.Load(t.Context(), file, opts...))
}

// made closes a panel with its test.
func made(t *testing.T) func(*massgen.Panel, error) *massgen.Panel {
	return func(p *massgen.Panel, err error) *massgen.Panel {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := p.Close(); err != nil {
				t.Error(err)
			}
		})
		return p
	}
}

func ask(t *testing.T, p *massgen.Panel, session, question string) massgen.Result {
	t.Helper()
	result, err := p.Run(t.Context(), session, question)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

func TestLoadedAgentsUseTheirMCPServer(t *testing.T) {
	model := caller(t, "mcp__prices__price", `{"source":"the sun"}`)
	p := load(t, `
agent: {id: ada, backend: {type: chatcompletion, model: m, base_url: "`+model.BaseURL+`"}}
mcp_servers: {prices: {command: "${PRICES_SERVER}", args: [prices-server]}}
`, massgen.WithStateDir(t.TempDir()))
	r := ask(t, p, "", "What does the sun cost?")
	if said := []string{r.Status, r.Answer}; !slices.Equal(said, []string{"completed", "It the sun costs 4 cents"}) || r.SessionID == "" {
		t.Errorf("session %s: %s: %s", r.SessionID, r.Status, r.Answer)
	}
	if len(r.ToolCalls) != 1 || r.ToolCalls[0].State != "ran" {
		t.Errorf("tool calls %+v", r.ToolCalls)
	}
}

func TestLoadKeepsSessionsWhereTheProgramDoes(t *testing.T) {
	model := echo(t)
	config := `agent: {id: ada, backend: {type: chatcompletion, model: m, base_url: "` + model.BaseURL + `"}}`
	id := sessions.NewID()
	first := load(t, config)
	ask(t, first, id, "one")
	second := load(t, config)
	if r := ask(t, second, id, "two"); r.Turn != 2 || r.Answer != "one / one / two" {
		t.Errorf("turn %d is told %q", r.Turn, r.Answer)
	}
	if _, err := os.Stat(filepath.Join(os.Getenv("XDG_STATE_HOME"), "massgen", "sessions.db")); err != nil {
		t.Error(err)
	}
}

func TestNewKeepsSessionsInMemory(t *testing.T) {
	model := echo(t)
	members := []massgen.Agent{{ID: "ada", Model: "m", BaseURL: model.BaseURL, SystemMessage: "Be brief."}}
	p := made(t)(massgen.New(t.Context(), members))
	ask(t, p, "", "one")
	if r := ask(t, p, "", "two"); r.Turn != 2 || r.Answer != "Be brief. / one / Be brief. / one / two" {
		t.Errorf("turn %d is told %q", r.Turn, r.Answer)
	}
	other := made(t)(massgen.New(t.Context(), members))
	if r := ask(t, other, "", "three"); r.Turn != 1 || r.Answer != "Be brief. / three" {
		t.Errorf("another panel's turn %d is told %q", r.Turn, r.Answer)
	}
}

func TestNewSaysWhatIsWrongWithAgents(t *testing.T) {
	tool, err := agents.NewTool("look", "It looks.", func(context.Context, struct{}) (string, error) { return "", nil })
	if err != nil {
		t.Fatal(err)
	}
	for want, members := range map[string][]massgen.Agent{
		"agent 2: its ID is empty":                           {{ID: "ada", Provider: "demo"}, {Provider: "demo"}},
		`agent 1: its ID is ".."; use letters`:               {{ID: "..", Provider: "demo"}},
		"type demos is not known":                            {{ID: "ada", Provider: "demos"}},
		"agent ada: its APIKey has a character that cannot":  {{ID: "ada", Provider: "openai", APIKey: "sk-1\n"}},
		"agent ada: one of its tools is nil":                 {{ID: "ada", Provider: "demo", Tools: []agents.Tool{nil}}},
		"agent ada: two of its tools are named look: rename": {{ID: "ada", Provider: "demo", Tools: []agents.Tool{tool, tool}}},
	} {
		if _, err := massgen.New(t.Context(), members); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// TestOptionsOfNothing change nothing.
func TestOptionsOfNothing(t *testing.T) {
	p := made(t)(massgen.New(t.Context(), []massgen.Agent{{ID: "ada", Provider: "demo"}},
		nil, massgen.WithLogger(nil), massgen.WithStore(nil), massgen.WithRules(nil), massgen.WithTools()))
	if r := ask(t, p, "", "one"); r.Status != "completed" {
		t.Errorf("the turn is %s", r.Status)
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := massgen.New(t.Context(), []massgen.Agent{{ID: "ada", Provider: "demo"}}, massgen.WithRecorder(massgen.RecorderOptions{Dir: filepath.Join(file, "x")}))
	if err == nil || !strings.Contains(err.Error(), "WithRecorder: ") {
		t.Errorf("a recorder without a folder: %v", err)
	}
}

// TestCloseEndsTurns: one that runs and one that is paused, wherever sessions are kept. Nothing is
// asked of a panel that is closed.
func TestCloseEndsTurns(t *testing.T) {
	for name, option := range map[string]massgen.Option{"in memory": nil, "in a folder": massgen.WithStateDir(t.TempDir())} {
		t.Run(name, func(t *testing.T) {
			model := backendtest.NewServer(t, func(backendtest.Call) backendtest.Reply { return backendtest.Reply{Fault: backendtest.HangBefore} })
			p, err := massgen.New(t.Context(), []massgen.Agent{{ID: "ada", Model: "m", BaseURL: model.BaseURL}}, option)
			if err != nil {
				t.Fatal(err)
			}
			running, err := p.Ask(t.Context(), "one", "Why?")
			if err != nil {
				t.Fatal(err)
			}
			paused, err := p.Ask(t.Context(), "two", "Why?")
			if err == nil {
				err = paused.Pause(t.Context())
			}
			if err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(p.Close(), p.Close()); err != nil {
				t.Error(err)
			}
			for _, turn := range []*massgen.Turn{running, paused} {
				if r, err := turn.Wait(t.Context()); r.Status != "interrupted" || err != nil {
					t.Errorf("a turn is %s, %v", r.Status, err)
				}
			}
			if _, err := p.Ask(t.Context(), "one", "And now?"); !errors.Is(err, massgen.ErrClosed) {
				t.Errorf("a question after Close: %v", err)
			}
		})
	}
}

// TestSecretsOfAnAgentAreMasked, those in its headers and body too.
func TestSecretsOfAnAgentAreMasked(t *testing.T) {
	model, kept := echo(t), sessions.NewMemory()
	p := made(t)(massgen.New(t.Context(), []massgen.Agent{{ID: "ada", Model: "m", BaseURL: model.BaseURL, Params: backends.Params{
		Headers: map[string]string{"Authorization": "Bearer canary-0123456789"}, ExtraBody: map[string]any{"api_key": "canary-9876543210"},
	}}}, massgen.WithStore(kept)))
	ask(t, p, "s", "What are canary-0123456789 and canary-9876543210?")
	turns, err := kept.Turns(t.Context(), "s", 0)
	if err != nil || len(turns) != 1 || strings.Contains(turns[0].Question+turns[0].Answer, "canary") {
		t.Errorf("kept are %+v, %v", turns, err)
	}
}

func TestOptionsOfAStoreAndARecorder(t *testing.T) {
	model, kept, dir := echo(t), sessions.NewMemory(), t.TempDir()
	members := []massgen.Agent{{ID: "ada", Model: "m", BaseURL: model.BaseURL, APIKey: "sk-canary-0123456789"}}
	p := made(t)(massgen.New(t.Context(), members, massgen.WithStore(kept), massgen.WithRecorder(massgen.RecorderOptions{Dir: dir})))
	ask(t, p, "s", "is it sk-canary-0123456789?")
	turns, err := kept.Turns(t.Context(), "s", 0)
	if err != nil || len(turns) != 1 || turns[0].Question != "is it ***?" {
		t.Errorf("%+v, %v: a key is to be masked", turns, err)
	}
	if n := len(p.Recorder().Calls()); n != 1 {
		t.Errorf("%d calls were recorded", n)
	}
	text, err := os.ReadFile(filepath.Join(dir, "turn-001", "ada", "call-001.json"))
	if err != nil || !strings.Contains(string(text), "is it ***?") || strings.Contains(string(text), "canary") {
		t.Errorf("%v, and the call is written as %s", err, text)
	}
}

func TestOptionsOfToolsAndApproval(t *testing.T) {
	model := caller(t, "price", `{"source":"wind"}`)
	price, err := agents.NewTool("price", "Returns a price.", func(_ context.Context, args priceOf) (string, error) {
		return "knows the price of " + args.Source, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	config := `
agent: {id: ada, backend: {type: chatcompletion, model: m, base_url: "` + model.BaseURL + `"}}
permissions: {rules: [{action: ask, tool: price}]}
`
	var asked []massgen.ApprovalRequest
	approve := func(_ context.Context, call massgen.ApprovalRequest) (massgen.Decision, error) {
		asked = append(asked, call)
		return massgen.Decision{Allowed: true}, nil
	}
	dir := massgen.WithStateDir(t.TempDir())
	p := load(t, config, dir, massgen.WithTools(price), massgen.WithApproval(approve))
	if r := ask(t, p, "", "?"); r.Answer != "It knows the price of wind" || len(asked) != 1 || asked[0].Tool != "price" {
		t.Errorf("%q after the questions %+v", r.Answer, asked)
	}
	p = load(t, config, dir, massgen.WithTools(price)) // nobody can be asked
	if r := ask(t, p, "", "?"); len(r.ToolCalls) != 1 || r.ToolCalls[0].State != "denied" {
		t.Errorf("the call was not denied: %+v", r.ToolCalls)
	}
}

func TestOptionOfRules(t *testing.T) {
	members := []massgen.Agent{{ID: "ada", Provider: "demo"}, {ID: "bob", Provider: "demo"}}
	p := made(t)(massgen.New(t.Context(), members, massgen.WithRules(func(r *massgen.Rules) { r.MaxNewAnswersPerAgent = 1 })))
	if r := ask(t, p, "", "?"); r.Rounds != 2 {
		t.Errorf("%d rounds, where nobody may answer twice", r.Rounds)
	}
}

// TestTurnOfAPanel is followed, added to and ended while it runs.
func TestTurnOfAPanel(t *testing.T) {
	begun, release := make(chan struct{}), make(chan struct{})
	var once sync.Once
	model := backendtest.NewServer(t, func(backendtest.Call) backendtest.Reply {
		once.Do(func() { close(begun) })
		<-release
		return backendtest.Reply{Text: "late"}
	})
	t.Cleanup(func() { close(release) }) // before the server waits for its calls
	p := made(t)(massgen.New(t.Context(), []massgen.Agent{{ID: "ada", Model: "m", BaseURL: model.BaseURL}}))
	turn, err := p.Ask(t.Context(), "", "?")
	if err != nil {
		t.Fatal(err)
	}
	<-begun
	for _, err := range []error{turn.Note(t.Context(), "in euros"), turn.Pause(t.Context()), turn.Resume(t.Context())} {
		if err != nil {
			t.Error(err)
		}
	}
	turn.Cancel()
	events := 0
	for range turn.Events(t.Context()) {
		events++
	}
	r, err := turn.Wait(t.Context())
	if err != nil || r.Status != "interrupted" || len(r.Notes) != 1 || events == 0 {
		t.Errorf("%s with the notes %+v after %d events, %v", r.Status, r.Notes, events, err)
	}
}

func TestWarningsOfAConfig(t *testing.T) {
	p := load(t, "agent: {id: ada, backend: {type: demo, exclude_tools: [nothing]}}\nui: {logging_enabled: true}\n", massgen.WithStateDir(t.TempDir()))
	if w := p.Warnings(); len(w) != 1 || !strings.Contains(w[0], "it has no tool nothing") {
		t.Errorf("warnings %q", w)
	}
}

// canned is a model that always says the same, and in a panel votes for the first answer.
type canned string

// Stream implements backends.Backend.
func (c canned) Stream(_ context.Context, req backends.Request) iter.Seq2[backends.Event, error] {
	var said backends.Event = backends.TextDelta{Text: string(c)}
	switch {
	case len(req.Tools) == 0:
	case req.Key.Round == 1:
		said = backends.ToolCall{ID: "1", Name: "new_answer", Arguments: `{"content":"` + string(c) + req.Key.Agent + `"}`}
	default:
		said = backends.ToolCall{ID: "1", Name: "vote", Arguments: `{"agent_id":"agent1","reason":"It is short."}`}
	}
	return func(yield func(backends.Event, error) bool) {
		if yield(said, nil) {
			yield(backends.Finish{Reason: "stop"}, nil)
		}
	}
}

func TestAgentsBringTheirModels(t *testing.T) {
	p := made(t)(massgen.New(t.Context(), []massgen.Agent{{ID: "ada", Model: "own", Backend: canned("The sun.")}}))
	if r := ask(t, p, "", "What is cheap?"); r.Answer != "The sun." || r.Status != "completed" {
		t.Errorf("%s: %s", r.Status, r.Answer)
	}
	both := []massgen.Agent{{ID: "ada", Provider: "demo", Backend: canned("The sun.")}}
	if _, err := massgen.New(t.Context(), both); err == nil || !strings.Contains(err.Error(), "agent ada has a Backend and a Provider") {
		t.Errorf("a model and a service: %v", err)
	}
}

// A panel remembers what it has told models of a session. What it stores is the same as what
// a panel that has just begun does, also after a branch.
func TestAPanelThatRemembersStoresTheSame(t *testing.T) {
	for _, agents := range []int{1, 2} {
		stored := func(isNew bool) (refs []blob.Ref) {
			store := sessions.NewMemory()
			begin := func() *massgen.Panel {
				var members []massgen.Agent
				for _, id := range []string{"ada", "bob"}[:agents] {
					members = append(members, massgen.Agent{ID: id, Model: "own", Backend: canned("The sun.")})
				}
				return made(t)(massgen.New(t.Context(), members, massgen.WithStore(store)))
			}
			p := begin()
			turn := func(session, question string) {
				if isNew {
					p = begin()
				}
				r := ask(t, p, session, question)
				if r.Status != "completed" {
					t.Fatalf("%+v", r)
				}
				journal, err := store.Journal(t.Context(), session, r.Turn, 0)
				if err != nil {
					t.Fatal(err)
				}
				for _, event := range journal {
					refs = append(refs, sessions.Refs(event)...)
				}
			}
			for _, question := range []string{"one", "two", "three"} {
				turn("a", question)
			}
			if _, err := store.Branch(t.Context(), "a", 2, "b"); err != nil {
				t.Fatal(err)
			}
			turn("b", "other")
			turn("a", "four")
			turn("b", "more")
			slices.SortFunc(refs, func(a, b blob.Ref) int { return strings.Compare(a.SHA256, b.SHA256) })
			return slices.Compact(refs) // agents answer in any order
		}
		if diff := cmp.Diff(stored(true), stored(false)); diff != "" {
			t.Errorf("%d agents, panels that begin (-) and one that remembers (+):\n%s", agents, diff)
		}
	}
}

func TestAgentsOfModels(t *testing.T) {
	want := []massgen.Agent{{ID: "m", Provider: "demo", Model: "m"}, {ID: "demo", Provider: "demo"}, {ID: "demo-2", Provider: "demo"}}
	if diff := cmp.Diff(want, massgen.AgentsOf("demo/m", "demo", "demo")); diff != "" {
		t.Error(diff)
	}
	panel, err := massgen.New(t.Context(), want)
	if err != nil {
		t.Fatal(err)
	}
	if err := panel.Close(); err != nil {
		t.Error(err)
	}
}
