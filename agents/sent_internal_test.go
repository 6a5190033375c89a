package agents

import (
	"testing"

	"github.com/massgen/massgen/sessions"
)

// FuzzPart: a part of a history is encoded by hand as JSON, since its hash is journaled.
func FuzzPart(f *testing.F) {
	f.Add("\nUser: what?\nAssistant: that.", true)
	f.Add("\n", false)
	f.Add("ends\n", true)
	for _, text := range []string{"a\"b", "a\\b", "<b>", "a&b", "tab\t", "\r\n", "\u2028", "ü", "\x7f", "\xff", "~ "} {
		f.Add(text, false)
	}
	f.Fuzz(func(t *testing.T, text string, follows bool) {
		p := sentPart{Text: text}
		if follows {
			p.Previous = sessions.RefOf([]byte("before"))
		}
		b := &inputBuilder{}
		if got, want := b.encodePart(p), b.marshal(p); b.err != nil || string(got) != string(want) {
			t.Errorf("%s\nwant\n%s", got, want)
		}
	})
}
