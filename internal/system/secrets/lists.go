package secrets

import (
	"encoding/json"
	"slices"
	"strings"
)

// A list of bytes spells a text by numbers: [115, 107], 73 6b, 73:6b, 0x73, 0x6b, 736b 2d70. Any
// characters but letters and digits may separate the numbers. The list does not tell its base, so
// each base is tried.

// spelled is what the lists in a text spell in one base.
type spelled struct {
	bytes []byte
	// from and to are the places of each byte in the text. They are empty unless hasPlaces,
	// since most texts spell no secret.
	hasPlaces bool
	from, to  []int
}

// noByte stands in the bytes for a part of the text that belongs to no list. Secrets do not contain
// it.
const noByte = 0

// inLists returns the places of secrets that a text spells as lists of bytes. Half a secret counts,
// wherever the list ends.
func (f *Finder) inLists(text string) (found []place) {
	runs := runsOfDigits(text)
	if len(runs) == 0 {
		return nil
	}
	for _, base := range []byte{8, 10, 16} {
		bytes := string(spell(text, runs, base, false).bytes)
		var places []place
		for _, w := range f.words {
			if w.isSecret {
				places = append(append(places, w.places(bytes)...), w.beginnings(bytes)...)
			}
		}
		if len(places) == 0 {
			continue
		}
		s := spell(text, runs, base, true)
		for _, p := range places {
			found = append(found, place{s.from[p.from], s.to[p.to-1], Mask})
		}
	}
	return found
}

const (
	// leastDigits is the number of digits in the shortest list that spells a secret: each of
	// its bytes takes two digits or more.
	leastDigits = 2 * shortest
	// mostDigits is the number of digits in the longest number of a list, which is a group of
	// eight bytes. A longer number is a hash, and texts have many of them.
	mostDigits = 16
)

// runsOfDigits returns the parts of a text that may be lists of bytes. It reads few bytes of a text
// of words: it reads the shortest list from its end back to a letter, and goes on behind that
// letter.
func runsOfDigits(text string) (runs []place) {
	for begin := 0; begin+leastDigits <= len(text); {
		end := begin + leastDigits
		last := end - 1
		for last >= begin && !endsLists(text[last]) {
			last--
		}
		if last >= begin {
			begin = last + 1
			continue
		}
		for end < len(text) && !endsLists(text[end]) {
			end++
		}
		if digitsOfLists(text[begin:end]) >= leastDigits {
			runs = append(runs, place{from: begin, to: end})
		}
		begin = end + 1
	}
	return runs
}

// digitsOfLists counts the digits of numbers that are short enough for a list.
func digitsOfLists(text string) (all int) {
	n := 0
	for i := range len(text) {
		if digitOf(text[i]) < noDigit {
			n++
			continue
		}
		if n <= mostDigits {
			all += n
		}
		n = 0
	}
	if n <= mostDigits {
		all += n
	}
	return all
}

// spell reads parts of a text as lists of numbers in a base.
func spell(text string, runs []place, base byte, hasPlaces bool) spelled {
	s := spelled{hasPlaces: hasPlaces}
	for _, run := range runs {
		s.bytes = slices.Grow(s.bytes, (run.to-run.from)/2+2)
		s.read(text, run, base)
	}
	return s
}

func (s *spelled) read(text string, run place, base byte) {
	s.add(noByte, run.from, run.from)
	for at := run.from; at < run.to; {
		end := at
		for end < run.to && digitOf(text[end]) < base {
			end++
		}
		switch {
		case end > at+mostDigits:
			s.add(noByte, at, end)
		case end > at && base == 16:
			end = s.readHex(text, at, end)
		case end > at:
			s.readNumber(text, at, end, base)
		default:
			end = at + 1
			if isAlphanumeric(text[at]) && !endsLine(text[:end]) {
				s.add(noByte, at, end)
			}
		}
		at = end
	}
}

func (s *spelled) add(b byte, from, to int) {
	s.bytes = append(s.bytes, b)
	if s.hasPlaces {
		s.from, s.to = append(s.from, from), append(s.to, to)
	}
}

// readNumber adds the byte that a number stands for.
func (s *spelled) readNumber(text string, from, to int, base byte) {
	value := 0
	for _, c := range []byte(text[from:to]) {
		value = min(value*int(base)+int(digitOf(c)), 0x100)
	}
	if value > 0xff {
		value = noByte
	}
	s.add(byte(value), from, to)
}

// readHex adds the bytes of hexadecimal digits, and returns the place behind the part that it read.
// An odd digit belongs to a word that touches the list.
func (s *spelled) readHex(text string, from, to int) (end int) {
	if text[from:to] == "0" && to < len(text) && (text[to] == 'x' || text[to] == 'X') {
		return to + 1
	}
	if (to-from)%2 != 0 && s.bytes[len(s.bytes)-1] == noByte {
		from++
	}
	begin := from
	if strings.HasSuffix(text[:from], "0x") || strings.HasSuffix(text[:from], "0X") {
		begin -= len("0x")
	}
	for ; from+2 <= to; from += 2 {
		s.add(digitOf(text[from])<<4|digitOf(text[from+1]), begin, from+2)
		begin = from + 2
	}
	return to
}

// endsLine reports whether a text ends with the escape of a line end or a tab.
func endsLine(text string) bool {
	return strings.HasSuffix(text, `\n`) || strings.HasSuffix(text, `\r`) || strings.HasSuffix(text, `\t`)
}

// beginnings returns the places where a text has the first half of a word or more.
func (w word) beginnings(text string) (found []place) {
	half := w.text[:min(w.least, len(w.text))]
	for from := 0; ; {
		next := strings.Index(text[from:], half)
		if next < 0 {
			return found
		}
		from += next
		to := from + len(half)
		for to < len(text) && to-from < len(w.text) && text[to] == w.text[to-from] {
			to++
		}
		found = append(found, place{from, to, Mask})
		from = to
	}
}

// quoteBare quotes the masks of numbers that stand outside the strings of a JSON text, so that the
// masked text is JSON too.
func quoteBare(text string, places []place) []place {
	if len(places) == 0 || !json.Valid([]byte(text)) {
		return places
	}
	slices.SortFunc(places, byPlace)
	at, inString := 0, false
	for i, p := range places {
		for ; at < p.from; at++ {
			switch text[at] {
			case '"':
				inString = !inString
			case '\\':
				at++
			}
		}
		if !inString {
			places[i].mask = `"` + Mask + `"`
		}
	}
	return places
}

// noDigit is the value that digitOf returns for a byte that is no digit.
const noDigit = 16

// digitOf returns the value of a hexadecimal digit.
func digitOf(c byte) byte {
	if c-'0' < 10 {
		return c - '0'
	}
	if letter := c | 0x20; letter-'a' < 6 {
		return letter - 'a' + 10
	}
	return noDigit
}

// endsLists reports whether a byte stands in no list: it is a letter, but no hexadecimal digit, not
// the x before one, and not a letter of an escaped line end.
func endsLists(c byte) bool {
	letter := c | 0x20
	return letter > 'f' && letter <= 'z' && letter != 'n' && letter != 'r' && letter != 't' && letter != 'x'
}

func isAlphanumeric(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}
