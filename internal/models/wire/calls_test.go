package wire_test

import (
	"testing"

	"github.com/massgen/massgen/internal/models/wire"
)

// TestArgumentsAreTidied: what small models write in place of JSON is read as what they mean, and all else stays.
func TestArgumentsAreTidied(t *testing.T) {
	t.Parallel()
	for arguments, want := range map[string]string{
		"":                              "{}",
		`{"a":1}`:                       `{"a":1}`,
		"```json\n{\"a\":1}\n```":       `{"a":1}`,
		`{"a":[1,],}`:                   `{"a":[1]}`,
		`"{\"a\":1}"`:                   `{"a":1}`,
		"{\"a\":\"one\n\ttwo\"}":        `{"a":"one\u000a\u0009two"}`,
		"{\n\"a\": \"one\r\ntwo\",\n}":  "{\n\"a\": \"one\\u000d\\u000atwo\"\n}",
		"{\"a\":\"one\\\" and\ntwo\",}": `{"a":"one\" and\u000atwo"}`,
		`{"a":"\d+"}`:                   `{"a":"\\d+"}`,
		`{"a":1} and more,}`:            `{"a":1} and more,}`,
		"{\"a\":\"cut\n":                "{\"a\":\"cut\n",
		"no JSON":                       "no JSON",
	} {
		if got := wire.TidyArguments(arguments); got != want {
			t.Errorf("%q: %q, want %q", arguments, got, want)
		}
	}
}
