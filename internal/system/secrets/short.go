package secrets

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// beforeCredential matches a text that ends where a credential begins: behind the name of a header,
// setting or variable as in YAML, JSON, a header or a sentence ("Incorrect API key provided: x"),
// behind the scheme of a header, or behind a name in the query of a URL.
var beforeCredential = regexp.MustCompile(`(?i)(?:` +
	`(?:(?:authorization|(?:api|access|secret|private|subscription)[ _-]?key|(?:access|auth|bearer)[ _-]?token|` +
	`[_-]token|[_-]secret|passw(?:or)?d|passphrase|[_-]pwd)["'` + "`]?" + `(?:\s*[:=]\s*|\s+)` +
	`|api[ _-]?key(?:\s+\w+){1,3}\s*[:=]\s*)["'` + "`]?" + `(?:bearer\s+|basic\s+)?` +
	`|(?:bearer|basic)\s+` +
	`|[?&;][\w.-]*(?:key|token|secret|passw|pwd|auth|credential|sig|code)[\w.-]*=)$`)

// beforeUser matches a text that ends where the user or the password of a URL begins.
var beforeUser = regexp.MustCompile(`://(?:[^/@\s:]*:)?$`)

// farthest is how many bytes before a credential show that it is one.
const farthest = 100

// isCredential reports whether what stands before and after a word shows that it is a credential.
func isCredential(before, after string) bool {
	next, _ := utf8.DecodeRuneInString(after)
	if next == '_' || next == '-' || next != utf8.RuneError && (unicode.IsLetter(next) || unicode.IsDigit(next)) {
		return false // the word goes on
	}
	before = before[max(0, len(before)-farthest):]
	if !strings.ContainsAny(before[max(0, len(before)-1):], " \t\r\n:=/\"'`") {
		return false // the two patterns end with one of these, and take long
	}
	return beforeCredential.MatchString(before) || strings.HasPrefix(strings.TrimPrefix(after, ":"), "@") && beforeUser.MatchString(before)
}
