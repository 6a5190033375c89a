package coordinator_test

import (
	"context"
	"fmt"
	"log"

	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/coordinator"
	"github.com/massgen/massgen/debugbackend"
	"github.com/massgen/massgen/sessions"
)

// Three agents answer, look at each other's answers, and vote. The scripted
// model stands in for a provider's backend.
func ExamplePanel() {
	script, err := debugbackend.ParseScript([]byte(`
rules:
  - {when: {round: 1}, reply: {new_answer: "{{.Agent}} says: the sun."}}
  - {when: {}, reply: {vote: {agent: agent2, reason: "clear and short"}}}
`))
	if err != nil {
		log.Fatal(err)
	}
	model := debugbackend.NewScripted(script)
	panel, err := coordinator.New(coordinator.Options{
		Agents: []coordinator.Agent{
			{ID: "ada", Backend: model}, {ID: "bob", Backend: model}, {ID: "cyd", Backend: model},
		},
		Store: sessions.NewMemory(),
	})
	if err != nil {
		log.Fatal(err)
	}
	turn, err := panel.Start(context.Background(), "chat", "What is the cheapest source of energy?")
	if err != nil {
		log.Fatal(err)
	}
	result, err := turn.Wait(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(turn.ID(), result.Status, result.Winner, result.Usage.Calls)
	fmt.Println(result.Answer)
	// Output:
	// chat/1 completed bob 6
	// bob says: the sun.
}

// priceOf is what the tool of the example below is called with.
type priceOf struct {
	Source string `json:"source" jsonschema:"a source of energy"`
}

// An agent has a tool that is a function of this program: it looks up what the panel
// knows, for the user who asks.
func ExampleOptions_tools() {
	price, err := agents.NewTool("price", "Returns the price of a source of energy.",
		func(ctx context.Context, args priceOf) (string, error) {
			prices, _ := agents.PanelValue[map[string]int](ctx)
			user, _ := agents.TurnValue[string](ctx)
			cents, ok := prices[args.Source]
			if !ok {
				return "", fmt.Errorf("there is no price of %s", args.Source)
			}
			return fmt.Sprintf("%d cents for %s", cents, user), nil
		})
	if err != nil {
		log.Fatal(err)
	}
	script, err := debugbackend.ParseScript([]byte(`
rules:
  - {when: {last: tool}, reply: {text: "It costs little."}}
  - {reply: {tool_calls: [{name: price, arguments: {source: sun}}, {name: price, arguments: {source: 1}}]}}
`))
	if err != nil {
		log.Fatal(err)
	}
	panel, err := coordinator.New(coordinator.Options{
		Agents:     []coordinator.Agent{{ID: "ada", Backend: debugbackend.NewScripted(script), Tools: []agents.Tool{price}}},
		PanelValue: map[string]int{"sun": 3},
		Store:      sessions.NewMemory(),
	})
	if err != nil {
		log.Fatal(err)
	}
	turn, err := panel.Start(agents.WithTurnValue(context.Background(), "Zoe"), "chat", "What does the sun cost?")
	if err != nil {
		log.Fatal(err)
	}
	result, err := turn.Wait(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(result.Answer)
	for _, call := range result.ToolCalls {
		fmt.Println(call.Name, call.Arguments, "->", call.Result)
	}
	// Output:
	// It costs little.
	// price {"source":"sun"} -> 3 cents for Zoe
	// price {"source":1} -> Error: the arguments of price are not as its schema has them: source: type: 1 has type "integer", want "string"
}
