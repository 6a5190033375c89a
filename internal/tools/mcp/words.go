package mcp

import (
	"errors"
	"io"
	"slices"
	"strings"
	"sync"
)

// How much of a server's standard error is kept: the last lines, and the first bytes of each.
const (
	mostWords    = 20
	mostWordSize = 500
)

// words has the last lines of a server's standard error. It is safe for concurrent use.
type words struct {
	mu   sync.Mutex
	last []string
}

// hear reads lines to the end, and passes each to log.
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

// telling returns the line that best says why a program ended: the last one that contains "error",
// or else npm's reason, or else the last line.
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

// isReason reports whether a line of npm's error report gives the reason. Lines with the error's name
// and number stand before the reason, and advice after it.
func isReason(said string) bool {
	words := strings.Fields(said)
	if len(words) < 2 || words[0] != "error" && words[0] != "ERR!" {
		return false
	}
	return !slices.Contains([]string{"code", "errno", "syscall", "path"}, words[1])
}
