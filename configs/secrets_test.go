package configs

import (
	"encoding/json"
	"fmt"
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
mcp_servers:
  sql: {command: sql, args: ["postgres://me:password2@h/db"], env: {DSN: "postgres://me:password3@h/db", PLACE: "a long place@home"}}
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
		"me:password2@h, me:password3": "me:***@h, me:***",
		"a long place@home":            "a long place@home",
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
	if got := secrets.Redact("a-long-key"); err == nil || got != "***" {
		t.Errorf("got %s, %v", got, err)
	}
}

func TestRedactFindsSecretsInJSON(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		secret := rapid.StringMatching(`[a-z"\\<&é][a-z"\\<&\n é]{6,10}[a-z"\\<&é]`).Draw(t, "secret")
		var secrets Secrets
		secrets.Add(secret)
		text := "x" + secret + "y"
		for range 3 {
			if got := secrets.Redact(text); strings.Contains(got, secret) || !strings.Contains(got, "***") {
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
		if got := secrets.Redact(secret); got != "***" {
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

// TestNoVerbShowsAKey prints what a panic or a log might.
func TestNoVerbShowsAKey(t *testing.T) {
	const key = "sk-of-a-log-0123456789"
	var secrets Secrets
	c, err := Parse("f", []byte(`agent: {backend: {type: openai, api_key: `+key+`, base_url: "http://me:`+key+`@host?key=`+key+`",
  headers: {X: `+key+`}, extra_body: {token: `+key+`}}}`), Options{Secrets: &secrets})
	if err != nil {
		t.Fatal(err)
	}
	for _, value := range []any{c, *c, c.Agents, c.Agents[0], &c.Agents[0], c.Agents[0].Backend, &secrets} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x"} {
			if got := fmt.Sprintf(verb, value); strings.Contains(got, key) || strings.Contains(got, fmt.Sprintf("%x", key)) {
				t.Errorf("%s of a %T shows the key: %s", verb, value, got)
			}
		}
	}
}

// TestSecretsOfOddPlaces are those of a header without a telling name, of a default,
// and of all that stands below a name.
func TestSecretsOfOddPlaces(t *testing.T) {
	const file = `
agent:
  backend:
    type: openai
    headers: {X-Custom: looks-like-a-key-1, X-Team: research-and-more}
    extra_body: {plain: "${NO_TOKEN:-by-default}", credentials: {list: [in-the-depth]}, also: {plain: not-secret}}
`
	var secrets Secrets
	if _, err := Parse("f.yaml", []byte(file), Options{Lookup: lookupIn(nil), Secrets: &secrets}); err != nil {
		t.Fatal(err)
	}
	got := secrets.Redact("looks-like-a-key-1 research-and-more by-default in-the-depth not-secret")
	if got != "*** research-and-more *** *** not-secret" {
		t.Errorf("got %s", got)
	}
}
