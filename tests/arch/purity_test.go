package arch

import (
	_ "embed" // for pureList
	"fmt"
	"go/ast"
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
)

// pureList names the packages that may not touch the world (DESIGN §1, §5), a line each.
// The gate runs their tests without the race detector, since this package proves that
// they have no goroutines.
//
//go:embed pure.txt
var pureList string

// worldly are packages, with those below them, through which a program touches
// the world, chance or other goroutines.
var worldly = []string{
	"os", "net", "log", "sync", "context", "runtime", "syscall", "unsafe", "plugin", "testing",
	"math/rand", "crypto/rand", "io/ioutil", "path/filepath", "iter",
}

// impure are functions of packages that are otherwise allowed.
var impure = map[string][]string{
	"time": {
		"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTicker", "NewTimer", "Local", "LoadLocation",
	},
	"fmt": {"Print", "Printf", "Println", "Scan", "Scanf", "Scanln"},
}

// disordered are the functions of package maps that yield in random order.
var disordered = []string{"All", "Keys", "Values"}

func checkPurity(t *tree) []string {
	var found []string
	for _, dir := range strings.Fields(pureList) {
		var files []*ast.File
		for _, s := range t.code {
			if s.dir != dir || s.test {
				continue
			}
			files = append(files, s.ast)
			found = append(found, checkKernelImports(t, s)...)
		}
		if len(files) > 0 {
			found = append(found, (&purity{t: t}).check(dir, files)...)
		}
	}
	return found
}

func checkKernelImports(t *tree, s *source) []string {
	var found []string
	for spec, p := range s.imports() {
		may := []string{module + "/internal/system/blob", module + "/internal/coordination/election", module + "/internal/coordination/draw"}
		if s.dir == "internal/coordination/kernel" && !standard(p) && !slices.Contains(may, p) {
			found = append(found, fmt.Sprintf("%s: the kernel imports %s: only the standard library, internal/system/blob, internal/coordination/election and draw are allowed", t.at(spec), p))
		}
		if slices.ContainsFunc(worldly, func(w string) bool { return inside(p, w) }) {
			found = append(found, fmt.Sprintf("%s: imports %s, which is not pure", t.at(spec), p))
		}
	}
	return found
}

// purity looks at one pure package with its types.
type purity struct {
	t     *tree
	info  *types.Info
	found []string
}

func (p *purity) check(dir string, files []*ast.File) []string {
	imp, err := exportImporter(p.t.fset, files)
	if err != nil {
		return []string{fmt.Sprintf("%s: %v", dir, err)}
	}
	p.info = &types.Info{
		Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{},
	}
	conf := types.Config{Importer: imp}
	if _, err := conf.Check(module+"/"+dir, p.t.fset, files, p.info); err != nil {
		return []string{fmt.Sprintf("%s: %v", dir, err)}
	}
	for _, f := range files {
		ast.Inspect(f, p.visit)
	}
	return p.found
}

func (p *purity) add(n ast.Node, what string) {
	p.found = append(p.found, p.t.at(n)+": "+what)
}

// visit books what is impure in n, and says whether to look inside.
func (p *purity) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.GoStmt:
		p.add(n, "starts a goroutine")
	case *ast.ChanType:
		p.add(n, "uses a channel")
	case *ast.SelectStmt:
		p.add(n, "uses select")
	case *ast.RangeStmt:
		if _, isMap := p.info.TypeOf(n.X).Underlying().(*types.Map); isMap {
			p.add(n, "ranges over a map, in random order")
		}
	case *ast.CallExpr:
		if p.sortsKeys(n) {
			return false
		}
	case *ast.Ident:
		p.visitUse(n)
	}
	return true
}

// sortsKeys says that call is slices.Sorted(maps.Keys(m)) or the like, which has
// an order again.
func (p *purity) sortsKeys(call *ast.CallExpr) bool {
	f := p.function(call.Fun)
	return f != nil && f.Pkg() != nil && f.Pkg().Path() == "slices" && strings.HasPrefix(f.Name(), "Sorted")
}

func (p *purity) function(e ast.Expr) *types.Func {
	sel, ok := e.(*ast.SelectorExpr)
	if !ok {
		return nil
	}
	f, _ := p.info.Uses[sel.Sel].(*types.Func)
	return f
}

func (p *purity) visitUse(id *ast.Ident) {
	obj := p.info.Uses[id]
	if b, ok := obj.(*types.Builtin); ok && strings.HasPrefix(b.Name(), "print") {
		p.add(id, "prints")
	}
	if obj == nil || obj.Pkg() == nil || obj.Parent() != obj.Pkg().Scope() {
		return
	}
	pkg := obj.Pkg().Path()
	if slices.Contains(impure[pkg], obj.Name()) {
		p.add(id, fmt.Sprintf("uses %s.%s", pkg, obj.Name()))
	}
	if pkg == "maps" && slices.Contains(disordered, obj.Name()) {
		p.add(id, fmt.Sprintf("uses maps.%s, which has no order", obj.Name()))
	}
}

// exportImporter resolves what files import from the compiler's export data,
// which the go command makes, or has, in its cache.
func exportImporter(fset *token.FileSet, files []*ast.File) (types.Importer, error) {
	args := []string{"list", "-export", "-deps", "-f", "{{.ImportPath}}={{.Export}}", "--"}
	for _, f := range files {
		for _, p := range (&source{ast: f}).imports() {
			args = append(args, p)
		}
	}
	exports := map[string]string{}
	if len(args) > 6 {
		out, err := exec.Command("go", args...).Output()
		if err != nil {
			return nil, fmt.Errorf("go list -export: %w", err)
		}
		for line := range strings.Lines(string(out)) {
			p, file, _ := strings.Cut(strings.TrimSpace(line), "=")
			exports[p] = file
		}
	}
	return importer.ForCompiler(fset, "gc", func(p string) (io.ReadCloser, error) {
		return os.Open(exports[p])
	}), nil
}
