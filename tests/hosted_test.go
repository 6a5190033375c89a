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
	"github.com/massgen/massgen/backends/backendtest"
	"github.com/massgen/massgen/cmd/massgen/app"
	"github.com/massgen/massgen/coordinator/report"
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

func newHostedPanel(t *testing.T, keys, more string, protocols ...protocol) *hostedPanel {
	t.Helper()
	p := &hostedPanel{dir: t.TempDir(), config: "agents:\n", servers: map[string]*backendtest.Server{}}
	for _, of := range protocols {
		server := backendtest.NewProtocolServer(t, of.wire, func(c backendtest.Call) backendtest.Reply {
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
		})
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
	p := newHostedPanel(t, hostedKeys, "", hosts()...)
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
