package toolbox

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/massgen/massgen/configs"
	"github.com/massgen/massgen/internal/tools/workspace"
)

// places makes a folder with a few files, and is its path without links.
func places(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a/docs/x", "b/docs/x", "b/DOCS.md", "a/answers/x", "a/.massgen/x", "c/notes.md", "d/notes.md", "w/one/x", "w/two/x"} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("one", filepath.Join(dir, "w", "link")); err != nil {
		t.Fatal(err)
	}
	return dir
}

func panelOf(paths ...configs.ContextPath) *configs.Config {
	c := configs.Default()
	c.Agents = []configs.Agent{{ID: "a", Tools: configs.Tools{CWD: "here"}}}
	c.Orchestrator.ContextPaths = paths
	return c
}

func TestMountsAreNamedByTheirLastElement(t *testing.T) {
	dir := places(t)
	var paths []configs.ContextPath
	for _, name := range []string{"a/docs", "b/docs", "a/answers", "a/.massgen", "c/notes.md", "d/notes.md", "w/link"} {
		paths = append(paths, configs.ContextPath{Path: filepath.Join(dir, name)})
	}
	all, err := mountsOfAll(panelOf(paths...))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range all[0].reads {
		got = append(got, m.Name)
	}
	if want := []string{"docs", "docs-2", "answers-2", ".massgen-2", "notes.md", "notes-2.md", "link"}; !slices.Equal(got, want) {
		t.Error(got)
	}
	if last := all[0].reads[6]; last != (workspace.Mount{Name: "link", Dir: filepath.Join(dir, "w", "one")}) {
		t.Errorf("a link is mounted as %+v", last)
	}
}

func TestWhatIsProtectedInAMount(t *testing.T) {
	dir := places(t)
	at := func(name string) string { return filepath.Join(dir, name) }
	config := panelOf(configs.ContextPath{Path: at("w"), Write: true, Protected: []string{"one/", at("w/two/x")}})
	config.Agents = append(config.Agents, configs.Agent{ID: "b", Tools: configs.Tools{CWD: at("w/cwd/b")}})
	all, err := mountsOfAll(config)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range all {
		if want := []string{"w/one", "w/two/x", "w/cwd/b"}; !slices.Equal(m.protected, want) {
			t.Error(m.protected)
		}
	}
	for name, want := range map[string]string{
		"none":       "none is not there: correct the name",
		"../a":       "../a is not in the context path: name something that is",
		at("a/docs"): "is not in the context path: name something that is",
		"link":       "leads through a symbolic link to " + at("w/one") + ": name the file itself",
	} {
		p := configs.ContextPath{Path: at("w"), Write: true, Protected: []string{name}, At: "f.yaml:1:2"}
		_, err := mountsOfAll(panelOf(p))
		if err == nil || !strings.HasPrefix(err.Error(), "f.yaml:1:2: context_paths: protected_paths: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	p := configs.ContextPath{Path: at("c/notes.md"), Write: true, Protected: []string{"x"}}
	if _, err := mountsOfAll(panelOf(p)); err == nil || !strings.Contains(err.Error(), "is a file and has nothing in it") {
		t.Error(err)
	}
}
