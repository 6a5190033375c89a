package secrets_test

import (
	"strings"
	"testing"

	"github.com/massgen/massgen/internal/system/secrets"
)

// TestShortSecretsAreMaskedAsCredentials: a word of a message stays, and what a text shows to
// be a credential does not.
func TestShortSecretsAreMaskedAsCredentials(t *testing.T) {
	t.Parallel()
	for _, key := range []string{"x", "exp", "k1", "a+b/c", "hunter7"} {
		var f secrets.Finder
		f.Add(key)
		for _, text := range []string{
			"Authorization: Bearer KEY", "authorization: KEY", "Proxy-Authorization: Basic KEY", "x-api-key: KEY", "X-Goog-Api-Key:KEY,",
			"api_key: KEY\nid: a", `{"api_key":"KEY"}`, `{\"api_key\": \"KEY\"}`, `api-key='KEY'`, `{"apiKey":"KEY","n":1}`, "OPENAI_API_KEY=KEY massgen",
			`{"access_token":"KEY"}`, "password: KEY", `"auth_token": "KEY"`, "https://h/v1?key=KEY", "https://h/v1?a=b&api-key=KEY#c", "/?sig=KEY and",
			"http://me:KEY@host/v1", "http://KEY@host", "http://KEY:@host", "Incorrect API key provided: KEY. You can find", "invalid API key 'KEY'",
			"the API key KEY is wrong", "API key \"KEY\"", "Bearer KEY, then more", `api_key: \u006bEY`,
		} {
			if strings.Contains(text, `\u006b`) {
				text = strings.ReplaceAll(text, `\u006bEY`, escaped(key))
			}
			want := strings.ReplaceAll(strings.ReplaceAll(text, "KEY", "***"), escaped(key), "***")
			want = strings.ReplaceAll(want, "OPENAI_API_***", "OPENAI_API_KEY")
			text = strings.ReplaceAll(text, "OPENAI_API_KEY", "OPENAI_API_\x00")
			text = strings.ReplaceAll(strings.ReplaceAll(text, "KEY", key), "\x00", "KEY")
			if got := f.Mask(text); got != want {
				t.Errorf("%q became %q, want %q", text, got, want)
			}
		}
	}
}

// escaped has the first character as JSON may write it.
func escaped(text string) string {
	const digits = "0123456789abcdef"
	return `\u00` + string(digits[text[0]>>4]) + string(digits[text[0]&15]) + text[1:]
}

func TestShortSecretsGarbleNoMessage(t *testing.T) {
	var f secrets.Finder
	f.Add("x", "exp", "abc", "1", "none", "ollama")
	for _, text := range []string{
		"unexpected EOF", "the expression exp(x) has x = 1", "api_key: expired", "Bearer of x-rays", "key exp", "sort(key=x)", `{"key":"x","token":"exp"}`,
		"https://example.org/x?page=1", "authorization: none", "it is ollama", "primary_key: abc", "the API key expires", "api_keys: x1", "unexpected token x", "mail exp@host", "",
	} {
		if got := f.Mask(text); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
}

// TestIsShort: what is no secret is no short one.
func TestIsShort(t *testing.T) {
	for text, want := range map[string]bool{"x": true, " exp ": true, "1234567": true, "12345678": false, "": false, " ": false, "none": false, "vllm": false} {
		if got := secrets.IsShort(text); got != want {
			t.Errorf("IsShort(%q) is %t", text, got)
		}
	}
}
