package configs

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestSecretsOfAConfig(t *testing.T) {
	const file = `
agents:
  - id: a
    backend:
      type: openai
      base_url: https://me:password1@example.org?api-key=in%20the%20query&version=2024-10-21
      api_key: 8letters
      headers: {Authorization: "Bearer 8letters-and-more", X-Title: "My programme"}
      extra_body: {access: "${B_TOKEN}", list: [{client_secret: written-out}], style: long-winded}
  - id: b
    backend: {type: openai, api_key: none, model: "${MODEL}"}
    system_message: ${B_TOKEN}
`
	env := map[string]string{"B_TOKEN": "8letters-and", "MODEL": "long-model-name"}
	var secrets Secrets
	if _, err := Parse("f.yaml", []byte(file), Options{Lookup: lookupIn(env), Secrets: &secrets}); err != nil {
		t.Fatal(err)
	}
	for s, want := range map[string]string{
		"8letters":                     "***",
		"8letters-and-so":              "***-so",
		"Bearer 8letters-and-more":     "***",
		"the rest: 8letters-and-more":  "the rest: ***",
		"of me:password1@":             "of me:***@",
		"in the query":                 "***",
		"it is written-out":            "it is ***",
		"My programme, none the wiser": "My programme, none the wiser",
		"long-model-name":              "long-model-name",
		"2024-10-21 long-winded":       "2024-10-21 long-winded",
	} {
		if got := secrets.Redact(s); got != want {
			t.Errorf("%s: got %s, want %s", s, got, want)
		}
	}
}

func TestSecretsOfAConfigThatIsWrong(t *testing.T) {
	var secrets Secrets
	_, err := Parse("f.yaml", []byte("agent: {backend: {type: 1, api_key: a-long-key}}"), Options{Secrets: &secrets})
	if got := secrets.Redact("a-long-key"); err == nil || got != mask {
		t.Errorf("got %s, %v", got, err)
	}
}

func TestRedactFindsSecretsInJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		secret := rapid.StringMatching(`[a-z"\\<&\n é]{8,12}`).Draw(t, "secret")
		var secrets Secrets
		secrets.Add(secret)
		text := "x" + secret + "y"
		for range 3 {
			if got := secrets.Redact(text); strings.Contains(got, secret) || !strings.Contains(got, mask) {
				t.Fatalf("%s became %s", text, got)
			}
			data, err := json.Marshal(text)
			if err != nil {
				t.Fatal(err)
			}
			text = string(data)
		}
	})
}

func TestSecretsOfAnAddress(t *testing.T) {
	var secrets Secrets
	secrets.AddURL("https://name-that-is-a-token@h/v1?sig=signature%2B1&code=some-code")
	for _, secret := range []string{"name-that-is-a-token", "signature+1", "signature%2B1", "some-code"} {
		if got := secrets.Redact(secret); got != mask {
			t.Errorf("%s became %s", secret, got)
		}
	}
}

func TestRedactLeavesTheRest(t *testing.T) {
	var secrets Secrets
	secrets.Add("a-long-key", "short", "")
	secrets.AddURL("http://localhost:1/v1?")
	secrets.AddURL("http://local@localhost?api-version=2024-10-21-preview")
	secrets.Add("lm-studio", "not-needed", "sk-no-key-required", "no-key-required", "dummy-key", "localhost", "placeholder", "LM_Studio")
	secrets.AddURL((&url.URL{Scheme: "http", Host: "h", User: url.UserPassword("u", "pass word")}).String())
	for in, want := range map[string]string{
		"short user \xff\x00 {}":                                             "short user \xff\x00 {}",
		"lm-studio sk-no-key-required not-needed LM_Studio":                  "lm-studio sk-no-key-required not-needed LM_Studio",
		"dummy-key no-key-required localhost placeholder 2024-10-21-preview": "dummy-key no-key-required localhost placeholder 2024-10-21-preview",
		"a-long-key\xff":            "***\xff",
		"pass word, pass%20word at": "***, *** at",
	} {
		if got := secrets.Redact(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}
