package arch

import (
	"fmt"
	"go/ast"
	"slices"
	"strings"
)

// clientsDir is the only package of the program that makes HTTP clients and transports, by one policy.
const clientsDir = "internal/system/httpclient"

// clientMakers are the names of net/http that make a client, or use one that has no policy.
var clientMakers = []string{"Client", "Transport", "DefaultClient", "DefaultTransport", "Get", "Head", "Post", "PostForm"}

// checkClients finds HTTP clients of the program that have another policy. A pointer to a client, and a
// method with one of the names, make none.
func checkClients(t *tree) []string {
	var found []string
	for _, s := range t.code {
		if s.test || s.dir == clientsDir || s.dir == "tests" || strings.HasPrefix(s.dir, "tests/") {
			continue
		}
		name := ""
		for spec, p := range s.imports() {
			if p == "net/http" {
				if name = "http"; spec.Name != nil {
					name = spec.Name.Name
				}
			}
		}
		if name == "" {
			continue
		}
		ast.Inspect(s.ast, func(n ast.Node) bool {
			if star, isPointer := n.(*ast.StarExpr); isPointer {
				_, isType := star.X.(*ast.SelectorExpr)
				return !isType
			}
			of, isSelector := n.(*ast.SelectorExpr)
			if !isSelector {
				return true
			}
			if x, isName := of.X.(*ast.Ident); isName && x.Name == name && slices.Contains(clientMakers, of.Sel.Name) {
				found = append(found, fmt.Sprintf("%s: http.%s has another policy than the clients of %s", t.at(of), of.Sel.Name, clientsDir))
			}
			return true
		})
	}
	return found
}
