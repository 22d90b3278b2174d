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

// tests are the tests of a package by their names, and whether each is to run without the detector.
type tests map[string]bool

// without are those that are to run without it.
func (t tests) without() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(t)), func(name string) bool { return !t[name] })
}

// testsOf looks in a directory for tests that call racing.Off or racing.Less, by themselves or
// through functions of the directory's tests. What TestMain calls is called for all of them. A
// function is looked up by its name alone: of two methods of one name both count.
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
	main := uses.reach("TestMain", map[string]bool{})
	found := tests{}
	for name := range uses {
		if strings.HasPrefix(name, "Test") && name != "TestMain" {
			found[name] = main || uses.reach(name, map[string]bool{})
		}
	}
	return found, nil
}

// mark stands for the calls that are looked for.
const mark = "racing."

// uses are the names in functions, by the functions' own.
type uses map[string][]string

// reach reports whether a function makes a call that is looked for, or uses one that does.
func (u uses) reach(name string, seen map[string]bool) bool {
	if seen[name] {
		return false
	}
	seen[name] = true
	return slices.ContainsFunc(u[name], func(used string) bool { return used == mark || u.reach(used, seen) })
}

func namesIn(body *ast.BlockStmt) (names []string) {
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok && x.Name == "racing" && (n.Sel.Name == "Off" || n.Sel.Name == "Less") {
				names = append(names, mark)
			}
		case *ast.Ident:
			names = append(names, n.Name)
		}
		return true
	})
	return names
}
