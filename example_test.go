package massgen_test

import (
	"context"
	"fmt"
	"log"

	"github.com/massgen/massgen"
)

// A panel of a YAML config: two agents with canned answers, and an MCP server.
func ExampleLoad() {
	ctx := context.Background()
	panel, err := massgen.Load(ctx, "testdata/panel.yaml")
	if err != nil {
		log.Fatal(err)
	}
	defer panel.Close()
	turn, err := panel.Ask(ctx, "", "What is the cheapest source of energy?")
	if err != nil {
		log.Fatal(err)
	}
	result, err := turn.Wait(ctx)
	fmt.Println(result.Status, result.Winner, err)
	// Output: completed bob <nil>
}

// A panel of agents in Go. With Provider left out, the names of models say whose they are:
// Model: "claude-sonnet-5-5" is one of Anthropic's, whose key is in ANTHROPIC_API_KEY.
func ExampleNew() {
	ctx := context.Background()
	panel, err := massgen.New(ctx, []massgen.Agent{
		{ID: "ada", Provider: "demo"},
		{ID: "bob", Provider: "demo", SystemMessage: "Check every figure."},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer panel.Close()
	result, err := panel.Run(ctx, "energy", "What is the cheapest source of energy?")
	fmt.Println(result.Status, err)
	fmt.Println(result.Answer)
	// Output:
	// completed <nil>
	// "What is the cheapest source of energy?" (turn 1)
	// On second thoughts, a good answer joins what the 2 first answers have: the main points, an example, and what remains open.
	// This is a canned answer by bob, turn 1: no model was asked. With a provider's key or a local model server, real ones answer.
}

// The winner's text is printed as it comes. A panel of one writes it word by word.
func ExampleTurn_text() {
	ctx := context.Background()
	panel, err := massgen.New(ctx, []massgen.Agent{{ID: "ada", Provider: "demo"}})
	if err != nil {
		log.Fatal(err)
	}
	defer panel.Close()
	turn, err := panel.Ask(ctx, "energy", "What is cheap?")
	if err != nil {
		log.Fatal(err)
	}
	for text, err := range turn.Text(ctx) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Print(text)
	}
	// Output:
	// "What is cheap?" (turn 1)
	// A useful answer would name the main points first, and then the one that matters most.
	// This is a canned answer, turn 1: no model was asked. With a provider's key or a local model server, a real one answers.
}
