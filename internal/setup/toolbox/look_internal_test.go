package toolbox

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/massgen/massgen/configs"
	"github.com/massgen/massgen/internal/tools/permission"
)

// sight is an agent's folder ws with a context path site, which have links and programs.
func sight(t *testing.T) (permission.Look, string) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range []string{"ws/sub", "site/data", "bin"} {
		if err := os.MkdirAll(filepath.Join(dir, folder), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{"ws/x", "site/data/x", "bin/rm"} {
		if err := os.WriteFile(filepath.Join(dir, file), nil, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for link, target := range map[string]string{
		"site/pub": "data", "site/new": "data/new", "ws/in": "../site/data", "ws/loop": "loop",
		"ws/sub/tidy": "../remove", "ws/remove": filepath.Join(dir, "bin", "rm"), "bin/erase": "rm", "sbin": "bin",
	} {
		if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", filepath.Join(dir, "bin")+string(filepath.ListSeparator)+filepath.Join(dir, "sbin"))
	config := &configs.Config{Agents: []configs.Agent{{ID: "a", Tools: configs.Tools{CWD: filepath.Join(dir, "ws")}}}}
	config.Orchestrator.ContextPaths = []configs.ContextPath{{Path: filepath.Join(dir, "site"), Write: true}}
	return lookFor(config, 0), filepath.ToSlash(dir)
}

func TestWherePathsLead(t *testing.T) {
	l, dir := sight(t)
	for name, want := range map[string]struct {
		name   string
		folder bool
	}{
		"x": {"x", false}, ".": {".", true}, "sub": {"sub", true}, "site": {"site", true}, "site/pub": {"site/data", true},
		"site/pub/x": {"site/data/x", false}, "site/pub/later/y": {"site/data/later/y", false}, "site/new": {"site/data/new", false},
		"in": {"site/data", true}, dir + "/site/pub/x": {"site/data/x", false}, "./site/../sub": {"sub", true},
	} {
		names, folder := l.Path(name)
		if !slices.Contains(names, want.name) || folder != want.folder {
			t.Errorf("%s leads to %q, a folder: %t; want %+v", name, names, folder, want)
		}
	}
	for _, name := range []string{"loop", "a\x00b"} {
		if names, folder := l.Path(name); len(names) > 0 || folder {
			t.Errorf("%s leads to %q", name, names)
		}
	}
}

func TestNamesOfPrograms(t *testing.T) {
	l, dir := sight(t)
	for _, c := range []struct {
		called, dir string
		want        []string
	}{
		{"./tidy", "sub", []string{"sub/tidy", "remove", dir + "/bin/rm", dir + "/sbin/rm"}},
		{"sub/tidy", "", []string{"remove", dir + "/bin/rm"}},
		{"erase", "", []string{dir + "/bin/erase", dir + "/sbin/erase", dir + "/bin/rm"}},
		{dir + "/sbin/rm", "sub", []string{dir + "/bin/rm"}},
	} {
		got := l.Program(c.called, c.dir)
		for _, name := range append(c.want, c.called) {
			if !slices.Contains(got, name) {
				t.Errorf("%s in %q is %q, which lacks %s", c.called, c.dir, got, name)
			}
		}
	}
}
