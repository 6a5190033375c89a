package cmdline

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

// Console is where the program writes: answers to Out, everything else to Err, both without secrets. It is
// safe for concurrent use.
type Console struct {
	Out, Err io.Writer
	Secrets  *configs.Secrets
	// colour reports whether Err is a terminal with colours.
	colour bool
	// IsQuiet reports whether Err gets errors alone.
	IsQuiet bool
	// IsSpoken reports whether a screen reader speaks the output.
	IsSpoken bool
}

// NewConsole returns a console that writes to the standard streams.
func NewConsole(env *Env) *Console {
	s := &configs.Secrets{}
	name, _ := env.Lookup("TERM")
	return &Console{
		IsSpoken: wantsSpeech(env),
		Out:      NewMaskingWriter(env.Stdout, s), Err: NewMaskingWriter(env.Stderr, s),
		Secrets: s, colour: IsTerminal(env.Stderr) && env.WantsColour() && name != "dumb",
	}
}

// WantsColour reports whether the environment allows colours. As no-color.org has it, an empty NO_COLOR does.
func (e *Env) WantsColour() bool {
	value, _ := e.Lookup("NO_COLOR")
	return value == ""
}

// wantsSpeech reports whether the environment asks for output that a screen reader speaks. Other programs
// know ACCESSIBLE, too.
func wantsSpeech(env *Env) bool {
	for _, name := range []string{"MASSGEN_SCREEN_READER", "ACCESSIBLE"} {
		if value, _ := env.Lookup(name); value != "" {
			on, err := strconv.ParseBool(value)
			return on || err != nil
		}
	}
	return false
}

// IsTerminal reports whether a stream is a terminal.
func IsTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// Muted returns a console that writes nothing to Err.
func (c *Console) Muted() *Console { return &Console{Out: c.Out, Err: io.Discard, Secrets: c.Secrets} }

// Say writes a line to Err.
func (c *Console) Say(format string, args ...any) { c.Write(fmt.Sprintf(format, args...) + "\n") }

// Write writes a text to Err.
func (c *Console) Write(text string) {
	if c.IsSpoken {
		text = strings.NewReplacer(" · ", ", ", "…", "...").Replace(text)
	}
	_, _ = io.WriteString(c.Err, text) // a line that cannot be shown is not worth ending a run that is paid for
}

// Held is output that nobody has seen. It is safe for concurrent use.
type Held struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer.
func (h *Held) Write(data []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.text.Write(data)
}

// Take returns the output since the last call.
func (h *Held) Take() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	text := h.text.String()
	h.text.Reset()
	return text
}

// Hold holds the output to Err back until show writes it. Show may be called more than once.
func (c *Console) Hold() (said *Held, show func()) {
	said = &Held{}
	m, ok := c.Err.(*MaskingWriter)
	if !ok {
		return said, func() {}
	}
	undo := m.Redirect(said)
	return said, sync.OnceFunc(func() {
		undo()
		_, _ = io.WriteString(c.Err, said.Take()) // as in write, a line that cannot be shown ends no run
	})
}

// Warn writes something that does not end the run.
func (c *Console) Warn(text string) {
	if !c.IsQuiet {
		c.Say("massgen: warning: %s", plain.Line(text))
	}
}

// Complain writes an error, a line for each thing that is wrong.
func (c *Console) Complain(err error) {
	for _, line := range strings.Split(err.Error(), "\n") {
		if strings.TrimSpace(line) != "" {
			if l, ok := c.Err.(*lineLog); ok {
				l.log.Error(plain.Line(line))
				continue
			}
			c.Say("massgen: %s", plain.Line(line))
		}
	}
}

// Put prints a text at once, so that a secret in it is masked whole.
func (c *Console) Put(text string) error {
	if _, err := c.Out.Write([]byte(text)); err != nil {
		return fmt.Errorf("write: %w", err)
	}
	return nil
}

// PutLines prints lines, and nothing if there are none.
func (c *Console) PutLines(lines []string) error {
	if len(lines) == 0 {
		return nil
	}
	return c.Put(strings.Join(lines, "\n") + "\n")
}

// PutJSON prints a value as one line.
func (c *Console) PutJSON(v any) error {
	line, err := plain.JSONLine(v)
	if err != nil {
		return err
	}
	return c.Put(line + "\n")
}

// How words are marked on a terminal: SGR parameters of package colour.
const (
	Bold   = "1"
	Faint  = "2"
	Red    = "38;5;160"
	Green  = "38;5;28"
	Yellow = "38;5;130"
)

// Paint returns a text in a colour, where Err shows colours.
func (c *Console) Paint(colour, text string) string {
	if !c.colour || c.IsSpoken {
		return text
	}
	return "\x1b[" + colour + "m" + text + "\x1b[0m"
}

// MaskingWriter masks the secrets in each piece of output: a line, an answer.
type MaskingWriter struct {
	mu      sync.Mutex
	w       io.Writer
	secrets *configs.Secrets
}

// NewMaskingWriter returns a writer that masks secrets.
func NewMaskingWriter(w io.Writer, secrets *configs.Secrets) *MaskingWriter {
	return &MaskingWriter{w: w, secrets: secrets}
}

// Redirect sends the output to another writer until undo.
func (m *MaskingWriter) Redirect(w io.Writer) (undo func()) {
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

// Write implements io.Writer.
func (m *MaskingWriter) Write(data []byte) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, err := io.WriteString(m.w, m.secrets.Redact(string(data))); err != nil {
		return 0, err
	}
	return len(data), nil
}

// IsScreen reports whether a stream is a terminal that knows how to move its cursor.
func IsScreen(env *Env, stream io.Writer) bool {
	name, _ := env.Lookup("TERM")
	return IsTerminal(stream) && name != "" && name != "dumb"
}
