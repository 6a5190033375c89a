package coordinator_test

import (
	"context"
	"fmt"
	"log"

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
