package app

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/massgen/massgen/coordinator/report"
	"github.com/massgen/massgen/internal/system/plain"
)

// partialKept says, behind what a step came to, that a part of its last message is kept.
func partialKept(partial string) string {
	if partial == "" {
		return ""
	}
	return fmt.Sprintf(" (%s of its message are kept)", plain.Count(utf8.RuneCountInString(partial), "character"))
}

// explainPartials says where to read what agents had begun to write, if there is no
// answer.
func (o *results) explainPartials(r report.Result) {
	if r.Winner != "" || len(r.Partials) == 0 || o.flags.json { // which has the texts
		return
	}
	var names []string
	for _, p := range r.Partials {
		if !slices.Contains(names, p.Agent) {
			names = append(names, p.Agent)
		}
	}
	o.console.say("massgen: what %s had written until then is kept: %s", plain.List(names), o.kept.command("sessions", "show", r.SessionID))
}

// partialTexts shows each text under a line that marks it.
func partialTexts(partials []report.PartialText) string {
	var b strings.Builder
	for _, p := range partials {
		fmt.Fprintf(&b, "\npartial message of %s, round %d, which is no answer (%s):\n", plain.Line(p.Agent), p.Round, plain.Line(p.Reason))
		b.WriteString(inMargin(p.Content))
	}
	return b.String()
}

// inMargin shows a text with a mark before each of its lines.
func inMargin(text string) string {
	lines := strings.TrimSuffix(printable(text), "\n")
	return "  | " + strings.ReplaceAll(lines, "\n", "\n  | ") + "\n"
}
