package picture

import (
	"crypto/sha256"
	_ "embed" // for the page
	"encoding/base64"
	"fmt"
	"strings"

	"golang.org/x/net/html"

	"github.com/massgen/massgen/coordinator/report"
	"github.com/massgen/massgen/internal/system/plain"
)

// pageStyle has the rules of the HTML page, and pageScript opens and closes all its parts at
// once. The page can be read without the script.
var (
	//go:embed page.css
	pageStyle string
	//go:embed page.js
	pageScript string
)

// The colours of the page.
const (
	lightPage = "$back #f6f7f9 $card #ffffff $edge #d9dde3 $ink #1d2430 $soft #5a6675 $gold #9a6700 $glow #fdf3d7 $bad #c0392b"
	darkPage  = "$back #0d1117 $card #161b22 $edge #3d444d $ink #e6edf3 $soft #9da7b3 $gold #e3b341 $glow #2c2613 $bad #ff7b72"
)

// HTML draws the picture as a page in one file, with all texts of the turn to unfold. The page contacts no
// host, and no text can become an element, a link or a script.
func HTML(p Picture) (string, error) {
	document := &html.Node{Type: html.DocumentNode}
	doctype := func(parent *html.Node) { parent.AppendChild(&html.Node{Type: html.DoctypeNode, Data: "html"}) }
	lines(doctype, block("html", attribute("lang", "en"), p.head(), p.body()))(document)
	var b strings.Builder
	if err := html.Render(&b, document); err != nil {
		return "", fmt.Errorf("write the page: %w", err)
	}
	return b.String(), nil
}

// text returns a text of several lines, with escapes for characters that turn its direction or control a
// reader.
func text(text string) string { return plain.Escape(text, "\n\t") }

// title returns the beginning of the question.
func (p Picture) title() part { return words(fit(strings.Join(wrap(p.Question, 100, 1), ""), 100)) }

func (p Picture) head() part {
	named := func(key, name, content string) part {
		return tag("meta", attribute(key, name), attribute("content", content))
	}
	sum := sha256.Sum256([]byte(pageScript))
	policy := "default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; base-uri 'none'; form-action 'none'"
	return block("head",
		tag("meta", attribute("charset", "utf-8")),
		named("http-equiv", "Content-Security-Policy", policy),
		named("name", "viewport", "width=device-width, initial-scale=1"),
		named("name", "referrer", "no-referrer"),
		named("name", "color-scheme", "light dark"),
		tag("title", p.title()),
		markup("<style>\n"+style()+onScreens(pageStyle, lightPage, darkPage)+"</style>"),
	)
}

func (p Picture) body() part {
	about := fmt.Sprintf(" · %s · %s · %s · %s", p.Began.Format("2006-01-02 15:04:05 UTC"), plain.Line(p.state()), span(p.Length), usage(p.Usage))
	return block("body",
		block("header",
			tag("h1", attribute("dir", "auto"), p.title()),
			tag("p", class("about"), words(fmt.Sprintf("turn %d of session ", p.Turn)), isolated(p.Session), words(about)),
			tag("p", class("verdict"), line(p.verdict())),
		),
		block("main", tag("div", class("timeline"), words("\n"), markup(drawSVG(p, true))),
			p.questionAndAnswer(), p.answers(), p.votes(), p.agents(), p.notes(), p.tools(), p.partials(), p.warnings(), p.calls()),
		markup("<script>"+pageScript+"</script>"),
	)
}

// isolated returns a name that does not turn the direction of the words beside it.
func isolated(name string) part { return tag("bdi", line(name)) }

// prose returns a text as it was written.
func prose(s string) part { return tag("pre", class("prose"), attribute("dir", "auto"), words(s)) }

// section returns a heading and a drawing of each member of a list, or nothing for an empty list.
func section[T any](heading string, list []T, draw func(T) part) part {
	return when(len(list) > 0, lines(tag("h2", words(heading)), each(list, draw)))
}

// table returns a table with a heading. The columns from numbers on have numbers.
func table[T any](heading string, columns []string, numbers int, rows []T, draw func(T) part) part {
	header := make([]part, len(columns))
	for i, column := range columns {
		header[i] = tag("th", when(i >= numbers, class("number")), words(column))
	}
	return lines(tag("h2", words(heading)), block("table", tag("tr", header...), each(rows, draw)))
}

func (p Picture) questionAndAnswer() part {
	heading := "The answer"
	if p.WinnerLabel != "" {
		heading += ": " + p.WinnerLabel
	}
	return lines(
		tag("details", tag("summary", tag("b", words("The question"))), prose(p.Question)),
		when(p.Answer != "", tag("details", attribute("open", ""), class("wins"), tag("summary", tag("b", line(heading))), prose(p.Answer))),
	)
}

func (p Picture) answers() part {
	return section("Answers", p.Answers, func(a Answer) part {
		about := fmt.Sprintf("round %d, after %s", a.Round, span(a.At))
		if !a.Stands {
			about += ", replaced later"
		}
		return tag("details", when(a.Wins, class("wins")),
			tag("summary", tag("b", when(a.Wins, words("★ ")), line(a.Label)), words(" "), tag("small", words(about))), prose(a.Text))
	})
}

func (p Picture) votes() part {
	return when(len(p.Votes) > 0, table("Votes", []string{"Round", "Voter", "For", "Reason"}, 4, p.Votes, func(v Vote) part {
		void := v.Void != ""
		return tag("tr", when(void, class("void")),
			tag("td", words(fmt.Sprint(v.Round))), tag("td", isolated(v.Voter)), tag("td", isolated(v.Label)),
			tag("td", attribute("dir", "auto"), words(v.Reason), when(void, tag("br"), tag("small", words("does not count: "), line(v.Void)))))
	}))
}

func (p Picture) agents() part {
	columns := []string{"Agent", "Model", "State", "Calls", "Input tokens", "Output tokens", "Cost"}
	var rows []Lane
	for _, l := range p.Lanes {
		if l.IsAgent || len(l.Calls) > 0 {
			rows = append(rows, l)
		}
	}
	return table("Agents", columns, 3, rows, func(l Lane) part {
		number := func(s string) part { return tag("td", class("number"), words(s)) }
		return tag("tr",
			tag("td", when(l.Wins, words("★ ")), isolated(l.Name)), tag("td", isolated(l.Model)),
			tag("td", line(l.State), when(l.Error != "", tag("br"), tag("small", class("bad"), words(l.Error)))),
			number(plain.Thousands(l.Usage.Calls)), number(plain.Thousands(l.Usage.InputTokens)), number(plain.Thousands(l.Usage.OutputTokens)), number(money(l.Usage)))
	})
}

func (p Picture) notes() part {
	return section("Notes", p.Notes, func(n report.ResultNote) part {
		seen := "seen by " + plain.Count(n.SeenBy, "agent")
		return tag("details", attribute("open", ""), tag("summary", tag("b", words("Note")), words(" "), tag("small", words(seen))), prose(n.Text))
	})
}

func (p Picture) tools() part {
	return section("Tool calls", p.Tools, func(t Tool) part {
		state := tag("small", line(string(t.State)))
		if t.IsError {
			state = tag("span", class("bad"), line(string(t.State)))
		}
		about := fmt.Sprintf(", round %d, after %s", t.Round, span(t.From))
		return tag("details",
			tag("summary", tag("b", line(t.Name)), words(" "), tag("small", isolated(t.Agent), words(about)), words(" "), state),
			tag("div", tag("small", words("arguments")), tag("pre", words(t.Arguments)), tag("small", words("result")), tag("pre", words(t.Result))))
	})
}

func (p Picture) partials() part {
	return section("Parts of messages that failed", p.Partials, func(m report.PartialText) part {
		about := fmt.Sprintf("round %d, %s; this is no answer", m.Round, m.Reason)
		return tag("details", tag("summary", tag("b", isolated(m.Agent)), words(" "), tag("small", line(about))), prose(m.Content))
	})
}

func (p Picture) warnings() part {
	return when(len(p.Warnings) > 0, lines(
		tag("h2", words("Warnings")),
		block("ul", each(p.Warnings, func(warning string) part { return tag("li", words(warning)) })),
	))
}

// calls returns an element with an id for each call. The bars of the drawing link to it.
func (p Picture) calls() part {
	number := 0
	return lines(tag("h2", words("Model calls")), each(p.Calls, func(c Call) part {
		number++
		about := fmt.Sprintf("after %s · %s", span(c.From), c.outcome())
		if c.Model != "" {
			about = c.Model + " · " + about
		}
		input := c.Input
		if input == "" {
			input = "The input of this call is not here."
		}
		return tag("details", attribute("id", fmt.Sprintf("call-%d", number)),
			tag("summary", tag("b", line(c.name())), words(" "), tag("small", line(about))), tag("pre", words(input)))
	}))
}
