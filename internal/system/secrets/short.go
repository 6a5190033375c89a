package secrets

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// shortest is the length, in bytes, of the shortest secret that is masked wherever it
// stands. A shorter one may be a part of many words: Mask masks it only where a text shows
// that it is a credential.
const shortest = 8

// placeholders are what people give as a key where none is needed. They are words of
// answers, and no secrets.
var placeholders = regexp.MustCompile(`(?i)^(lm[-_ ]?studio|ollama|llama[-_.]?cpp|vllm|sglang|localhost|local|none|null|empty|no[-_ ]?key|` +
	`not[-_ ]?(needed|required|used|set|a[-_ ]?(real[-_ ]?)?key)|(sk-)?no[-_ ]?key[-_ ](required|needed)|` +
	`dummy([-_ ]?(api)?[-_ ]?key)?|fake([-_ ]?(api)?[-_ ]?key)?|placeholder|anything|whatever|changeme|unused|test[-_ ]?key)$`)

// IsShort reports whether a text is a secret that is too short to be masked wherever it
// stands. An empty text and a placeholder such as none are no secrets.
func IsShort(text string) bool {
	text = strings.TrimSpace(text)
	return text != "" && len(text) < shortest && !placeholders.MatchString(text)
}

// The texts before a credential.
const (
	// credentialName is the name of a header, setting or variable whose value is one.
	credentialName = `(?:authorization|(?:api|access|secret|private|subscription)[ _-]?key|(?:access|auth|bearer)[ _-]?token|` +
		`[_-]token|[_-]secret|passw(?:or)?d|passphrase|[_-]pwd)`
	quote = "(?:\\\\*[\"'`]|&quot;)?"
	// assigned stands between a name and its value, as in YAML, JSON, a header or a sentence.
	assigned = quote + `(?:\s*[:=]\s*|\s+)` + quote + `(?:bearer\s+|basic\s+)?`
	// explained is as in "Incorrect API key provided: x".
	explained    = `api[ _-]?key(?:\s+\w+){1,3}\s*[:=]\s*` + quote
	scheme       = `(?:bearer|basic)\s+`
	queryName    = `[?&;][\w.-]*(?:key|token|secret|passw|pwd|auth|credential|sig|code)[\w.-]*=`
	userOfAURL   = `://(?:[^/@\s:]*:)?`
	endOfTheUser = `:?@`
)

// shortWords finds secrets that are too short to be masked wherever they stand.
type shortWords struct {
	texts []string
	// credentials matches what shows that one of the texts is a credential, and the text, which
	// is one of its two groups; nil if there are no texts.
	credentials *regexp.Regexp
}

// with returns the words and further texts.
func (s shortWords) with(texts ...string) shortWords {
	all := append(slices.Clone(s.texts), texts...)
	slices.SortFunc(all, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	all = slices.Compact(all)
	var spellings []string
	for _, text := range all {
		if utf8.ValidString(text) {
			spellings = append(spellings, pattern(text))
		} else {
			spellings = append(spellings, regexp.QuoteMeta(text))
		}
	}
	word := "((?-i:" + strings.Join(spellings, "|") + "))"
	before := "(?:" + strings.Join([]string{explained, credentialName + assigned, scheme, queryName}, "|") + ")"
	return shortWords{all, regexp.MustCompile("^(?i:" + before + word + "|" + userOfAURL + word + endOfTheUser + ")")}
}

// beginnings are the first letters of all that may stand before a credential, in lower case.
func beginnings() []string {
	return []string{
		"auth", "api", "access", "secret", "private", "subscription", "bearer", "basic", "_token", "-token", "_secret", "-secret",
		"passw", "passphrase", "_pwd", "-pwd", "?", "&", ";", "://",
	}
}

// farthest is how many bytes behind its beginning a credential may end.
const farthest = 300

// places returns where the words are credentials in a text.
func (s shortWords) places(text string) (found []place) {
	if s.credentials == nil {
		return nil
	}
	lower := lowerASCII(text)
	for _, beginning := range beginnings() {
		for from := strings.Index(lower, beginning); from >= 0; {
			if p, ok := s.placeAt(text, from); ok {
				found = append(found, p)
			}
			next := strings.Index(lower[from+1:], beginning)
			if next < 0 {
				break
			}
			from += 1 + next
		}
	}
	slices.SortFunc(found, byPlace)
	return found
}

// placeAt returns where the word is whose beginning is at a place, false if there is none.
func (s shortWords) placeAt(text string, from int) (p place, ok bool) {
	m := s.credentials.FindStringSubmatchIndex(text[from:min(len(text), from+farthest)])
	if m == nil {
		return p, false
	}
	begin, end := from+m[2], from+m[3]
	if m[2] < 0 {
		begin, end = from+m[4], from+m[5]
	}
	if next, _ := utf8.DecodeRuneInString(text[end:]); isWordRune(next) {
		return p, false
	}
	return place{begin, end, Mask}, true
}

// lowerASCII returns a text of the same length.
func lowerASCII(text string) string {
	lower := []byte(text)
	for i, c := range lower {
		if c >= 'A' && c <= 'Z' {
			lower[i] = c + 'a' - 'A'
		}
	}
	return string(lower)
}
