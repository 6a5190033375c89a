package secrets

import (
	"cmp"
	"slices"
	"strings"
)

// Stream masks a text that comes in pieces, as Finder.Mask masks the whole text. It holds back only an end that may
// begin a secret. One goroutine uses it.
type Stream struct {
	finder Finder
	// begins are the texts whose beginnings are held back, sorted, and longest is the length of the longest.
	begins  []string
	longest int
	// before is the end of the text that was returned, unmasked.
	before, held string
}

// beforeHeld is how many bytes of the returned text are kept: they show whether a short secret is a credential, also
// where each of their characters is escaped.
const beforeHeld = farthest * longestEntity

// afterShort follows a short secret in begins, because the two characters after it show whether it is a credential.
const afterShort = ":@"

// Stream returns the masker of a text, for the secrets that f has now.
func (f *Finder) Stream() *Stream {
	s := &Stream{finder: *f, begins: slices.Clone(f.words)}
	for _, word := range f.short {
		s.begins = append(s.begins, word+afterShort)
	}
	slices.Sort(s.begins)
	for _, word := range s.begins {
		s.longest = max(s.longest, len(word))
	}
	return s
}

// Add takes the next piece, and returns the part that cannot belong to a secret any more, masked.
func (s *Stream) Add(piece string) string {
	if s.longest == 0 {
		return piece
	}
	s.held += piece
	return s.release(s.begun(s.held))
}

// Rest returns the end that was held back. The text is over.
func (s *Stream) Rest() string { return s.release(len(s.held)) }

// release returns the first bytes of the held text, but no secret in part.
func (s *Stream) release(length int) string {
	if s.held == "" {
		return ""
	}
	text, from := s.before+s.held, len(s.before)
	to := from + length
	found := s.finder.find(text, mostLevels)
	slices.SortFunc(found, func(a, b place) int { return cmp.Compare(a.from, b.from) })
	for _, p := range slices.Backward(found) {
		if p.from < to && p.to > to {
			to = max(p.from, from)
		}
	}
	var out strings.Builder
	end := from
	for _, p := range found {
		if p.to <= from || p.from >= to {
			continue
		}
		if begin := max(p.from, from); begin >= end {
			out.WriteString(text[end:begin] + Mask)
		}
		end = max(end, p.to)
	}
	if end < to {
		out.WriteString(text[end:to])
	}
	s.before, s.held = text[max(0, to-beforeHeld):to], text[to:]
	return out.String()
}

// begun returns where the end of a text begins that may be the beginning of a secret, in any of the forms that find
// knows.
func (s *Stream) begun(text string) int {
	first := len(text)
	place := func(at int) int { return at } // of a byte of the unescaped text
	for range mostLevels + 1 {
		at := len(text)
		if m := begunEscape.FindStringIndex(text); m != nil {
			at = m[0]
		}
		first = min(first, place(s.begunWord(text[:at])))
		bare := unescape(text)
		if bare == text {
			break
		}
		outer, within := place, offsets(text)
		place = func(at int) int { return outer(within[at]) }
		text = bare
	}
	return first
}

// begunWord returns where the longest end of a text begins with which a secret begins.
func (s *Stream) begunWord(text string) int {
	for at := max(0, len(text)-s.longest+1); at < len(text); at++ {
		i, _ := slices.BinarySearch(s.begins, text[at:])
		if i < len(s.begins) && strings.HasPrefix(s.begins[i], text[at:]) && len(s.begins[i]) > len(text)-at {
			return at
		}
		// A secret that is complete may be the beginning of another.
		if i+1 < len(s.begins) && strings.HasPrefix(s.begins[i+1], text[at:]) {
			return at
		}
	}
	return len(text)
}
