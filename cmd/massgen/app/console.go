package app

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/term"

	"github.com/massgen/massgen/configs"
	"github.com/massgen/massgen/internal/system/plain"
)

// console is where the program writes: answers to out, everything else to err.
// Secrets are masked in both. It is safe for concurrent use.
type console struct {
	out, err io.Writer
	secrets  *configs.Secrets
	// colour says that err is a terminal that wants colours.
	colour bool
	// isQuiet says that only errors are wanted in err.
	isQuiet bool
	// isSpoken says that a screen reader speaks what is written.
	isSpoken bool
}

func newConsole(env *Env) *console {
	s := &configs.Secrets{}
	_, noColour := env.Lookup("NO_COLOR")
	name, _ := env.Lookup("TERM")
	return &console{
		isSpoken: wantsSpeech(env),
		out:      &maskingWriter{w: env.Stdout, secrets: s}, err: &maskingWriter{w: env.Stderr, secrets: s},
		secrets: s, colour: isTerminal(env.Stderr) && !noColour && name != "dumb",
	}
}

// wantsSpeech reports whether the environment says that a screen reader speaks what is written:
// ACCESSIBLE is what others go by, too.
func wantsSpeech(env *Env) bool {
	for _, name := range []string{"MASSGEN_SCREEN_READER", "ACCESSIBLE"} {
		if value, _ := env.Lookup(name); value != "" {
			on, err := strconv.ParseBool(value)
			return on || err != nil
		}
	}
	return false
}

func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// muted returns a console that writes nothing to err.
func (c *console) muted() *console { return &console{out: c.out, err: io.Discard, secrets: c.secrets} }

// say writes a line to err.
func (c *console) say(format string, args ...any) { c.write(fmt.Sprintf(format, args...) + "\n") }

func (c *console) write(text string) {
	if c.isSpoken {
		text = strings.NewReplacer(" · ", ", ", "…", "...").Replace(text)
	}
	_, _ = io.WriteString(c.err, text) // a line that cannot be shown is not worth ending a run that is paid for
}

// held keeps what is written to err from now on, until show writes it. Show may be called more
// than once.
func (c *console) held() (said *bytes.Buffer, show func()) {
	said = &bytes.Buffer{}
	m, ok := c.err.(*maskingWriter)
	if !ok {
		return said, func() {}
	}
	undo := m.redirect(said)
	return said, sync.OnceFunc(func() {
		undo()
		_, _ = io.Copy(c.err, said) // as in write, a line that cannot be shown ends no run
	})
}

// warn writes something that does not end the run.
func (c *console) warn(text string) {
	if !c.isQuiet {
		c.say("massgen: warning: %s", plain.Line(text))
	}
}

// complain writes an error, a line for each thing that is wrong.
func (c *console) complain(err error) {
	for _, line := range strings.Split(err.Error(), "\n") {
		if strings.TrimSpace(line) != "" {
			c.say("massgen: %s", plain.Line(line))
		}
	}
}

// printable is a text of several lines that plays no tricks on a terminal.
func printable(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		cells := strings.Split(line, "\t")
		for j := range cells {
			cells[j] = plain.Line(cells[j])
		}
		lines[i] = strings.Join(cells, "\t")
	}
	return strings.Join(lines, "\n")
}

// put prints a text at once, so that a secret in it is masked whole.
func (c *console) put(text string) error {
	if _, err := c.out.Write([]byte(text)); err != nil {
		return fmt.Errorf("write: %w", err)
	}
	return nil
}

// putLines prints lines, and nothing if there are none.
func (c *console) putLines(lines []string) error {
	if len(lines) == 0 {
		return nil
	}
	return c.put(strings.Join(lines, "\n") + "\n")
}

// putJSON prints a value as one line.
func (c *console) putJSON(v any) error {
	line, err := plain.JSONLine(v)
	if err != nil {
		return err
	}
	return c.put(line + "\n")
}

// How words are marked on a terminal: SGR parameters of package colour.
const (
	bold   = "1"
	faint  = "2"
	red    = "38;5;160"
	green  = "38;5;28"
	yellow = "38;5;130"
)

func (c *console) paint(colour, text string) string {
	if !c.colour || c.isSpoken {
		return text
	}
	return "\x1b[" + colour + "m" + text + "\x1b[0m"
}

// maskingWriter masks secrets in what is written at once: a line, an answer.
type maskingWriter struct {
	mu      sync.Mutex
	w       io.Writer
	secrets *configs.Secrets
}

// redirect sends what is written to another writer until it is undone.
func (m *maskingWriter) redirect(w io.Writer) (undo func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	before := m.w
	m.w = w
	return func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.w = before
	}
}

func (m *maskingWriter) Write(data []byte) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, err := io.WriteString(m.w, m.secrets.Redact(string(data))); err != nil {
		return 0, err
	}
	return len(data), nil
}
