package workspace

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/massgen/massgen/agents"
)

func open(t *testing.T, o Options) scene {
	t.Helper()
	if o.Dir == "" {
		o.Dir = t.TempDir()
	}
	w, err := Open(o)
	must(t, err)
	t.Cleanup(func() { must(t, w.Close()) })
	return scene{Workspace: w, t: t, info: agents.CallInfo{Final: true}}
}

// is runs a tool and compares its whole result.
func (s scene) is(tool string, args map[string]any, want string) {
	s.t.Helper()
	if got, _ := s.call(tool, args); got != want {
		s.t.Errorf("%s(%v) gives\n%s\nand not\n%s", tool, args, got, want)
	}
}

type args = map[string]any

func TestWriteFileAnswersAsSeed004(t *testing.T) {
	s := open(t, Options{})
	s.is("write_file", args{"path": "test.txt", "content": "Hello World"},
		`{"success":true,"path":"test.txt","size":11,"created":true}`)
	text, err := os.ReadFile(filepath.Join(s.Dir(), "test.txt"))
	if err != nil || string(text) != "Hello World" {
		t.Errorf("the file has %q, %v", text, err)
	}
}

func TestSeveralFiles(t *testing.T) {
	s := open(t, Options{})
	for _, name := range []string{"src/auth.ts", "src/jwt-utils.ts", "src/password.ts"} {
		if result, ok := s.call("write_file", args{"path": name, "content": "export {}\n"}); !ok {
			t.Error(result)
		}
	}
	s.is("list_files", args{"depth": 2}, `{"success":true,"path":".","entries":[{"path":"src","type":"folder","size":0},`+
		`{"path":"src/auth.ts","type":"file","size":10},{"path":"src/jwt-utils.ts","type":"file","size":10},`+
		`{"path":"src/password.ts","type":"file","size":10}]}`)
	s.is("list_files", args{}, `{"success":true,"path":".","entries":[{"path":"src","type":"folder","size":0}]}`)
	s.is("move_file", args{"from": "src/auth.ts", "to": "lib/deep/auth.ts"}, `{"success":true,"path":"lib/deep/auth.ts","from":"src/auth.ts"}`)
	s.is("move_file", args{"from": "src/jwt-utils.ts", "to": "src/password.ts"},
		`{"success":false,"error":"src/password.ts is there already: delete it first, or name another path"}`)
	s.is("delete_file", args{"path": "src/password.ts"}, `{"success":true,"path":"src/password.ts"}`)
	s.is("delete_file", args{"path": "src"},
		`{"success":false,"error":"src: directory not empty: with recursive, what is in it is deleted too"}`)
	s.is("delete_file", args{"path": "src", "recursive": true}, `{"success":true,"path":"src"}`)
	s.is("delete_file", args{"path": "src"}, `{"success":false,"error":"src is not there: list_files shows what is"}`)
	s.is("delete_file", args{"path": ".", "recursive": true}, `{"success":false,"error":". is a whole tree: name a file or folder in it"}`)
}

func TestReadFileInParts(t *testing.T) {
	t.Parallel()
	s := open(t, Options{})
	whole := strings.Repeat("añ€😀\n", 30_000)
	s.call("write_file", args{"path": "long", "content": whole})
	for _, limit := range []int{0, 1, 7, 1000, 1 << 30} {
		if limit == 1 || limit == 7 {
			whole = whole[:110]
			s.call("write_file", args{"path": "long", "content": whole})
		}
		var got strings.Builder
		for offset := int64(0); ; {
			out, ok := s.call("read_file", args{"path": "long", "offset": offset, "limit": max(limit, 1)})
			if limit == 0 {
				out, ok = s.call("read_file", args{"path": "long", "offset": offset})
			}
			var part readFileResult
			if err := json.Unmarshal([]byte(out), &part); err != nil || !ok {
				t.Fatal(out, err)
			}
			if len(part.Content) > mostRead+3 || part.Size != int64(len(whole)) {
				t.Fatalf("a part has %d bytes, of %d", len(part.Content), part.Size)
			}
			got.WriteString(part.Content)
			if offset = part.NextOffset; offset == 0 {
				break
			}
		}
		if got.String() != whole {
			t.Errorf("with limit %d the parts are %d bytes, not %d", limit, got.Len(), len(whole))
		}
	}
	s.is("read_file", args{"path": "long", "offset": 2000}, `{"success":false,"error":"long has 110 bytes: begin within them and not at 2000"}`)
	s.is("read_file", args{"path": "long", "offset": -1}, `{"success":false,"error":"long has 110 bytes: begin within them and not at -1"}`)
}

func TestBinaryIsSaidToBe(t *testing.T) {
	s := open(t, Options{})
	for name, c := range map[string]struct{ text, kind string }{
		"a.png":   {"\x89PNG\r\n\x1a\n\x00\x00", "image/png"},
		"latin1":  {"caf\xe9 cr\xe8me", "text/plain; charset=utf-8"},
		"a.out":   {"\x7fELF\x02\x01\x01\x00", "application/octet-stream"},
		"cut.txt": {"text\xe2\x82", "text/plain; charset=utf-8"},
	} {
		must(t, os.WriteFile(filepath.Join(s.Dir(), name), []byte(c.text), 0o644))
		out, _ := s.call("read_file", args{"path": name})
		var got binaryResult
		if err := json.Unmarshal([]byte(out), &got); err != nil || !got.Binary || got.Type != c.kind || got.Size != int64(len(c.text)) {
			t.Errorf("%s gives %s", name, out)
		}
	}
	s.call("write_file", args{"path": "empty", "content": ""})
	s.is("read_file", args{"path": "empty"}, `{"success":true,"path":"empty","size":0,"content":""}`)
}

func TestEditFile(t *testing.T) {
	s := open(t, Options{})
	file := filepath.Join(s.Dir(), "f")
	must(t, os.WriteFile(file, []byte("one two two\n"), 0o755))
	must(t, os.Link(file, filepath.Join(s.Dir(), "other")))
	s.is("edit_file", args{"path": "f", "old_text": "one", "new_text": "1"}, `{"success":true,"path":"f","size":10,"replacements":1}`)
	s.is("edit_file", args{"path": "f", "old_text": "two", "new_text": "2"},
		`{"success":false,"error":"old_text is in f 2 times: give more of the text around it, or set replace_all"}`)
	s.is("edit_file", args{"path": "f", "old_text": "two", "new_text": "2", "replace_all": true},
		`{"success":true,"path":"f","size":6,"replacements":2}`)
	s.is("edit_file", args{"path": "f", "old_text": "three", "new_text": "3"},
		`{"success":false,"error":"old_text is not in f: read_file shows what is, blanks included"}`)
	s.is("edit_file", args{"path": "f", "old_text": "", "new_text": "3"},
		`{"success":false,"error":"old_text is empty: give the piece that is to be replaced, or use write_file"}`)
	text, err := os.ReadFile(file)
	info, infoErr := os.Stat(file)
	if err != nil || infoErr != nil || string(text) != "1 2 2\n" || info.Mode().Perm()&0o100 == 0 {
		t.Errorf("the file has %q and mode %v", text, info.Mode())
	}
	if text, err := os.ReadFile(filepath.Join(s.Dir(), "other")); err != nil || string(text) != "one two two\n" {
		t.Errorf("an edit came through to a hard link: %q, %v", text, err)
	}
	entries, err := os.ReadDir(s.Dir())
	if err != nil || len(entries) != 2 {
		t.Errorf("there are %v, %v", entries, err)
	}
}

func TestSearchFiles(t *testing.T) {
	t.Parallel()
	peer := t.TempDir()
	must(t, os.WriteFile(filepath.Join(peer, "answer.go"), []byte("package theirs\n"), 0o644))
	s := open(t, Options{Reads: []Mount{{"agent2", peer}}})
	s.call("write_file", args{"path": "a.go", "content": "package a\n\nfunc F() {}\n"})
	s.call("write_file", args{"path": "d/b.txt", "content": "Package b"})
	must(t, os.WriteFile(filepath.Join(s.Dir(), "bin"), []byte("package \x00"), 0o644))
	s.is("search_files", args{"pattern": "(?i)package"}, `{"success":true,"path":".","matches":[`+
		`{"path":"a.go","line":1,"text":"package a"},{"path":"d/b.txt","line":1,"text":"Package b"}],"skipped":1}`)
	s.is("search_files", args{"pattern": "F", "files": "*.go"}, `{"success":true,"path":".","matches":[{"path":"a.go","line":3,"text":"func F() {}"}]}`)
	s.is("search_files", args{"pattern": "package", "path": "agent2"},
		`{"success":true,"path":"agent2","matches":[{"path":"agent2/answer.go","line":1,"text":"package theirs"}]}`)
	s.is("search_files", args{"pattern": "("},
		"{\"success\":false,\"error\":\"the pattern is no regular expression: error parsing regexp: missing closing ): `(`\"}")
	s.is("search_files", args{"pattern": strings.Repeat("x", longestPattern+1)},
		`{"success":false,"error":"the pattern has 1001 bytes: it may have 1000"}`)
	s.call("write_file", args{"path": "many", "content": strings.Repeat("x\n", mostFound+1)})
	out, ok := s.call("search_files", args{"pattern": "^x$"})
	var found searchFilesResult
	if err := json.Unmarshal([]byte(out), &found); err != nil || !ok || len(found.Matches) != mostFound || found.Truncated == "" {
		t.Errorf("%d matches, %q", len(found.Matches), found.Truncated)
	}
}

// A pattern may take minutes for one line.
func TestMatchEndsWithItsContext(t *testing.T) {
	t.Parallel()
	pattern := regexp.MustCompile("b$")
	line := []byte(strings.Repeat("a", 2*shortLine) + "b")
	ctx, cancel := context.WithCancel(t.Context())
	if !hasMatch(ctx, pattern, line) {
		t.Error("it is not found")
	}
	cancel()
	if hasMatch(ctx, pattern, line) {
		t.Error("the line is read to its end after the context has ended")
	}
	var r searchFilesResult
	if err := r.search(ctx, "f", line, pattern); !errors.Is(err, context.Canceled) {
		t.Errorf("the search ends with %v", err)
	}
}

func TestMounts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "notes.md"), []byte("notes"), 0o644))
	must(t, os.WriteFile(filepath.Join(dir, "other.md"), []byte("other"), 0o644))
	s := open(t, Options{Reads: []Mount{{"notes", filepath.Join(dir, "notes.md")}}, Writes: []Mount{{"docs", dir}}})
	s.is("list_files", args{}, `{"success":true,"path":".","entries":[{"path":"notes","type":"file","size":5,"read_only":true},{"path":"docs","type":"folder","size":0}]}`)
	s.is("read_file", args{"path": "notes"}, `{"success":true,"path":"notes","size":5,"content":"notes"}`)
	s.is("write_file", args{"path": "notes", "content": "x"}, `{"success":false,"error":"notes can only be read: write to the workspace"}`)
	s.is("list_files", args{"path": "notes"}, `{"success":true,"path":"notes","entries":[{"path":"notes","type":"file","size":5,"read_only":true}]}`)
	s.is("read_file", args{"path": "notes/other.md"}, `{"success":false,"error":"notes/other.md: not a directory"}`)
	s.is("read_file", args{"path": "docs/other.md"}, `{"success":true,"path":"docs/other.md","size":5,"content":"other"}`)
	s.is("write_file", args{"path": "docs/new.md", "content": "x"}, `{"success":true,"path":"docs/new.md","size":1,"created":true}`)
	s.is("move_file", args{"from": "docs/new.md", "to": "mine.md"}, `{"success":true,"path":"mine.md","from":"docs/new.md"}`)
	s.is("delete_file", args{"path": "docs", "recursive": true}, `{"success":false,"error":"docs is a whole tree: name a file or folder in it"}`)
}

func TestOpenRefuses(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	must(t, os.WriteFile(file, nil, 0o644))
	own := filepath.Join(dir, "own")
	for want, o := range map[string]Options{
		"it has no folder: name one":         {},
		"make the workspace":                 {Dir: file},
		"it is no folder of its own":         {Dir: "/"},
		"one element of a path":              {Dir: own, Reads: []Mount{{"a/b", dir}}},
		`has ".."`:                           {Dir: own, Reads: []Mount{{"..", dir}}},
		"no such file":                       {Dir: own, Reads: []Mount{{"a", filepath.Join(dir, "none")}}},
		"two mounts called A":                {Dir: own, Reads: []Mount{{"a", dir}}, Writes: []Mount{{"A", dir}}},
		"is in the workspace":                {Dir: dir, Reads: []Mount{{"a", filepath.Dir(file)}}},
		"in no mount that can be written to": {Dir: own, Reads: []Mount{{"a", dir}}, Protected: []string{"a/file"}},
		"is in the workspace, where":         {Dir: own, Answers: anyFolder, AnswersDir: filepath.Join(own, "a"), Command: &CommandOptions{}},
		"the command pattern":                {Dir: own, Command: &CommandOptions{Allow: []string{"/bin/sh"}}},
	} {
		w, err := Open(o)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v", want, err)
		}
		if err == nil {
			must(t, w.Close())
		}
	}
}

// TestSchemasAreTheArguments holds what models are told to what is decoded.
func TestSchemasAreTheArguments(t *testing.T) {
	s := open(t, Options{Command: &CommandOptions{}})
	want := map[string]reflect.Type{
		"read_file": reflect.TypeFor[readFileArgs](), "write_file": reflect.TypeFor[writeFileArgs](),
		"edit_file": reflect.TypeFor[editFileArgs](), "list_files": reflect.TypeFor[listFilesArgs](),
		"search_files": reflect.TypeFor[searchFilesArgs](), "move_file": reflect.TypeFor[moveFileArgs](),
		"delete_file": reflect.TypeFor[deleteFileArgs](), "run_command": reflect.TypeFor[runCommandArgs](),
	}
	kinds := map[reflect.Kind]string{reflect.String: "string", reflect.Int: "integer", reflect.Int64: "integer", reflect.Bool: "boolean", reflect.Slice: "array"}
	for _, tool := range s.Tools() {
		d := tool.Definition()
		var schema struct {
			Properties map[string]struct {
				Type string `json:"type"`
			} `json:"properties"`
		}
		must(t, json.Unmarshal(d.Schema, &schema))
		if want[d.Name] == nil || want[d.Name].NumField() != len(schema.Properties) {
			t.Fatalf("%s has the properties %v", d.Name, schema.Properties)
		}
		for f := range want[d.Name].Fields() {
			if got := schema.Properties[f.Tag.Get("json")].Type; got != kinds[f.Type.Kind()] {
				t.Errorf("%s: %s is of type %q", d.Name, f.Name, got)
			}
		}
	}
	if len(s.Tools()) != len(want) {
		t.Errorf("there are %d tools", len(s.Tools()))
	}
}

func TestArgumentsThatAreNone(t *testing.T) {
	t.Parallel()
	s := open(t, Options{})
	for _, arguments := range []string{"", "[]", "null", `"x"`, `{"path":`, `{"path":1}`, `{}`, `{"path":"a","why":1}`, `{"path":"a"} x`} {
		out, err := toolCalled(t, s.Tools(), "read_file").Call(t.Context(), arguments)
		if err == nil || !strings.HasPrefix(out, `{"success":false,"error":"`) {
			t.Errorf("%s gives %q, %v", arguments, out, err)
		}
	}
}

func toolCalled(t *testing.T, tools []agents.Tool, name string) agents.Tool {
	t.Helper()
	i := slices.IndexFunc(tools, func(tool agents.Tool) bool { return tool.Definition().Name == name })
	if i < 0 {
		t.Fatalf("there is no tool %s", name)
	}
	return tools[i]
}

func TestChangesWorld(t *testing.T) {
	t.Parallel()
	s := open(t, Options{Writes: []Mount{{"site", t.TempDir()}}, Command: &CommandOptions{}})
	unfenced := open(t, Options{Command: &CommandOptions{Unfenced: true}})
	unfenced.command.fence = nil
	for _, c := range []struct {
		s               scene
		tool, arguments string
		want            bool
	}{
		{s, "read_file", `{"path":"site/x"}`, false},
		{s, "write_file", `{"path":"x","content":""}`, false},
		{s, "write_file", `{"path":"./site/x","content":""}`, true},
		{s, "edit_file", `{"path":"site/x","old_text":"a","new_text":"b"}`, true},
		{s, "move_file", `{"from":"site/x","to":"x"}`, true},
		{s, "move_file", `{"from":"x","to":"site/x"}`, true},
		{s, "delete_file", `{"path":"site/x"}`, true},
		{s, "delete_file", `{"path":"x"}`, false},
		{s, "run_command", `{"argv":["true"]}`, s.command.fence == nil},
		{unfenced, "run_command", `{"argv":["true"]}`, true},
	} {
		tool, ok := toolCalled(t, c.s.Tools(), c.tool).(interface{ ChangesWorld(string) bool })
		if !ok || tool.ChangesWorld(c.arguments) != c.want {
			t.Errorf("%s(%s) changes the world: not %t", c.tool, c.arguments, c.want)
		}
	}
}

// TestOnlyWhatLooksMayBeCalledAgain after a call of which nobody knows whether it ran.
func TestOnlyWhatLooksMayBeCalledAgain(t *testing.T) {
	s := open(t, Options{Command: &CommandOptions{}})
	var looking []string
	for _, tool := range s.Tools() {
		if agents.IsIdempotent(tool) {
			looking = append(looking, tool.Definition().Name)
		}
	}
	if want := []string{"read_file", "list_files", "search_files"}; !slices.Equal(looking, want) {
		t.Errorf("%q are idempotent, want %q", looking, want)
	}
}
