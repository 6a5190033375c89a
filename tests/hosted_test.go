package tests

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/cmd/massgen/app"
	"github.com/massgen/massgen/coordinator/report"
	"github.com/massgen/massgen/tests/backendtest"
)

// hostedPanel is a panel whose providers search the web and run code: each agent does both in round
// 1, answers with what it found, and votes for claude in round 2.
type hostedPanel struct {
	dir     string
	config  string
	servers map[string]*backendtest.Server
}

// hosts are the protocols that have hosted tools.
func hosts() []protocol {
	responses, gemini3 := openAI(), google()
	responses.wire, responses.model = backendtest.Responses(), "gpt-5"
	gemini3.model = "gemini-3.5-flash"
	return []protocol{responses, claude(), gemini3}
}

const hostedKeys = "enable_web_search: true, enable_code_execution: true"

// hostedReply uses the tools of a provider and answers; once there are answers, it votes for claude.
func hostedReply(of protocol, c backendtest.Call) backendtest.Reply {
	reply := voting(claude(), c)
	if isBlind(c) {
		reply.Text = "I have looked it up."
		reply.Hosted = &backendtest.Hosted{
			Query: "tides", Found: []backends.Citation{{URL: "https://" + of.name + ".example/tides", Title: "Tides of " + of.name}},
			Code: "print(6*7)", Output: "42",
		}
	}
	reply.Usage = &backends.Usage{InputTokens: 1000, OutputTokens: 100}
	return reply
}

func newHostedPanel(t *testing.T, keys, more string, reply func(protocol, backendtest.Call) backendtest.Reply, protocols ...protocol) *hostedPanel {
	t.Helper()
	p := &hostedPanel{dir: t.TempDir(), config: "agents:\n", servers: map[string]*backendtest.Server{}}
	for _, of := range protocols {
		server := backendtest.NewProtocolServer(t, of.wire, func(c backendtest.Call) backendtest.Reply { return reply(of, c) })
		p.servers[of.name] = server
		own := keys
		if of.name == openAI().name {
			own += ", api: responses"
		}
		p.config += fmt.Sprintf("  - {id: %s, backend: {type: %[1]s, model: %s, base_url: %q, %s}}\n", of.name, of.model, server.BaseURL, own)
	}
	p.config += more
	return p
}

// run runs the program and returns its exit status and outputs.
func (p *hostedPanel) run(t *testing.T, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	file := filepath.Join(p.dir, "panel.yaml")
	if err := os.WriteFile(file, []byte(p.config), 0o600); err != nil {
		t.Fatal(err)
	}
	environment := map[string]string{"HOME": p.dir}
	for _, name := range []string{"OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY"} {
		environment[name] = testKey
	}
	var out, err bytes.Buffer
	status = app.Main(append([]string{"massgen"}, args...), app.Env{
		Stdin: strings.NewReader(""), Stdout: &out, Stderr: &err,
		Lookup:     func(name string) (string, bool) { value, set := environment[name]; return value, set },
		Interrupts: make(chan os.Signal),
	})
	return status, out.String(), err.String()
}

// ask asks the panel a question, and returns its result and what was shown meanwhile.
func (p *hostedPanel) ask(t *testing.T) (r report.Result, progress string) {
	t.Helper()
	status, stdout, stderr := p.run(t, "--config", filepath.Join(p.dir, "panel.yaml"), "--json", "energy?")
	if err := json.Unmarshal([]byte(stdout), &r); err != nil || status != app.ExitCompleted {
		t.Fatalf("exit status %d, %v: %s\n%s", status, err, stdout, stderr)
	}
	return r, stderr
}

// describeCalls has a line for each tool call of a turn.
func describeCalls(calls []report.ResultToolCall) (lines []string) {
	for _, c := range calls {
		lines = append(lines, fmt.Sprintf("%s %d %s %s %s", c.Agent, c.Round, c.Name, c.State, strings.ReplaceAll(c.Result, "\n", " ")))
	}
	return lines
}

// TestHostedTools runs one panel of OpenAI, Claude and Gemini, each of which searches the web and runs
// code. The calls, their results and the sources are in the result, in the journal as sessions show
// reads it, and in a replay; peers are shown the sources as links; the price of the uses is counted.
func TestHostedTools(t *testing.T) {
	p := newHostedPanel(t, hostedKeys, "", hostedReply, hosts()...)
	r, progress := p.ask(t)
	if r.Winner != "claude" || !strings.HasSuffix(r.Answer, "Sources:\n- [Tides of claude](https://claude.example/tides)") {
		t.Errorf("%s won with %q", r.Winner, r.Answer)
	}
	if diff := cmp.Diff([]backends.Citation{{URL: "https://claude.example/tides", Title: "Tides of claude"}}, r.Citations); diff != "" {
		t.Errorf("the sources of the answer (-want +got):\n%s", diff)
	}
	calls := describeCalls(r.ToolCalls)
	for _, a := range r.Answers {
		if len(a.Citations) != 1 || !strings.Contains(a.Content, "](https://"+a.Agent+".example/tides)") {
			t.Errorf("the answer of %s cites %+v: %q", a.Agent, a.Citations, a.Content)
		}
		for _, want := range []string{a.Agent + " 1 web_search ran ", a.Agent + " 1 code_execution ran 42"} {
			if strings.Count(strings.Join(calls, "\n"), want) != 1 {
				t.Errorf("%q is not once in the calls\n%s", want, strings.Join(calls, "\n"))
			}
		}
		if !strings.Contains(progress, a.Agent) || !strings.Contains(progress, "web_search") || !strings.Contains(progress, "code_execution") {
			t.Errorf("the progress does not show the calls of %s:\n%s", a.Agent, progress)
		}
		for name, server := range p.servers {
			if bodies := server.Bodies(); !strings.Contains(string(bodies[len(bodies)-1]), "](https://"+a.Agent+".example/tides)") {
				t.Errorf("%s was not shown the source of %s:\n%s", name, a.Agent, bodies[len(bodies)-1])
			}
		}
	}
	if len(r.Answers) != 3 || len(calls) != 6 {
		t.Errorf("%d answers, and the calls\n%s", len(r.Answers), strings.Join(calls, "\n"))
	}
	// Two calls of each agent, of 1,000 and 100 tokens, then the hosted tools of the first.
	tokens := 2 * (1.25e-3 + 1e-3 + 5e-3 + 2.5e-3 + 1.5e-3 + 0.9e-3)
	if want := tokens + (0.01 + 0.03) + (0.01 + 0.0042) + 0.014; r.Usage.CostUSD == nil || fmt.Sprintf("%.6f", *r.Usage.CostUSD) != fmt.Sprintf("%.6f", want) {
		t.Errorf("the usage is %+v, want $%.6f", r.Usage, want)
	}
	checkKept(t, p, r.SessionID, calls)
}

// checkKept reads a turn from its journal, and plays it again without any server.
func checkKept(t *testing.T, p *hostedPanel, session string, calls []string) {
	t.Helper()
	var asked int
	for _, server := range p.servers {
		asked += len(server.Calls())
	}
	status, stdout, stderr := p.run(t, "sessions", "show", session, "--json")
	var shown struct {
		Turns []struct {
			ToolCalls []report.ResultToolCall `json:"tool_calls"`
		} `json:"turns"`
	}
	if err := json.Unmarshal([]byte(stdout), &shown); err != nil || status != 0 || len(shown.Turns) != 1 {
		t.Fatalf("exit status %d, %v: %s\n%s", status, err, stdout, stderr)
	}
	if diff := cmp.Diff(calls, describeCalls(shown.Turns[0].ToolCalls)); diff != "" {
		t.Errorf("sessions show (-result +shown):\n%s", diff)
	}
	if status, stdout, stderr = p.run(t, "replay", session); status != 0 {
		t.Errorf("replay: exit status %d: %s%s", status, stdout, stderr)
	}
	for _, server := range p.servers {
		asked -= len(server.Calls())
	}
	if asked != 0 {
		t.Errorf("%d calls were made to show and replay the turn", -asked)
	}
}

// TestHostedToolsAreRefused: a model or a service without a tool is an error before any call, which
// names the key with its line and what to do.
func TestHostedToolsAreRefused(t *testing.T) {
	for _, refused := range []struct{ config, want string }{
		{"agent: {id: a, backend: {type: mistral, api_key: k2345678, enable_web_search: true}}", "a: panel.yaml:1:60: type mistral: enable_web_search: mistral-medium-latest has no web search of its own: the service is not known for one; leave it out, or use an MCP server that does this"},
		{"agent: {id: a, backend: {type: openai, model: gpt-5, api: chat,\n  enable_code_interpreter: true}}", "a: panel.yaml:2:3: type openai: enable_code_interpreter: gpt-5 has no code execution of its own: chat completions have none; set api: responses"},
		{"agent: {id: a, backend: {type: openai, model: gpt-5, web_fetch: true}}", "web_fetch: gpt-5 has no web fetch of its own"},
		{"agent: {id: a, backend: {type: openai, model: gpt-5, enable_web_search: true, reasoning_effort: minimal}}", "reasoning_effort: gpt-5 has no web search with minimal effort"},
		{"agent: {id: a, backend: {type: claude, model: claude-3-opus-20240229, enable_web_search: true}}", "take a model from 3.5 on"},
		{"agent: {id: a, backend: {type: claude, model: claude-sonnet-4-5, enable_web_search: true, tool_mode: json}}", "tool_mode: claude-sonnet-4-5 has no tools of its own beside a schema"},
		{"agent: {id: a, backend: {type: gemini, model: gemini-2.5-flash, enable_web_search: true, cwd: .}}", "enable_web_search: gemini-2.5-flash takes no other tools beside those that Google runs"},
		{"agent: {id: a, backend: {type: claude, model: claude-sonnet-4-5, enable_web_search: true, fallback: [{type: openai, model: gpt-5, api: chat}]}}", "fallback 1: type openai: enable_web_search"},
		{"agent: {id: a, backend: {type: azure_openai, base_url: \"https://x.openai.azure.com\", model: m, api: responses, enable_web_search: true}}\nprices: {azure_openai/m: {input: 1, output: 1}}\nbudget: {max_usd: 1}", "max_usd needs to know what it costs"},
	} {
		p := &hostedPanel{dir: t.TempDir(), config: refused.config}
		status, _, stderr := p.run(t, "--config", filepath.Join(p.dir, "panel.yaml"), "energy?")
		if got := strings.ReplaceAll(stderr, p.dir+string(filepath.Separator), ""); status != app.ExitUsage || !strings.Contains(got, refused.want) {
			t.Errorf("%s\nexit status %d, %s\nwithout %s", refused.config, status, got, refused.want)
		}
	}
}

// TestGeminiBefore3 takes its own tools or functions, and no schema beside them: its agents act by JSON
// objects that the prompt alone asks for.
func TestGeminiBefore3(t *testing.T) {
	older := google()
	older.model = "gemini-2.5-flash"
	p := newHostedPanel(t, hostedKeys, "", func(of protocol, c backendtest.Call) backendtest.Reply {
		reply := hostedReply(of, c)
		if of.name != older.name {
			return reply
		}
		reply.ToolCalls, reply.Text = nil, `{"action":{"name":"vote","agent_id":"agent1","reason":"it is clear"}}`
		if isBlind(c) {
			reply.Text = `{"action":{"name":"new_answer","content":"the answer of gemini"}}`
		}
		return reply
	}, older, claude())
	r, _ := p.ask(t)
	for _, c := range p.servers["gemini"].Calls() {
		if req := c.Request(); len(req.Tools) > 0 || len(req.Schema) > 0 || !req.Params.Hosted.WebSearch {
			t.Errorf("it was asked with %d functions, the schema %q and %+v", len(req.Tools), req.Schema, req.Params.Hosted)
		}
	}
	for _, a := range r.Answers {
		if a.Agent == "gemini" && (len(a.Citations) != 1 || !strings.HasSuffix(a.Content, "- [Tides of gemini](https://gemini.example/tides)")) {
			t.Errorf("its answer: %+v", a)
		}
	}
	if calls := strings.Join(describeCalls(r.ToolCalls), "\n"); !strings.Contains(calls, "gemini 1 web_search ran") {
		t.Errorf("the calls:\n%s", calls)
	}
}

// TestHostedToolsAreReserved: a budget has room for the most uses of an attempt, or the attempt is not
// sent; what they did not cost is given back.
func TestHostedToolsAreReserved(t *testing.T) {
	const keys = "enable_web_search: true, hosted_tool_max_uses: 9, max_tokens: 200"
	p := newHostedPanel(t, keys, "budget: {max_usd: 0.09}\n", func(of protocol, c backendtest.Call) backendtest.Reply {
		found := []backends.Citation{{URL: "https://a.example/", Title: "A"}}
		return backendtest.Reply{Text: "yes", Hosted: &backendtest.Hosted{Query: "a", Found: found}, Usage: &backends.Usage{InputTokens: 100, OutputTokens: 100}}
	}, claude())
	status, stdout, stderr := p.run(t, "--config", filepath.Join(p.dir, "panel.yaml"), "--json", "energy?")
	if n := len(p.servers["claude"].Calls()); status != app.ExitFailed || n != 0 {
		t.Errorf("exit status %d after %d calls: nine searches cost $0.09\n%s\n%s", status, n, stdout, stderr)
	}
	p.config = strings.Replace(p.config, "max_usd: 0.09", "max_usd: 0.12", 1)
	r, _ := p.ask(t)
	if got := p.servers["claude"].Calls()[0].Request().Params.Hosted.MaxUses; got != 9 {
		t.Errorf("the service was told a most of %d uses", got)
	}
	if r.Budget == nil || fmt.Sprintf("%.4f", r.Budget.SpentUSD) != "0.0130" {
		t.Errorf("one search and $0.0030 of tokens were spent, not %+v", r.Budget)
	}
}
