package arch

import (
	"fmt"
	"go/ast"
)

// mostExports is how many functions, types, variables and constants a package may export: the
// library has to fit one screen of go doc.
var mostExports = map[string]int{".": 60}

func checkExports(t *tree) []string {
	counts := map[string]int{}
	for _, s := range t.code {
		if s.test {
			continue
		}
		for _, x := range exported(s) {
			if f, ok := x.node.(*ast.FuncDecl); !ok || f.Recv == nil {
				counts[s.dir]++
			}
		}
	}
	var found []string
	for dir, most := range mostExports {
		if n := counts[dir]; n > most {
			found = append(found, fmt.Sprintf("%s: it exports %d names, more than %d", dir, n, most))
		}
	}
	return found
}
