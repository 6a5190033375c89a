package sessions_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/sessions"
)

func TestMaskedStoreKeepsNoSecret(t *testing.T) {
	ctx := t.Context()
	ok := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	s := sessions.NewMemory().Masked(func(text string) string { return strings.ReplaceAll(text, "hunter2", "***") })
	for id, end := range map[string]func(sessions.Ended) error{
		"ended":         func(e sessions.Ended) error { return s.End(ctx, "ended", 1, e) },
		"committed":     func(e sessions.Ended) error { return s.Commit(ctx, "committed", 1, e) },
		"with an event": func(e sessions.Ended) error { return s.EndWith(ctx, "with an event", 1, e, []byte(`"again hunter2"`)) },
	} {
		_, err := s.Begin(ctx, id, "is it hunter2?")
		ok(err)
		ref, err := s.Put(ctx, []byte("a text with hunter2"))
		ok(err)
		if data, err := s.Get(ctx, ref); err != nil || string(data) != "a text with ***" {
			t.Errorf("the text %q, %v", data, err)
		}
		ok(s.Append(ctx, id, 1, []byte(`"hunter2"`)))
		ok(end(sessions.Ended{Status: kernel.Completed, Winner: "a", Answer: "yes, hunter2"}))
		ok(s.SetMetadata(ctx, id, map[string]string{"topic": "hunter2"}))
		var text bytes.Buffer
		ok(s.Export(ctx, id, &text))
		if got := text.String(); strings.Contains(got, "hunter2") || strings.Count(got, "***") < 4 {
			t.Errorf("the export of %s: %s", id, got)
		}
	}
	if f, err := s.AddFact(ctx, "u", "knows hunter2"); err != nil || f.Text != "knows ***" {
		t.Errorf("the fact %q, %v", f.Text, err)
	}
}
