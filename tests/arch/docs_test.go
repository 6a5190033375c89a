package arch

import (
	"fmt"
	"go/ast"
	"go/token"
	"slices"
)

// exportedName is one exported name of a package, or one exported method of an
// exported type.
type exportedName struct {
	name   string
	node   ast.Node
	doc    *ast.CommentGroup
	isType bool
}

// checkDocs finds exported names without a comment, and packages without one.
func checkDocs(t *tree) []string {
	var found []string
	documented := map[string]bool{}
	for _, s := range t.code {
		if !s.test {
			documented[s.dir] = documented[s.dir] || s.ast.Doc != nil
		}
	}
	for dir, ok := range documented {
		if !ok {
			found = append(found, fmt.Sprintf("%s: the package has no comment", dir))
		}
	}
	for _, s := range t.code {
		if s.test || s.ast.Name.Name == "main" {
			continue
		}
		for _, x := range exported(s) {
			if x.doc.Text() == "" {
				found = append(found, fmt.Sprintf("%s: exported %s has no comment", t.at(x.node), x.name))
			}
		}
	}
	slices.Sort(found)
	return found
}

func exported(s *source) []exportedName {
	var all []exportedName
	for _, d := range s.ast.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Name.IsExported() && (d.Recv == nil || receiver(d).IsExported()) && !satisfies(d) {
				all = append(all, exportedName{d.Name.Name, d, d.Doc, false})
			}
		case *ast.GenDecl:
			all = append(all, exportedSpecs(d)...)
		}
	}
	return all
}

func receiver(f *ast.FuncDecl) *ast.Ident {
	expr := f.Recv.List[0].Type
	for {
		switch e := expr.(type) {
		case *ast.StarExpr:
			expr = e.X
		case *ast.IndexExpr:
			expr = e.X
		case *ast.IndexListExpr:
			expr = e.X
		case *ast.Ident:
			return e
		default:
			return ast.NewIdent("_")
		}
	}
}

// satisfies reports whether an interface of the standard library gives a method its meaning, or
// kernel.Event, which all events have.
func satisfies(f *ast.FuncDecl) bool {
	return f.Recv != nil && slices.Contains([]string{"String", "Error", "Unwrap", "Is", "As", "Len", "Less", "Swap", "When"}, f.Name.Name)
}

// exportedSpecs takes a comment on a group for one on each member of it, except
// for types.
func exportedSpecs(group *ast.GenDecl) []exportedName {
	var all []exportedName
	for _, spec := range group.Specs {
		switch spec := spec.(type) {
		case *ast.TypeSpec:
			doc := spec.Doc
			if doc == nil && (len(group.Specs) == 1 || group.Lparen == token.NoPos) {
				doc = group.Doc
			}
			if spec.Name.IsExported() {
				all = append(all, exportedName{spec.Name.Name, spec, doc, true})
			}
		case *ast.ValueSpec:
			doc := spec.Doc
			if doc == nil {
				doc = group.Doc
			}
			for _, name := range spec.Names {
				if name.IsExported() {
					all = append(all, exportedName{name.Name, spec, doc, false})
				}
			}
		}
	}
	return all
}
