package secrets_test

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"mime/quotedprintable"
	"net/url"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/massgen/massgen/internal/system/secrets"
)

// separated writes each byte of a text in a form, and a separator between them.
func separated(form, separator string) func(string) string {
	return func(text string) string {
		return strings.TrimSuffix(each(form+strings.ReplaceAll(separator, "%", "%%"))(text), separator)
	}
}

// lists write a text as numbers.
func lists() map[string]func(string) string {
	return map[string]func(string) string{
		"Go's bytes":         func(s string) string { return strings.Trim(fmt.Sprintf("%d", []byte(s)), "[]") },
		"Go's syntax":        separated("0x%x", ", "),
		"JSON":               separated("%d", ","),
		"Python's bytes":     separated("%d", ", "),
		"lines of JSON":      separated("%d", ",\n        "),
		"lines in JSON":      separated("%d", `,\n  `),
		"lines twice":        separated("%d", `,\\n\\t`),
		"texts in JSON":      separated("%d", `","`),
		"three digits":       separated("%03d", " "),
		"in a query":         separated("%d", "%2C"),
		"HTML":               separated("%d", "&nbsp;"),
		"octal":              separated("%03o", " "),
		"a dump":             separated("%02x", " "),
		"A DUMP":             separated("%02X", " "),
		"a dump in a query":  separated("%02x", "%20"),
		"colons":             separated("%02x", ":"),
		"dashes":             separated("%02x", "-"),
		"lines":              separated("%02x", "\r\n"),
		"C":                  separated("0x%02X", ", "),
		"groups of two":      func(s string) string { return groups(s, 2) },
		"groups of four":     func(s string) string { return groups(s, 4) },
		"groups of eight":    func(s string) string { return groups(s, 8) },
		"letters either way": func(s string) string { return upperSecond(separated("%02x", " ")(s)) },
	}
}

// groups writes a text in hexadecimal digits, with a blank after some bytes.
func groups(text string, n int) string {
	var all []string
	for from := 0; from < len(text); from += n {
		all = append(all, hex.EncodeToString([]byte(text[from:min(from+n, len(text))])))
	}
	return strings.Join(all, " ")
}

func upperSecond(text string) string {
	return text[:len(text)/2] + strings.ToUpper(text[len(text)/2:])
}

// drawSecret returns a key of any letters that keys have.
func drawSecret(t *rapid.T) string {
	return rapid.StringMatching(`[A-Za-z0-9+/=_.-][A-Za-z0-9+/=<>&#"'\\%@:!~ _.-]{8,60}[A-Za-z0-9+/=_.-]`).Draw(t, "secret")
}

// TestListsOfBytesAreMasked: nothing is left of a key that is written as numbers, and what stands
// beside it stays.
func TestListsOfBytesAreMasked(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		secret := drawSecret(rt)
		var f secrets.Finder
		f.Add(secret)
		for name, write := range lists() {
			for before, after := range map[string]string{"": "", "is [": "]", "is ": " 12 7f", "1 7f ": "", "the ": "…", "ümläut: ": ".", "(0,": ",300)"} {
				list := before + write(secret) + after
				if got, want := f.Mask(list+"\nlast"), before+secrets.Mask+after+"\nlast"; got != want {
					rt.Fatalf("as %s: %s became %s", name, list, got)
				}
			}
		}
	})
}

// TestHalfAListIsMasked: an error is cut, and what is left of a key in it is masked if it is half
// of it.
func TestHalfAListIsMasked(t *testing.T) {
	t.Parallel()
	const secret = "sk-proj-Abc+Def/12345678"
	var f secrets.Finder
	f.Add(secret)
	for name, write := range lists() {
		for n := len(secret) / 2; n < len(secret); n++ {
			for _, after := range []string{"", "…", "... [cut]"} {
				if got, want := f.Mask("is "+write(secret[:n])+after), "is "+secrets.Mask+after; got != want {
					t.Errorf("%d bytes as %s became %s, want %s", n, name, got, want)
				}
			}
		}
	}
}

// TestSpellingsOfMailAndHTMLAreMasked: nothing is left of a key in quoted-printable, or with
// entities by name.
func TestSpellingsOfMailAndHTMLAreMasked(t *testing.T) {
	t.Parallel()
	inLines := func(text string) string {
		var b strings.Builder
		w := quotedprintable.NewWriter(&b)
		_, err := w.Write([]byte(text))
		if err = errors.Join(err, w.Close()); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	named := named()
	signs := strings.NewReplacer("=", "=3D")
	for name, write := range map[string]func(string) string{
		"quoted-printable":        each("=%02X"),
		"in lower case":           each("=%02x"),
		"as Go writes it":         func(s string) string { return strings.Repeat("-", 50) + inLines(s) },
		"in two lines":            func(s string) string { return signs.Replace(s[:5]) + "=\n" + signs.Replace(s[5:]) },
		"in lines of JSON":        func(s string) string { return signs.Replace(s[:5]) + `=\r\n` + signs.Replace(s[5:]) },
		"in JSON":                 func(s string) string { return strings.ReplaceAll(each("=%02X")(s), "=", `\u003d`) },
		"entities":                named.Replace,
		"entities in entities":    func(s string) string { return strings.ReplaceAll(named.Replace(s), "&", "&amp;") },
		"entities in JSON":        func(s string) string { return strings.ReplaceAll(named.Replace(s), "&", `\u0026`) },
		"entities in a URL":       func(s string) string { return url.QueryEscape(named.Replace(s)) },
		"entities and numbers":    func(s string) string { return named.Replace(s[:5]) + each("&#%d;")(s[5:]) },
		"entities and characters": func(s string) string { return named.Replace(s[:5]) + s[5:] },
	} {
		rapid.Check(t, func(rt *rapid.T) {
			secret := rapid.StringMatching(`[a-z][A-Za-z0-9+/=_.-]{10,40}[A-Za-z0-9]`).Draw(rt, "secret")
			var f secrets.Finder
			f.Add(secret)
			text := "a=1&b " + write(secret) + " &c=2"
			got := strings.ReplaceAll(f.Mask(text), strings.Repeat("-", 50), "")
			if want := "a=1&b " + secrets.Mask + " &c=2"; got != want {
				rt.Fatalf("%s: %s became %s", name, text, got)
			}
		})
	}
}

// TestLineEndsBesideAKeyStay: an equals sign before a line end is more often none of mail.
func TestLineEndsBesideAKeyStay(t *testing.T) {
	var f secrets.Finder
	f.Add("sk-of-a-line")
	for text, want := range map[string]string{
		"sk-of-a-line=\nnext": "***=\nnext", "key=\nsk-of-a-line\n": "key=\n***\n", "key=\n=\nsk-of-a-line=\n=\n": "key=\n=\n***=\n=\n",
		"key=\n=73k-of-a-line=\n": "key=\n***=\n", "key=\nsk-of-a-lin=65=\n": "key=\n***=\n", "sk-of=\n-a-line=\n": "***=\n",
	} {
		if got := f.Mask(text); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
}

// named writes the characters of keys by the names that HTML has for them.
func named() *strings.Replacer {
	return strings.NewReplacer("_", "&lowbar;", "-", "&hyphen;", ".", "&period;", "/", "&sol;", "+", "&plus;", "=", "&equals;")
}

// TestEachEntityIsMasked: a key is masked whichever of its characters has a name in HTML.
func TestEachEntityIsMasked(t *testing.T) {
	for _, name := range []string{
		"excl;", "QUOT", "QUOT;", "num;", "dollar;", "percnt;", "AMP", "amp;", "apos;", "lpar;", "rpar;", "ast;", "midast;", "plus;", "comma;",
		"period;", "sol;", "colon;", "semi;", "lt", "LT;", "equals;", "gt", "GT;", "quest;", "commat;", "lsqb;", "lbrack;", "bsol;", "rsqb;",
		"rbrack;", "Hat;", "lowbar;", "UnderBar;", "grave;", "DiacriticalGrave;", "lcub;", "lbrace;", "verbar;", "vert;", "VerticalLine;",
		"rcub;", "rbrace;", "fjlig;",
	} {
		char := html.UnescapeString("&" + name)
		if strings.Contains(char, "&") && char != "&" {
			t.Fatalf("HTML has no %s", name)
		}
		var f secrets.Finder
		f.Add("sk-12345" + char + "67890abc")
		if got, want := f.Mask("is sk-12345&"+name+"67890abc."), "is "+secrets.Mask+"."; got != want {
			t.Errorf("with %s: %s", name, got)
		}
	}
}

// TestOtherNumbersStayAsTheyAre: no list is masked that is not of a key.
func TestOtherNumbersStayAsTheyAre(t *testing.T) {
	t.Parallel()
	var f secrets.Finder
	f.Add("sk-proj-Abc+Def/123456789==", "0123456789abcdef", "short")
	rapid.Check(t, func(rt *rapid.T) {
		other := rapid.SliceOfN(rapid.Byte(), 1, 200).Draw(rt, "other")
		for name, write := range lists() {
			if text := write(string(other)); f.Mask(text) != text {
				rt.Fatalf("as %s: %s became %s", name, text, f.Mask(text))
			}
		}
	})
	for _, text := range []string{
		"115, 107, 45", "73 6b 2d 70 72 6f 6a", "2024-11-23 22:15:07.123456789 +0100", "00:1b:44:11:3a:b7", "=73=6B", "x=41&y=42", "a=\nb", "&lt;b&gt; &amp; &nbsp; &hellip;",
		"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08", "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20", "0x", "0x 0x 0x 0x 0x 0x 0x 0x 0x 0x",
		"300 400 115 107 500", strings.Repeat("0", 100), strings.Repeat("1,", 100), "3.14159265358979 2.71828182845904", "\x00\xff 12 34 \xff", "&&&&", "====", "&#;", "=\r", "=",
	} {
		if got := f.Mask(text); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
}

// TestMaskedJSONIsJSON: a list of numbers in JSON becomes a text, and stays what it is within one.
func TestMaskedJSONIsJSON(t *testing.T) {
	var f secrets.Finder
	f.Add("sk-of-a-list")
	list := separated("%d", ", ")("sk-of-a-list")
	for text, want := range map[string]string{
		`{"a":[` + list + `]}`:                              `{"a":["***"]}`,
		`{"a":[1, ` + list + `, 2], "b":[` + list + `]}`:    `{"a":[1, "***", 2], "b":["***"]}`,
		`{"a":"say \"[` + list + `]\"","b":[` + list + `]}`: `{"a":"say \"[***]\"","b":["***"]}`,
		`["\\",` + list + `,"` + list + `"]`:                `["\\","***","***"]`,
		`no JSON: [` + list + `]`:                           `no JSON: [***]`,
	} {
		if got := f.Mask(text); got != want {
			t.Errorf("%s became %s, want %s", text, got, want)
		} else if json.Valid([]byte(text)) != json.Valid([]byte(got)) {
			t.Errorf("%s is no JSON", got)
		}
	}
}
