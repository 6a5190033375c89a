package mcp

import (
	"strings"
	"testing"
)

// TestTelling: of all that a server said, the line is shown that says why it ended.
func TestTelling(t *testing.T) {
	for want, said := range map[string]string{
		"":                         "",
		"bye":                      "hello\nbye",
		"Error: no database":       "hello\nError: no database\n    at main.js:1",
		"ValueError: not a number": "Traceback: an error\n  raise ValueError\nValueError: not a number\n",
		"npm error 404 Not Found - GET https://registry.example/no-such-server": "npm warn config is old\nnpm error code E404\n" +
			"npm error 404 Not Found - GET https://registry.example/no-such-server\nnpm error 404\n" +
			"npm error A complete log of this run can be found in: debug-0.log",
		"npm ERR! could not determine executable to run": "npm ERR! could not determine executable to run\n\n" +
			"npm ERR! A complete log of this run can be found in: debug-0.log",
		"Error: no token": "Error: no token\nnpm error code 1\nnpm error path /srv\nnpm error command failed",
		"npm notice":      "npm error code E404\nnpm notice",
	} {
		var w words
		w.hear(strings.NewReader(said), func(string) {})
		if got := w.telling(); got != want {
			t.Errorf("of %q it tells %q, want %q", said, got, want)
		}
	}
}
