package server

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestMaskHidesASecretHoweverItIsCut, and changes nothing else.
func TestMaskHidesASecretHoweverItIsCut(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOf(rapid.SampledFrom([]string{"the", "key", "is", "sk-secret-1", "x", "日本語", "\n", "", " "})).Draw(t, "words")
		text := strings.Join(words, " ")
		redact := func(text string) string { return strings.ReplaceAll(text, "sk-secret-1", "***") }
		m := mask{redact: redact}
		var got strings.Builder
		for rest := text; rest != ""; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "bytes")
			got.WriteString(m.add(rest[:n]))
			rest = rest[n:]
		}
		got.WriteString(m.rest())
		if got.String() != redact(text) {
			t.Errorf("%q became %q", text, got.String())
		}
	})
}

func TestMaskHoldsNothingBackForLong(t *testing.T) {
	m := mask{redact: func(text string) string { return text }}
	if got := m.add("日本") + m.add("語"); got != "日本語" {
		t.Errorf("of a text without spaces %q is shown", got)
	}
	if got := m.add(strings.Repeat("x", longestWord+1)); len(got) <= longestWord {
		t.Errorf("%d bytes of a long word are shown", len(got))
	}
}
