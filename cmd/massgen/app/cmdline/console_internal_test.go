package cmdline

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/massgen/massgen/sessions"
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

// TestWaitingIsAWarning: a process that cannot start says so where the log has warnings alone.
func TestWaitingIsAWarning(t *testing.T) {
	var stderr bytes.Buffer
	env := &Env{Stderr: &stderr, Lookup: func(string) (string, bool) { return "", false }}
	c := NewConsole(env)
	if _, err := ServiceLog(env, c, &DisplayFlags{LogFormat: "json"}, "warn"); err != nil {
		t.Fatal(err)
	}
	failed := false
	_, err := WaitForServer(context.Background(), c, func() (int, error) {
		if failed {
			return 0, nil
		}
		failed = true
		return 0, sessions.Away(errors.New("--database: refused\nrefused again"))
	})
	if got := stderr.String(); err != nil || strings.Count(got, "\n") != 1 || !strings.Contains(got, `"level":"WARN","msg":"waiting: --database: refused refused again"`) {
		t.Errorf("logged: %s, error %v", got, err)
	}
}
