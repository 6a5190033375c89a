package secrets_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/massgen/massgen/internal/system/secrets"
)

func TestInURL(t *testing.T) {
	for address, want := range map[string][]string{
		"https://host/v1":                              nil,
		"https://me:the-word@host/v1":                  {"the-word", "bWU6dGhlLXdvcmQ"},
		"https://me:the%20word@host":                   {"the word", "bWU6dGhlIHdvcmQ"},
		"https://my-token@host":                        {"my-token", "bXktdG9rZW46"},
		"https://my-token:@host":                       {"my-token", "bXktdG9rZW46"},
		"https://me@host":                              nil,
		"https://@host":                                nil,
		"https://host/v1?sig=a%2Bb&api-version=2024-1": {"a+b"},
		"https://host?API_Version=1":                   nil,
		"me:the-word@host:3128":                        {"the-word", "bWU6dGhlLXdvcmQ"},
		"http://me:the/word@host":                      {"the/word", "bWU6dGhlL3dvcmQ"},
		"http://me:%zz@host?key=k":                     {"%zz", "bWU6JXp6", "k"},
		"http://%zz?%zz":                               nil,
		"":                                             nil,
	} {
		if diff := cmp.Diff(want, secrets.InURL(address)); diff != "" {
			t.Errorf("%s (-want +got)\n%s", address, diff)
		}
	}
}

func TestInHeader(t *testing.T) {
	for _, c := range []struct {
		name, value string
		want        []string
	}{
		{"Authorization", "Bearer the-key", []string{"Bearer the-key", "the-key"}},
		{"authorization", "basic bWU6dGhlLXdvcmQ=", []string{"basic bWU6dGhlLXdvcmQ=", "bWU6dGhlLXdvcmQ=", "the-word", "bWU6dGhlLXdvcmQ"}},
		{"X-Api-Key", "short", []string{"short"}},
		{"X-Custom", "AbC123-defghijklm", []string{"AbC123-defghijklm"}},
		{"X-Custom", "a/b+c=d&e<f\"g%1234", []string{"a/b+c=d&e<f\"g%1234"}},
		{"X-Site", "https://site.example/page1", nil},
		{"X-Team", "research", nil},
		{"X-Team", "researchanddevelopment", nil},
		{"X-Title", "Programme 1 of the research", nil},
		{"anthropic-beta", "prompt-caching-2024-07-31", nil},
		{"User-Agent", "programme/1.0.0-alpha", nil},
	} {
		if diff := cmp.Diff(c.want, secrets.InHeader(c.name, c.value)); diff != "" {
			t.Errorf("%s: %s (-want +got)\n%s", c.name, c.value, diff)
		}
	}
}
