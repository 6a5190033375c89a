package server

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/massgen/massgen/backends"
)

// annotation is a link of a text to a source, in the form of OpenAI's API. Start and End count the
// characters of the text.
type annotation struct {
	Start int    `json:"start_index"`
	End   int    `json:"end_index"`
	URL   string `json:"url"`
	Title string `json:"title"`
}

// mostAnnotations is the highest number of annotations of a text.
const mostAnnotations = 200

// annotate finds the links of a text to sources, in the order of the text. A Markdown link begins at its
// bracket, any other link at its address.
func annotate(text string, sources []backends.Citation) []annotation {
	type found struct {
		start, end int // bytes
		of         backends.Citation
	}
	var links []found
	for _, s := range sources {
		for _, address := range addresses(s.URL) {
			for from := 0; len(links) < mostAnnotations; {
				at := strings.Index(text[from:], address)
				if at < 0 {
					break
				}
				start := from + at
				from = start + len(address)
				if addressEnd.MatchString(text[from:]) {
					start, end := widen(text, start, from)
					links = append(links, found{start, end, s})
				}
			}
		}
	}
	slices.SortStableFunc(links, func(a, b found) int { return a.start - b.start })
	var list []annotation
	bytes, runes := 0, 0
	for _, l := range links {
		if l.start < bytes {
			continue // two sources with one address
		}
		start := runes + utf8.RuneCountInString(text[bytes:l.start])
		bytes, runes = l.end, start+utf8.RuneCountInString(text[l.start:l.end])
		list = append(list, annotation{start, runes, l.of.URL, l.of.Title})
	}
	return list
}

// addressEnd is what may follow an address. All else would go on with it.
var addressEnd = regexp.MustCompile(`^[.,;:!?]*($|[\s)\]>"'*|\\]|[^\x00-\x7f])`)

// addresses returns the forms of a source's address in an answer, nil if it is no web address.
func addresses(source string) []string {
	u, err := url.Parse(strings.TrimSpace(source))
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil
	}
	linked := strings.NewReplacer("(", "%28", ")", "%29", " ", "%20").Replace(u.String())
	return slices.Compact([]string{linked, strings.TrimSpace(source)})
}

// widen returns the place of the Markdown link that has an address, or the place of the address.
func widen(text string, start, end int) (from, to int) {
	open := strings.LastIndexAny(text[:start], "[\n")
	closing := strings.IndexAny(text[end:], ")\n")
	if !strings.HasSuffix(text[:start], "](") || open < 0 || text[open] != '[' || closing < 0 || text[end+closing] != ')' {
		return start, end
	}
	return open, end + closing + 1
}

// inChat returns annotations in the form of chat completions.
func inChat(list []annotation) (all []object) {
	for _, a := range list {
		all = append(all, object{"type": "url_citation", "url_citation": a})
	}
	return all
}

// inResponse returns annotations in the form of the Responses API.
func inResponse(list []annotation) []object {
	all := []object{}
	for _, a := range list {
		all = append(all, object{"type": "url_citation", "start_index": a.Start, "end_index": a.End, "url": a.URL, "title": a.Title})
	}
	return all
}
