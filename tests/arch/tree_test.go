package arch

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"strconv"
	"strings"
)

const module = "github.com/massgen/massgen"

// tree is a source tree as the rules see it: the project, or a small bad example.
type tree struct {
	fsys  fs.FS
	fset  *token.FileSet
	files []string  // every file, by its path with slashes, sorted
	code  []*source // the Go files among them, testdata excepted
}

// source is one Go file.
type source struct {
	path  string
	dir   string // "." for the module's own folder
	test  bool
	lines int
	ast   *ast.File
}

// load reads a tree. Folders that the go command does not look into, because
// their names begin with a dot or an underscore, are left out, .ci excepted.
func load(fsys fs.FS) (*tree, error) {
	t := &tree{fsys: fsys, fset: token.NewFileSet()}
	err := fs.WalkDir(fsys, ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() && p != "." && name != ".ci" && (name[0] == '.' || name[0] == '_' || name == "node_modules") {
			return fs.SkipDir
		}
		if !d.Type().IsRegular() || name == ".git" { // in a git worktree it is a file
			return nil
		}
		t.files = append(t.files, p)
		if !strings.HasSuffix(p, ".go") || strings.Contains(p, "testdata/") {
			return nil
		}
		return t.parse(p)
	})
	return t, err
}

func (t *tree) parse(p string) error {
	text, err := fs.ReadFile(t.fsys, p)
	if err != nil {
		return err
	}
	file, err := parser.ParseFile(t.fset, p, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	t.code = append(t.code, &source{
		path: p, dir: path.Dir(p), test: strings.HasSuffix(p, "_test.go"),
		lines: strings.Count(string(text), "\n"), ast: file,
	})
	return nil
}

// at says where a node stands, as file:line.
func (t *tree) at(n ast.Node) string {
	pos := t.fset.Position(n.Pos())
	return fmt.Sprintf("%s:%d", pos.Filename, pos.Line)
}

// read returns a file's text, and "" for a file that is not there.
func (t *tree) read(p string) string {
	text, err := fs.ReadFile(t.fsys, p)
	if err != nil {
		return ""
	}
	return string(text)
}

func (t *tree) has(p string) bool {
	_, err := fs.Stat(t.fsys, path.Clean(p))
	return err == nil
}

// imports returns the import paths of a file, with where each stands.
func (s *source) imports() map[*ast.ImportSpec]string {
	all := map[*ast.ImportSpec]string{}
	for _, spec := range s.ast.Imports {
		p, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			p = spec.Path.Value
		}
		all[spec] = p
	}
	return all
}

// inside says that dir is folder or stands below it.
func inside(dir, folder string) bool {
	return dir == folder || strings.HasPrefix(dir, folder+"/")
}

// standard says that an import path is of the standard library.
func standard(importPath string) bool {
	first, _, _ := strings.Cut(importPath, "/")
	return !strings.Contains(first, ".")
}
