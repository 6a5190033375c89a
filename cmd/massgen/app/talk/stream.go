package talk

import (
	"strings"
)

// answerStream is an answer that is shown while it is written. What is complete of it is shown for
// good, once and in its order; the rest is shown again until it is complete.
type answerStream struct {
	text  string // of the call under way
	shown int    // bytes of it that are shown for good
	// isRaw reports whether each line is complete by itself; else blocks of Markdown are.
	isRaw bool
}

func (s *answerStream) add(text string) { s.text += text }

// isHeld reports whether the text may be a call of a tool that a model has written as JSON: nobody
// wants to watch that.
func (s *answerStream) isHeld() bool { return strings.HasPrefix(strings.TrimSpace(s.text), "{") }

// take returns what has become complete since the last time, "" for nothing.
func (s *answerStream) take() string {
	if s.isHeld() {
		return ""
	}
	rest := s.text[s.shown:]
	end := strings.LastIndexByte(rest, '\n') + 1
	if !s.isRaw {
		end, _ = completeBlocks(rest)
	}
	s.shown += end
	return rest[:end]
}

// takeAll returns what is left of the text.
func (s *answerStream) takeAll() string {
	if s.isHeld() {
		return ""
	}
	rest := s.text[s.shown:]
	s.shown = len(s.text)
	return rest
}

// restart begins with the text of another call.
func (s *answerStream) restart() { s.text, s.shown = "", 0 }

// isShown reports whether an answer is the text, and all of it is shown.
func (s *answerStream) isShown(answer string) bool {
	return s.text != "" && s.shown == len(s.text) && strings.TrimSpace(s.text) == strings.TrimSpace(answer)
}

// rest is what is not complete. A block of code that is still open is closed.
func (s *answerStream) rest() string {
	if s.isHeld() {
		return ""
	}
	rest := s.text[s.shown:]
	if s.isRaw {
		return rest
	}
	if _, fence := completeBlocks(rest); fence != "" {
		rest = strings.TrimSuffix(rest, "\n") + "\n" + fence
	}
	return rest
}

// completeBlocks returns where the last block of a text of Markdown begins: drawn one by one, the
// blocks before look as they do together. Fence is what closes the block of code that the text
// ends in, "" if it ends in none.
func completeBlocks(text string) (end int, fence string) {
	at, isBlank := 0, false
	for line := range strings.Lines(text) {
		content := strings.TrimSpace(line)
		mark := fenceMark(content)
		switch {
		case fence != "" && strings.HasPrefix(mark, fence) && mark == content:
			fence = ""
		case fence != "":
		case isBlank && beginsBlock(line):
			end, fence = at, mark
		default:
			fence = mark
		}
		isBlank = fence == "" && content == ""
		at += len(line)
	}
	return end, fence
}

// fenceMark is the run of backticks or tildes that a line of a block of code begins or ends with.
func fenceMark(line string) string {
	for _, mark := range []string{"`", "~"} {
		if run := line[:len(line)-len(strings.TrimLeft(line, mark))]; len(run) >= 3 {
			return run
		}
	}
	return ""
}

// beginsBlock reports whether a line behind a blank one goes on with no list, quote or block of
// code before it. Of a line whose end has not come only the first characters may tell.
func beginsBlock(line string) bool {
	if strings.TrimSpace(line) == "" {
		return false
	}
	switch first := line[0]; {
	case strings.IndexByte(" \t>:", first) >= 0:
		return false
	case strings.IndexByte("-*+", first) >= 0:
		return len(line) > 1 && strings.IndexByte(" \t\n", line[1]) < 0
	case first >= '0' && first <= '9':
		rest := strings.TrimLeft(line, "0123456789")
		return rest != "" && rest[0] != '.' && rest[0] != ')'
	}
	return true
}
