package contextbuild

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Clean returns text with each byte that is not UTF-8, and each control
// character other than tab, line feed and carriage return, as U+FFFD. Texts are
// cleaned where they enter the program, so that what is stored, shown and built
// is what is sent. Cleaning twice changes nothing.
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

// isPlain says that a text is clean, and has nothing but ASCII. Most texts do.
func isPlain(text string) bool {
	for i := range len(text) {
		if c := text[i]; c >= utf8.RuneSelf || c == 0x7f || c < ' ' && c != '\t' && c != '\n' && c != '\r' {
			return false
		}
	}
	return true
}

// escape returns the cleaned text with no delimiter of the builder in it. The
// "<" of a delimiter becomes "&lt;"; the "&" of what looks like such an escape
// becomes "&amp;", so that one level can be taken off again exactly. Any other
// "<" or "&" stays. It takes time linear in the length of text.
func escape(text string) string { return escapeNamed(Clean(text), isDelimiterName) }

// escapeNamed is escape for the delimiters of which isName knows the name, of a text that
// is clean, or to stay as it is.
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

// escapeFirst returns what stands for the first byte of text, a "<" or "&".
func escapeFirst(text string, isName func(string) bool) string {
	if !beginsDelimiter(text, isName) {
		return text[:1]
	}
	if text[0] == '<' {
		return "&lt;"
	}
	return "&amp;"
}

// beginsDelimiter says whether text begins with a delimiter, or with one whose
// "<" was escaped any number of times.
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

// delimiterNames holds what stands between the "<" and ">" of each delimiter,
// without its spaces. In agent tags the number is left out.
var delimiterNames = [...]string{
	"CONVERSATION_HISTORY", "ENDOFCONVERSATION_HISTORY",
	"ORIGINALMESSAGE", "ENDOFORIGINALMESSAGE",
	"CURRENTANSWERSfromtheagents", "ENDOFCURRENTANSWERS",
	"VOTESoftheagents", "ENDOFVOTES",
	noteNames[0], noteNames[1],
}

// noteNames are those of the delimiters of a note.
var noteNames = [...]string{"NOTEfromtheuser", "ENDOFNOTE"}

var agentTagNames = [...]string{"agent", "endofagent"}

// isDelimiterName says whether name is what stands between the "<" and ">" of a
// delimiter. A model reads over case and spacing, so any case counts, any white
// space in any place, and any agent number.
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

// escapeHistory escapes a text of the history. There, lines say who speaks.
func escapeHistory(text string) string { return indentSpeakers(escape(text)) }

// indentSpeakers gives one more leading space to each line that begins like one of
// those which say who speaks.
func indentSpeakers(text string) string { return indentLines(text, namesSpeaker) }

// indentLines gives one more leading space to each line that is one of the kind. Bytes that are not
// UTF-8 become U+FFFD.
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

// firstLine returns the length of a text's first line, with what ends it.
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

// indentSummary gives one more leading space to an answer that begins, after any
// spaces, like a summary. One that stands without its question would look like it.
func indentSummary(answer string) string {
	head, _, _ := strings.Cut(summaryAnswer, "{")
	if strings.HasPrefix(strings.TrimLeft(answer, " "), head) {
		return " " + answer
	}
	return answer
}

// namesSpeaker says whether line begins, after any spaces, like the builder's own
// lines do.
func namesSpeaker(line string) bool {
	line = afterSpaces(line)
	return strings.HasPrefix(line, userLine) || strings.HasPrefix(line, assistantLine)
}

func afterSpaces(line string) string {
	return strings.TrimLeftFunc(line, func(r rune) bool { return r == '\t' || unicode.Is(unicode.Zs, r) })
}

// escapeSection escapes a further section of the system message. There, an
// empty line begins the next section, so a line of nothing but spaces gets one
// more.
func escapeSection(text string) string {
	lines := strings.Split(escape(text), "\n")
	for i, line := range lines {
		if strings.Trim(line, " ") == "" {
			lines[i] += " "
		}
	}
	return strings.Join(lines, "\n")
}
