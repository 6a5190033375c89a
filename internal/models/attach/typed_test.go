package attach_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/massgen/massgen/internal/models/attach"
)

func TestTypedPathsAreAttached(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.Mkdir("sub", 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a.txt", "with space.txt", filepath.Join("sub", "b"), "end."} {
		if err := os.WriteFile(name, []byte("text of "+name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for typed, want := range map[string]struct {
		question string
		names    string
	}{
		"What is @a.txt?":                     {"What is a.txt?", "a.txt"},
		"@a.txt, @sub/b and @a.txt":           {"a.txt, b and a.txt", "a.txt b"},
		`see @"with space.txt".`:              {"see with space.txt.", "with space.txt"},
		"(@a.txt)":                            {"(a.txt)", "a.txt"},
		"@end.":                               {"end.", "end."},
		"mail me@a.txt or ask @alice, @sub @": {"mail me@a.txt or ask @alice, @sub @", ""},
		"first\n@a.txt\tthen":                 {"first\na.txt\tthen", "a.txt"},
	} {
		question, files, err := attach.Typed(typed)
		var names []string
		for _, f := range files {
			names = append(names, f.Name)
		}
		if err != nil || question != want.question || strings.Join(names, " ") != want.names {
			t.Errorf("%q: %q, %q, %v", typed, question, names, err)
		}
	}
	got := attach.Missing("see @a.txt, @gone.txt? @sub/none @alice me@b.txt (@gone.txt)")
	if want := []string{"gone.txt", "sub/none"}; !slices.Equal(got, want) {
		t.Errorf("the missing files are %q, want %q", got, want)
	}
	if _, _, err := attach.Typed("What is on @photo.png?"); err == nil || !strings.Contains(err.Error(), "photo.png: no such file") {
		t.Errorf("a picture that is not there: %v", err)
	}
}
