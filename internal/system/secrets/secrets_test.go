package secrets_test

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/massgen/massgen/internal/system/secrets"
	"github.com/massgen/massgen/tests/linear"
)

// encoders are what services and libraries do to a text that they repeat.
func encoders(t *testing.T) map[string]func(string) string {
	inJSON := func(text string) string {
		data, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		return string(data[1 : len(data)-1])
	}
	return map[string]func(string) string{
		"plain":                  func(s string) string { return s },
		"JSON":                   inJSON,
		"JSON in JSON":           func(s string) string { return inJSON(`{"a":"` + inJSON(s) + `"}`) },
		"JSON with \\/":          func(s string) string { return strings.ReplaceAll(inJSON(s), "/", `\/`) },
		"JSON of .NET":           func(s string) string { return strings.ReplaceAll(inJSON(s), "+", `\u002B`) },
		"a query":                url.QueryEscape,
		"a path":                 url.PathEscape,
		"a user":                 func(s string) string { return url.User(s).String() },
		"a URL in lower case":    func(s string) string { return lowerEscapes(url.QueryEscape(s)) },
		"a URL in a URL":         func(s string) string { return url.QueryEscape(url.QueryEscape(s)) },
		"HTML":                   html.EscapeString,
		"HTML by name":           func(s string) string { return strings.ReplaceAll(html.EscapeString(s), "&#34;", "&quot;") },
		"HTML in HTML":           func(s string) string { return html.EscapeString(html.EscapeString(s)) },
		"HTML in JSON":           func(s string) string { return inJSON(html.EscapeString(s)) },
		"hex":                    func(s string) string { return hex.EncodeToString([]byte(s)) },
		"HEX":                    func(s string) string { return strings.ToUpper(hex.EncodeToString([]byte(s))) },
		"base64":                 func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) },
		"base64 for URLs":        func(s string) string { return base64.URLEncoding.EncodeToString([]byte(s)) },
		"base64 in a URL":        func(s string) string { return url.QueryEscape(base64.StdEncoding.EncodeToString([]byte(s))) },
		"base64 of user and key": func(s string) string { return base64.StdEncoding.EncodeToString([]byte("me:" + s)) },
		"base64 after two":       func(s string) string { return base64.StdEncoding.EncodeToString([]byte("me" + s + "!")) },
		"base64 after one":       func(s string) string { return base64.StdEncoding.EncodeToString([]byte("m" + s + "??")) },
	}
}

// escapers escape plain letters, which no encoder has to do.
func escapers() map[string]func(string) string {
	return map[string]func(string) string{
		"every letter in JSON":  each(`\u%04x`),
		"JSON in JSON, letters": each(`\\u%04X`),
		"every letter in a URL": each("%%%02x"),
		"the same, twice":       each("%%25%02X"),
		"every letter in HTML":  each("&#%d;"),
		"HTML in hexadecimal":   each("&#x%x;"),
		"HTML in HTML, letters": each("&amp;#%d;"),
		"a letter in JSON":      func(s string) string { return firstLetter.ReplaceAllStringFunc(s, each(`\u%04x`)) },
		"a letter in a URL":     func(s string) string { return firstLetter.ReplaceAllStringFunc(s, each("%%%02X")) },
	}
}

// TestEscapedLettersAreMasked: a key whose plain letters are escaped is masked whole.
func TestEscapedLettersAreMasked(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		secret := rapid.StringMatching(`[a-z][A-Za-z0-9._-]{11,40}`).Draw(rt, "secret")
		var f secrets.Finder
		f.Add(secret)
		for name, escape := range escapers() {
			for _, around := range []string{"", "a \u0061 %41 & ", "ümläut "} {
				text := around + escape(secret) + "/" + around + escape(secret)
				if got, want := f.Mask(text), around+secrets.Mask+"/"+around+secrets.Mask; got != want {
					rt.Fatalf("in %s: %s became %s", name, text, got)
				}
			}
		}
	})
}

// firstLetter is the beginning of a text, if that is a letter.
var firstLetter = regexp.MustCompile("^[a-z]")

// each writes each byte of a text in a form.
func each(form string) func(string) string {
	return func(text string) string {
		var b strings.Builder
		for _, c := range []byte(text) {
			fmt.Fprintf(&b, form, c)
		}
		return b.String()
	}
}

func lowerEscapes(text string) string {
	for _, escape := range []string{"%2B", "%2F", "%3D", "%3C", "%3E"} {
		text = strings.ReplaceAll(text, escape, strings.ToLower(escape))
	}
	return text
}

// TestEverySpellingIsMasked: an encoded secret leaves nothing but the text around it and, in base64,
// the digits that it shares with its neighbours.
func TestEverySpellingIsMasked(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		secret := rapid.StringMatching(`[A-Za-z0-9+/=<"%_.-][A-Za-z0-9+/=<>&"'\\%@:!~ \n\t_.-]{10,38}[A-Za-z0-9>&'\\@:!~-]`).Draw(rt, "secret")
		var f secrets.Finder
		f.Add(secret)
		for name, encode := range encoders(t) {
			got := f.Mask("before" + encode(secret) + "after")
			rest := strings.TrimSuffix(strings.TrimPrefix(got, "before"), "after")
			if most := len(secrets.Mask) + len("me:!") + 8; !strings.Contains(rest, secrets.Mask) || len(rest) > most {
				rt.Fatalf("in %s: %s became %s", name, encode(secret), got)
			}
		}
	})
}

func TestOtherTextsStayAsTheyAre(t *testing.T) {
	var f secrets.Finder
	f.Add("sk-a/secret+key", "pass word", "")
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOf(rapid.RuneFrom([]rune(`sk-aercty/+ pwod%2Bf\u"&é`+"\x00\n"))).Draw(t, "text")
		if got := f.Mask(text); got != text && !strings.Contains(got, secrets.Mask) {
			t.Fatalf("%q became %q", text, got)
		}
	})
	for _, text := range []string{"", "sk-a/sec", "sk-a/secret key", "sk-a secret key", "passwordpass", "\xff\x00{}", "c2stYS9z"} {
		if got := f.Mask(text); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
}

func TestMask(t *testing.T) {
	var f secrets.Finder
	f.Add("abcdefghij", "abcdefghij-and-more", "ghijklmnop", "x\xffy-not-a-text", "with/some&signs+in-it", "two words\nand 10%41", "a blank %20 and another")
	for text, want := range map[string]string{
		"abcdefghij abcdefghij-and-more":      "*** ***",
		"abcdefghijabcdefghij":                "******",
		"of two abcdefghijklmnop in one":      "of two *** in one",
		"x\xffy-not-a-text":                   "***",
		"x%ffy-not-a-text":                    "***",
		`{"a":"with\/some\u0026signs+in-it"}`: `{"a":"***"}`,
		"?a=with%2fsome%26signs%2Bin-it&b=1":  "?a=***&b=1",
		"<b>with/some&amp;signs+in-it</b>":    "<b>***</b>",
		`two words\nand 10%41`:                "***",
		"two+words%0Aand+10%2541.":            "***.",
		"a+blank+%2520+and+another.":          "***.",
		"a part: abcdefghi":                   "a part: abcdefghi",
		"escapes beside it: %41abcdefghij\\n": "escapes beside it: %41***\\n",
	} {
		if got := f.Mask(text); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
}

// TestMaskIsLinear masks texts that invite a search to begin again and again.
func TestMaskIsLinear(t *testing.T) {
	var f secrets.Finder
	f.Add("aaaaaaaaaaaaaaaa/", "x", "sk-with&some%signs")
	for length, units := range map[int][]string{
		40_000: {"a", "%25", "%", "&amp;", "&", `\\`, `\u005c`, "api_key ", "?key="},
		5000:   {"x ", "://x:", "api key x x x x "}, // a word takes longer where it may be a credential
	} {
		for _, unit := range units {
			linear.Check(t, length, func(n int) {
				if f.Mask(strings.Repeat(unit, n/len(unit))+"sk-with%26some%25signs") == "" {
					t.Fatal("nothing is left")
				}
			})
		}
	}
}

// TestLongSecrets: a whole file may be given as one.
func TestLongSecrets(t *testing.T) {
	t.Parallel()
	for _, n := range []int{512, 513, 1 << 20} {
		secret := strings.Repeat("/", n)
		var f secrets.Finder
		f.Add(secret)
		if got := f.Mask("x" + secret + "x"); got != "x***x" {
			t.Errorf("%d bytes became %d", n, len(got))
		}
	}
}

// TestACopyHasItsOwnSecrets: what is added to one is not found by the other.
func TestACopyHasItsOwnSecrets(t *testing.T) {
	var f secrets.Finder
	f.Add("first-secret")
	one, other := f, f
	one.Add("second-secret")
	other.Add("third-secret")
	const all = "first-secret second-secret third-secret"
	for want, f := range map[string]secrets.Finder{
		"*** second-secret third-secret": f, "*** *** third-secret": one, "*** second-secret ***": other,
	} {
		if got := f.Mask(all); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
