package cmdline

import (
	"bytes"
	"errors"
	"strings"
	"testing"
)

func TestAnEmptyNoColorAllowsColours(t *testing.T) {
	for value, want := range map[string]bool{"": true, "1": false, "0": false} {
		env := &Env{Lookup: func(string) (string, bool) { return value, true }}
		if env.WantsColour() != want {
			t.Errorf("NO_COLOR=%q: colours %t", value, !want)
		}
	}
}

// TestErrorsAreInTheLog, at their level: a program whose log has warnings alone says why it ended.
func TestErrorsAreInTheLog(t *testing.T) {
	var stderr bytes.Buffer
	env := &Env{Stderr: &stderr, Lookup: func(string) (string, bool) { return "", false }}
	c := NewConsole(env)
	if _, err := ServiceLog(env, c, &DisplayFlags{LogFormat: "json"}, "warn"); err != nil {
		t.Fatal(err)
	}
	c.Say("massgen: listening")
	c.Complain(errors.New("the config does not parse"))
	if got := stderr.String(); strings.Contains(got, "listening") || !strings.Contains(got, `"level":"ERROR","msg":"the config does not parse"`) {
		t.Errorf("logged: %s", got)
	}
}
