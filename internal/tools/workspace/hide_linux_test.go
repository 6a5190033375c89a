package workspace

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestHiddenFilesAreNotRead: no tool shows a hidden folder, and no command reads it, by its name, another spelling
// or a link.
func TestHiddenFilesAreNotRead(t *testing.T) {
	site := t.TempDir()
	must(t, os.MkdirAll(filepath.Join(site, "own", "logs", "turn"), 0o755))
	must(t, os.WriteFile(filepath.Join(site, "own", "logs", "turn", "vote"), []byte("theirs"), 0o644))
	must(t, os.WriteFile(filepath.Join(site, "own", "config"), []byte("free"), 0o644))
	must(t, os.WriteFile(filepath.Join(site, "doc"), []byte("free"), 0o644))
	must(t, os.Symlink("own/logs", filepath.Join(site, "link")))
	outside := filepath.Join(t.TempDir(), "secret")
	must(t, os.WriteFile(outside, []byte("theirs"), 0o644))
	must(t, os.Symlink(outside, filepath.Join(site, "out")))
	s := open(t, Options{
		Reads: []Mount{{"site", site}}, Command: &CommandOptions{},
		Hidden: []string{filepath.Join(site, "own", "logs"), filepath.Join(site, "own", "later", "logs"), site},
	})
	for _, name := range []string{"site/own/logs/turn/vote", "site/own/LOGS/turn/vote", "site/link/turn/vote", "site/own/logs"} {
		s.is("read_file", args{"path": name}, `{"success":false,"error":"`+name+` is not there: list_files shows what is"}`)
	}
	s.is("search_files", args{"pattern": "theirs|free", "path": "site"}, `{"success":true,"path":"site","matches":[{"path":"site/doc","line":1,"text":"free"},{"path":"site/own/config","line":1,"text":"free"}]}`)
	if ok, why := CanFence(); !ok {
		t.Fatal(why)
	}
	if r := s.runs("sh", "-c", "cat "+site+"/doc "+site+"/own/config "+site+"/own/logs/turn/vote "+site+"/link/turn/vote "+site+"/out"); !strings.HasPrefix(r.Output, "freefree") || strings.Contains(r.Output, "theirs") {
		t.Errorf("%+v", r)
	}
}
