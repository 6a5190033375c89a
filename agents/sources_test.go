package agents

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/massgen/massgen/backends"
)

func TestSourcesStandAtTheEnd(t *testing.T) {
	for _, tc := range []struct {
		name, answer string
		sources      []backends.Citation
		want         string
	}{
		{"none", "yes", nil, "yes"},
		{"two", "yes\n", []backends.Citation{{URL: "https://a.example/x", Title: "A [1]"}, {URL: "http://b.example/"}},
			"yes\n\nSources:\n- [A (1)](https://a.example/x)\n- [b.example](http://b.example/)"},
		{"linked already", "See https://a.example/x.", []backends.Citation{{URL: "https://a.example/x", Title: "A"}}, "See https://a.example/x."},
		{"a longer one is linked", "See https://a.example/x/y and https://a.example/x.html.", []backends.Citation{{URL: "https://a.example/x"}},
			"See https://a.example/x/y and https://a.example/x.html.\n\nSources:\n- [a.example](https://a.example/x)"},
		{"linked after a longer one", "See https://a.example/xy, [x](https://a.example/x) or `https://a.example/z`", []backends.Citation{{URL: "https://a.example/x"}, {URL: "https://a.example/z"}},
			"See https://a.example/xy, [x](https://a.example/x) or `https://a.example/z`"},
		{"a very long address", "yes", []backends.Citation{{URL: "https://a.example/" + strings.Repeat("x", 4_000)}}, "yes"},
		{"no address of the web", "yes", []backends.Citation{{URL: "javascript:alert(1)"}, {URL: "file:///etc/passwd"}, {URL: "https://user:pw@a.example/"}}, "yes"},
		{"a bracket in the address", "yes", []backends.Citation{{URL: "https://a.example/x_(y)", Title: "A\nB"}}, "yes\n\nSources:\n- [A B](https://a.example/x_%28y%29)"},
		{"no answer", " ", []backends.Citation{{URL: "https://a.example/"}}, " "},
	} {
		if got := withSources(tc.answer, tc.sources); got != tc.want {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
	}
}

// TestSourcesForgeNothing: whatever a title says, a source is one line of the answer.
func TestSourcesForgeNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sources := []backends.Citation{{URL: "https://a.example/" + rapid.String().Draw(t, "path"), Title: rapid.String().Draw(t, "title")}}
		got := withSources("yes", sources)
		if list, ok := strings.CutPrefix(got, "yes"); !ok || list != "" && strings.Count(list, "\n") != 3 || strings.Count(list, "](") > 1 {
			t.Fatalf("%+v leads to %q", sources, got)
		}
	})
}
