package permission

import (
	"path"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// files has the folders data, data/old, src and n, and links that lead to data, to data/old/x and to
// a program.
type files struct{}

func (files) Path(name string) (names []string, isFolder bool) {
	switch clean := path.Clean(name); clean {
	case ".", "data", "data/old", "src", "n":
		return []string{clean}, true
	case "link":
		return []string{"data", "site/data"}, true
	case "file":
		return []string{"data/old/x"}, false
	case "new/x":
		return []string{"new/x"}, false
	}
	return nil, false
}

func (files) Program(called, dir string) []string {
	if path.Join(dir, called) == "sub/tidy" {
		return []string{called, "sub/tidy", "/etc/alternatives/remove", "/usr/bin/rm"}
	}
	return []string{called}
}

func TestWhatADenyCovers(t *testing.T) {
	t.Parallel()
	paths := Rule{Deny, "*", map[string]string{"path": "data/*"}}
	commands := Rule{Deny, "run_command", map[string]string{"argv": "rm *"}}
	for _, c := range []struct {
		rule            Rule
		tool, arguments string
		denied          bool
	}{
		{paths, "delete_file", `{"path":"data","recursive":true}`, true},
		{paths, "delete_file", `{"path":"./data/","recursive":true}`, true},
		{paths, "delete_file", `{"path":"data/old","recursive":true}`, true},
		{paths, "delete_file", `{"path":".","recursive":true}`, true},
		{paths, "delete_file", `{"path":"link","recursive":true}`, true},
		{paths, "delete_file", `{"path":"file"}`, true},
		{paths, "delete_file", `{"path":"src","recursive":true}`, false},
		{paths, "search_files", `{}`, true},
		{paths, "list_files", `{"path":"."}`, false},
		{paths, "list_files", `{}`, false},
		{paths, "write_file", `{"path":"dat"}`, false},
		{Rule{Deny, "*", map[string]string{"path": "*.go"}}, "write_file", `{"path":"notes"}`, false},
		{Rule{Deny, "*", map[string]string{"path": "*.go"}}, "delete_file", `{"path":"src"}`, true},
		{Rule{Deny, "*", map[string]string{"path": "da?a/o*/x"}}, "delete_file", `{"path":"data"}`, true},
		{commands, "run_command", `{"argv":["rm","x"]}`, true},
		{commands, "run_command", `{"argv":["/bin/rm","x"]}`, true},
		{commands, "run_command", `{"argv":["../bin/rm","x"]}`, true},
		{commands, "run_command", `{"argv":["RM.EXE","x"]}`, true},
		{commands, "run_command", `{"argv":["C:\\bin\\rm.exe","x"]}`, true},
		{paths, "move_file", `{"from":"n","to":"data","path":"x"}`, false},
		{Rule{Deny, "*", map[string]string{"to": "new/*"}}, "move_file", `{"from":"n","to":"new"}`, true},
		{Rule{Deny, "*", map[string]string{"to": "new/*"}}, "move_file", `{"from":"file","to":"new"}`, false},
		{Rule{Deny, "*", map[string]string{"path": "site/data/*"}}, "delete_file", `{"path":"link"}`, true},
		{commands, "run_command", `{"argv":["sub/tidy","x"]}`, true},
		{commands, "run_command", `{"argv":["./tidy","x"],"dir":"sub"}`, true},
		{commands, "run_command", `{"argv":["./tidy","x"]}`, false},
		{Rule{Deny, "*", map[string]string{"argv": "remove *"}}, "run_command", `{"argv":["sub/tidy","x"]}`, true},
		{Rule{Deny, "*", map[string]string{"argv": "/usr/bin/rm *"}}, "run_command", `{"argv":["sub/tidy","x"]}`, true},
		{commands, "run_command", `{"argv":["/bin/rmdir","x"]}`, false},
		{commands, "run_command", `{"argv":["ls","/bin/rm x"]}`, false},
	} {
		got := Decide(Rules{Rules: []Rule{c.rule}, Look: files{}}, c.tool, c.arguments)
		if (got.Action == Deny) != c.denied {
			t.Errorf("%v, %s %s: %+v", c.rule, c.tool, c.arguments, got)
		}
	}
}

// TestBlanksInAProgramsPath are none of a pattern that allows.
func TestBlanksInAProgramsPath(t *testing.T) {
	t.Parallel()
	rules := Rules{Rules: []Rule{{Allow, "run_command", map[string]string{"argv": "git log *"}}}, Otherwise: Deny}
	for arguments, want := range map[string]Action{
		`{"argv":["git","log","-p"]}`: Allow, `{"argv":["git","log","two words"]}`: Allow,
		`{"argv":["git log x/run"]}`: Deny, `{"argv":["git log x/run","-p"]}`: Deny, `{"argv":["git log","-p"]}`: Deny,
		`{"argv":["git\u00a0log x"]}`: Deny, `{"argv":["git"]}`: Deny, `{"argv":[]}`: Deny,
	} {
		if got := Decide(rules, "run_command", arguments); got.Action != want {
			t.Errorf("%s: %+v", arguments, got)
		}
	}
}

// TestWhatAnAllowCovers is what it says, and nothing that only looks like it when it is made clean.
func TestWhatAnAllowCovers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, pattern, arguments string
		want                     Action
	}{
		{"argv", "./sort *", `{"argv":["./sort","x"]}`, Allow},
		{"argv", "./sort *", `{"argv":["sort","x"]}`, Deny},
		{"argv", "./sort *", `{"argv":["./a/../sort","x"]}`, Deny},
		{"argv", "./sort", `{"argv":["sort"]}`, Deny},
		{"argv", "git log/../*", `{"argv":["git","x"]}`, Deny},
		{"argv", "bin/sort *", `{"argv":["bin/sort","x"]}`, Allow},
		{"argv", "bin/* *", `{"argv":["bin/../x","y"]}`, Deny},
		{"argv", "bin/* *", `{"argv":["bin\\..\\x","y"]}`, Deny},
		{"argv", "cat docs/*", `{"argv":["cat","docs/a"]}`, Allow},
		{"argv", "cat docs/*", `{"argv":["cat","docs/../a"]}`, Deny},
		{"path", "./docs/*", `{"path":"docs/a"}`, Allow},
		{"path", "docs/", `{"path":"docs"}`, Allow},
		{"path", "docs/../*", `{"path":"a"}`, Deny},
	} {
		rules := Rules{Rules: []Rule{{Allow, "*", map[string]string{c.name: c.pattern}}}, Otherwise: Deny}
		if got := Decide(rules, "t", c.arguments); got.Action != c.want {
			t.Errorf("%s: %s, %s: %+v", c.name, c.pattern, c.arguments, got)
		}
	}
}

// FuzzPatterns holds decisions on commands and paths to what they are to be, written as plainly
// as it can be.
func FuzzPatterns(f *testing.F) {
	f.Add("git log *", "git", "log", "-p")
	f.Add("rm ?", "/bin/rm", "x", "")
	f.Add("data/*", "data", "", "")
	f.Fuzz(func(t *testing.T, pattern, first, second, third string) {
		if strings.Count(pattern, "*") > 4 || len(pattern)+len(first)+len(second)+len(third) > 100 {
			return // it would take too long to compare plainly
		}
		argv := []string{first, second, third}
		for _, text := range append(argv, pattern) {
			if strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' || strings.ContainsRune(`"\\./`, r) }) {
				return // JSON and paths have tests of their own
			}
		}
		arguments := `{"argv":["` + strings.Join(argv, `","`) + `"]}`
		rule := map[string]string{"argv": pattern}
		allowed := Decide(Rules{Rules: []Rule{{Allow, "t", rule}}, Otherwise: Deny}, "t", arguments).Action == Allow
		denied := Decide(Rules{Rules: []Rule{{Deny, "t", rule}}}, "t", arguments).Action == Deny
		line := strings.Join(argv, " ")
		if allowed && !plainly(pattern, line) {
			t.Errorf("%q allows %s", pattern, arguments)
		}
		if words := strings.Fields(pattern); allowed && len(words) > 1 && !strings.ContainsAny(words[0], "*?") && first != words[0] {
			t.Errorf("%q allows the program %q", pattern, first)
		}
		if plainly(strings.ToLower(pattern), strings.ToLower(line)) && !denied {
			t.Errorf("%q does not deny %s", pattern, arguments)
		}
	})
}

// plainly reports whether a text fits a pattern.
func plainly(pattern, text string) bool {
	switch {
	case pattern == "":
		return text == ""
	case pattern[0] == '*':
		return plainly(pattern[1:], text) || text != "" && plainly(pattern, text[1:])
	}
	return text != "" && (pattern[0] == '?' || pattern[0] == text[0]) && plainly(pattern[1:], text[1:])
}

// TestWhatAFolderMayHave: whatever fits a pattern is covered by each folder on its way.
func TestWhatAFolderMayHave(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SliceOfN(rapid.StringMatching("[abc]{1,3}"), 2, 5).Draw(t, "names")
		file := strings.Join(names, "/")
		pattern := regexp.MustCompile("[ab]").ReplaceAllStringFunc(file, func(letter string) string {
			return rapid.SampledFrom([]string{letter, "*", "?"}).Draw(t, "part")
		})
		n := rapid.IntRange(1, len(names)-1).Draw(t, "depth")
		if folder := strings.Join(names[:n], "/"); !mayHave(folder, pattern) || !mayHave(".", pattern) {
			t.Fatalf("%s fits %s, and %s may not have it", file, pattern, folder)
		}
		if mayHave("d"+names[0], "a/"+pattern) {
			t.Fatalf("d%s may have a/%s", names[0], pattern)
		}
	})
}
