package tests

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/tests/backendtest"
)

// The models below reply by what they are sent and by nothing else: to the same body with
// the same words, whichever process sends it.

// inRounds is a model of a panel of three, a, b and c, that needs three rounds: all draft an
// answer, b improves its own, and b's wins.
func inRounds(c backendtest.Call) backendtest.Reply {
	s := stepOf(c)
	look := toolUse("list_files", `{}`)
	readBest := toolUse("read_file", `{"path":"answers/agent2/notes.txt"}`)
	switch who := c.Model(); {
	case !s.mayVote:
		return s.when("Spoken by "+who+": "+strings.Join(s.read, ""), readNotes())
	case s.isBlind:
		return s.act("new_answer", `{"content":%q}`, "draft of "+who+", "+s.noted(), look, writeNotes("draft of "+who), readNotes())
	case s.hasImproved && who == "b":
		return s.act("vote", `{"agent_id":"agent2","reason":%q}`, "I am sure.")
	case s.hasImproved:
		return s.act("vote", `{"agent_id":"agent2","reason":%q}`, "It is better now: "+s.noted(), look, readBest)
	case who == "b":
		return s.act("new_answer", `{"content":%q}`, "improved by b, "+s.noted(), writeNotes("improved by b"), readNotes())
	}
	return s.act("vote", `{"agent_id":"agent2","reason":%q}`, "It is good: "+s.noted(), readBest)
}

// withJudge is inRounds in a first round, and the judge of its answers.
func withJudge(c backendtest.Call) backendtest.Reply {
	says := func(text string) backendtest.Reply {
		return backendtest.Reply{Text: text, Usage: &backends.Usage{InputTokens: 100, OutputTokens: 10}}
	}
	switch system := c.System(); {
	case c.Model() != "j":
		return inRounds(c)
	case strings.Contains(system, "You decide whether"):
		return says(`{"same":false}`)
	case len(c.Messages()) > 2:
		return says("Written from the answers.")
	}
	return says(`{"consensus":[{"claim":"It is a draft.","answers":["agent2","agent3"],"quotes":[]}],"partial":[],"unique":[],"contradictions":[],"blind_spots":[],"best":"agent2","why":"It is noted."}`)
}

// inHaste is a model of a panel of three whose agents do not wait for each other: all draft
// an answer, and vote for b's, or else for the first that there is.
func inHaste(c backendtest.Call) backendtest.Reply {
	s, who := stepOf(c), c.Model()
	if s.isBlind {
		return s.act("new_answer", `{"content":%q}`, "draft of "+who+", "+s.noted(), toolUse("list_files", `{}`), writeNotes("draft of "+who), readNotes())
	}
	for _, best := range []string{"b", "a", "c"} {
		if strings.Contains(s.text, "draft of "+best) {
			agent := map[string]string{"a": "agent1", "b": "agent2", "c": "agent3"}[best]
			return s.act("vote", `{"agent_id":"`+agent+`","reason":%q}`, "of those that are there")
		}
	}
	return backendtest.Reply{Text: "there is no answer"}
}

// byItself is a panel of one with tools, and the models that find its topics and facts.
func byItself(c backendtest.Call) backendtest.Reply {
	s := stepOf(c)
	switch c.Model() {
	case "topics":
		return s.act("set_topic", `{"name":%q}`, "Tyburn")
	case "facts":
		return s.act("remember", `{"facts":[%q]}`, "Lives in London.")
	}
	said := fmt.Sprintf("After %d messages, and with the notes %q: it is long gone.", s.before, s.noted())
	return s.when(said, writeNotes("of "+s.question), toolUse("mcp__own__echo", `{"of":"it"}`), readNotes())
}

// inThought is a model that thinks before each of three calls and before its answer, and
// refuses a request that has not all of its thoughts, each as it was and where it was.
func inThought(c backendtest.Call) backendtest.Reply {
	s := stepOf(c)
	var request struct {
		Store   bool
		Include []string
		Input   []json.RawMessage
	}
	if err := json.Unmarshal(c.Body, &request); err != nil {
		return failed(400, err.Error(), nil)
	}
	var order []string
	for _, item := range request.Input {
		var head struct{ Type string }
		if err := json.Unmarshal(item, &head); err != nil {
			return failed(400, err.Error(), nil)
		}
		if head.Type == "reasoning" {
			head.Type = string(item)
		}
		order = append(order, head.Type)
	}
	want := []string{"message", "message"} // the system's and the question
	for i := range s.used {
		want = append(want, fmt.Sprintf(`{"encrypted_content":%q,"id":"rs_0","summary":[{"text":"thought %d","type":"summary_text"}],"type":"reasoning"}`,
			sealed(i), i), "function_call", "function_call_output")
	}
	if !slices.Equal(order, want) || request.Store || len(request.Include) != 1 {
		return failed(400, fmt.Sprintf("%q was sent, in place of %q", order, want), nil)
	}
	tools := []backends.ToolCall{writeNotes("a thought"), toolUse("list_files", `{}`), readNotes()}
	r := backendtest.Reply{Text: "It is noted: " + s.noted()}
	if i := slices.IndexFunc(tools, func(t backends.ToolCall) bool { return !s.knows(t) }); i >= 0 {
		tools[i].ID = fmt.Sprintf("call_%d", len(s.used))
		r = backendtest.Reply{ToolCalls: tools[i : i+1]}
	}
	r.Reasoning, r.Signature = fmt.Sprint("thought ", len(s.used)), sealed(len(s.used))
	return s.reply(r)
}

func sealed(thought int) string { return fmt.Sprintf("gAAAAB+/%d==", thought) }

func writeNotes(text string) backends.ToolCall {
	return toolUse("write_file", fmt.Sprintf(`{"path":"notes.txt","content":%q}`, text))
}

func readNotes() backends.ToolCall { return toolUse("read_file", `{"path":"notes.txt"}`) }

func toolUse(name, arguments string) backends.ToolCall {
	return backends.ToolCall{Name: name, Arguments: arguments}
}

// step is what a call says of its step.
type step struct {
	model    string
	text     string // of the last user message and of what followed
	question string
	before   int // the messages before the step
	used     []backends.ToolCall
	results  map[string]string // by the id of the call
	read     []string          // what files said
	isBlind, hasImproved,
	mayVote bool
}

func stepOf(c backendtest.Call) step {
	s := step{model: c.Model(), results: map[string]string{}, mayVote: slices.Contains(c.ToolNames(), "vote")}
	messages := c.Messages()
	for i, m := range messages {
		if m.Role == backends.RoleUser {
			s.before, s.text, s.question, s.used = i, "", m.Text(), nil
		}
		s.text += m.Text()
		for _, p := range m.Parts {
			switch p := p.(type) {
			case backends.ToolCall:
				s.used = append(s.used, p)
			case backends.ToolResult:
				s.results[p.CallID] = p.Content
				s.text += p.Content
			}
		}
	}
	s.isBlind = strings.Contains(s.text, "(no answers available yet)")
	s.hasImproved = strings.Contains(s.question, "improved by b")
	for _, u := range s.used {
		var file struct{ Content string }
		if err := json.Unmarshal([]byte(s.results[u.ID]), &file); u.Name == "read_file" && err == nil {
			s.read = append(s.read, file.Content)
		}
	}
	return s
}

// noted is what the last file said that was read.
func (s step) noted() string {
	if len(s.read) == 0 {
		return "nothing"
	}
	return s.read[len(s.read)-1]
}

// act uses the tools, and then calls one with arguments that say a text.
func (s step) act(tool, arguments, text string, tools ...backends.ToolCall) backendtest.Reply {
	if r, all := s.use(tools); !all {
		return r
	}
	return s.reply(backendtest.Reply{ToolCalls: []backends.ToolCall{{ID: "act", Name: tool, Arguments: fmt.Sprintf(arguments, text)}}})
}

// when uses the tools, and then says a text.
func (s step) when(text string, tools ...backends.ToolCall) backendtest.Reply {
	if r, all := s.use(tools); !all {
		return r
	}
	return s.reply(backendtest.Reply{Text: text})
}

// use calls those of the tools that have no result yet, and again those of which nobody
// knows what became of them. The last one waits for the others.
func (s step) use(tools []backends.ToolCall) (r backendtest.Reply, all bool) {
	for i, tool := range tools {
		if s.knows(tool) || i > 0 && i == len(tools)-1 && len(r.ToolCalls) > 0 {
			continue
		}
		tool.ID = fmt.Sprintf("call_%d", len(s.used)+len(r.ToolCalls))
		r.ToolCalls = append(r.ToolCalls, tool)
	}
	return s.reply(r), len(r.ToolCalls) == 0
}

// interruptedResult is the beginning of what a model is told of a tool call that was under
// way when its process ended.
const interruptedResult = "unknown: interrupted: "

func (s step) knows(tool backends.ToolCall) bool {
	return slices.ContainsFunc(s.used, func(u backends.ToolCall) bool {
		return u.Name == tool.Name && u.Arguments == tool.Arguments && !strings.HasPrefix(s.results[u.ID], interruptedResult)
	})
}

// reply has usage, and takes so long that some calls are under way whenever a process dies.
func (s step) reply(r backendtest.Reply) backendtest.Reply {
	r.Usage = &backends.Usage{InputTokens: 10, OutputTokens: 2}
	r.Delay = map[string]time.Duration{"b": 3 * time.Millisecond, "c": 6 * time.Millisecond}[s.model]
	return r
}

// serveEcho is an MCP server with a tool that does not say that it is idempotent. It writes
// a line for each call to a file.
func serveEcho() (status int) {
	s := sdk.NewServer(&sdk.Implementation{Name: "echo", Version: "1"}, nil)
	s.AddTool(&sdk.Tool{Name: "echo", Description: "says it again", InputSchema: map[string]any{"type": "object"}},
		func(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			f, err := os.OpenFile(os.Getenv(killedEchoes), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
			if err != nil {
				return nil, err
			}
			_, err = fmt.Fprintln(f, string(r.Params.Arguments))
			if err := errors.Join(err, f.Close()); err != nil {
				return nil, err
			}
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "echo of " + string(r.Params.Arguments)}}}, nil
		})
	if err := s.Run(context.Background(), &sdk.StdioTransport{}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}
