package arch

import (
	"fmt"
	"go/ast"
	"slices"
	"strings"
)

// How many functions, types, variables and constants may be exported: by the library, which
// has to fit one screen of go doc, and by all that programs of others can import.
const (
	mostOfLibrary = 60
	mostOfAll     = 540
)

func checkExports(t *tree) []string {
	var ofLibrary, ofAll int
	for _, s := range t.code {
		if s.test || !isPublic(s.dir) {
			continue
		}
		for _, x := range exported(s) {
			if f, ok := x.node.(*ast.FuncDecl); !ok || f.Recv == nil {
				ofAll++
				if s.dir == "." {
					ofLibrary++
				}
			}
		}
	}
	var found []string
	if ofLibrary > mostOfLibrary {
		found = append(found, fmt.Sprintf(".: it exports %d names, more than %d", ofLibrary, mostOfLibrary))
	}
	if ofAll > mostOfAll {
		found = append(found, fmt.Sprintf("the project: it exports %d names, more than %d", ofAll, mostOfAll))
	}
	return found
}

// isPublic says that programs of others can import what is in a folder, and may want to:
// suites of tests are for those who add to the project.
func isPublic(dir string) bool {
	for name := range strings.SplitSeq(dir, "/") {
		if slices.Contains([]string{"internal", "cmd", "tests", "storetest", "backendtest"}, name) {
			return false
		}
	}
	return true
}
