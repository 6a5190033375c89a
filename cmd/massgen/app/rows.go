package app

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	"github.com/massgen/massgen/coordinator"
)

// mostInRow is how many bytes of a row a terminal gives that is not raw. It drops what
// follows them, without a word (termios(3)).
const mostInRow = 4095

// cutRow says that a row of a terminal has come to its most, and what goes with it.
type cutRow struct{ torn bool }

func (e cutRow) Error() string {
	text := fmt.Sprintf("a line of a terminal ends at %d bytes: this one is not taken, since its end may be lost; type a shorter one, or paste it as several lines", mostInRow)
	if e.torn {
		text += "; the rest of the paste is dropped, and what else is typed in this turn, but for " + noteCommand
	}
	return text
}

// Is implements errors.Is: such a line is one that is too long.
func (cutRow) Is(target error) bool { return target == errTooLong }

// rows puts the rows that a terminal gives together to lines: a pasted text is one line
// however many rows it has.
type rows struct {
	line []byte // as far as it has come
	last int    // where its last row begins
	// pasting says that the end of a paste has not come, and torn that it may be lost.
	pasting, torn bool
}

// take returns the lines that end in what was read.
func (r *rows) take(typed []byte) (lines []inputLine) {
	for {
		row, rest, found := bytes.Cut(typed, []byte("\n"))
		r.line = append(r.line, row...)
		if !found {
			return lines
		}
		typed = rest
		if l, ok := r.endRow(); ok {
			lines = append(lines, l)
		}
	}
}

// endRow ends a row, and returns the line if that ends with it.
func (r *rows) endRow() (l inputLine, ok bool) {
	row := r.line[r.last:]
	cut := len(row) >= mostInRow
	if start, end := bytes.LastIndex(row, []byte(pasteStart)), bytes.LastIndex(row, []byte(pasteEnd)); start != end {
		r.pasting = start > end
	}
	tooLong := len(r.line) > coordinator.MaxQuestion
	if r.pasting && !r.torn && !cut && !tooLong {
		r.line = append(r.line, '\n')
		r.last = len(r.line)
		return l, false
	}
	line := string(r.line)
	command, _ := whileRunning(line)
	dropped := r.torn && command == "" && !cut
	r.line, r.last, r.torn = nil, 0, r.pasting
	switch l = (inputLine{at: time.Now()}); {
	case cut:
		l.err = cutRow{torn: r.torn}
	case tooLong:
		l.err = errTooLong
	default:
		l.text = strings.NewReplacer(pasteStart, "", pasteEnd, "", "\r", "").Replace(line)
	}
	return l, !dropped
}
