package picture_test

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"golang.org/x/net/html"

	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/cmd/massgen/internal/picture"
	"github.com/massgen/massgen/contextbuild"
	"github.com/massgen/massgen/coordinator/report"
	"github.com/massgen/massgen/internal/system/plain"
	"github.com/massgen/massgen/sessions"
)

// hostile are texts that try to be more than text.
var hostile = []string{
	`</script><script>alert(1)</script>`, `<img src=x onerror=alert(1)>`, `"><svg onload=alert(1)>`, `' onmouseover='alert(1)`, `javascript:alert(1)`,
	`</style><style>*{display:none}</style>`, `</pre></details></title></textarea><iframe src=//evil.example>`, `<!--`, `]]>`, `<![CDATA[`, `&lt;b&gt; &#x3c;`,
	"{{.Question}}${x}", "\x1b[2J\x1b]0;title\a", "\u202egnp.exe\u202c \u2066x\u2069", "\x00\x01\r\n\t\x7f\u0085\u2028", "\xff\xfe invalid", "\ufffe\uffff", "\n\nthe third line", "\n",
	"漢字とかな 👩‍👩‍👧 e\u0301", strings.Repeat("long ", 400), strings.Repeat("x", 3000), "",
}

// filled is a picture with a text in all places.
func filled(text string) picture.Picture {
	cost := 0.5
	p := picture.Picture{
		Session: text, Turn: 1, Question: text, Length: 3e9, Over: true, Status: text, Winner: text, WinnerLabel: text, Answer: text,
		Rounds: []picture.Round{{Name: text}, {Name: text, At: 1e9}},
		Calls: []picture.Call{
			{Key: backends.Key{Session: text, Agent: text, Purpose: text, Round: 1}, To: 1e9, End: picture.CallFailed, Why: text, Model: text, Input: text},
			{Key: backends.Key{Purpose: text}, Lane: 1, From: 1e9, To: 2e9, End: picture.CallDone},
		},
		Tools:    []picture.Tool{{Agent: text, Name: text, Arguments: text, Result: text, State: "ran", From: 1e8, To: 2e8}},
		Answers:  []picture.Answer{{Agent: text, Label: text, Text: text, Wins: true, Stands: true}, {Agent: "b", Label: "b.1", Text: text}},
		Votes:    []picture.Vote{{Voter: text, Label: text, Reason: text, Void: text, Round: 1}, {Voter: text, Label: text, Reason: text, Round: 2}},
		Notes:    []report.ResultNote{{Text: text}},
		Partials: []report.PartialText{{Agent: text, Reason: text, Content: text}},
		Warnings: []string{text},
	}
	claims := []contextbuild.Claim{{Claim: text, Answers: []string{text, text}, Quotes: []contextbuild.Quote{{Answer: text, Text: text}}}}
	p.Analysis = &contextbuild.Analysis{
		Consensus: claims, Partial: claims, Unique: claims, BlindSpots: []string{text}, Best: text, Why: text,
		Contradictions: []contextbuild.Contradiction{{About: text, Sides: claims}},
	}
	p.Usage.CostUSD = &cost
	p.Lanes = []picture.Lane{
		{Name: text, IsAgent: true, Model: text, State: text, Error: text, Wins: true, Calls: []int{0}, Tools: []int{0}, Marks: []picture.Mark{
			{Kind: picture.AnswerMark, At: 1e9, Label: text, Wins: true}, {Kind: picture.VoteMark, At: 2e9, Label: text, Void: true}, {Kind: picture.MarkKind(text), At: 25e8, Target: -1},
		}},
		{Name: text, Calls: []int{1}},
	}
	return p
}

// TestHostileTexts: whatever a text is, it stays a text in all three drawings.
func TestHostileTexts(t *testing.T) {
	for _, text := range hostile {
		checkText(t, text)
	}
}

// TestLongestQuestion draws a question of a megabyte without a blank.
func TestLongestQuestion(t *testing.T) {
	p := panel(t).draw()
	p.Question = strings.Repeat("x", 1<<20)
	for name, size := range map[string]int{"the SVG": len(picture.SVG(p)), "the terminal": len(picture.Terminal(p, picture.Screen{Width: 80}))} {
		if size > 1<<21 {
			t.Errorf("%s has %d bytes", name, size)
		}
	}
	checkHTML(t, page(t, p), p.Question)
}

func FuzzTexts(f *testing.F) {
	for _, text := range hostile {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) { checkText(t, text) })
}

func checkText(t *testing.T, text string) {
	t.Helper()
	p := filled(text)
	checkHTML(t, page(t, p), text)
	checkSVG(t, picture.SVG(p))
	for _, width := range []int{40, 80, 300} {
		checkPrintable(t, "the terminal", picture.Terminal(p, picture.Screen{Width: width}))
	}
}

// checkPrintable refuses characters that control a reader.
func checkPrintable(t *testing.T, where, text string) {
	t.Helper()
	for _, r := range text {
		if plain.IsControl(r) && r != '\n' && r != '\t' || unicode.Is(unicode.Bidi_Control, r) {
			t.Fatalf("%s has the character %U", where, r)
		}
	}
}

var callLink = regexp.MustCompile(`^#call-[0-9]+$`)

// elements are those that a drawing may have, with their attributes.
var elements = map[string]string{
	"html": "lang", "head": "", "body": "", "meta": "charset http-equiv content name", "title": "", "style": "", "script": "", "header": "", "main": "", "h1": "dir", "h2": "",
	"p": "class", "b": "", "br": "", "bdi": "", "small": "class", "span": "class", "div": "class", "details": "class id open", "summary": "", "pre": "class dir", "ul": "", "li": "",
	"table": "", "tbody": "", "tr": "class", "th": "class", "td": "class dir", "a": "href",
	"svg": "xmlns class width height viewbox viewBox role", "rect": "class x y width height rx", "text": "x y class text-anchor", "line": "class x1 y1 x2 y2", "path": "class d", "circle": "class cx cy r", "g": "",
}

// checkAttribute refuses what no drawing has, such as a link to another host.
func checkAttribute(t *testing.T, element, name, value string) {
	t.Helper()
	if !slices.Contains(strings.Fields(elements[element]), name) {
		t.Fatalf("<%s> has the attribute %s", element, name)
	}
	if name == "href" && !callLink.MatchString(value) {
		t.Fatalf("a link leads to %q", value)
	}
	if (name == "class" || name == "id") && !regexp.MustCompile(`^[a-z0-9 -]*$`).MatchString(value) {
		t.Fatalf("<%s> has the %s %q", element, name, value)
	}
}

func checkHTML(t *testing.T, page, text string) {
	t.Helper()
	checkPrintable(t, "the page", page)
	doc, err := html.Parse(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	var scripts, texts []string
	policy := ""
	for n := range doc.Descendants() {
		switch n.Type {
		case html.CommentNode:
			t.Fatalf("the page has a comment: %s", n.Data)
		case html.ElementNode:
			if _, known := elements[n.Data]; !known {
				t.Fatalf("the page has an element <%s>", n.Data)
			}
			for _, a := range n.Attr {
				checkAttribute(t, n.Data, a.Key, a.Val)
				if n.Data == "meta" && a.Key == "content" && strings.Contains(a.Val, "default-src") {
					policy = a.Val
				}
			}
			switch n.Data {
			case "script":
				scripts = append(scripts, n.FirstChild.Data)
			case "pre":
				words := ""
				for child := range n.Descendants() {
					words += child.Data
				}
				texts = append(texts, words)
			}
		}
	}
	source, err := os.ReadFile("page.js")
	if err != nil {
		t.Fatal(err)
	}
	if len(scripts) != 1 || scripts[0] != string(source) {
		t.Fatalf("the page has the scripts %q", scripts)
	}
	sum := sha256.Sum256([]byte(scripts[0]))
	if want := "default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; base-uri 'none'; form-action 'none'"; policy != want {
		t.Fatalf("the policy of the page is %s\nand not %s", policy, want)
	}
	if shown := plain.Escape(text, "\n\t"); !slices.Contains(texts, shown) {
		t.Fatalf("the page lacks the text %q", shown)
	}
}

func checkSVG(t *testing.T, svg string) {
	t.Helper()
	checkPrintable(t, "the SVG", svg)
	d := xml.NewDecoder(strings.NewReader(svg))
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatalf("%v in %s", err, svg)
		}
		switch token := token.(type) {
		case xml.StartElement:
			if !slices.Contains([]string{"svg", "title", "style", "rect", "text", "line", "path", "circle", "g"}, token.Name.Local) {
				t.Fatalf("the SVG has an element <%s>", token.Name.Local)
			}
			for _, a := range token.Attr {
				checkAttribute(t, token.Name.Local, a.Name.Local, a.Value)
			}
		case xml.Comment, xml.Directive, xml.ProcInst:
			t.Fatalf("the SVG has %T", token)
		}
	}
}

// TestFixturesAreDrawn draws recorded sessions of all kinds.
func TestFixturesAreDrawn(t *testing.T) {
	files, err := filepath.Glob("../../../../tests/fixtures/testdata/*/export.jsonl")
	if err != nil || len(files) < 10 {
		t.Fatalf("there are %d recordings, %v", len(files), err)
	}
	for _, file := range files {
		f, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		store := sessions.NewMemory()
		kept, err := store.Import(context.Background(), f, "")
		if err != nil {
			t.Fatal(err)
		}
		f.Close()
		for turn := 1; turn <= kept.Turns; turn++ {
			journal, err := store.Journal(context.Background(), kept.ID, turn, 0)
			if err != nil {
				t.Fatal(err)
			}
			if len(journal) == 0 {
				continue // of a branch
			}
			p, err := picture.New(journal, picture.Source{Session: kept.ID, Turn: turn, Texts: agents.LookupIn(context.Background(), store)})
			if err != nil {
				t.Errorf("%s, turn %d: %v", file, turn, err)
			}
			checkSVG(t, picture.SVG(p))
			checkHTML(t, page(t, p), p.Question)
			checkPrintable(t, fmt.Sprintf("%s, turn %d", file, turn), picture.Terminal(p, picture.Screen{Width: 80}))
		}
	}
}
