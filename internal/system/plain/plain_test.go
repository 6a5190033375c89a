package plain_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/massgen/massgen/internal/system/plain"
)

func TestThousands(t *testing.T) {
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567"} {
		if got := plain.Thousands(n); got != want {
			t.Errorf("%d: got %s", n, got)
		}
	}
}

func TestCut(t *testing.T) {
	for text, want := range map[string]string{"": "", "äöü": "äöü", "äöüß": "äöü…"} {
		if got := plain.Cut(text, 3); got != want {
			t.Errorf("%s: got %s", text, got)
		}
	}
}

// TestCutBytes never parts a character.
func TestCutBytes(t *testing.T) {
	for text, want := range map[string]string{"": "", "abc": "abc", "abcd": "abc…", "äö": "ä…", "äöü": "ä…", "日": "日", "日本": "日…", "𝄞": "…"} {
		if got := plain.CutBytes(text, 3); got != want {
			t.Errorf("%s: got %s", text, got)
		}
	}
}

// TestLastBytes never parts a character.
func TestLastBytes(t *testing.T) {
	for text, want := range map[string]string{"": "", "abc": "abc", "abcd": "bcd", "äö": "ö", "aäö": "ö", "日": "日", "本日": "日", "𝄞": ""} {
		if got := plain.LastBytes(text, 3); got != want {
			t.Errorf("%s: got %s", text, got)
		}
	}
}

func compareIDs(a, b string) int { return strings.Compare(plain.SortKey(a), plain.SortKey(b)) }

func TestSortKeysAreAnOrder(t *testing.T) {
	id := rapid.StringMatching(`[0-9a/:]{0,6}`)
	rapid.Check(t, func(t *rapid.T) {
		a, b, c := id.Draw(t, "a"), id.Draw(t, "b"), id.Draw(t, "c")
		if (compareIDs(a, b) == 0) != (a == b) {
			t.Errorf("compareIDs(%q, %q) = %d", a, b, compareIDs(a, b))
		}
		if compareIDs(a, b) != -compareIDs(b, a) {
			t.Errorf("%q and %q compare %d and %d", a, b, compareIDs(a, b), compareIDs(b, a))
		}
		if compareIDs(a, b) <= 0 && compareIDs(b, c) <= 0 && compareIDs(a, c) > 0 {
			t.Errorf("%q <= %q <= %q, yet not %q <= %q", a, b, c, a, c)
		}
	})
}

func TestNumbersCompareByValue(t *testing.T) {
	number := rapid.IntRange(0, 100_000)
	rapid.Check(t, func(t *rapid.T) {
		a, b := number.Draw(t, "a"), number.Draw(t, "b")
		got := compareIDs(fmt.Sprintf("agent%d", a), fmt.Sprintf("agent%d", b))
		if want := cmp.Compare(a, b); got != want {
			t.Errorf("agent%d and agent%d compare %d, want %d", a, b, got, want)
		}
	})
}

// JSON on a terminal moves no cursor and turns no text, and reads as before.
func TestVisible(t *testing.T) {
	for text, want := range map[string]string{
		"a b é 日本":            "a b é 日本",
		"a\u200bb\U000e0041c": `a\u{200b}b\u{e0041}c`,
		"\u3000\u00a0\t":      `\u{3000}\u{a0}\u{9}`,
	} {
		if got := plain.Visible(text); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

func TestJSONLine(t *testing.T) {
	const text = "<a> é \u009b2J \u202e \x7f \x1b"
	line, err := plain.JSONLine(text)
	if want := `"<a> é \u009b2J \u202e \u007f \u001b"`; line != want || err != nil {
		t.Errorf("%s, %v; want %s", line, err, want)
	}
	var back string
	if err := json.Unmarshal([]byte(line), &back); back != text || err != nil {
		t.Errorf("it reads as %q, %v", back, err)
	}
}
