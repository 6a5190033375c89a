package debugbackend

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/internal/system/secrets"
)

// TestDumpHoldsNoKeyInPieces: neither the events nor the raw response have the parts
// from which it could be put together.
func TestDumpHoldsNoKeyInPieces(t *testing.T) {
	streamed := fakeBackend(func(ctx context.Context, yield func(backends.Event, error) bool) {
		for _, text := range []string{"the key is sk-oth", "er-sec", "ret."} {
			backends.TraceFrom(ctx).ReceivedChunk([]byte(`data: {"choices":[{"delta":{"content":"` + text + `"}}]}` + "\n\n"))
			_ = yield(backends.TextDelta{Text: text}, nil) && yield(backends.ReasoningDelta{Text: strings.TrimSpace(text[len(text)-3:])}, nil)
		}
		_ = yield(backends.ReasoningDelta{Text: "sk-other-"}, nil) && yield(backends.ReasoningDelta{Text: "secret"}, nil) &&
			yield(backends.Finish{Reason: "stop"}, nil)
	})
	dir := t.TempDir()
	redact := func(text string) string { return strings.ReplaceAll(text, "sk-other-secret", mask) }
	dumpOne(t, Options{Dir: dir, Redact: redact}, streamed, request(1, "a"))
	for _, name := range []string{"call-001.json", "call-001.txt"} {
		data, err := os.ReadFile(filepath.Join(dir, "turn-001", "a", name))
		if err != nil {
			t.Fatal(err)
		}
		if text := string(data); strings.Contains(text, "sk-oth") || strings.Contains(text, "er-sec") || !strings.Contains(text, "the key is [masked].") {
			t.Errorf("%s:\n%s", name, text)
		}
	}
	calls, err := LoadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if got := string(calls[0].Raw); got != withheld {
		t.Errorf("the raw response is %s", got)
	}
	var texts []string
	for _, e := range calls[0].Events {
		switch ev := e.Event.Event.(type) {
		case backends.TextDelta:
			texts = append(texts, ev.Text)
		case backends.ReasoningDelta:
			texts = append(texts, "r:"+ev.Text)
		}
	}
	want := []string{"the key is [masked].", "r:othsecet.[masked]", "", "r:", "", "r:", "r:", "r:"}
	if diff := cmp.Diff(want, texts); diff != "" {
		t.Errorf("the events (-want +got)\n%s", diff)
	}
}

func TestPieces(t *testing.T) {
	o := Options{Redact: func(text string) string { return strings.ReplaceAll(text, "secret", mask) }}
	for raw, want := range map[string]bool{
		"": false,
		"data: {\"a\":\"sec\"}\ndata: {\"a\":\"ret\"}\n":                                      true,
		"data:{\"a\":[1,{\"b\":\"sec\"}]}\r\n\r\ndata:{\"a\":[{\"b\":\"r\"},{\"b\":\"et\"}]}": true,
		"data: {\"a\":\"sec\"}\ndata: {\"b\":\"ret\"}\n":                                      false,
		"data: {\"a\":\"sec\"}\ndata: [DONE]\nret":                                            false,
		"{\"a\":\"sec\"}\n{\"a\":\"ret\"}":                                                    false,
	} {
		if got := o.holdsPieces([]byte(raw)); got != want {
			t.Errorf("%s: %t", raw, got)
		}
	}
}

// TestKeysInPiecesAreMaskedInEachSpelling: a dump has no key that a stream repeats, wherever its
// pieces end.
func TestKeysInPiecesAreMaskedInEachSpelling(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		key := rapid.StringMatching(`[A-Za-z0-9][A-Za-z0-9+/=_.-]{10,40}[A-Za-z0-9]`).Draw(rt, "key")
		var f secrets.Finder
		f.Add(key)
		o := Options{Redact: f.Mask}
		for _, spelled := range []string{
			key, url.QueryEscape(key), hex.EncodeToString([]byte(key)), base64.RawStdEncoding.EncodeToString([]byte(key)), strings.NewReplacer("_", "&#95;", "/", "&#x2f;").Replace(key),
		} {
			text := "is [" + spelled + "]"
			var events []seenEvent
			var raw strings.Builder
			for _, piece := range drawPieces(rt, text) {
				events = append(events, seenEvent{Event: eventJSON{backends.TextDelta{Text: piece}}})
				data, err := json.Marshal(map[string]string{"text": piece})
				if err != nil {
					rt.Fatal(err)
				}
				fmt.Fprintf(&raw, "data: %s\n\n", data)
			}
			c := o.redacted(Call{Events: events, Raw: []byte(raw.String())})
			if got, want := c.Response.Message.Text(), "is ["+secrets.Mask+"]"; got != want {
				rt.Fatalf("%s became %s", text, got)
			}
			if got := string(c.Raw); got != withheld && strings.Join(texts(got), "") != "is ["+secrets.Mask+"]" {
				rt.Fatalf("%s: the raw response is %s", text, got)
			}
		}
	})
}

// texts are the pieces in a response that was not withheld.
func texts(raw string) []string {
	places := map[string][]string{}
	for line := range strings.Lines(raw) {
		var event any
		if json.Unmarshal([]byte(strings.TrimPrefix(line, "data: ")), &event) == nil {
			collectTexts(places, "", event)
		}
	}
	return places["/text"]
}

func drawPieces(t *rapid.T, text string) (pieces []string) {
	for len(text) > 0 {
		n := rapid.IntRange(1, len(text)).Draw(t, "length")
		pieces, text = append(pieces, text[:n]), text[n:]
	}
	return pieces
}
