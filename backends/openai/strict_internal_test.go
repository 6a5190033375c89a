package openai

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestIsStrict: OpenAI has to enforce only schemas that it takes for that.
func TestIsStrict(t *testing.T) {
	t.Parallel()
	object := func(properties, required string) string {
		return `{"type":"object","properties":{` + properties + `},"required":[` + required + `],"additionalProperties":false}`
	}
	one := func(schema string) string { return object(`"x":`+schema, `"x"`) }
	deep := `{"type":"string"}`
	for range 11 {
		deep = one(deep)
	}
	for schema, want := range map[string]bool{
		one(`{"type":"string","title":"X","pattern":"^a$","format":"uuid","minLength":1}`): true, one(`{"type":["integer","null"],"minimum":1,"multipleOf":2}`): true,
		one(`{"anyOf":[{"type":"string","enum":["a"]},{"type":"null"}]}`): true, one(`{"type":"array","items":{"type":"number"},"minItems":1}`): true,
		strings.Replace(one(`{"$ref":"#/$defs/A"}`), "{", `{"$defs":{"A":`+one(`{"type":"boolean"}`)+`},`, 1): true, object(``, ``): true,
		object(`"default":{"type":"string"},"not":{"type":"string"}`, `"default","not"`): true,
		one(`{"type":"string","default":"en"}`):                                          false, one(`{"type":"string","format":"uri"}`): false, one(`{"type":"array","items":{"type":"string"},"uniqueItems":true}`): false,
		one(`{"type":"string","examples":["a"]}`): false, one(`{"type":"object"}`): false, one(`{"type":"array"}`): false, one(`{}`): false, one(`true`): false, one(`{"enum":["a"]}`): false,
		one(`{"$ref":"#/$defs/A","description":"a"}`): false, one(`{"oneOf":[{"type":"string"}]}`): false, one(`{"type":"array","prefixItems":[],"items":{"type":"string"}}`): false,
		one(`{"type":"object","minProperties":1,"properties":{},"required":[],"additionalProperties":false}`): false,
		object(`"x":{"type":"string"}`, ``): false, `{"type":"object","properties":{}}`: false, deep: false, strings.Replace(object(``, ``), "{", `{"anyOf":[],`, 1): false,
	} {
		if got := isStrict(json.RawMessage(schema)); got != want {
			t.Errorf("%s: %v", schema, got)
		}
	}
}
