package main

import (
	"strings"
	"testing"

	"github.com/massgen/massgen"
	"github.com/massgen/massgen/debugbackend"
)

// The model calls the tool, which is a function, and answers by what that returns.
func TestTheModelLooksAtTheWeather(t *testing.T) {
	t.Parallel()
	script, err := debugbackend.ParseScript([]byte(`
rules:
  - when: {last: tool}
    reply: {text: Take a warm coat.}
  - when: {}
    reply: {tool_calls: [{name: weather, arguments: {city: Oslo}}]}
`))
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	agent := massgen.Agent{ID: "forecaster", Model: "m", Backend: debugbackend.NewScripted(script)}
	if err := ask(t.Context(), &out, agent, "Do I need a coat in Oslo?"); err != nil {
		t.Fatal(err)
	}
	want := `weather {"city":"Oslo"}: {"city":"Oslo","celsius":-2,"sky":"snow"}` + "\nTake a warm coat.\n"
	if out.String() != want {
		t.Errorf("it prints %q, want %q", out.String(), want)
	}
}

// Without a model the tool is called all the same, and no key is needed.
func TestTheToolIsCalledWithoutAKey(t *testing.T) {
	for question, want := range map[string]string{
		"Do I need a coat in Oslo?": `weather {"city":"Oslo"}: {"city":"Oslo","celsius":-2,"sky":"snow"}` + "\n",
		"And in Rome?":              `weather {"city":"Rome"}: {"city":"Rome","celsius":19,"sky":"clear"}` + "\n",
	} {
		var out strings.Builder
		if err := ask(t.Context(), &out, forecaster(""), question); err != nil || !strings.HasPrefix(out.String(), want+"This answer is canned: ") {
			t.Errorf("%q prints %q, %v", question, out.String(), err)
		}
	}
}
