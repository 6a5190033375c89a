package wire

// A Repetition ends an answer whose last mostRepeated*repeats characters are one text of at most
// mostRepeated characters, again and again.
const (
	mostRepeated = 200
	repeats      = 8
	// checkEvery is how many characters come between two checks, each of which reads all characters.
	checkEvery = 50
)

// Repetition watches what a model writes. The zero Repetition is ready; a nil one reports nothing. One
// goroutine uses it.
type Repetition struct {
	last      []rune
	unchecked int
}

// Add takes the next piece, and reports whether the model only repeats itself.
func (r *Repetition) Add(text string) bool {
	if r == nil {
		return false
	}
	const window = mostRepeated * repeats
	for _, c := range text {
		r.last = append(r.last, c)
		r.unchecked++
		if r.unchecked < checkEvery || len(r.last) < window {
			continue
		}
		r.unchecked = 0
		r.last = append(r.last[:0], r.last[len(r.last)-window:]...)
		if period(r.last) <= mostRepeated {
			return true
		}
	}
	return false
}

// period returns the length of the shortest text that s repeats, the last time perhaps
// not whole: len(s) less the longest part that is both its beginning and its end.
func period(s []rune) int {
	border := make([]int, len(s))
	for i := 1; i < len(s); i++ {
		k := border[i-1]
		for k > 0 && s[i] != s[k] {
			k = border[k-1]
		}
		if s[i] == s[k] {
			k++
		}
		border[i] = k
	}
	return len(s) - border[len(s)-1]
}
