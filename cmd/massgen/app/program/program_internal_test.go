package program

import (
	"io"
	"strings"
	"testing"

	"github.com/massgen/massgen/cmd/massgen/app/cmdline"
	"github.com/massgen/massgen/sessions"
)

func testProgram(t *testing.T) *Program {
	p := New(cmdline.Env{
		Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: io.Discard,
		Lookup: func(string) (string, bool) { return "", false },
	})
	p.Options.Session.StateDir, p.Options.Session.ID = t.TempDir(), sessions.Default
	return p
}
