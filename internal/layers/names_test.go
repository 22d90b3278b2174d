package layers_test

import (
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"
)

// mostNames is how many names a program may have to know of the root package. What is new has a
// package beside it.
const mostNames = 121

// TestPublicNames counts the exported names of the root package, those of methods and fields apart,
// and refuses another name for a type of an internal package, whose documentation nobody sees.
func TestPublicNames(t *testing.T) {
	t.Parallel()

	fset, files := token.NewFileSet(), []*ast.File{}
	sources, err := fs.Glob(os.DirFS("../.."), "*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range sources {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(fset, "../../"+name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	for _, alias := range internalAliases(files) {
		t.Errorf("%s is another name for a type of an internal package: declare it, with its fields", alias)
	}
	pkg, err := doc.NewFromFiles(fset, files, module)
	if err != nil {
		t.Fatal(err)
	}
	names := publicNames(pkg)
	t.Logf("%d public names in the root package: %s", len(names), strings.Join(names, " "))
	if len(names) > mostNames {
		t.Errorf("the root package has %d public names; a reader is asked to hold %d", len(names), mostNames)
	}
}

// publicNames are the names that the documentation of a package lists at its top level and below
// its types.
func publicNames(pkg *doc.Package) []string {
	var names []string
	values := func(list []*doc.Value) {
		for _, v := range list {
			names = append(names, v.Names...)
		}
	}
	functions := func(list []*doc.Func) {
		for _, f := range list {
			names = append(names, f.Name)
		}
	}
	values(pkg.Consts)
	values(pkg.Vars)
	functions(pkg.Funcs)
	for _, t := range pkg.Types {
		names = append(names, t.Name)
		values(t.Consts)
		values(t.Vars)
		functions(t.Funcs)
	}
	names = slices.DeleteFunc(names, func(name string) bool { return !ast.IsExported(name) })
	slices.Sort(names)
	return names
}

// internalAliases are the exported types that are nothing but a type of an internal package.
func internalAliases(files []*ast.File) (names []string) {
	for _, file := range files {
		internal := map[string]bool{} // names of imported packages
		for _, imported := range file.Imports {
			path := strings.Trim(imported.Path.Value, `"`)
			if strings.HasPrefix(path, module+"/internal/") {
				internal[path[strings.LastIndex(path, "/")+1:]] = true
			}
		}
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok || !spec.Assign.IsValid() || !spec.Name.IsExported() {
				return true
			}
			if sel, ok := spec.Type.(*ast.SelectorExpr); ok {
				if from, ok := sel.X.(*ast.Ident); ok && internal[from.Name] {
					names = append(names, spec.Name.Name)
				}
			}
			return true
		})
	}
	return names
}

// TestPublicNamesBite shows that an alias of an internal type is seen.
func TestPublicNamesBite(t *testing.T) {
	t.Parallel()

	source := "package p\nimport \"" + module + "/internal/engine\"\nimport \"" + module + "/store\"\n" +
		"type A = engine.A\ntype b = engine.B\ntype C = store.C\n"
	file, err := parser.ParseFile(token.NewFileSet(), "p.go", source, 0)
	if err != nil {
		t.Fatal(err)
	}
	if got := internalAliases([]*ast.File{file}); !slices.Equal(got, []string{"A"}) {
		t.Errorf("the aliases are %v, want A", got)
	}
}
