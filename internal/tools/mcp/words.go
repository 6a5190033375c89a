package mcp

import (
	"errors"
	"io"
	"slices"
	"strings"
	"sync"
)

// How much of a server's standard error is kept: the last lines, and of a line so
// many bytes.
const (
	mostWords    = 20
	mostWordSize = 500
)

// words are the last lines that a server printed on its standard error. They are
// safe for concurrent use.
type words struct {
	mu   sync.Mutex
	last []string
}

// hear reads lines until there are no more, and passes each on.
func (w *words) hear(from io.Reader, log func(line string)) {
	lines := newLineReader(from, mostWordSize)
	for {
		l, err := lines.next()
		if errors.Is(err, errEndlessLine) {
			continue
		}
		if err != nil {
			return // the process has ended
		}
		text := strings.ToValidUTF8(string(l.text[:min(len(l.text), mostWordSize)]), "\uFFFD")
		if strings.TrimSpace(text) == "" {
			continue
		}
		w.mu.Lock()
		w.last = append(w.last[max(0, len(w.last)-mostWords+1):], text)
		w.mu.Unlock()
		log(text)
	}
}

// telling is the line that tells most of why a program ended: the last that speaks
// of an error, else the first thing that npm reports, else the last line.
func (w *words) telling() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var reported string
	for _, text := range slices.Backward(w.last) {
		text = strings.TrimSpace(text)
		if said, ok := strings.CutPrefix(text, "npm "); ok {
			if isReason(said) {
				reported = text
			}
			continue
		}
		if strings.Contains(strings.ToLower(text), "error") {
			return text
		}
	}
	if reported != "" || len(w.last) == 0 {
		return reported
	}
	return strings.TrimSpace(w.last[len(w.last)-1])
}

// isReason says that a line of npm's report of an error is more than a name or a number
// of it, which stand before what went wrong. What stands after that is advice.
func isReason(said string) bool {
	words := strings.Fields(said)
	if len(words) < 2 || words[0] != "error" && words[0] != "ERR!" {
		return false
	}
	return !slices.Contains([]string{"code", "errno", "syscall", "path"}, words[1])
}
