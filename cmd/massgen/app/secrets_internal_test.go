package app

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/massgen/massgen/cmd/massgen/app/cmdline"
)

// TestNoPanicOfTheProgramShowsAKey has it break down on a variable, when it knows a
// key already.
func TestNoPanicOfTheProgramShowsAKey(t *testing.T) {
	var stderr bytes.Buffer
	status := Main([]string{"massgen", "--", "question"}, cmdline.Env{
		Stdin: strings.NewReader(""), Stdout: &stderr, Stderr: &stderr, Interrupts: make(chan os.Signal),
		Lookup: func(name string) (string, bool) {
			if name == "HTTPS_PROXY" {
				panic("no variable after " + panicKey)
			}
			return panicKey, name == "OPENAI_API_KEY"
		},
	})
	if status != cmdline.ExitFailed || strings.Contains(stderr.String(), panicKey) ||
		!strings.HasPrefix(stderr.String(), "massgen: the program broke down: no variable after ***\n") || !strings.Contains(stderr.String(), "secrets_internal_test.go") {
		t.Errorf("status %d and\n%s", status, &stderr)
	}
}

const panicKey = "sk-of-a-panic-0123456789"
