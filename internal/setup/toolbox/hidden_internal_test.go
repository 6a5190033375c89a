package toolbox

import (
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/configs"
	"github.com/massgen/massgen/internal/tools/pytools"
)

// TestHiddenFilesStayHidden: neither the tools of a workspace nor functions in Python read logs, the store's files
// and keys in a folder that is shown.
func TestHiddenFilesStayHidden(t *testing.T) {
	dir := places(t)
	t.Chdir(t.TempDir())
	hidden := []string{filepath.Join(dir, "a", "docs", "x"), filepath.Join(dir, "b", "DOCS.md"), filepath.Join(dir, "c", "notes.md")}
	config := panelOf(configs.ContextPath{Path: dir})
	b, err := Open(t.Context(), config, slog.New(slog.DiscardHandler), Options{Hidden: hidden[:1], Without: hidden[1:2], Own: hidden[2:]})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	shown, err := mountsOfAll(config)
	if err != nil {
		t.Fatal(err)
	}
	o := b.helperOptions(&helper{}, pytools.Python{}, shown[0], nil)
	read := b.own[0][slices.IndexFunc(b.own[0], func(tool agents.Tool) bool { return tool.Definition().Name == "read_file" })]
	for _, path := range hidden {
		if !slices.Contains(o.Hidden, path) {
			t.Errorf("functions may read %s", path)
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			t.Fatal(err)
		}
		if text, err := read.Call(t.Context(), `{"path":"`+shown[0].reads[0].Name+"/"+filepath.ToSlash(rel)+`"}`); !strings.Contains(text, "is not there") {
			t.Errorf("read_file of %s: %s, %v", path, text, err)
		}
	}
}
