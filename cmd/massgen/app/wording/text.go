// Package wording has the words for results, usage and sessions.
package wording

import (
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/massgen/massgen/internal/system/plain"
)

// Shortened returns at most so many characters of a text, the last one … if it was cut.
func Shortened(text string, most int) string {
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return text
}

// Printable returns a text of several lines without characters that control a terminal.
func Printable(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		cells := strings.Split(line, "\t")
		for j := range cells {
			cells[j] = plain.Line(cells[j])
		}
		lines[i] = strings.Join(cells, "\t")
	}
	return strings.Join(lines, "\n")
}

// HelpWidth is the longest line of a help text, in columns. A new terminal has as many.
const HelpWidth = 80

// TwoColumns formats rows as a table and wraps the second column at helpWidth. A first cell that
// is too long gets a line of its own.
func TwoColumns(rows [][2]string) string {
	const longest = 28
	left := 0
	for _, row := range rows {
		if len(row[0]) <= longest {
			left = max(left, len(row[0]))
		}
	}
	indent := strings.Repeat(" ", left+4)
	var b strings.Builder
	for _, row := range rows {
		b.WriteString("  " + row[0])
		begins := indent[min(len(indent), 2+len(row[0])):]
		if len(row[0]) > left {
			b.WriteString("\n")
			begins = indent
		}
		width := len(indent)
		for word := range strings.FieldsSeq(row[1]) {
			columns := utf8.RuneCountInString(word)
			if width+columns > HelpWidth {
				b.WriteString("\n")
				width, begins = len(indent), indent
			}
			b.WriteString(begins)
			b.WriteString(word)
			width, begins = width+columns+1, " "
		}
		b.WriteString("\n")
	}
	return b.String()
}

// Moment returns a local time to the minute.
func Moment(t time.Time) string { return t.Local().Format("2006-01-02 15:04") }

// ShellWord returns an id as a person can type it into a shell.
func ShellWord(id string) string {
	special := strings.IndexFunc(id, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("-_.:@/", r)
	})
	if special < 0 {
		return id
	}
	return "'" + strings.ReplaceAll(plain.Line(id), "'", `'\''`) + "'"
}

// WithNewline returns a text that ends with a newline.
func WithNewline(text string) string {
	if strings.HasSuffix(text, "\n") {
		return text
	}
	return text + "\n"
}

// Quoted returns the beginning of a question on one line, in quotes.
func Quoted(question string) string { return fmt.Sprintf("%q", Shortened(plain.Line(question), 60)) }

// OrAsk returns an error's clause about a word that may be meant for a command, and how to ask it as a question.
func OrAsk(clause, word string) string {
	if !strings.HasSuffix(clause, "?") {
		clause += ";"
	}
	return fmt.Sprintf("%s massgen -- %s asks it as a question", clause, ShellWord(word))
}
