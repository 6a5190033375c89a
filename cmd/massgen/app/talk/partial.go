package talk

import (
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/massgen/massgen/coordinator/report"
	"github.com/massgen/massgen/internal/system/plain"
)

// partialKept returns how much of a step's last message is kept.
func partialKept(partial string) string {
	if partial == "" {
		return ""
	}
	return fmt.Sprintf(" (%s of its message are kept)", plain.Count(utf8.RuneCountInString(partial), "character"))
}

// explainPartials prints the command that shows partial messages, if there is no answer.
func (o *results) explainPartials(r report.Result) {
	if r.Winner != "" || len(r.Partials) == 0 || o.feed.flags.JSON { // which has the texts
		return
	}
	var names []string
	for _, p := range r.Partials {
		if !slices.Contains(names, p.Agent) {
			names = append(names, p.Agent)
		}
	}
	o.feed.console.Say("massgen: what %s had written until then is kept: %s", plain.List(names), o.kept.Command("sessions", "show", r.SessionID))
}
