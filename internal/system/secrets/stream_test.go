package secrets_test

import (
	"encoding/base64"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/massgen/massgen/internal/system/secrets"
)

func newFinder() *secrets.Finder {
	f := &secrets.Finder{}
	f.Add("sk-secret-1", "sk-secret-12345", "secret-1-and-more", "pa$s", "ollama")
	return f
}

// TestStreamMasksASecretHoweverItIsCut, and changes nothing else.
func TestStreamMasksASecretHoweverItIsCut(t *testing.T) {
	t.Parallel()
	f := newFinder()
	words := []string{
		"the", " key", " is ", "sk-secret-1", "sk-secret-12345", "sk-sec", "secret-1-and-more", "日本語", "\n", "api_key: ", "pa$s", "://user:", "@", ":", "s", "-1",
		`sk-\u0073ecret-1`, "sk%2Dsecret-1", "sk&#45;secret-1", `sk-\\u0073ecret-1`, `\`, "%", "&", "&amp;", base64.StdEncoding.EncodeToString([]byte("xsk-secret-1")),
	}
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOf(rapid.SampledFrom(words)).Draw(t, "words"), "")
		s := f.Stream()
		var got strings.Builder
		for rest := text; rest != ""; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "bytes")
			got.WriteString(s.Add(rest[:n]))
			rest = rest[n:]
		}
		got.WriteString(s.Rest())
		if want := f.Mask(text); got.String() != want {
			t.Errorf("%q became %q, not %q", text, got.String(), want)
		}
	})
}

func TestStreamHoldsBackOnlyWhatMayBeASecret(t *testing.T) {
	for text, want := range map[string]string{
		"The answer is 42": "The answer is 42", "日本語": "日本語", "a task-x": "a task-x", "my s": "my ", "my sk-secre": "my ", `my sk-secre\u00`: "my ", "my sk-secret-2": "my sk-secret-2",
	} {
		if got := newFinder().Stream().Add(text); got != want {
			t.Errorf("of %q %q is shown, not %q", text, got, want)
		}
	}
	if got := (&secrets.Finder{}).Stream().Add("sk-"); got != "sk-" {
		t.Errorf("without secrets %q is shown", got)
	}
}
