package picture

import (
	"crypto/sha256"
	_ "embed" // for the page
	"encoding/base64"
	"fmt"
	"html/template"
	"strings"
	"time"

	"github.com/massgen/massgen/contextbuild"
	"github.com/massgen/massgen/internal/system/plain"
)

// page is the template of the HTML page, and pageStyle has its rules. pageScript opens and closes all its
// parts at once. The page can be read without the script.
var (
	//go:embed page.html
	page string
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
	t, err := template.New("page").Funcs(template.FuncMap{
		"line": plain.Line, "text": text, "span": span, "usage": usage, "add": func(a, b int) int { return a + b },
		"outcome": Call.outcome, "count": plain.Count, "beginning": func(text string) string { return fit(strings.Join(wrap(text, 100, 1), ""), 100) },
		"headed": headed, "thousands": plain.Thousands, "money": money, "name": Call.name,
		"moment": func(t time.Time) string { return t.Format("2006-01-02 15:04:05 UTC") },
	}).Parse(page)
	if err != nil {
		return "", fmt.Errorf("read the page: %w", err)
	}
	sum := sha256.Sum256([]byte(pageScript))
	var b strings.Builder
	err = t.Execute(&b, struct {
		Picture
		Hash           string
		Style          template.CSS
		Timeline       template.HTML
		Script         template.HTML
		State, Verdict string
	}{
		p, base64.StdEncoding.EncodeToString(sum[:]), template.CSS(style() + onScreens(pageStyle, lightPage, darkPage)),
		template.HTML(drawSVG(p, true)), template.HTML("<script>" + pageScript + "</script>"), p.state(), p.verdict(),
	})
	return b.String(), err
}

// claimsBelow are claims of an analysis below a heading.
type claimsBelow struct {
	Heading string
	Claims  []contextbuild.Claim
}

func headed(heading string, claims []contextbuild.Claim) claimsBelow {
	return claimsBelow{heading, claims}
}

// text returns a text of several lines, with escapes for characters that turn its direction or control a
// reader.
func text(text string) string { return plain.Escape(text, "\n\t") }
