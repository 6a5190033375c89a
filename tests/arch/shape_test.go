package arch

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"path"
	"regexp"
	"slices"
	"strings"
)

// A file or a function over the first number is a question, over the second a
// fault (DESIGN §3).
const (
	fileQuestion, fileFault         = 400, 600
	functionQuestion, functionFault = 60, 100
)

func checkSizes(t *tree) []string { return sizes(t, fileFault, functionFault) }

// questions lists what is large without being a fault.
func questions(t *tree) []string { return sizes(t, fileQuestion, functionQuestion) }

func sizes(t *tree, fileMost, functionMost int) []string {
	var found []string
	for _, s := range t.code {
		if ast.IsGenerated(s.ast) {
			continue
		}
		if s.lines > fileMost {
			found = append(found, fmt.Sprintf("%s: %d lines, more than %d", s.path, s.lines, fileMost))
		}
		for _, f := range functions(s) {
			lines := t.fset.Position(f.End()).Line - t.fset.Position(f.Pos()).Line + 1
			if lines > functionMost {
				found = append(found, fmt.Sprintf("%s: %s has %d lines, more than %d", t.at(f), f.Name.Name, lines, functionMost))
			}
		}
	}
	return found
}

func functions(s *source) []*ast.FuncDecl {
	var all []*ast.FuncDecl
	for _, d := range s.ast.Decls {
		if f, ok := d.(*ast.FuncDecl); ok {
			all = append(all, f)
		}
	}
	return all
}

// tables are package-level variables that hold what Go has no constants for.
// Nothing writes to them after they are made.
var tables = []string{
	"contextbuild.delimiterNames",
	"contextbuild.agentTagNames",
	"contextbuild.noteNames",
	"internal/system/httpclient.localFaults",
	"internal/system/httpclient.windowsFaults",
	"internal/tools/textcall.fillers",
	"internal/tools/textcall.wraps",
	"internal/tools/textcall.nameKeys",
	"internal/tools/textcall.argumentKeys",
	"internal/tools/textcall.bareKeys",
	"internal/models/providers.providers", // a thousand agents look for their own in it
}

// processWide are package-level variables for what a process has once, whoever caused it: the limits of what it uses, one
// for each kind of work, whether its main called Launcher, and which release it is.
var processWide = []string{"internal/system/heavy.Pictures", "internal/system/heavy.Bodies", "internal/system/heavy.Checks", "..launched",
	"cmd/massgen/app/cmdline.releaseVersion", "cmd/massgen/app/cmdline.releaseCommit"} // the linker writes these

// checkState finds init functions and package-level variables. Errors, regular
// expressions, embedded files, compile-time assertions, tables and process-wide limits are no state.
func checkState(t *tree) []string {
	var found []string
	for _, s := range t.code {
		for _, f := range functions(s) {
			if f.Recv == nil && f.Name.Name == "init" {
				found = append(found, t.at(f)+": init function")
			}
		}
		for _, spec := range variables(s) {
			for i, name := range spec.Names {
				if !stateless(s, spec, i) {
					found = append(found, fmt.Sprintf("%s: package-level variable %s", t.at(name), name.Name))
				}
			}
		}
	}
	return found
}

// variables returns the package-level variables of s. Tests may have them, for
// tables and flags. A group's comment counts as each member's.
func variables(s *source) []*ast.ValueSpec {
	var all []*ast.ValueSpec
	for _, d := range s.ast.Decls {
		group, ok := d.(*ast.GenDecl)
		if !ok || group.Tok != token.VAR || s.test {
			continue
		}
		for _, spec := range group.Specs {
			v := *spec.(*ast.ValueSpec)
			if v.Doc == nil {
				v.Doc = group.Doc
			}
			all = append(all, &v)
		}
	}
	return all
}

func stateless(s *source, spec *ast.ValueSpec, i int) bool {
	name := spec.Names[i].Name
	if name == "_" || embedded(spec) || slices.Contains(slices.Concat(tables, processWide), s.dir+"."+name) {
		return true
	}
	if i >= len(spec.Values) {
		return false
	}
	call, ok := spec.Values[i].(*ast.CallExpr)
	return ok && (sentinel.MatchString(name) || types.ExprString(call.Fun) == "regexp.MustCompile")
}

// sentinel is how errors that callers compare with are named.
var sentinel = regexp.MustCompile(`^[eE]rr[A-Z]`)

func embedded(spec *ast.ValueSpec) bool {
	return spec.Doc != nil && slices.ContainsFunc(spec.Doc.List, func(c *ast.Comment) bool {
		return strings.HasPrefix(c.Text, "//go:embed ")
	})
}

// checkErrors finds results of calls that are thrown away with _ = and no word,
// on the line or above it, why.
func checkErrors(t *tree) []string {
	var found []string
	for _, s := range t.code {
		if s.test {
			continue
		}
		said := commentedLines(t, s)
		ast.Inspect(s.ast, func(n ast.Node) bool {
			if a, ok := n.(*ast.AssignStmt); ok && discards(a) && !said[t.fset.Position(a.Pos()).Line] {
				found = append(found, t.at(a)+": the result of a call is thrown away without a word why")
			}
			return true
		})
	}
	return found
}

// commentedLines are the lines with a comment on them, and those below one.
func commentedLines(t *tree, s *source) map[int]bool {
	said := map[int]bool{}
	for _, group := range s.ast.Comments {
		last := t.fset.Position(group.End()).Line
		said[last], said[last+1] = true, true
	}
	return said
}

func discards(a *ast.AssignStmt) bool {
	for _, left := range a.Lhs {
		if id, ok := left.(*ast.Ident); !ok || id.Name != "_" {
			return false
		}
	}
	return slices.ContainsFunc(a.Rhs, func(right ast.Expr) bool {
		_, call := right.(*ast.CallExpr)
		return call
	})
}

// checkChannels finds channels that leave their package: whoever gets one has to
// know who closes it, and when. Signals come in one by the standard library's
// choice.
func checkChannels(t *tree) []string {
	var found []string
	for _, s := range t.code {
		if s.test || s.ast.Name.Name == "main" {
			continue
		}
		for _, x := range exported(s) {
			ast.Inspect(x.node, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.BlockStmt:
					return false
				case *ast.Field:
					if len(n.Names) > 0 && !n.Names[0].IsExported() && x.isType {
						return false
					}
				case *ast.ChanType:
					if types.ExprString(n.Value) == "os.Signal" {
						return false
					}
					found = append(found, fmt.Sprintf("%s: exported %s has a channel", t.at(n), x.name))
				}
				return true
			})
		}
	}
	return found
}

// checkNames finds packages that are called after nothing in particular.
func checkNames(t *tree) []string {
	var found []string
	for _, s := range t.code {
		for _, name := range []string{s.ast.Name.Name, path.Base(s.dir)} {
			switch strings.TrimSuffix(name, "_test") {
			case "util", "utils", "common", "helper", "helpers", "misc", "shared", "base", "lib", "types":
				found = append(found, fmt.Sprintf("%s: a package called %s has no subject", s.path, name))
			}
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// checkSkips finds tests that can take themselves out of a run.
func checkSkips(t *tree) []string {
	var found []string
	for _, s := range t.code {
		ast.Inspect(s.ast, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			if sel, ok := call.Fun.(*ast.SelectorExpr); ok && slices.Contains([]string{"Skip", "Skipf", "SkipNow"}, sel.Sel.Name) && s.test {
				found = append(found, t.at(call)+": a test that skips itself")
			}
			return true
		})
	}
	return found
}
