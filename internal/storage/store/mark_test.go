package store_test

import (
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/massgen/massgen/internal/storage/store"
)

// A mark is a text's and a user's.
func TestMarks(t *testing.T) {
	t.Parallel()
	at := func(home string) func(string) (string, bool) {
		return func(name string) (string, bool) {
			if name != "HOME" {
				return "", false
			}
			return home, home != ""
		}
	}
	marker, other := store.NewMarker(at(t.TempDir())), store.NewMarker(at(t.TempDir()))
	if _, err := other.Mark("text"); err != nil {
		t.Fatal(err)
	}
	marks := make([]string, 8)
	var group sync.WaitGroup
	for i := range marks { // the first one makes the key
		group.Go(func() {
			var err error
			if marks[i], err = marker.Mark("text"); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	for _, mark := range marks {
		if own, err := marker.IsOwn("text", mark); !own || err != nil {
			t.Errorf("a mark is the user's own: %v, %v", own, err)
		}
	}
	for text, marker := range map[string]store.Marker{"another text": marker, "text": other} {
		if own, err := marker.IsOwn(text, marks[0]); own || err != nil {
			t.Errorf("a mark is the user's own for %q: %v, %v", text, own, err)
		}
	}
	var missing *store.NoKeyError
	home := t.TempDir()
	if own, err := store.NewMarker(at(home)).IsOwn("text", marks[0]); own || !errors.As(err, &missing) || !strings.HasPrefix(missing.File, home) {
		t.Errorf("without the key's file: %v, %v", own, err)
	}
	homeless := store.NewMarker(at(""))
	mark, err := homeless.Mark("text")
	if own, _ := homeless.IsOwn("text", mark); mark != "" || own || err != nil {
		t.Errorf("without a home folder: %q, %v, %v", mark, own, err)
	}
}
