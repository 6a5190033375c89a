package prices_test

import (
	"strconv"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/internal/models/prices"
)

// TestPublishedCounts compares with counts that OpenAI has published for
// o200k_base.
func TestPublishedCounts(t *testing.T) {
	t.Parallel()
	c := prices.NewVocabularies().Counter("openai", "gpt-4o")
	for text, want := range map[string]int{
		"":                             0,
		"hello world":                  2,
		"tiktoken is great!":           6,
		"antidisestablishmentarianism": 6,
		"2 + 2 = 4":                    7,
		"\u304a\u8a95\u751f\u65e5\u304a\u3081\u3067\u3068\u3046": 8,
	} {
		if got := c.Text(text); got != (prices.Count{Tokens: want}) {
			t.Errorf("%q: %+v, want %d", text, got, want)
		}
	}
}

// TestPublishedMessages compares with what OpenAI's service counted for the
// example of its guide: 124 tokens, of which 14 are for the names of four speakers,
// which messages do not have here.
func TestPublishedMessages(t *testing.T) {
	messages := []backends.Message{
		backends.System("You are a helpful, pattern-following assistant that translates corporate jargon into plain English."),
		backends.System("New synergies will help drive top-line growth."),
		backends.System("Things working well together will increase revenue."),
		backends.System("Let's circle back when we have more bandwidth to touch base on opportunities for increased leverage."),
		backends.System("Let's talk later when we're less busy about how to do better."),
		backends.User("This late pivot means we don't have time to boil the ocean for the client deliverable."),
	}
	if got, want := prices.NewVocabularies().Counter("openai", "gpt-4o").Messages(messages), (prices.Count{Tokens: 110}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func TestWhichModelsAreCountedExactly(t *testing.T) {
	v := prices.NewVocabularies()
	for _, tc := range []struct {
		provider, model string
		exact           bool
	}{
		{"openai", "gpt-4o", true}, {"openai", "gpt-4o-2024-08-06", true}, {"openai", "gpt-4.1-mini", true},
		{"openai", "gpt-5", true}, {"openai", "GPT-5.2-2025-12-11", true}, {"openai", "chatgpt-4o-latest", true},
		{"openai", "o1", true}, {"openai", "o3-mini", true}, {"azure_openai", "o4-mini", true},
		{"openai", "ft:gpt-4o-mini:acme::x", true}, {"openrouter", "openai/gpt-5-mini", true}, {"openrouter", "openai/o3", true},
		{"ollama", "gpt-oss:20b", true}, {"fireworks", "accounts/fireworks/models/gpt-oss-120b", true},
		{"openai", "gpt-4", false}, {"openai", "gpt-4-turbo", false}, {"openai", "gpt-3.5-turbo", false},
		{"openai", "gpt-6-sol", false}, {"openai", "o200", false}, {"openai", "", false},
		{"ollama", "o3", false}, {"openrouter", "acme/o1-mini", false},
		{"claude", "claude-sonnet-4-5", false}, {"gemini", "gemini-2.5-flash", false}, {"demo", "demo", false},
	} {
		if got := v.Counter(tc.provider, tc.model).Text("hello"); got.Estimated == tc.exact {
			t.Errorf("%s/%s: %+v, want exact: %v", tc.provider, tc.model, got, tc.exact)
		}
	}
}

func TestEstimate(t *testing.T) {
	c := prices.NewVocabularies().Counter("claude", "claude-sonnet-4-5")
	for text, want := range map[string]int{"": 0, "a": 1, "abc": 1, "abcd": 2, "\u00fc\u00fc": 2} {
		if got := c.Text(text); got != (prices.Count{Tokens: want, Estimated: true}) {
			t.Errorf("%q: %+v, want an estimate of %d", text, got, want)
		}
	}
}

func TestPartsOfRequests(t *testing.T) {
	exact, estimate := prices.NewVocabularies().Counter("openai", "gpt-5"), prices.Counter{}
	message := func(parts ...backends.Part) backends.Message {
		return backends.Message{Role: backends.RoleAssistant, Parts: parts}
	}
	for _, tc := range []struct {
		name string
		got  prices.Count
		want prices.Count
	}{
		{"no messages", exact.Messages(nil), prices.Count{Tokens: 3}},
		{"an empty message", exact.Message(message()), prices.Count{Tokens: 4}},
		{"reasoning is not sent", exact.Message(message(backends.Reasoning{Text: "long thoughts"})), prices.Count{Tokens: 4}},
		{"a tool call", estimate.Message(message(backends.ToolCall{ID: "123", Name: "456", Arguments: "{}"})), prices.Count{Tokens: 7, Estimated: true}},
		{"a tool result", estimate.Message(message(backends.ToolResult{CallID: "123", Name: "456", Content: "123456"})), prices.Count{Tokens: 7, Estimated: true}},
		{"an image", exact.Message(message(backends.Image{Data: make([]byte, 1<<20)})), prices.Count{Tokens: 1004, Estimated: true}},
		{"what only its maker reads", exact.Message(message(backends.Opaque{Data: []byte(`"12345678"`)})), prices.Count{Tokens: 7, Estimated: true}},
		{
			"a request with a tool",
			estimate.Request(backends.Request{
				Messages: []backends.Message{backends.User("123")},
				Tools:    []backends.Tool{{Name: "123", Description: "123", Schema: []byte("{1}")}},
			}),
			prices.Count{Tokens: 3 + 5 + 12 + 3, Estimated: true},
		},
		{"a request with a schema", exact.Request(backends.Request{Schema: []byte("hello world")}), prices.Count{Tokens: 5}},
	} {
		if tc.got != tc.want {
			t.Errorf("%s: %+v, want %+v", tc.name, tc.got, tc.want)
		}
	}
}

// TestBlankLines shows which counts are no longer the model's own.
func TestBlankLines(t *testing.T) {
	c := prices.NewVocabularies().Counter("openai", "gpt-5")
	for text, want := range map[string]prices.Count{
		"a\n\nb":           {Tokens: 3},
		"a\n\n  b":         {Tokens: 4},
		" \na":             {Tokens: 2},
		"a  \n":            {Tokens: 2},
		"a\n \nb":          {Tokens: 4, Estimated: true},
		"\n\t\n\r\n \r\nb": {Tokens: 5, Estimated: true},
		"\n\u00a0\n":       {Tokens: 3, Estimated: true},
	} {
		if got := c.Text(text); got != want {
			t.Errorf("%q: %+v, want %+v", text, got, want)
		}
	}
}

// hardTexts are 128 KB each, on which a tokenizer that tries every pair anew, or a pattern
// that goes back, takes ten seconds and more, and for a megabyte hours.
func hardTexts() []string {
	var texts []string
	for _, unit := range []string{
		"a", "A", "aA", "A\u0301", "\u65e5A", "1", "'s", "/", "./\n", "\xff", " ", " a", "\n", "\r\n", " \n", "\n\t", "\u00a0\r ", "\n \na",
	} {
		texts = append(texts, strings.Repeat(unit, (128<<10)/len(unit)))
	}
	return texts
}

func TestHardTextsAreCounted(t *testing.T) {
	t.Parallel()
	c := prices.NewVocabularies().Counter("openai", "gpt-5")
	for _, text := range hardTexts() {
		t.Run(strconv.Quote(text[:8]), func(t *testing.T) {
			t.Parallel()
			if n := c.Text(text).Tokens; n < 1 || n > len(text) {
				t.Errorf("%d tokens in %d bytes", n, len(text))
			}
		})
	}
}

func BenchmarkHardTexts(b *testing.B) {
	c := prices.NewVocabularies().Counter("openai", "gpt-5")
	for _, text := range hardTexts() {
		b.Run(strconv.Quote(text[:8]), func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				c.Text(text)
			}
		})
	}
}

// TestCountsOfEveryCharacter wants none passed over, as the library does with U+007F.
func TestCountsOfEveryCharacter(t *testing.T) {
	t.Parallel()
	c := prices.NewVocabularies().Counter("openai", "gpt-5")
	for r := range rune(0x3000) {
		if n := c.Text(string(r)).Tokens; n < 1 || n > len(string(r)) {
			t.Errorf("%q has %d tokens", r, n)
		}
	}
	if n := c.Text("a\x7f\x7fb").Tokens; n != 4 {
		t.Errorf("two letters around two of U+007F have %d tokens, want 4", n)
	}
}

// TestCountsAreBounded holds for every text: a token has at least one byte.
func TestCountsAreBounded(t *testing.T) {
	exact := prices.NewVocabularies().Counter("openai", "gpt-5")
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) })).Draw(t, "text")
		for _, c := range []prices.Counter{exact, {}} {
			if got := c.Text(text).Tokens; got > len(text) || (got == 0) != (text == "") {
				t.Errorf("%q: %d tokens", text, got)
			}
		}
	})
}

func TestConcurrentUse(t *testing.T) {
	v := prices.NewVocabularies()
	var group sync.WaitGroup
	for range 20 {
		group.Go(func() {
			if got := v.Counter("openai", "gpt-5").Text("hello world"); got.Tokens != 2 {
				t.Errorf("%+v", got)
			}
		})
	}
	group.Wait()
}
