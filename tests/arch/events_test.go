package arch

import (
	"fmt"
	"go/ast"
	"slices"
)

// The package with the events of a turn and the state that they add up to.
const reportDir = "coordinator/report"

// eventFiles are the files that read events one by one: what they make of them is neither a state nor a sentence.
var eventFiles = []string{
	"cmd/massgen/server/deliberation.go", "internal/setup/telemetry/spans.go",
	"cmd/massgen/internal/logtree/turn.go",
	"cmd/massgen/app/talk/events.go", // the log of the tool loop, in the words of seed 004
}

// checkEvents finds cases over the events of a turn, and assertions of their types, elsewhere: a screen draws
// report.State.
func checkEvents(t *tree) []string {
	var events []string
	for _, s := range t.code {
		for _, f := range functions(s) {
			if s.dir == reportDir && f.Recv != nil && f.Name.Name == "stamped" {
				events = append(events, receiver(f).Name)
			}
		}
	}
	var found []string
	for _, s := range t.code {
		if s.test || s.dir == reportDir || slices.Contains(eventFiles, s.path) {
			continue
		}
		ast.Inspect(s.ast, func(n ast.Node) bool {
			var types []ast.Expr
			switch n := n.(type) {
			case *ast.CaseClause:
				types = n.List
			case *ast.TypeAssertExpr:
				types = []ast.Expr{n.Type} // nil in a type switch
			}
			for _, x := range types {
				if of := named(s, x); of.dir == reportDir && slices.Contains(events, of.name) {
					found = append(found, fmt.Sprintf("%s: a case over report.%s: draw report.State", t.at(x), of.name))
				}
			}
			return true
		})
	}
	return found
}
