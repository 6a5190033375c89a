package server

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/massgen/massgen/backends"
)

// TestLinksToSourcesAreAnnotated: positions count characters, a Markdown link counts whole, and the
// beginning of another address does not count.
func TestLinksToSourcesAreAnnotated(t *testing.T) {
	tides := backends.Citation{URL: "https://a.example/t", Title: "Tides"}
	wiki := backends.Citation{URL: "https://b.example/x_(y)", Title: "日本"}
	for _, tc := range []struct {
		text    string
		sources []backends.Citation
		want    []string
	}{
		{"no link", []backends.Citation{tides}, nil},
		{"日本 [so](https://a.example/t).", []backends.Citation{tides}, []string{"[so](https://a.example/t) Tides"}},
		{"see https://a.example/t. Or https://a.example/tx, https://a.example/t/x, https://a.example/t.html.", []backends.Citation{tides}, []string{"https://a.example/t Tides"}},
		{"x\n\nSources:\n- [Tides](https://a.example/t)\n- [日本](https://b.example/x_%28y%29)", []backends.Citation{wiki, tides}, []string{"[Tides](https://a.example/t) Tides", "[日本](https://b.example/x_%28y%29) 日本"}},
		{"https://b.example/x_(y) twice https://b.example/x_(y)", []backends.Citation{wiki, wiki}, []string{"https://b.example/x_(y) 日本", "https://b.example/x_(y) 日本"}},
		{`["https://a.example/t"]`, []backends.Citation{tides}, []string{"https://a.example/t Tides"}},
		{"](https://a.example/t", []backends.Citation{tides}, []string{"https://a.example/t Tides"}},
		{"javascript:alert(1)", []backends.Citation{{URL: "javascript:alert(1)"}, {URL: ""}, {URL: "https://"}}, nil},
	} {
		var got []string
		for _, a := range annotate(tc.text, tc.sources) {
			got = append(got, string([]rune(tc.text)[a.Start:a.End])+" "+a.Title)
		}
		if !slices.Equal(got, tc.want) {
			t.Errorf("%q: got %q, want %q", tc.text, got, tc.want)
		}
	}
}

// TestAnnotationsAreWithinTheText: whatever the text is, annotations have their order, do not overlap,
// and each is about its own source.
func TestAnnotationsAreWithinTheText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pieces := []string{"[a", "](", "https://a.example/t", "https://a.example/", ")", "\n", "日", ".", "\xff"}
		text := strings.Join(rapid.SliceOf(rapid.SampledFrom(pieces)).Draw(t, "text"), "")
		last, runes := 0, []rune(text)
		for _, a := range annotate(text, []backends.Citation{{URL: "https://a.example/"}, {URL: "https://a.example/t"}}) {
			if a.Start < last || a.End <= a.Start || a.End > len(runes) || !strings.Contains(string(runes[a.Start:a.End]), a.URL) {
				t.Fatal(fmt.Sprintf("%+v in %q after %d", a, text, last))
			}
			last = a.End
		}
	})
}
