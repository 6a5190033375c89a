// Weather asks one model a question, with a tool that is a function of this program.
//
//	go run ./examples/weather -model claude-sonnet-5-5 "Do I need a coat in Oslo?"
//
// The key stands in the environment or in .env. Without -model no key is needed: the tool is called, and the answer is canned.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"iter"
	"os"
	"strings"

	"github.com/massgen/massgen"
	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/backends"
)

// place is what the model says when it calls the tool. Its schema is made from this struct.
type place struct {
	City string `json:"city" jsonschema:"the name of a city"`
}

// report is what the tool answers, as JSON.
type report struct {
	City    string `json:"city"`
	Celsius int    `json:"celsius"`
	Sky     string `json:"sky"`
}

// look stands for a service that knows the weather.
func look(_ context.Context, p place) (report, error) {
	known := map[string]report{"oslo": {"Oslo", -2, "snow"}, "rome": {"Rome", 19, "clear"}}
	r, ok := known[strings.ToLower(p.City)]
	if !ok {
		return report{}, fmt.Errorf("the weather of %s is not known: only that of Oslo and Rome", p.City)
	}
	return r, nil
}

func main() {
	model := flag.String("model", "", "the model to ask; without one the answer is canned")
	flag.Parse()
	if err := ask(context.Background(), os.Stdout, forecaster(*model), strings.Join(flag.Args(), " ")); err != nil {
		fmt.Fprintln(os.Stderr, "weather:", err)
		os.Exit(1)
	}
}

// forecaster returns the agent. Without a model its replies are canned.
func forecaster(model string) massgen.Agent {
	agent := massgen.Agent{ID: "forecaster", Model: model}
	if model != "" {
		return agent
	}
	agent.Model, agent.Backend = "canned", canned{}
	return agent
}

// canned plays a model for those who have no key: it calls the tool, and then answers.
type canned struct{}

func (canned) Stream(_ context.Context, req backends.Request) iter.Seq2[backends.Event, error] {
	last := req.Messages[len(req.Messages)-1]
	var said backends.Event = backends.TextDelta{Text: "This answer is canned: dress for the weather that the tool tells. -model NAME asks a real model."}
	if last.Role == backends.RoleUser {
		city := "Oslo"
		if strings.Contains(last.Text(), "Rome") {
			city = "Rome"
		}
		said = backends.ToolCall{ID: "call_1", Name: "weather", Arguments: fmt.Sprintf(`{"city":%q}`, city)}
	}
	return func(yield func(backends.Event, error) bool) {
		_ = yield(said, nil) && yield(backends.Finish{Reason: "stop"}, nil)
	}
}

// ask prints what the agent answers, and the calls of its tool.
func ask(ctx context.Context, w io.Writer, agent massgen.Agent, question string) (err error) {
	tool, err := agents.NewTool("weather", "Tells the weather of a city at this moment.", look)
	if err != nil {
		return err
	}
	agent.Tools = append(agent.Tools, tool)
	agent.SystemMessage = "You tell people what to wear. Look at the weather first."
	panel, err := massgen.New(ctx, []massgen.Agent{agent})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, panel.Close()) }()
	result, err := panel.Run(ctx, "", question)
	if err != nil {
		return err
	}
	for _, c := range result.ToolCalls {
		if _, err := fmt.Fprintf(w, "%s %s: %s\n", c.Name, c.Arguments, c.Result); err != nil {
			return err
		}
	}
	_, err = fmt.Fprintln(w, result.Answer)
	return err
}
