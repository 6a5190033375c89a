package conversation_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"strings"

	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/agents/conversation"
	"github.com/massgen/massgen/debugbackend"
)

// path is what the tool is called with, files what it finds in its context.
type (
	path struct {
		Path string `json:"path"`
	}
	files map[string]string
)

func readFile(ctx context.Context, args path) (string, error) {
	present, _ := agents.PanelValue[files](ctx)
	text, ok := present[args.Path]
	if !ok {
		return "", fmt.Errorf("there is no file %s", args.Path)
	}
	return text, nil
}

// A model is connected by its name: "demo" gives canned answers, and "claude-opus-4-6" is one of Anthropic's, whose key
// is in ANTHROPIC_API_KEY.
func ExampleConnect() {
	ctx := context.Background()
	agent, err := conversation.Connect(ctx, "demo")
	if err != nil {
		log.Fatal(err)
	}
	defer agent.Close()
	reply, err := agent.Think(ctx, conversation.Request{Prompt: "What is 2+2?"})
	fmt.Println(reply.Content != "", err)
	// Output: true <nil>
}

// A model is asked, calls a tool, and is asked again about what it said. The
// scripted model stands in for a provider's backend.
func Example() {
	script, err := debugbackend.ParseScript([]byte(`
rules:
  - {when: {last: tool}, reply: {text: "It prints hello."}}
  - {when: {contains: explain}, reply: {text: "Let me see.", tool_calls: [{id: call_1, name: read_file, arguments: {path: main.py}}]}}
  - {reply: {text: "To standard output."}}
`))
	if err != nil {
		log.Fatal(err)
	}
	read, err := agents.NewTool("read_file", "Read a file.", readFile)
	if err != nil {
		log.Fatal(err)
	}
	agent := conversation.Agent{
		Backend: debugbackend.NewScripted(script),
		Tools:   []agents.Tool{read}, PanelValue: files{"main.py": "print('hello')"},
	}
	ctx := context.Background()
	result, err := agent.Exec(ctx, conversation.Request{
		Prompt: "Read main.py and explain it", Tools: []string{"read_file"},
	}, 10)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(result.Status, result.Turns, result.Content)

	reply, err := agent.Think(ctx, conversation.Request{Conversation: result.Conversation, Prompt: "Where to?"})
	if err != nil {
		log.Fatal(err)
	}
	data, err := json.Marshal(reply.Conversation)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(strings.ReplaceAll(string(data), `,{"role"`, ",\n "+`{"role"`))
	// Output:
	// done 2 It prints hello.
	// [{"role":"user","content":"Read main.py and explain it"},
	//  {"role":"assistant","content":[{"type":"text","text":"Let me see."},{"type":"tool_use","id":"call_1","name":"read_file","input":{"path":"main.py"}}],"has_tool_calls":true,"tool_calls":[{"id":"call_1","name":"read_file","arguments":{"path":"main.py"}}]},
	//  {"role":"user","content":[{"type":"tool_result","tool_use_id":"call_1","content":"print('hello')"}]},
	//  {"role":"assistant","content":"It prints hello.","has_tool_calls":false},
	//  {"role":"user","content":"Where to?"},
	//  {"role":"assistant","content":"To standard output.","has_tool_calls":false}]
}
