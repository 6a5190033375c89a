package agents

import (
	"fmt"
	"net/url"
	"regexp"
	"strings"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/contextbuild"
)

// The most sources that are added to an answer, the most characters of a title, and the most bytes of
// an address: each agent is sent them in each round.
const (
	mostSources       = 20
	mostSourceTitle   = 200
	mostSourceAddress = 4_000
)

// sourcesHeading begins the list of sources at the end of an answer.
const sourcesHeading = "Sources:"

// withSources returns an answer with links to the sources that it does not link to itself, in
// Markdown at its end. Addresses that are not of the web are left out.
func withSources(answer string, sources []backends.Citation) string {
	var lines []string
	for _, s := range sources {
		address, host, ok := webAddress(s.URL)
		if !ok || len(address) > mostSourceAddress || len(lines) == mostSources || hasAddress(answer, strings.TrimSpace(s.URL)) || hasAddress(answer, address) {
			continue
		}
		lines = append(lines, fmt.Sprintf("- [%s](%s)", linkText(s.Title, host), address))
	}
	if len(lines) == 0 || strings.TrimSpace(answer) == "" {
		return answer
	}
	return strings.TrimRight(answer, " \n") + "\n\n" + sourcesHeading + "\n" + strings.Join(lines, "\n")
}

// addressEnd is what may follow an address. All else would go on with it.
var addressEnd = regexp.MustCompile(`^/?[.,;:!?]*($|[\s)\]>"'*|\\\x60]|[^\x00-\x7f])`)

// hasAddress reports whether a text contains an address. A longer address that begins with it does not count.
func hasAddress(text, address string) bool {
	for {
		_, after, ok := strings.Cut(text, address)
		if !ok || addressEnd.MatchString(after) {
			return ok
		}
		text = after
	}
}

// webAddress returns an address that can stand in a link, and its host.
func webAddress(address string) (link, host string, ok bool) {
	u, err := url.Parse(strings.TrimSpace(address))
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil {
		return "", "", false
	}
	return strings.NewReplacer("(", "%28", ")", "%29", " ", "%20").Replace(u.String()), u.Host, true
}

// linkText is the title of a source on one line, or its host.
func linkText(title, host string) string {
	title = strings.Join(strings.Fields(contextbuild.Clean(title)), " ")
	if runes := []rune(title); len(runes) > mostSourceTitle {
		title = string(runes[:mostSourceTitle]) + "…"
	}
	if title == "" {
		title = host
	}
	return strings.NewReplacer("[", "(", "]", ")", "<", "(", ">", ")").Replace(title)
}
