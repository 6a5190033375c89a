package workspace

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/massgen/massgen/agents"
)

const canary = "what was outside before"

// hostilePaths are tried with every tool. Some are plain names on some systems: what
// counts is what they do.
var hostilePaths = []string{
	"", ".", "..", "../outside/canary", "./../outside/canary", "a/../../outside/canary", "a/b/../../../outside/canary",
	"dir/../../outside/canary", "..//outside/canary", "/OUTSIDE/canary", "//OUTSIDE/canary", "/etc/passwd",
	"~/canary", "~", "~root/x", `..\outside\canary`, `C:\Windows\win.ini`, "C:/Windows/win.ini", "c:canary", "file::$DATA",
	"absolute", "absolute/canary", "upwards", "upwards/canary", "chain", "chain/canary", "itself", "itself/x", "nowhere",
	"dir/link", "dir/link/canary", "pipe", "socket", "device", "pipe/x", "file/x", "file/../../outside/canary",
	"nul\x00byte", "\x00", "line\nbreak", "bell\x07", "\x1b[2J", "rtl\u202egpj.sh", "zero\u200bwidth", "\ufeffbom", "bad\xffutf8",
	"trailing.", "trailing ", "dots...", "dir./x", "... /x", "NUL", "con", "COM1.txt", "PEER/answer.txt", "Peer/answer.txt",
	"peer/../../outside/canary", "peer/../file", "peer/answer.txt", "peer", "peer/new", "peer/leak", "peer/leak/canary",
	"site/../../outside/canary", "site/keep.md", "site/KEEP.md", "site/./keep.md", "site//keep.md", "site/alias", "site/kept/x",
	"site/folder/kept.txt", "site/folder", "site/through/kept.txt", "site/into/new", "site",
	"site/.git/hooks/pre-commit", "site/.GIT/config", "site/sub/.git", "site/sub/.env/x", "site/gitlink/config", "site/.massgen/x",
	"inner/x", "site/inner/x", "site/inner", "deep/kept.txt", "deep/.", "old/old", "old/new", "older/x", "older/new", "doc/free", "site/doc/free",
	"answers", "answers/", "answers/x", "answers/agent1", "answers/agent1/file", "answers/agent1/new", "answers/agent1/leak",
	"answers/agent1/leak/canary", "answers/agent1/up/canary", "answers/agent1/chain/canary", "answers/agent1/dir/link",
	"answers/agent1/../agent2/file", "answers/agent1/../../outside/canary", "answers/../outside/canary", "answers/agent9/file",
	"answers/agent1/file/x", "Answers/agent1/file", "ANSWERS/agent1", "answers//agent1//file", "answers/agent1/.", "./answers/agent1/file",
	"answers/agent1/absolute/canary", "answers/agent1\x00", "answers/agent1 /file", "answers/OUTSIDE", "answers/agent1/OUTSIDE/canary",
	"toanswers/file", "toanswers", "tosite/keep.md",
	"/proc/self/root" + "/OUTSIDE/canary", "proc/self/environ", "%2e%2e/outside/canary", "．．/outside/canary", "‥/outside/canary",
	strings.Repeat("x", 256), strings.Repeat("x", 5000), strings.Repeat("x/", 2000) + "x", strings.Repeat("../", 40) + "etc/passwd",
	strings.Repeat("é", 128), "-rf", "--help", "-", "*", "$HOME/canary", "`id`", "/dev/stdin", "/proc/self/fd/3", "/proc/1/cwd/canary",
	"cafe\u0301/x", "caf\u00e9/x", "peer/ANSWER.TXT", "site/ke\uff45p.md", "file:///OUTSIDE/canary", "absolute/../outside/canary",
}

// scene is a workspace with everything around it that hostile paths aim at.
type scene struct {
	*Workspace
	t       *testing.T
	info    agents.CallInfo
	outside string
	before  map[string]string
}

func newScene(t *testing.T) scene {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	at := func(name string) string { return filepath.Join(dir, name) }
	for name, text := range map[string]string{
		"outside/canary": canary, "own/file": "mine", "own/dir/file": "mine", "own/PEER/x": "mine", "peer/answer.txt": "theirs",
		"site/keep.md": "protected", "site/folder/kept.txt": "protected", "site/kept/old": "protected", "site/kept/sub/x": "protected", "site/free": "free",
		"site/.git/config": "owner's", "site/sub/.git": "owner's", "site/doc/free": "free", "site/inner/x": "only read",
		"snap/agent1/file": "judged", "snap/agent1/dir/file": "judged", "snap/agent2/file": "judged", "own/answers/x": "hidden",
	} {
		must(t, os.MkdirAll(filepath.Dir(at(name)), 0o755))
		must(t, os.WriteFile(at(name), []byte(text), 0o644))
	}
	for link, target := range map[string]string{
		"own/absolute": at("outside"), "own/upwards": "../outside", "own/chain": "upwards", "own/itself": "itself",
		"own/nowhere": "../outside/new", "own/dir/link": "../../outside", "peer/leak": "../outside", "site/alias": "keep.md",
		"site/through": "folder", "site/into": "kept", "site/gitlink": ".git",
		"snap/agent1/leak": "../../outside", "snap/agent1/up": "../../outside", "snap/agent1/chain": "leak",
		"snap/agent1/absolute": at("outside"), "snap/agent1/dir/link": "../../agent2", "own/toanswers": at("snap/agent1"), "own/tosite": at("site"),
	} {
		must(t, os.Symlink(target, at(link)))
	}
	makeOddFiles(t, at("own"))
	w, err := Open(Options{
		Dir: at("own"), Reads: []Mount{{"peer", at("peer")}, {"inner", at("site/inner")}},
		Writes:    []Mount{{"site", at("site")}, {"deep", at("site/folder")}, {"doc", at("site/doc")}, {"old", at("site/kept")}, {"older", at("site/kept/sub")}},
		Protected: []string{"site/keep.md", "site/folder/kept.txt", "site/kept", "site/later/file"}, Answers: anyFolder,
	})
	must(t, err)
	t.Cleanup(func() { must(t, w.Close()) })
	s := scene{Workspace: w, t: t, outside: at("outside"), info: agents.CallInfo{Final: true, Answers: []agents.ShownAnswer{
		{Name: "agent1", Dir: at("snap/agent1")}, {Name: "agent2", Dir: at("snap/agent2")}, {Name: "agent3"},
	}}}
	s.before = s.kept()
	return s
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// kept is what no tool may change, by its path.
func (s scene) kept() map[string]string {
	s.t.Helper()
	parent := filepath.Dir(s.outside)
	texts := map[string]string{}
	for _, dir := range []string{
		"outside", "peer", "site/folder", "site/kept", "site/keep.md", "site/.git", "site/sub/.git", "site/inner", "snap", "own/answers",
	} {
		err := filepath.WalkDir(filepath.Join(parent, dir), func(name string, d os.DirEntry, err error) error {
			texts[name] = ""
			if err == nil && d.Type().IsRegular() {
				var text []byte
				text, err = os.ReadFile(name)
				texts[name] = string(text)
			}
			return err
		})
		must(s.t, err)
	}
	return texts
}

// unharmed fails if what may not change did, or if a tool's result has what it may not
// read.
func (s scene) unharmed(call, result string) {
	s.t.Helper()
	if after := s.kept(); fmt.Sprint(after) != fmt.Sprint(s.before) {
		s.t.Fatalf("%s changed what it may not:\n%v\n%v\n%s", call, s.before, after, result)
	}
	if strings.Contains(result, canary) {
		s.t.Errorf("%s read what is outside: %s", call, result)
	}
}

// call runs a tool, and checks that its result is a JSON object.
func (s scene) call(name string, args map[string]any) (string, bool) {
	s.t.Helper()
	text, err := json.Marshal(args)
	must(s.t, err)
	for _, tool := range s.Tools() {
		if tool.Definition().Name != name {
			continue
		}
		out, err := tool.Call(agents.WithCallInfo(s.t.Context(), s.info), string(text))
		var result struct {
			Success bool   `json:"success"`
			Error   string `json:"error"`
		}
		if bad := json.Unmarshal([]byte(out), &result); bad != nil || result.Success == (err != nil) || result.Success == (result.Error != "") {
			s.t.Errorf("%s(%s) gives %q and %v", name, text, out, err)
		}
		return out, result.Success
	}
	s.t.Fatalf("there is no tool %s", name)
	return "", false
}

func TestHostilePaths(t *testing.T) {
	t.Parallel()
	t.Logf("%d hostile paths, each with every tool", len(hostilePaths))
	if len(hostilePaths) < 40 {
		t.Errorf("%d hostile paths are too few", len(hostilePaths))
	}
	for _, p := range hostilePaths {
		t.Run(fmt.Sprintf("%.40q", p), func(t *testing.T) {
			t.Parallel()
			s := newScene(t)
			p := strings.ReplaceAll(p, "/OUTSIDE", filepath.ToSlash(s.outside))
			for _, call := range []struct {
				tool string
				args map[string]any
			}{
				{"read_file", map[string]any{"path": p}},
				{"list_files", map[string]any{"path": p, "depth": 9}},
				{"search_files", map[string]any{"path": p, "pattern": "."}},
				{"edit_file", map[string]any{"path": p, "old_text": "a", "new_text": "b", "replace_all": true}},
				{"write_file", map[string]any{"path": p, "content": "hostile"}},
				{"move_file", map[string]any{"from": "site/free", "to": p}},
				{"move_file", map[string]any{"from": p, "to": "moved"}},
				{"delete_file", map[string]any{"path": p, "recursive": true}},
			} {
				result, _ := s.call(call.tool, call.args)
				s.unharmed(call.tool, result)
			}
		})
	}
}

// TestLinkSwappedWhileItRuns has a folder change places with a link that leads outside,
// again and again, while tools use it.
func TestLinkSwappedWhileItRuns(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	at := func(name string) string { return filepath.Join(s.Dir(), name) }
	must(t, os.Mkdir(at("swap"), 0o755))
	must(t, os.Symlink(s.outside, at("link")))
	stop := swap(at("swap"), at("link"), at("aside"))
	refused := 0
	for i := range 100 {
		for _, call := range []struct {
			tool string
			args map[string]any
		}{
			{"write_file", map[string]any{"path": "swap/canary", "content": "hostile"}},
			{"edit_file", map[string]any{"path": "swap/canary", "old_text": "a", "new_text": "b", "replace_all": true}},
			{"read_file", map[string]any{"path": "swap/canary"}},
			{"search_files", map[string]any{"path": "swap", "pattern": "."}},
			{"move_file", map[string]any{"from": "swap/canary", "to": fmt.Sprintf("swap/m%d", i)}},
			{"delete_file", map[string]any{"path": "swap/canary"}},
		} {
			result, ok := s.call(call.tool, call.args)
			s.unharmed(call.tool, result)
			if !ok {
				refused++
			}
		}
	}
	stop()
	if refused == 0 {
		t.Error("nothing was ever refused: the link was not met")
	}
}

// swap has two files change places until it is stopped.
func swap(a, b, sidecall string) (stop func()) {
	done, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-done:
				return
			default:
				// A step fails when a tool has just made or removed what it needs.
				_ = os.Rename(a, sidecall)
				_ = os.Rename(b, a)
				_ = os.Rename(a, b)
				_ = os.Rename(sidecall, a)
			}
		}
	}()
	return func() { close(done); <-stopped }
}

// FuzzParsePath holds what every path must be that a tool uses.
func FuzzParsePath(f *testing.F) {
	for _, p := range hostilePaths {
		f.Add(p)
	}
	f.Fuzz(func(t *testing.T, name string) {
		clean, err := parsePath(name)
		if err != nil {
			if clean != "" || strings.ContainsAny(err.Error(), "\n\x00\x1b") {
				t.Errorf("parsePath(%q) = %q, %q", name, clean, err)
			}
			return
		}
		if again, err := parsePath(clean); err != nil || again != clean || !filepath.IsLocal(filepath.FromSlash(clean)) {
			t.Errorf("parsePath(%q) = %q, which is read as %q, %v", name, clean, again, err)
		}
	})
}

// TestProtectedByAnotherSpelling stands for systems that do not tell the case of names:
// a hard link is another name for the same file everywhere.
func TestProtectedByAnotherSpelling(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	site := filepath.Join(filepath.Dir(s.Dir()), "site")
	must(t, os.Link(filepath.Join(site, "keep.md"), filepath.Join(site, "other-name")))
	must(t, os.Link(filepath.Join(site, "sub", ".git"), filepath.Join(site, "sub", "git~1")))
	for _, p := range []string{"site/sub/git~1", "site/other-name", "site/Keep.MD", "site/LATER/file", "site/later"} {
		if result, ok := s.call("write_file", map[string]any{"path": p, "content": "x"}); ok {
			t.Errorf("%s was written: %s", p, result)
		}
	}
	if result, ok := s.call("write_file", map[string]any{"path": "site/free", "content": "x"}); !ok {
		t.Error(result)
	}
	if runtime.GOOS == "linux" { // names that differ in case are two files there
		if result, ok := s.call("read_file", map[string]any{"path": "PEER/x"}); !ok {
			t.Error(result)
		}
	}
}
