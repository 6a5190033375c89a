package agents

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/contextbuild"
)

// The most sources that are added to an answer, and the most characters of a title.
const (
	mostSources     = 20
	mostSourceTitle = 200
)

// sourcesHeading begins the list of sources at the end of an answer.
const sourcesHeading = "Sources:"

// withSources returns an answer with links to the sources that it does not link to itself, in
// Markdown at its end. Addresses that are not of the web are left out.
func withSources(answer string, sources []backends.Citation) string {
	var lines []string
	for _, s := range sources {
		address, host, ok := webAddress(s.URL)
		if !ok || len(lines) == mostSources || strings.Contains(answer, s.URL) || strings.Contains(answer, address) {
			continue
		}
		lines = append(lines, fmt.Sprintf("- [%s](%s)", linkText(s.Title, host), address))
	}
	if len(lines) == 0 || strings.TrimSpace(answer) == "" {
		return answer
	}
	return strings.TrimRight(answer, " \n") + "\n\n" + sourcesHeading + "\n" + strings.Join(lines, "\n")
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
