package agents

import (
	"encoding/json"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"pgregory.net/rapid"
)

// plainArguments are of all types that argumentTypes knows.
type plainArguments struct {
	Text   string  `json:"text" jsonschema:"a text"`
	Count  int     `json:"count"`
	Share  float64 `json:"share,omitempty"`
	IsLast bool    `json:"is_last,omitempty"`
}

// TestTypesFitAsTheSchema compares the check by types to that by the schema.
func TestTypesFitAsTheSchema(t *testing.T) {
	schema, err := argumentSchema[plainArguments]()
	if err != nil {
		t.Fatal(err)
	}
	resolved, err := schema.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	types := typesOf(schema)
	if types.types == nil {
		t.Fatal("the schema sets more than types")
	}
	names := rapid.SampledFrom([]string{"text", "count", "share", "is_last", "Text", "other"})
	values := rapid.SampledFrom([]string{`"a"`, `""`, `1`, `1.0`, `1.5`, `-2e3`, `1e-3`, `1e300`, `true`, `false`, `null`, `[]`, `["a"]`, `{}`, `{"text":"a"}`})
	rapid.Check(t, func(t *rapid.T) {
		text := `{"text":` + values.Draw(t, "text") + `,"count":` + values.Draw(t, "count")
		if rapid.IntRange(0, 3).Draw(t, "lacks") == 0 {
			text = `{"text":"a"`
		}
		for range rapid.IntRange(0, 2).Draw(t, "more") {
			text += `,"` + names.Draw(t, "name") + `":` + values.Draw(t, "value")
		}
		var given any
		if err := json.Unmarshal([]byte(text+"}"), &given); err != nil {
			t.Fatal(err)
		}
		if got, err := types.fit(given), resolved.Validate(given); got != (err == nil) {
			t.Fatalf("%s}: fits by types: %t; by the schema: %v", text, got, err)
		}
	})
}

func TestSchemaThatSetsMoreThanTypes(t *testing.T) {
	for name, schema := range map[string]func() (*jsonschema.Schema, error){
		"a list":       argumentSchema[struct{ A []string }],
		"an object":    argumentSchema[struct{ A struct{ B string } }],
		"a range":      argumentSchema[struct{ A uint8 }],
		"a map":        argumentSchema[struct{ A map[string]string }],
		"any value":    argumentSchema[struct{ A any }],
		"a text or no": argumentSchema[struct{ A *string }],
	} {
		s, err := schema()
		if err != nil {
			t.Fatal(err)
		}
		for _, given := range []any{map[string]any{"A": "a"}, map[string]any{"A": nil}, map[string]any{"A": 1.0}, map[string]any{"A": []any{}}, nil, "a"} {
			if typesOf(s).fit(given) {
				t.Errorf("%s: %v fits by types", name, given)
			}
		}
	}
}
