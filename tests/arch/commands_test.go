package arch

import (
	"fmt"
	"go/ast"
	"slices"
)

// The machine of a turn, whose commands are carried out in one place and told of in another.
const turnDir = "internal/coordination/turn"

var commandSwitches = []string{"internal/coordination/driver", "coordinator/report"}

// checkCommands finds type switches over turn.Command beside the driver's and the projection's
// one each: what a turn commands is known to both, and to nobody else.
func checkCommands(t *tree) []string {
	commands := commandNames(t)
	var found []string
	seen := map[string]bool{}
	for _, s := range t.code {
		if s.test {
			continue
		}
		ast.Inspect(s.ast, func(n ast.Node) bool {
			if sw, ok := n.(*ast.TypeSwitchStmt); ok && switchesOver(s, sw, commands) {
				if seen[s.dir] || !slices.Contains(commandSwitches, s.dir) {
					found = append(found, fmt.Sprintf("%s: another switch over turn.Command", t.at(sw)))
				}
				seen[s.dir] = true
			}
			return true
		})
	}
	return found
}

// commandNames are the types that have the method by which a Command is known.
func commandNames(t *tree) (names []string) {
	for _, s := range t.code {
		if s.dir != turnDir {
			continue
		}
		for _, f := range functions(s) {
			if f.Recv != nil && f.Name.Name == "command" {
				names = append(names, receiver(f).Name)
			}
		}
	}
	return names
}

// switchesOver says that a case of a switch names a command.
func switchesOver(s *source, sw *ast.TypeSwitchStmt, commands []string) bool {
	for _, clause := range sw.Body.List {
		for _, expr := range clause.(*ast.CaseClause).List {
			name, _ := expr.(*ast.Ident)
			if s.dir != turnDir {
				name = nil
				if selected, ok := expr.(*ast.SelectorExpr); ok && fmt.Sprint(selected.X) == "turn" {
					name = selected.Sel
				}
			}
			if name != nil && slices.Contains(commands, name.Name) {
				return true
			}
		}
	}
	return false
}
