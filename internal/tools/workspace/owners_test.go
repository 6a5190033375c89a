package workspace

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/massgen/massgen/agents"
)

// TestFoldersWithWhatIsTheOwners are not taken away from a context path, at whatever depth it is.
// In the agent's own folder they may be.
func TestFoldersWithWhatIsTheOwners(t *testing.T) {
	for _, name := range []string{".git/config", ".ENV", "deep/er/.massgen/x", "deep/.Git"} {
		for tool, arguments := range map[string]map[string]any{
			"delete_file": {"path": "site/one", "recursive": true}, "move_file": {"from": "site/one", "to": "site/moved"},
		} {
			elsewhere := t.TempDir()
			s := open(t, Options{Writes: []Mount{{"site", elsewhere}}})
			s.info = agents.CallInfo{Final: true}
			for _, at := range []string{filepath.Join(elsewhere, "one"), filepath.Join(s.Dir(), "one")} {
				file := filepath.Join(at, filepath.FromSlash(name))
				if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(file, []byte("x"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			out, _ := s.call(tool, arguments)
			if _, err := os.Stat(filepath.Join(elsewhere, "one", filepath.FromSlash(name))); err != nil || !strings.Contains(out, "site/one cannot be taken away") {
				t.Errorf("%s, with %s in it: %s, %v", tool, name, out, err)
			}
			s.call("delete_file", map[string]any{"path": "one", "recursive": true})
			if _, err := os.Stat(filepath.Join(s.Dir(), "one")); !os.IsNotExist(err) {
				t.Errorf("the agent's own folder with %s is there: %v", name, err)
			}
		}
	}
}
