package tui

import (
	"encoding/json"
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/massgen/massgen"
	"github.com/massgen/massgen/internal/plain"
)

// verdict is a person's word about a tool call.
type verdict struct {
	allow bool
	err   error
}

// approval is a tool call that a person is asked about. Gone is closed when nobody waits for the
// answer any more.
type approval struct {
	call   massgen.Approval
	answer chan<- verdict // takes one without waiting
	gone   <-chan struct{}
}

type approvalMsg approval

// dialog asks about a tool call. Below is what stood there before.
type dialog struct {
	approval
	below overlay
	// always remembers that calls like this one are allowed.
	always func()
}

func newDialog(a approval, below overlay, always func()) *dialog { return &dialog{a, below, always} }

// kindOf names the calls that are allowed with this one: those of the tool, and of the program if
// it runs one.
func kindOf(call massgen.Approval) string {
	var args struct{ Argv []string }
	if json.Unmarshal([]byte(call.Arguments), &args) == nil && len(args.Argv) > 0 {
		return call.Tool + " " + args.Argv[0]
	}
	return call.Tool
}

func (d *dialog) press(msg tea.KeyPressMsg) (overlay, tea.Cmd) {
	switch msg.String() {
	case "o", "y":
		return d.say(verdict{allow: true})
	case "a":
		d.always()
		return d.say(verdict{allow: true})
	case "n", "esc", "ctrl+c":
		return d.say(verdict{})
	}
	return d, nil
}

func (d *dialog) say(v verdict) (overlay, tea.Cmd) {
	d.answer <- v
	return d.below, nil
}

// isOver reports whether nobody waits for the answer any more.
func (d *dialog) isOver() bool {
	select {
	case <-d.gone:
		return true
	default:
		return false
	}
}

func (d *dialog) view(width, height int) []string {
	lines := framed(asAlert, "", fmt.Sprintf("%s asks to run %s (%s)", d.call.Agent, d.call.Tool, d.call.Why), width)
	lines = append(lines, "")
	for _, line := range readable(d.call.Tool, d.call.Arguments) {
		paint := func(text string) string { return text }
		switch {
		case strings.HasPrefix(line, "+ "):
			paint = asGood
		case strings.HasPrefix(line, "- "):
			paint = asBad
		}
		lines = append(lines, framed(paint, "  ", printable(line), width)...)
	}
	keys := "o once   a always until massgen ends: " + plain.Line(kindOf(d.call)) + "   n or Esc no"
	if over := len(lines) - (height - 2); over > 0 && height > 3 {
		lines = append(lines[:height-3], faint(fmt.Sprintf("  and %d more lines", over+1)))
	}
	return append(lines, "", bold(ansi.Truncate(keys, width, "…")))
}

// readable shows a call as a person reads it: a command line, the lines that an edit takes away
// and adds, else the arguments, one a line.
func readable(tool, arguments string) []string {
	var args map[string]json.RawMessage
	if json.Unmarshal([]byte(arguments), &args) != nil {
		return []string{arguments}
	}
	var argv []string
	if json.Unmarshal(args["argv"], &argv) == nil && len(argv) > 0 {
		return []string{"$ " + quotedWords(argv)}
	}
	var lines []string
	text := func(name string) (value string, ok bool) {
		ok = json.Unmarshal(args[name], &value) == nil && args[name] != nil
		return value, ok
	}
	if path, ok := text("path"); ok {
		lines = append(lines, path)
		delete(args, "path")
	}
	for _, part := range []struct{ name, sign string }{{"old_text", "- "}, {"old", "- "}, {"new_text", "+ "}, {"new", "+ "}, {"content", "+ "}} {
		value, ok := text(part.name)
		if !ok {
			continue
		}
		delete(args, part.name)
		for line := range strings.SplitSeq(strings.TrimSuffix(value, "\n"), "\n") {
			lines = append(lines, part.sign+line)
		}
	}
	for _, name := range sortedKeys(args) {
		lines = append(lines, name+": "+string(args[name]))
	}
	if len(lines) == 0 {
		return []string{tool + " without arguments"}
	}
	return lines
}
