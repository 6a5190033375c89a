package arch

import (
	"fmt"
	"go/ast"
	"slices"
	"strings"
)

// How large a type may grow that somebody has to hold in the head: how many methods one
// may have, over all files of its package, an interface with those that it embeds; and how
// many fields a struct may have that hides some of them. What hides none is a record.
const (
	mostMethodsOfType = 40
	mostFields        = 15
)

// records are packages whose structs are records although they hide what they have: the
// configuration. So are the structs of pure packages, whose machines may have any number of
// methods: a rule is a method.
var records = []string{"configs"}

// typeOf names a type of the project.
type typeOf struct{ dir, name string }

func (k typeOf) String() string { return k.dir + "." + k.name }

// typesOf returns the types of the project with the files that they stand in, and their
// methods.
func typesOf(t *tree) (specs map[typeOf]*ast.TypeSpec, files map[typeOf]*source, methods map[typeOf]int) {
	specs, files, methods = map[typeOf]*ast.TypeSpec{}, map[typeOf]*source{}, map[typeOf]int{}
	for _, s := range t.code {
		if s.test {
			continue
		}
		for _, d := range s.ast.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Recv != nil {
					methods[typeOf{s.dir, receiver(d).Name}]++
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					if spec, ok := spec.(*ast.TypeSpec); ok {
						specs[typeOf{s.dir, spec.Name.Name}], files[typeOf{s.dir, spec.Name.Name}] = spec, s
					}
				}
			}
		}
	}
	return specs, files, methods
}

func checkTypes(t *tree) []string {
	specs, files, methods := typesOf(t)
	pure := strings.Fields(t.read("tests/arch/pure.txt"))
	var sizeOf func(typeOf) int
	sizeOf = func(k typeOf) int {
		spec := specs[k]
		if spec == nil {
			return 1 // as most interfaces of others have
		}
		i, ok := spec.Type.(*ast.InterfaceType)
		if !ok {
			return methods[k]
		}
		n := 0
		for _, m := range i.Methods.List {
			if len(m.Names) > 0 {
				n += len(m.Names)
				continue
			}
			n += sizeOf(named(files[k], m.Type))
		}
		return n
	}
	var found []string
	for k, spec := range specs {
		if slices.Contains(pure, k.dir) {
			continue
		}
		if n := sizeOf(k); n > mostMethodsOfType {
			found = append(found, fmt.Sprintf("%s: %s has %d methods, more than %d", t.at(spec), k, n, mostMethodsOfType))
		}
		s, ok := spec.Type.(*ast.StructType)
		if !ok || !hides(s) || slices.Contains(records, k.dir) {
			continue
		}
		if n := s.Fields.NumFields(); n > mostFields {
			found = append(found, fmt.Sprintf("%s: %s has %d fields, more than %d", t.at(spec), k, n, mostFields))
		}
	}
	return found
}

// named is the type that an embedded interface names.
func named(s *source, e ast.Expr) typeOf {
	switch e := e.(type) {
	case *ast.Ident:
		return typeOf{s.dir, e.Name}
	case *ast.SelectorExpr:
		pkg, ok := e.X.(*ast.Ident)
		if !ok {
			break
		}
		for spec, p := range s.imports() {
			dir, local := strings.CutPrefix(p, module+"/")
			name := dir[strings.LastIndex(dir, "/")+1:]
			if spec.Name != nil {
				name = spec.Name.Name
			}
			if local && name == pkg.Name {
				return typeOf{dir, e.Sel.Name}
			}
		}
	}
	return typeOf{}
}

// hides says that a struct has a field of its package alone.
func hides(s *ast.StructType) bool {
	for _, f := range s.Fields.List {
		for _, name := range f.Names {
			if !name.IsExported() {
				return true
			}
		}
	}
	return false
}
