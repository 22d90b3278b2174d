package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"slices"
	"strings"
)

// tests are the tests of a package by their names, and what is said of each.
type tests map[string]said

// said is what a test says: that some of it is to run without the detector, and that some of it
// runs under it all the same.
type said struct{ without, under bool }

// without are those that are to run without it.
func (t tests) without() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(t)), func(name string) bool { return !t[name].without })
}

// under reports whether any is to run under it.
func (t tests) under() bool {
	for _, said := range t {
		if !said.without || said.under {
			return true
		}
	}
	return false
}

// testsOf looks in a directory for tests that call racing.Off, Less or On, or apitest.OnBoth, which
// does for what it runs, by themselves or through functions of the directory's tests. What TestMain
// calls is called for all of them. A function is looked up by its name alone: of two methods of one
// name both count.
func testsOf(dir string) (tests, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil {
		return nil, err
	}
	uses := uses{}
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		for _, decl := range parsed.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok && f.Body != nil {
				uses[f.Name.Name] = append(uses[f.Name.Name], namesIn(f.Body)...)
			}
		}
	}
	main := uses.reach(without, "TestMain", map[string]bool{})
	found := tests{}
	for name := range uses {
		if strings.HasPrefix(name, "Test") && name != "TestMain" {
			found[name] = said{
				without: main || uses.reach(without, name, map[string]bool{}), under: uses.reach(under, name, map[string]bool{}),
			}
		}
	}
	return found, nil
}

// What stands for the calls that are looked for: of what is to run without the detector, and of
// what has run under it.
const without, under = "without.", "under."

var marks = map[string][]string{
	"racing.Off": {without}, "racing.Less": {without}, "racing.On": {under}, "apitest.OnBoth": {without, under},
}

// uses are the names in functions, by the functions' own.
type uses map[string][]string

// reach reports whether a function makes a call that is looked for, or uses one that does.
func (u uses) reach(mark, name string, seen map[string]bool) bool {
	if seen[name] {
		return false
	}
	seen[name] = true
	return slices.ContainsFunc(u[name], func(used string) bool { return used == mark || u.reach(mark, used, seen) })
}

func namesIn(body *ast.BlockStmt) (names []string) {
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok {
				names = append(names, marks[x.Name+"."+n.Sel.Name]...)
			}
		case *ast.Ident:
			names = append(names, n.Name)
		}
		return true
	})
	return names
}
