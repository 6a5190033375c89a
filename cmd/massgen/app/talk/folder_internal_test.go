package talk

import (
	"path/filepath"
	"testing"

	"github.com/massgen/massgen/cmd/massgen/app/cmdline"
)

// TestFolderIsNamedFromHome if it is there, and else from the root.
func TestFolderIsNamedFromHome(t *testing.T) {
	t.Parallel()
	here, err := filepath.Abs("")
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ home, path, want string }{
		{here, "work", "~/work"}, {filepath.Dir(here), "", "~/" + filepath.Base(here)}, {"/nowhere", "work", filepath.Join(here, "work")}, {"", "/a", "/a"}, {"/a", "/ab", "/ab"},
	} {
		env := &cmdline.Env{Lookup: func(name string) (string, bool) { return test.home, name == "HOME" }}
		f := &fullScreen{d: &dialogue{s: &session{term: &terminal{env: env}}}}
		if got := f.folder(test.path); got != test.want {
			t.Errorf("%q with the home %q: %q, want %q", test.path, test.home, got, test.want)
		}
	}
}
