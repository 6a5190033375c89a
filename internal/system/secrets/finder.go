package secrets

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// Mask stands in the place of a secret.
const Mask = "***"

// Finder finds secrets in texts. The zero value has none. It may be used
// concurrently, except for Add.
type Finder struct {
	words []word // longest first: one may be a part of another
	short shortWords
}

// word is a secret, or an encoding of one that hides its letters.
type word struct {
	text     string
	isSecret bool // not an encoding of one
	// anchor is a part of the text that has one spelling only. Without it the text
	// is not there, which is far quicker to see than any spelling.
	anchor string
	// spellings finds the text in all its spellings; nil if it has but one.
	spellings *regexp.Regexp
	// least is the length of the shortest beginning of the word that is masked where a text
	// ends, and leastAnchor is the anchor of that beginning.
	least       int
	leastAnchor string
}

// place is a part of a text, and the mask that replaces it.
type place struct {
	from, to int
	mask     string
}

// Add adds secrets, without white space around them: none is sent. It leaves out empty
// ones, and placeholders such as lm-studio, which stand where no key is needed.
func (f *Finder) Add(texts ...string) {
	words := slices.Clone(f.words) // a copy of the finder may share them
	for _, text := range texts {
		text = strings.TrimSpace(text)
		switch {
		case text == "" || placeholders.MatchString(text):
			continue
		case IsShort(text):
			f.short = f.short.with(text)
		default:
			w := newWord(text)
			w.isSecret = true
			words = append(words, w)
		}
		for _, encoding := range encodings(text) {
			words = append(words, newWord(encoding))
		}
	}
	slices.SortFunc(words, func(a, b word) int {
		return cmp.Or(len(b.text)-len(a.text), strings.Compare(a.text, b.text))
	})
	f.words = slices.CompactFunc(words, func(a, b word) bool { return a.text == b.text && a.isSecret == b.isSecret })
}

// Mask puts Mask in the place of each secret, also of one that is written in JSON
// (and in JSON within JSON), in a URL, in HTML, in quoted-printable, in base64, in
// hexadecimal digits or as a list of bytes, and of one whose plain letters are escaped
// there or as shells and programs have it, and of one that the end of the text or an
// ellipsis cuts off, if half of it is there. A secret of fewer than 8 bytes is masked only
// where it stands as a credential: behind a name such as api_key or Authorization, in the
// query of a URL, or as its user or password. Mask leaves every other byte as it is. A secret
// that comes in pieces is not found. The time that Mask takes is linear in the text's length.
func (f *Finder) Mask(text string) string {
	if len(f.words) == 0 && len(f.short.texts) == 0 {
		return text
	}
	text = maskPlaces(text, f.hidden(text))
	for _, w := range f.words {
		text = w.mask(text)
	}
	text = maskPlaces(text, f.short.places(text))
	parts := strings.Split(text, ellipsis)
	for i, part := range parts {
		parts[i] = f.maskEnd(part)
	}
	return strings.Join(parts, ellipsis)
}

// mostLevels is how often a text is unescaped, since it may have been escaped more than once.
const mostLevels = 3

// hidden returns the places, in order, of secrets with escaped characters and of secrets that are
// lists of bytes.
func (f *Finder) hidden(text string) (found []place) {
	plain := text
	var levels []decoded
	original := func(places []place) []place {
		for _, d := range slices.Backward(levels) {
			d.toOriginal(places)
		}
		return places
	}
	for range mostLevels {
		d := unescape(plain)
		if d.isOriginal() {
			break
		}
		plain, levels = d.text, append(levels, d)
		found = append(found, original(f.places(plain))...)
	}
	found = append(found, quoteBare(text, original(f.inLists(plain)))...)
	if d := unquote(plain); !d.isOriginal() {
		levels = append(levels, d)
		found = append(found, original(f.places(d.text))...)
	}
	slices.SortFunc(found, byPlace)
	return found
}

// places returns the places of secrets in a text.
func (f *Finder) places(text string) (found []place) {
	for _, w := range f.words {
		found = append(found, w.places(text)...)
	}
	found = append(found, f.short.places(text)...)
	end := 0
	for part := range strings.SplitSeq(text, ellipsis) {
		end += len(part)
		if cut := f.cutOff(part); cut > 0 {
			found = append(found, place{end - cut, end, Mask})
		}
		end += len(ellipsis)
	}
	return found
}

// places returns the places of a word in a text.
func (w word) places(text string) (found []place) {
	switch {
	case !strings.Contains(text, w.anchor):
		return nil
	case w.spellings != nil:
		for _, m := range w.spellings.FindAllStringIndex(text, -1) {
			found = append(found, place{m[0], m[1], Mask})
		}
		return found
	}
	for from := 0; ; {
		at := strings.Index(text[from:], w.text)
		if at < 0 {
			return found
		}
		found = append(found, place{from + at, from + at + len(w.text), Mask})
		from += at + len(w.text)
	}
}

func byPlace(a, b place) int { return cmp.Compare(a.from, b.from) }

// maskPlaces puts masks in the places, which are in order.
func maskPlaces(text string, places []place) string {
	if len(places) == 0 {
		return text
	}
	var b strings.Builder
	from := 0
	for _, p := range places {
		if p.from >= from {
			b.WriteString(text[from:p.from])
			b.WriteString(p.mask)
		}
		from = max(from, p.to)
	}
	b.WriteString(text[from:])
	return b.String()
}

// ellipsis is what stands where a text was shortened.
const ellipsis = "…"

func (f *Finder) maskEnd(text string) string {
	if cut := f.cutOff(text); cut > 0 {
		return text[:len(text)-cut] + Mask
	}
	return text
}

// cutOff is how many bytes at the end of a text are the beginning of a secret.
func (f *Finder) cutOff(text string) (cut int) {
	for _, w := range f.words {
		cut = max(cut, w.cutOff(text))
	}
	return cut
}

// longestSpelled is how many bytes a text may have that is looked for in all its
// spellings: for more, that takes too long. Longer keys are all letters and digits.
const longestSpelled = 512

// newWord prepares the search for a text. One that is no UTF-8 stands in nothing
// that has spellings.
func newWord(text string) word {
	w := word{text: text, anchor: text, least: max(shortestCut, len(text)/2)}
	w.leastAnchor = anchorOf(text[:min(w.least, len(text))])
	if !utf8.ValidString(text) || len(text) > longestSpelled {
		return w
	}
	if w.anchor = anchorOf(text); w.anchor != text {
		w.spellings = regexp.MustCompile(pattern(text))
	}
	return w
}

// anchorOf is the longest part of a text that has one spelling only.
func anchorOf(text string) string {
	longest := ""
	for _, run := range strings.FieldsFunc(text, func(r rune) bool { return !isPlain(r) }) {
		if len(run) > len(longest) {
			longest = run
		}
	}
	return longest
}

func (w word) mask(text string) string {
	switch {
	case !strings.Contains(text, w.anchor):
		return text
	case w.spellings == nil:
		return strings.ReplaceAll(text, w.text, Mask)
	}
	return w.spellings.ReplaceAllLiteralString(text, Mask)
}

// shortestCut is the least that counts as the beginning of a secret: many keys of a
// service begin alike, with six or seven letters.
const shortestCut = 9

// longestSpelling is how many bytes a spelling takes for a character, at most.
const longestSpelling = 12

// cutOff is how many bytes at the end of a text are the beginning of the word, 0 if
// they are less than half of it.
func (w word) cutOff(text string) int {
	tail := text[max(0, len(text)-longestSpelling*len(w.text)):]
	if w.least >= len(w.text) || !strings.Contains(tail, w.leastAnchor) {
		return 0
	}
	whole := cutEscape.ReplaceAllLiteralString(tail, "")
	for n := len(w.text) - 1; n >= w.least; n-- {
		if length := w.endsWith(tail, n); length > 0 {
			return length
		}
		if length := w.endsWith(whole, n); length > 0 {
			return length + len(tail) - len(whole)
		}
	}
	return 0
}

// cutEscape is the beginning of a character's spelling at the end of a text.
var cutEscape = regexp.MustCompile(`(?:\\+(?:u[0-9A-Fa-f]{0,3})?|%(?:25)*[0-9A-Fa-f]?|=[0-9A-Fa-f]?|&[#A-Za-z0-9;]{0,32})$`)

// endsWith is how many bytes at the end of a text are the first n of the word. With
// the others after it, they would be the word.
func (w word) endsWith(text string, n int) int {
	if w.spellings == nil {
		if strings.HasSuffix(text, w.text[:n]) {
			return n
		}
		return 0
	}
	whole := text + w.text[n:]
	for _, place := range w.spellings.FindAllStringIndex(whole, -1) {
		if place[1] == len(whole) && place[0] < len(text) {
			return len(text) - place[0]
		}
	}
	return 0
}
