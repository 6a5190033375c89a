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

// Offer is what a person can let run beside the one call that they are asked about.
type Offer struct {
	// Session names the calls that can be allowed until the program ends, and Always the rule
	// that can be kept for all time, "" for none.
	Session, Always string
	// Grant allows the ones, or the others.
	Grant func(always bool) error
}

// approval is a tool call that a person is asked about. Gone is closed when nobody waits for the
// answer any more.
type approval struct {
	call   massgen.Approval
	offer  Offer
	answer chan<- massgen.Decision // takes one without waiting
	gone   <-chan struct{}
}

type approvalMsg approval

// dialog asks about a tool call. Below is what stood there before.
type dialog struct {
	approval
	below overlay
	// reason is what the person types who says why not, nil before.
	reason *[]rune
}

func newDialog(a approval, below overlay) *dialog { return &dialog{approval: a, below: below} }

func (d *dialog) press(msg tea.KeyPressMsg) (overlay, tea.Cmd) {
	if d.reason != nil {
		return d.pressReason(msg)
	}
	switch msg.String() {
	case "o", "y":
		return d.say(massgen.Decision{Allowed: true})
	case "s":
		return d.grant(false)
	case "a":
		if d.offer.Always != "" {
			return d.grant(true)
		}
	case "w":
		d.reason = new([]rune)
	case "n", "esc", "ctrl+c":
		return d.say(massgen.Decision{})
	}
	return d, nil
}

// pressReason takes a key of the line that says why not.
func (d *dialog) pressReason(msg tea.KeyPressMsg) (overlay, tea.Cmd) {
	switch msg.String() {
	case "enter":
		return d.say(massgen.Decision{Reason: string(*d.reason)})
	case "esc", "ctrl+c":
		d.reason = nil
	case "ctrl+u":
		*d.reason = nil
	case "backspace":
		*d.reason = (*d.reason)[:max(len(*d.reason)-1, 0)]
	default:
		*d.reason = append(*d.reason, []rune(plain.Line(msg.Text))...)
	}
	return d, nil
}

// paste adds a pasted text to the line that says why not.
func (d *dialog) paste(text string) {
	if d.reason != nil {
		*d.reason = append(*d.reason, []rune(plain.Line(text))...)
	}
}

func (d *dialog) say(decision massgen.Decision) (overlay, tea.Cmd) {
	d.answer <- decision
	return d.below, nil
}

// grant allows the call, and others of the offer.
func (d *dialog) grant(always bool) (overlay, tea.Cmd) {
	var cmd tea.Cmd
	if err := d.offer.Grant(always); err != nil {
		cmd = func() tea.Msg { return errorNote{fmt.Errorf("the call runs once: %w", err)} }
	}
	d.answer <- massgen.Decision{Allowed: true}
	return d.below, cmd
}

// choices are the lines below the call: what the person can say.
func (d *dialog) choices(width int) []string {
	if d.reason != nil {
		line := ansi.TruncateLeft("  why not? "+string(*d.reason), max(ansi.StringWidth("  why not? "+string(*d.reason))-width+2, 0), "")
		return []string{line + "█", bold(ansi.Truncate("Enter says no, and the model reads why · Esc back", width, "…"))}
	}
	lines := framed(faint, "  ", "s allows in this session: "+plain.Line(d.offer.Session), width)
	keys := "o once   s in this session   "
	if d.offer.Always != "" {
		lines = append(lines, framed(faint, "  ", "a keeps the rule: "+plain.Line(d.offer.Always), width)...)
		keys += "a always   "
	}
	return append(lines, bold(ansi.Truncate(keys+"n no   w no, and say why", width, "…")))
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
	lines := framed(asAlert, "", plain.Line(fmt.Sprintf("%s asks to run %s (%s)", d.call.Agent, d.call.Tool, d.call.Why)), width)
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
	choices := append([]string{""}, d.choices(width)...)
	room := height - len(choices)
	if over := len(lines) - room; over > 0 && room > 1 {
		lines = append(lines[:room-1], faint(fmt.Sprintf("  and %d more lines", over+1)))
	}
	return append(lines, choices...)
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
