package wire

import (
	"fmt"
	"strings"
	"testing"
)

// TestRepetition checks which texts are ended, whole and letter by letter.
func TestRepetition(t *testing.T) {
	var numbered strings.Builder
	for i := range 400 {
		fmt.Fprintf(&numbered, "%d. The same line with another number.\n", i)
	}
	for name, c := range map[string]struct {
		text string
		want bool
	}{
		"200 characters, eight times":       {strings.Repeat(strings.Repeat("x", 199)+"y", 8), true},
		"200 characters, seven times":       {strings.Repeat(strings.Repeat("x", 199)+"y", 7), false},
		"a sentence of 44 characters":       {"Let me think. " + strings.Repeat("Wait, I should check this again. Perhaps so.", 50), true},
		"one character":                     {strings.Repeat("🌞", 1700), true},
		"white space":                       {strings.Repeat(" \n", 1000), true},
		"201 characters":                    {strings.Repeat(strings.Repeat("x", 200)+"y", 9), false},
		"lines that differ in their number": {numbered.String(), false},
		"a repetition that ended":           {strings.Repeat("abc", 400) + strings.Repeat("z", 100) + numbered.String(), false},
	} {
		var whole, pieces Repetition
		found := false
		for _, letter := range c.text {
			found = found || pieces.Add(string(letter))
		}
		if got := whole.Add(c.text); got != c.want || found != c.want {
			t.Errorf("%s: %t, and %t letter by letter, want %t", name, got, found, c.want)
		}
	}
	if (*Repetition)(nil).Add(strings.Repeat("x", 5000)) {
		t.Error("a nil Repetition found one")
	}
}
