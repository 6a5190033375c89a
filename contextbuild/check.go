package contextbuild

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/massgen/massgen/internal/system/plain"
)

// mostCheckLine is the most characters of a check's output in the line behind an answer.
const mostCheckLine = 200

// line returns the line behind an answer. It has the last line of what the check said.
func (c CheckOutcome) line(agent string) string {
	outcome := "passed"
	if c.Exit != 0 {
		outcome = fmt.Sprintf("failed (status %d)", c.Exit)
	}
	said := strings.Split(strings.TrimSpace(Clean(c.Output)), "\n")
	if last := strings.Join(strings.Fields(said[len(said)-1]), " "); last != "" {
		outcome += ": " + escape(plain.Cut(last, mostCheckLine))
	}
	return strings.NewReplacer("{agent}", agent, "{outcome}", outcome).Replace(checkLine)
}

// FailedCheck returns the result of a call whose answer failed its check, or the reply to such an
// answer.
func FailedCheck(coordinates bool, exit int, output string) string {
	text := checkFailedReply
	if coordinates {
		text = checkFailed
	}
	return strings.NewReplacer("{status}", strconv.Itoa(exit), "{output}", EscapeNotes(output)).Replace(text)
}
