package keys

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"html"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// A canary is a key that the tests look for in everything that the program writes. One has only
// characters that no encoder changes, the other has all that encoders change.
const (
	plainCanary = "sk-cnry7Qx9Kp2mV4tR8wZ3"
	sharpCanary = `cn/ry+7Qx9&Kp2=mV4<tR8"wZ3%`
)

// shows reports whether a text shows a key, or half of it: as it is, or after it undid what
// encoders do, up to three times. A shortened text may end with a part of a key.
func shows(text, key string) bool {
	for range 3 {
		for _, undo := range []func(string) string{asItIs, withoutJSON, withoutPercent, html.UnescapeString} {
			text = undo(text)
			rest := withoutCutKeys(text, key)
			if strings.Contains(text, key) || strings.Contains(rest, key[:len(key)/2]) || strings.Contains(rest, key[len(key)/2:]) {
				return true
			}
		}
		if inDigits(text, key) {
			return true
		}
	}
	return false
}

// withoutCutKeys removes a key from where a text was shortened after it began: massgen masks no part of
// a key. Some letters of the key may still be escaped there.
func withoutCutKeys(text, key string) string {
	if !strings.Contains(text, "…") {
		return text
	}
	return regexp.MustCompile(regexp.QuoteMeta(key[:len(key)/2])+`[^\s*]{0,40}…`).ReplaceAllLiteralString(text, "…")
}

func asItIs(text string) string { return text }

// withoutJSON undoes the escapes of JSON wherever they stand.
func withoutJSON(text string) string {
	if !strings.Contains(text, `\`) {
		return text
	}
	return jsonEscape.ReplaceAllStringFunc(text, func(escape string) string {
		if strings.HasPrefix(escape, `\u`) {
			code, err := strconv.ParseUint(escape[2:], 16, 32)
			if err != nil {
				return escape
			}
			return string(rune(code))
		}
		return escape[1:]
	})
}

var jsonEscape = regexp.MustCompile(`\\(u[0-9A-Fa-f]{4}|["\\/])`)

// withoutPercent undoes the escapes of URLs wherever they stand.
func withoutPercent(text string) string {
	if !strings.Contains(text, "%") {
		return text
	}
	return percentEscape.ReplaceAllStringFunc(text, func(escape string) string {
		plain, err := url.PathUnescape(escape)
		if err != nil {
			return escape
		}
		return plain
	})
}

var percentEscape = regexp.MustCompile(`%[0-9A-Fa-f]{2}`)

// inDigits reports whether base64 or hexadecimal digits in a text are those of a key, or of a text
// that contains it.
func inDigits(text, key string) bool {
	for _, digits := range strings.FieldsFunc(text, isNoDigit) {
		if len(digits) < len(key) {
			continue
		}
		if decoded, err := hex.DecodeString(digits); err == nil && strings.Contains(string(decoded), key) {
			return true
		}
		digits = strings.NewReplacer("-", "+", "_", "/").Replace(digits)
		for start := range 4 {
			piece := digits[start:]
			decoded, err := base64.RawStdEncoding.DecodeString(piece[:len(piece)-len(piece)%4])
			if err == nil && strings.Contains(string(decoded), key[1:len(key)-2]) {
				return true
			}
		}
	}
	return false
}

func isNoDigit(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("+/-_", r)
}

// encoded returns a text in the forms in which services repeat what they were sent.
func encoded(text string) []string {
	inJSON := quotedJSON(text)
	return []string{
		text, inJSON, quotedJSON(inJSON), strings.ReplaceAll(inJSON, "/", `\/`), strings.ReplaceAll(inJSON, "+", `\u002B`),
		url.QueryEscape(text), url.PathEscape(text), url.User(text).String(), percentEscape.ReplaceAllStringFunc(url.QueryEscape(text), strings.ToLower), html.EscapeString(text),
		hex.EncodeToString([]byte(text)), base64.StdEncoding.EncodeToString([]byte(text)), base64.RawURLEncoding.EncodeToString([]byte("x" + text)),
		url.QueryEscape(base64.StdEncoding.EncodeToString([]byte("me:" + text + "\n"))),
	}
}

// quotedJSON returns a text as it stands between the quotes of JSON.
func quotedJSON(text string) string {
	data, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	return string(data[1 : len(data)-1])
}

func TestCanariesAreFound(t *testing.T) {
	for _, key := range []string{plainCanary, sharpCanary} {
		for _, form := range encoded(key) {
			if !shows(`{"message":"before `+form+` after"}`, key) {
				t.Errorf("%s is not seen in %s", key, form)
			}
		}
		if !shows("told "+key+"…", key) || !shows("told "+key[:len(key)/2]+" and more…", key) {
			t.Errorf("%s is not seen in a text that was shortened", key)
		}
		for _, text := range []string{"", "***", "told " + key[:len(key)-2] + "…", key[:8], key[len(key)-8:], "c2stY25yeQ==", strings.Repeat("A", 100)} {
			if shows(text, key) {
				t.Errorf("%s is seen in %q", key, text)
			}
		}
	}
}
