package arch

import (
	"fmt"
	"go/ast"
	"slices"
	"strings"
)

// A reader has to hold a type in the head. So these limits count its whole method set, over all
// files of its package and with the methods that it gets from what it embeds, and the fields of a
// struct that has an unexported one. A struct without any is a record.
const (
	mostMethodsOfType = 45
	mostFields        = 15
)

// records are packages whose structs are records, although they have unexported fields: the
// configuration. The structs of pure packages are records too, and their machines may have any
// number of methods, since each rule is a method.
var records = []string{"configs"}

// typeOf names a type of the project.
type typeOf struct{ dir, name string }

func (k typeOf) String() string { return k.dir + "." + k.name }

// declared is a type of the project.
type declared struct {
	spec    *ast.TypeSpec
	file    *source
	methods []*ast.FuncDecl
}

// typesOf returns the types of the project that no test declares.
func typesOf(t *tree) map[typeOf]*declared {
	types := map[typeOf]*declared{}
	at := func(s *source, name string) *declared {
		k := typeOf{s.dir, name}
		if types[k] == nil {
			types[k] = &declared{}
		}
		return types[k]
	}
	for _, s := range t.code {
		if s.test {
			continue
		}
		for _, d := range s.ast.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Recv != nil {
					of := at(s, receiver(d).Name)
					of.methods = append(of.methods, d)
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					if spec, ok := spec.(*ast.TypeSpec); ok {
						of := at(s, spec.Name.Name)
						of.spec, of.file = spec, s
					}
				}
			}
		}
	}
	return types
}

// methodSet adds the names of a type's methods to set, with those of what it embeds. Methods from
// outside the project do not count.
func methodSet(types map[typeOf]*declared, k typeOf, set map[string]bool) {
	d := types[k]
	if d == nil || d.spec == nil {
		return
	}
	for _, m := range d.methods {
		set[m.Name.Name] = true
	}
	var fields *ast.FieldList
	switch of := d.spec.Type.(type) {
	case *ast.StructType:
		fields = of.Fields
	case *ast.InterfaceType:
		fields = of.Methods
	default:
		return
	}
	for _, f := range fields.List {
		if len(f.Names) == 0 {
			methodSet(types, named(d.file, f.Type), set)
		}
		if _, isMethod := f.Type.(*ast.FuncType); isMethod {
			for _, name := range f.Names {
				set[name.Name] = true
			}
		}
	}
}

func checkTypes(t *tree) []string {
	types := typesOf(t)
	pure := strings.Fields(t.read("tests/arch/pure.txt"))
	var found []string
	for k, d := range types {
		if d.spec == nil || slices.Contains(pure, k.dir) {
			continue
		}
		set := map[string]bool{}
		methodSet(types, k, set)
		if n := len(set); n > mostMethodsOfType {
			found = append(found, fmt.Sprintf("%s: %s has %d methods, more than %d", t.at(d.spec), k, n, mostMethodsOfType))
		}
		if s, ok := d.spec.Type.(*ast.StructType); ok && !slices.Contains(records, k.dir) {
			found = append(found, checkStruct(t, types, k, s)...)
		}
	}
	return found
}

// checkStruct reports a struct with too many fields, one that only dresses another of its package,
// and a method that copies its receiver to stand in for it.
func checkStruct(t *tree, types map[typeOf]*declared, k typeOf, s *ast.StructType) (found []string) {
	d := types[k]
	if len(s.Fields.List) == 1 && len(s.Fields.List[0].Names) == 0 {
		of := named(d.file, s.Fields.List[0].Type)
		if inner := types[of]; of.dir == k.dir && inner != nil && inner.spec != nil {
			if _, ok := inner.spec.Type.(*ast.StructType); ok {
				found = append(found, fmt.Sprintf("%s: %s only dresses %s", t.at(d.spec), k, of.name))
			}
		}
	}
	if !hides(s) {
		return found
	}
	if n := s.Fields.NumFields(); n > mostFields {
		found = append(found, fmt.Sprintf("%s: %s has %d fields, more than %d", t.at(d.spec), k, n, mostFields))
	}
	for _, m := range d.methods {
		for _, copied := range copiesOfReceiver(m) {
			found = append(found, fmt.Sprintf("%s: %s.%s copies its receiver", t.at(copied), k, m.Name.Name))
		}
	}
	return found
}

// copiesOfReceiver returns the assignments of a method that copy what its pointer receiver points to.
func copiesOfReceiver(m *ast.FuncDecl) (found []ast.Node) {
	if len(m.Recv.List[0].Names) == 0 || m.Body == nil {
		return nil
	}
	self := m.Recv.List[0].Names[0].Name
	ast.Inspect(m.Body, func(n ast.Node) bool {
		if a, ok := n.(*ast.AssignStmt); ok {
			for _, value := range a.Rhs {
				star, ok := value.(*ast.StarExpr)
				if !ok {
					continue
				}
				if of, ok := star.X.(*ast.Ident); ok && of.Name == self {
					found = append(found, a)
				}
			}
		}
		return true
	})
	return found
}

// named returns the type of the project that an embedded field names, or the zero value.
func named(s *source, e ast.Expr) typeOf {
	switch e := e.(type) {
	case *ast.StarExpr:
		return named(s, e.X)
	case *ast.IndexExpr:
		return named(s, e.X)
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

// hides reports whether a struct has an unexported field.
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
