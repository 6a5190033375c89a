package server_test

import (
	"strings"
	"testing"
)

// TestFormatOfTheAnswer: the demo fits no schema, so that its turn fails; what is no schema is
// refused before a turn begins.
func TestFormatOfTheAnswer(t *testing.T) {
	s := serve(t, nil)
	const city = `{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}`
	for _, c := range []struct {
		path, format string
		status       int
		want         string
	}{
		{"/v1/chat/completions", `"response_format":{"type":"text"}`, 200, `"finish_reason":"stop"`},
		{"/v1/chat/completions", `"response_format":{"type":"json_schema","json_schema":{"name":"c","schema":` + city + `}}`, 502, "its answer was refused: there is no JSON object in it"},
		{"/v1/chat/completions", `"response_format":{"type":"json_object"}`, 502, "its answer was refused"},
		{"/v1/chat/completions", `"response_format":{"type":"grammar"}`, 400, `response_format.type is \"grammar\": it is text, json_object or json_schema`},
		{"/v1/chat/completions", `"response_format":{"type":"json_schema","json_schema":{"name":"c"}}`, 400, "response_format.json_schema.schema is missing"},
		{"/v1/chat/completions", `"response_format":{"type":"json_schema","json_schema":{"schema":{"type":"array"}}}`, 400, "response_format.json_schema.schema: it describes no object"},
		{"/v1/responses", `"text":{"format":{"type":"text"}}`, 200, `"format":{"type":"text"}`},
		{"/v1/responses", `"text":{"format":{"type":"json_schema","name":"c","schema":` + city + `}}`, 502, "its answer was refused: there is no JSON object in it"},
		{"/v1/responses", `"text":{"format":{"type":"json_schema","schema":{"type":"object","$ref":"#"}}}`, 400, `text.format.schema: $ref \"#\" leads to no definition`},
		{"/v1/responses", `"text":{"format":[]}`, 400, "text.format is no object"},
	} {
		asked := `"messages":[{"role":"user","content":"Which city?"}]`
		if strings.HasSuffix(c.path, "responses") {
			asked = `"input":"Which city?"`
		}
		got := s.send(t, "POST", c.path, `{"model":"pair/ada",`+asked+`,`+c.format+`}`)
		if got.status != c.status || !strings.Contains(got.body, c.want) {
			t.Errorf("%s %s: %d %s", c.path, c.format, got.status, got.body)
		}
	}
}
