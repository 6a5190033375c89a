package agents_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/massgen/massgen/agents"
)

// trip is what the tools below are called with.
type trip struct {
	City  string    `json:"city" jsonschema:"where to go"`
	Days  int       `json:"days,omitempty" jsonschema:"how long; 1 if left out"`
	Stops []string  `json:"stops,omitempty"`
	Hotel *hotel    `json:"hotel,omitempty"`
	From  time.Time `json:"from,omitzero"`
}

type hotel struct {
	Stars uint8 `json:"stars"`
}

func TestSchemaIsThatOfTheStruct(t *testing.T) {
	tool, err := agents.NewTool("plan_trip", "Plans a trip.", func(context.Context, trip) (string, error) { return "", nil })
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"type":"object","properties":{` +
		`"city":{"type":"string","description":"where to go"},` +
		`"days":{"type":"integer","description":"how long; 1 if left out"},` +
		`"stops":{"type":"array","items":{"type":"string"}},` +
		`"hotel":{"type":["null","object"],"properties":{"stars":{"type":"integer","minimum":0,"maximum":255}},"required":["stars"],"additionalProperties":false},` +
		`"from":{"type":"string"}},"required":["city"],"additionalProperties":false}`
	d := tool.Definition()
	if string(d.Schema) != want || d.Name != "plan_trip" || d.Description != "Plans a trip." {
		t.Errorf("%s: %s\n%s\nwant\n%s", d.Name, d.Description, d.Schema, want)
	}
	none, err := agents.NewTool("now", "Tells the time.", func(context.Context, struct{}) (string, error) { return "noon", nil })
	if err != nil {
		t.Fatal(err)
	}
	if got := string(none.Definition().Schema); got != `{"type":"object","properties":{},"additionalProperties":false}` {
		t.Errorf("of no arguments: %s", got)
	}
	for _, arguments := range []string{"", "{}"} {
		if got, err := none.Call(t.Context(), arguments); got != "noon" || err != nil {
			t.Errorf("called with %q: %q, %v", arguments, got, err)
		}
	}
}

// TestArgumentsThatDoNotFit never reach the function, and the model is told in one line
// why.
func TestArgumentsThatDoNotFit(t *testing.T) {
	tool, err := agents.NewTool("plan_trip", "Plans a trip.", func(_ context.Context, a trip) (string, error) {
		return "", errors.New("it was called")
	})
	if err != nil {
		t.Fatal(err)
	}
	for arguments, want := range map[string]string{
		`{"days":2}`:                                    `required: missing properties: ["city"]`,
		`{"city":"Rome","days":"two"}`:                  `days: type: two has type "string", want "integer"`,
		`{"city":"Rome","dayz":2}`:                      `unexpected additional properties ["dayz"]`,
		`{"City":"Rome"}`:                               `unexpected additional properties ["City"]`,
		`{"city":"Rome","stops":["Pisa",3]}`:            `stops[]: type: 3 has type "integer", want "string"`,
		`{"city":"Rome","stops":null}`:                  `stops: type: null has type "null", want "array"`,
		`{"city":"Rome","hotel":{"stars":-1}}`:          `hotel/stars: minimum: -1/1 is less than 0.000000`,
		`{"city":"Rome","from":"noon"}`:                 `parsing time "noon" as`,
		`{"city":"Rome"`:                                `they are no JSON: unexpected end of JSON input`,
		`{"city":"Rome"} {}`:                            `they are no JSON: invalid character '{' after top-level value`,
		`"Rome"`:                                        `type: Rome has type "string", want "object"`,
		`{"city":["a\nb"]}`:                             `city: type: [a b] has type "array", want "string"`,
		`{"city":["` + strings.Repeat("ä", 500) + `"]}`: ` … `,
	} {
		_, err := tool.Call(t.Context(), arguments)
		const begins = "the arguments of plan_trip are not as its schema has them: "
		if err == nil || !strings.HasPrefix(err.Error(), begins) || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") || len(err.Error()) > 400 {
			t.Errorf("%.60s: %v, want %s", arguments, err, want)
		}
	}
}

// TestResultsOfTypedTools: a text as it is, anything else as JSON, an error as an error.
func TestResultsOfTypedTools(t *testing.T) {
	call := func(tool agents.Tool, err error) (string, error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return tool.Call(t.Context(), `{"city":"Rome","days":9007199254740993,"hotel":null}`)
	}
	if got, err := call(agents.NewTool("t", "T.", func(_ context.Context, a trip) (string, error) { return "<b> " + a.City, nil })); got != "<b> Rome" || err != nil {
		t.Errorf("a string: %q, %v", got, err)
	}
	if got, err := call(agents.NewTool("t", "T.", func(_ context.Context, a trip) (trip, error) { return trip{City: "<b>", Days: a.Days}, nil })); got != `{"city":"<b>","days":9007199254740993}` || err != nil {
		t.Errorf("a struct: %q, %v", got, err)
	}
	if got, err := call(agents.NewTool("t", "T.", func(context.Context, trip) (any, error) { return "a string, too", nil })); got != "a string, too" || err != nil {
		t.Errorf("an any that is a string: %q, %v", got, err)
	}
	full := errors.New("it is full")
	if _, err := call(agents.NewTool("t", "T.", func(context.Context, trip) (string, error) { return "half", full })); !errors.Is(err, full) {
		t.Errorf("an error: %v", err)
	}
	if _, err := call(agents.NewTool("t", "T.", func(context.Context, trip) (chan int, error) { return nil, nil })); err == nil || !strings.HasPrefix(err.Error(), "encode the result: ") {
		t.Errorf("what is no JSON: %v", err)
	}
}

type endless struct {
	More []endless `json:"more"`
}

func TestToolsThatCannotBe(t *testing.T) {
	made := func(name, description string) error {
		_, err := agents.NewTool(name, description, func(context.Context, trip) (string, error) { return "", nil })
		return err
	}
	_, isText := agents.NewTool("t", "T.", func(context.Context, string) (string, error) { return "", nil })
	_, isMap := agents.NewTool("t", "T.", func(context.Context, map[string]any) (string, error) { return "", nil })
	_, isEndless := agents.NewTool("t", "T.", func(context.Context, endless) (string, error) { return "", nil })
	_, isNil := agents.NewTool[trip, string]("t", "T.", nil)
	for want, err := range map[string]error{
		`a tool is named "plan trip": use 1 to 64 letters`: made("plan trip", "Plans."),
		`a tool is named ""`:                                   made("", "Plans."),
		`tool plan has no description`:                         made("plan", " "),
		`tool t: its arguments are a string: make them`:        isText,
		`tool t: its arguments are a map[string]interface {}`:  isMap,
		`tool t: derive the schema of its arguments: For[agen`: isEndless,
		`tool t has no function to run`:                        isNil,
	} {
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// TestWhatFitsArrives: whatever a struct holds comes to the function as it is.
func TestWhatFitsArrives(t *testing.T) {
	var got trip
	tool, err := agents.NewTool("t", "T.", func(_ context.Context, a trip) (string, error) {
		got = a
		return "", nil
	})
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		want := trip{
			City: rapid.String().Draw(t, "city"), Days: rapid.Int().Draw(t, "days"),
			Stops: rapid.SliceOf(rapid.String()).Draw(t, "stops"),
		}
		if rapid.Bool().Draw(t, "hotel") {
			want.Hotel = &hotel{rapid.Uint8().Draw(t, "stars")}
		}
		sent, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tool.Call(context.Background(), string(sent)); err != nil {
			t.Fatalf("%s: %v", sent, err)
		}
		again, err := json.Marshal(got)
		if err != nil || string(again) != string(sent) {
			t.Fatalf("%s came as %s, %v", sent, again, err)
		}
	})
}

func TestValuesOfPanelAndTurn(t *testing.T) {
	ctx := agents.WithTurnValue(agents.WithPanelValue(t.Context(), "the panel's"), 7)
	if v, ok := agents.PanelValue[string](ctx); v != "the panel's" || !ok {
		t.Errorf("the panel's is %q, %t", v, ok)
	}
	if v, ok := agents.TurnValue[int](ctx); v != 7 || !ok {
		t.Errorf("the turn's is %d, %t", v, ok)
	}
	if v, ok := agents.TurnValue[string](ctx); v != "" || ok {
		t.Errorf("the turn's as a string is %q, %t", v, ok)
	}
	if v, ok := agents.PanelValue[error](t.Context()); v != nil || ok {
		t.Errorf("of no panel: %v, %t", v, ok)
	}
}
