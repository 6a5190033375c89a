package markdown

import (
	"regexp"
	"slices"
	"strings"
)

// highlighter divides lines of code into comments, texts, numbers, words that most languages have, and the
// rest. It knows no language in full; the rest looks as it was written.
type highlighter struct {
	comments string // what begins one, "" if nothing does
	pieces   *regexp.Regexp
	words    []string
}

func commentsOf(language string) string {
	switch language {
	case "go", "c", "cpp", "c++", "java", "js", "javascript", "ts", "typescript", "rust", "rs", "swift", "kotlin", "php", "cs", "csharp", "scala":
		return "//"
	case "sql", "lua", "haskell":
		return "--"
	case "", "text", "txt", "md", "markdown", "html", "xml", "css":
		return ""
	}
	return "#"
}

func (h highlighter) parted(line string) (spans []span) {
	open := "" // the quotes that nothing closes in the rest of the line
	for at := 0; at < len(line); {
		if strings.IndexByte(open, line[at]) >= 0 { // the expression would read to the end of the line each time
			spans = append(spans, span{line[at : at+1], 0})
			at++
			continue
		}
		if h.comments != "" && strings.HasPrefix(line[at:], h.comments) {
			return append(spans, span{line[at:], comment})
		}
		found := h.pieces.FindStringSubmatchIndex(line[at:])
		if found == nil { // no letters are left
			return append(spans, span{line[at:], 0})
		}
		text := line[at : at+found[1]]
		if text == `"` || text == "'" {
			open += text
		}
		s := style(0)
		switch {
		case found[2] >= 0:
			s = quoted
		case found[4] >= 0:
			s = number
		case found[6] >= 0 && h.comments != "" && slices.Contains(h.words, text):
			s = word
		}
		spans = append(spans, span{text, s})
		at += found[1]
	}
	return spans
}

// pieces matches the next piece of a line: a text in quotes, a number, a word, or a letter.
func pieces() *regexp.Regexp {
	return regexp.MustCompile(`(?s)^(?:("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')|(\b[0-9][0-9a-fA-FxX_.]*\b)|([\pL_][\pL\pN_]*)|.)`)
}

// words returns the keywords of the languages that models write most.
func words() []string {
	return strings.Fields(`and as async await bool break case catch char class const continue def default defer del do double
		elif else end enum except export extends false finally float fn for from func function go if impl implements import in int
		interface is lambda let map match mut namespace new nil none None not null or package pass private protected pub public raise
		range return self select static string struct super switch this throw throws trait true True False try type typeof union use
		using var void where while with yield SELECT FROM WHERE INSERT INTO UPDATE DELETE CREATE TABLE JOIN ON GROUP ORDER BY LIMIT
		then fi done echo esac`)
}
