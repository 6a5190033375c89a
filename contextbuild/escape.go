package contextbuild

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Clean returns text with each byte that is not UTF-8, and each control character other than
// tab, line feed and carriage return, replaced by U+FFFD. Texts are cleaned on entry, so that
// they are stored, shown and sent in the same form. Cleaning twice changes nothing.
func Clean(text string) string {
	if isPlain(text) {
		return text
	}
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && !strings.ContainsRune("\t\n\r", r) {
			return utf8.RuneError
		}
		return r
	}, text)
}

// isPlain reports whether a text is clean ASCII. Most texts are.
func isPlain(text string) bool {
	for i := range len(text) {
		if c := text[i]; c >= utf8.RuneSelf || c == 0x7f || c < ' ' && c != '\t' && c != '\n' && c != '\r' {
			return false
		}
	}
	return true
}

// escape returns the cleaned text without any delimiter of the builder. The "<" of a delimiter
// becomes "&lt;"; the "&" of text that looks like such an escape becomes "&amp;", so that one
// level can be removed exactly. Any other "<" or "&" stays. It takes time linear in the length
// of text.
func escape(text string) string { return escapeNamed(Clean(text), isDelimiterName) }

// escapeNamed is escape for the delimiters whose names isName knows. The text is clean, or must
// stay as it is.
func escapeNamed(text string, isName func(string) bool) string {
	if !strings.ContainsAny(text, "<&") {
		return text
	}
	var out strings.Builder
	for {
		i := strings.IndexAny(text, "<&")
		if i < 0 {
			out.WriteString(text)
			return out.String()
		}
		out.WriteString(text[:i])
		out.WriteString(escapeFirst(text[i:], isName))
		text = text[i+1:]
	}
}

// escapeFirst returns the replacement of the first byte of text, a "<" or "&".
func escapeFirst(text string, isName func(string) bool) string {
	if !beginsDelimiter(text, isName) {
		return text[:1]
	}
	if text[0] == '<' {
		return "&lt;"
	}
	return "&amp;"
}

// beginsDelimiter reports whether text begins with a delimiter, or with one whose "<" was
// escaped any number of times.
func beginsDelimiter(text string, isName func(string) bool) bool {
	if escaped, ok := strings.CutPrefix(text, "&"); ok {
		for strings.HasPrefix(escaped, "amp;") {
			escaped = escaped[len("amp;"):]
		}
		text, ok = strings.CutPrefix(escaped, "lt;")
		if !ok {
			return false
		}
	} else {
		text = text[len("<"):]
	}
	// Stopping at the next "<" or "&" keeps the whole scan linear.
	end := strings.IndexAny(text, "<>&")
	return end >= 0 && text[end] == '>' && isName(text[:end])
}

// delimiterNames has the text between the "<" and ">" of each delimiter, without its spaces.
// Agent tags omit the number.
var delimiterNames = [...]string{
	"CONVERSATION_HISTORY", "ENDOFCONVERSATION_HISTORY",
	"ORIGINALMESSAGE", "ENDOFORIGINALMESSAGE",
	"CURRENTANSWERSfromtheagents", "ENDOFCURRENTANSWERS",
	"VOTESoftheagents", "ENDOFVOTES",
	noteNames[0], noteNames[1],
	"ATTACHEDFILE", "ENDOFATTACHEDFILE",
}

// noteNames are the names of a note's delimiters.
var noteNames = [...]string{"NOTEfromtheuser", "ENDOFNOTE"}

var agentTagNames = [...]string{"agent", "endofagent"}

// isDelimiterName reports whether name is the text between the "<" and ">" of a delimiter.
// Models read over case and spacing, so any case counts, any white space in any place, and any
// agent number.
func isDelimiterName(name string) bool {
	name = withoutSpace(name)
	names := delimiterNames[:]
	if stem := strings.TrimRightFunc(name, unicode.IsDigit); stem != name {
		name, names = stem, agentTagNames[:]
	}
	return slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(n, name) })
}

func withoutSpace(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return -1
		}
		return r
	}, text)
}

// escapeHistory escapes a text of the history, in which lines name the speaker.
func escapeHistory(text string) string { return indentSpeakers(escape(text)) }

// indentSpeakers adds one leading space to each line that begins like one that names the
// speaker.
func indentSpeakers(text string) string { return indentLines(text, namesSpeaker) }

// indentLines adds one leading space to each line of the kind. Bytes that are not UTF-8 become
// U+FFFD.
func indentLines(text string, kind func(line string) bool) string {
	if !utf8.ValidString(text) {
		text = strings.Map(func(r rune) rune { return r }, text)
	}
	var out strings.Builder
	written := 0
	for at := 0; at < len(text); at += firstLine(text[at:]) {
		if kind(text[at:]) {
			out.WriteString(text[written:at])
			out.WriteByte(' ')
			written = at
		}
	}
	if out.Len() == 0 {
		return text
	}
	out.WriteString(text[written:])
	return out.String()
}

// firstLine returns the length of a text's first line, with its line break.
func firstLine(text string) int {
	const separators = "\u2028\u2029" // of lines and paragraphs, three bytes each
	for i := range len(text) {
		switch c := text[i]; {
		case c == '\n' || c == '\r':
			return i + 1
		case c == separators[0] && (strings.HasPrefix(text[i:], separators[:3]) || strings.HasPrefix(text[i:], separators[3:])):
			return i + 3
		}
	}
	return len(text)
}

// indentSummary adds one leading space to an answer that begins, after any spaces, like a
// summary. Without its question it would look like one.
func indentSummary(answer string) string {
	head, _, _ := strings.Cut(summaryAnswer, "{")
	if strings.HasPrefix(strings.TrimLeft(answer, " "), head) {
		return " " + answer
	}
	return answer
}

// namesSpeaker reports whether line begins, after any spaces, like the builder's own lines.
func namesSpeaker(line string) bool {
	line = afterSpaces(line)
	return strings.HasPrefix(line, userLine) || strings.HasPrefix(line, assistantLine)
}

func afterSpaces(line string) string {
	return strings.TrimLeftFunc(line, func(r rune) bool { return r == '\t' || unicode.Is(unicode.Zs, r) })
}

// escapeSection escapes a further section of the system message. An empty line begins the next
// section there, so a line of nothing but spaces gets one more.
func escapeSection(text string) string {
	lines := strings.Split(escape(text), "\n")
	for i, line := range lines {
		if strings.Trim(line, " ") == "" {
			lines[i] += " "
		}
	}
	return strings.Join(lines, "\n")
}
