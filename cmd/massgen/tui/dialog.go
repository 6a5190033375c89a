package tui

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/massgen/massgen"
	"github.com/massgen/massgen/internal/system/plain"
)

// Offer names the further calls that a person can allow with a call.
type Offer struct {
	// Session names the calls that can be allowed until the program ends. Always is the rule that can
	// be kept for ever, "" for none.
	Session, Always string
	// Grant allows the calls of Session, or keeps the rule of Always.
	Grant func(always bool) error
}

// approval is a tool call that waits for a person's decision. gone is closed when nobody waits for the
// decision any more.
type approval struct {
	call   massgen.ApprovalRequest
	offer  Offer
	answer chan<- massgen.Decision // has room for one
	gone   <-chan struct{}
}

type approvalMsg approval

// dialog asks about a tool call. below is the overlay that it covers.
type dialog struct {
	approval
	folder string // where the agent's tools run
	below  overlay
	// isHeard reports whether keys answer the dialog. A person who types while the dialog opens has not
	// read it yet, so until a pause the keys go to the covered part. early counts these keys.
	isHeard bool
	early   int
	top     int // the first shown line of the call; most is its highest value
	most    int
	laid    []string // the call in lines of a width
	width   int
	// reason is the typed reason for a no, nil before the person types one.
	reason *[]rune
}

func newDialog(a approval, below overlay) *dialog { return &dialog{approval: a, below: below} }

// folder returns the folder in which an agent's tools run, "" for an unknown agent.
func (s *Session) folder(agent string) string {
	i := slices.IndexFunc(s.Agents, func(a Agent) bool { return a.ID == agent })
	if i < 0 {
		return ""
	}
	return plain.Line(s.Agents[i].Folder)
}

// dialogPage is the number of lines that PgUp and PgDown scroll.
const dialogPage = 8

// pauseBefore is the pause in typing after which a dialog accepts keys.
const pauseBefore = 600 * time.Millisecond

// pausedMsg is sent after a pause. The dialog accepts keys if no early key came since.
type pausedMsg struct {
	dialog *dialog
	early  int
}

// listen makes the dialog accept keys after a pause.
func (d *dialog) listen() tea.Cmd {
	early := d.early
	return tea.Tick(pauseBefore, func(time.Time) tea.Msg { return pausedMsg{d, early} })
}

func (d *dialog) take(msg pausedMsg) { d.isHeard = d.isHeard || msg.early == d.early }

// pressEarly passes a key to the part that the dialog covers. It drops a key that would end something
// there, because that may be a quick no.
func (s *screen) pressEarly(d *dialog, msg tea.KeyPressMsg) tea.Cmd {
	d.early++
	if name := msg.String(); name == "esc" || name == "ctrl+c" {
		return d.listen()
	}
	s.overlay = d.below
	cmd := s.key(msg)
	d.below, s.overlay = s.overlay, d
	return tea.Batch(cmd, d.listen())
}

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
	case "up":
		d.scroll(-1)
	case "down":
		d.scroll(1)
	case "pgup":
		d.scroll(-dialogPage)
	case "pgdown", "space":
		d.scroll(dialogPage)
	}
	return d, nil
}

// pressReason takes a key for the reason.
func (d *dialog) pressReason(msg tea.KeyPressMsg) (overlay, tea.Cmd) {
	switch msg.String() {
	case "enter":
		return d.say(massgen.Decision{Reason: string(*d.reason)})
	case "esc", "ctrl+c":
		d.reason = nil
	default:
		*d.reason = edited(*d.reason, msg)
	}
	return d, nil
}

// paste adds a pasted text to the reason, if the person types one.
func (d *dialog) paste(text string) (taken bool) {
	if d.reason == nil {
		return false
	}
	*d.reason = append(*d.reason, []rune(plain.Line(text))...)
	return true
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

// choices returns the possible decisions: for each a key, a word and the meaning.
func (d *dialog) choices() (list []dialogChoice) {
	list = []dialogChoice{{"o", "once", "once", true}, {"s", "session", "always in this session: " + d.offer.Session, false}}
	if d.offer.Always != "" {
		list = append(list, dialogChoice{"a", "always", "always: keep the rule " + d.offer.Always, false})
	}
	return append(list, dialogChoice{"n", "no", "no", true}, dialogChoice{"w", "why", "no, and say why", true})
}

// dialogChoice is a possible decision. Short ones share a line.
type dialogChoice struct {
	key, word, meaning string
	isShort            bool
}

// foot returns the lines below the call: the short choices in one, and a line for each other one. On a small screen the choices share a line,
// and their meanings follow the call, which scrolls.
func (d *dialog) foot(width int, isNarrow bool) (lines []string) {
	if d.reason != nil {
		return []string{lineWithCursor("  why not? ", string(*d.reason), width), bold(ansi.Truncate("Enter says no, and the model reads why · Esc back", width, "…"))}
	}
	paint := bold
	if !d.isHeard {
		paint = faint
	}
	if isNarrow {
		var words []string
		for _, c := range d.choices() {
			words = append(words, paint(c.key)+" "+c.word)
		}
		lines = wrapped(strings.Join(words, "  "), width)
	} else {
		var short []string
		for _, c := range d.choices() {
			if c.isShort {
				short = append(short, paint(c.key)+"  "+c.meaning)
				continue
			}
			lines = append(lines, hanging("  "+paint(c.key)+"  ", plain.Line(c.meaning), width)...)
		}
		lines = append(wrapped("  "+strings.Join(short, "     "), width), lines...)
	}
	if !d.isHeard {
		lines = append(lines, faint(ansi.Truncate("stop typing to answer", width, "…")))
	}
	return lines
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
	lines := slices.Clip(d.lines(width))
	const least = 6 // lines of the call
	foot := append([]string{""}, d.foot(width, false)...)
	if len(lines)+len(foot) > height && height-len(foot) < least {
		foot = d.foot(width, true)
		for _, c := range d.choices()[1:] {
			if c.meaning != c.word {
				lines = append(lines, hanging(c.key+" ", plain.Line(c.meaning), width)...)
			}
		}
	}
	room := max(height-len(foot), 1)
	d.most = max(len(lines)-room, 0)
	d.top = min(d.top, d.most)
	shown := slices.Clone(lines[d.top:min(d.top+room, len(lines))])
	if below := len(lines) - d.top - len(shown); below > 0 {
		shown[len(shown)-1] = faint(ansi.Truncate(fmt.Sprintf("  %d more lines: arrows scroll", below+1), width, "…"))
	}
	return append(shown, foot...)
}

// lines returns the call in lines of a width.
func (d *dialog) lines(width int) []string {
	if d.laid != nil && d.width == width {
		return d.laid
	}
	title := fmt.Sprintf("%s asks to run %s (%s)", d.call.Agent, d.call.Tool, d.call.Why)
	lines := framed(asAlert, "", plain.Line(title), width)
	if d.folder != "" {
		const head = "in the folder "
		lines = append(lines, faint(ansi.Truncate(head+ansi.TruncateLeft(d.folder, max(ansi.StringWidth(head+d.folder)-width+1, 0), "…"), width, "")))
	}
	for _, line := range readable(d.call.Tool, d.call.Arguments) {
		lines = append(lines, framed(paintDifference(line), "  ", printable(line), width)...)
	}
	d.laid, d.width = lines, width
	return lines
}

// paintDifference returns the look of a line of a difference, by the sign at its beginning.
func paintDifference(line string) func(string) string {
	switch {
	case strings.HasPrefix(line, "+ "):
		return asGood
	case strings.HasPrefix(line, "- "):
		return asBad
	}
	return func(text string) string { return text }
}

// scroll scrolls the call by a number of lines, down if it is positive.
func (d *dialog) scroll(by int) { d.top = min(max(d.top+by, 0), d.most) }

// readable returns a call for people: a command line, the removed and added lines of an edit, or one
// argument on each line.
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
