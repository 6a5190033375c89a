package sessions_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/massgen/massgen/internal/system/blob"
	"github.com/massgen/massgen/sessions"
)

// texts are texts by reference; one that is not there is an error.
type texts map[blob.Ref][]byte

var errMissing = errors.New("missing")

func (t texts) Get(_ context.Context, ref blob.Ref) ([]byte, error) {
	if data, ok := t[ref]; ok {
		return data, nil
	}
	return nil, errMissing
}

func (t texts) put(data []byte) blob.Ref {
	ref := sessions.RefOf(data)
	t[ref] = data
	return ref
}

func (t texts) link(tb testing.TB, l sessions.Link) blob.Ref {
	tb.Helper()
	data, err := l.Encode()
	if err != nil {
		tb.Fatal(err)
	}
	return t.put(data)
}

func TestChain(t *testing.T) {
	store := texts{}
	q, a := store.put([]byte("q")), store.put([]byte("a"))
	first := store.link(t, sessions.Link{Turn: 1, Question: q, Answer: a})
	second := store.link(t, sessions.Link{Previous: first, Turn: 4, Question: q, Answer: a, Messages: q})
	gone := store.link(t, sessions.Link{Previous: sessions.RefOf([]byte("gone")), Turn: 2, Question: q, Answer: a})
	for name, c := range map[string]struct {
		head  blob.Ref
		turns []int
		want  string
	}{
		"no history":      {blob.Ref{}, nil, ""},
		"two turns":       {second, []int{4, 1}, ""},
		"a missing link":  {gone, []int{2}, "history: missing"},
		"no JSON":         {q, nil, "is no link: invalid"},
		"JSON of another": {store.put([]byte(`{"role":"user"}`)), nil, "is no link"},
		"out of order":    {store.link(t, sessions.Link{Previous: second, Turn: 4, Question: q, Answer: a}), []int{4}, "turn 4 comes before turn 4"},
	} {
		var turns []int
		var failed error
		for link, err := range sessions.Chain(t.Context(), store, c.head) {
			if failed = err; err == nil {
				turns = append(turns, link.Turn)
			}
		}
		if diff := cmp.Diff(c.turns, turns); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if (failed == nil) != (c.want == "") || failed != nil && !strings.Contains(failed.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", name, failed, c.want)
		}
	}
	data := store[second]
	if len(data) > 600 {
		t.Errorf("a link has %d bytes", len(data))
	}
}

// TestRefsAreThoseThatWereWritten hides references in JSON, and among them texts
// that look like some.
func TestRefsAreThoseThatWereWritten(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var want []blob.Ref
		var list []any
		for _, text := range rapid.SliceOfN(rapid.String(), 0, 5).Draw(t, "texts") {
			ref := sessions.RefOf([]byte(text))
			quoted, err := json.Marshal(ref)
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, map[string]any{"a": ref, "said": string(quoted), "text": text, "none": blob.Ref{}})
			want = append(want, ref)
		}
		data, err := json.Marshal(list)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, sessions.Refs(data)); diff != "" {
			t.Fatalf("references (-want +got):\n%s", diff)
		}
	})
}
