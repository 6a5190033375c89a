package conversation_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"strings"

	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/agents/conversation"
	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/debugbackend"
)

// readFile is a tool over files that are not there.
type readFile map[string]string

func (readFile) Definition() backends.Tool {
	return backends.Tool{
		Name: "read_file", Description: "Read a file.",
		Schema: []byte(`{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}`),
	}
}

func (files readFile) Call(_ context.Context, arguments string) (string, error) {
	var args struct {
		Path string `json:"path"`
	}
	if err := json.Unmarshal([]byte(arguments), &args); err != nil {
		return "", err
	}
	text, ok := files[args.Path]
	if !ok {
		return "", fmt.Errorf("there is no file %s", args.Path)
	}
	return text, nil
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
	agent := conversation.Agent{
		Backend: debugbackend.NewScripted(script),
		Tools:   []agents.Tool{readFile{"main.py": "print('hello')"}},
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
