package sqltext_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestNamesMeet shows that each statement that the Go code of a store asks for is in its SQL, and
// that no statement is there that nothing asks for.
func TestNamesMeet(t *testing.T) {
	t.Parallel()
	for _, dir := range []string{"../../postgres", "../../sqlite"} {
		declared, asked, mentioned := namesDeclared(t, dir), map[string]string{}, map[string]bool{}
		for _, file := range filesIn(t, dir, "*.go", "internal/*/*.go") {
			if !strings.HasSuffix(file, "_test.go") {
				namesAsked(t, file, asked, mentioned)
			}
		}
		for _, name := range slices.Sorted(maps.Keys(asked)) {
			if !declared[name] {
				t.Errorf("%s asks for the statement %q, which is in no sql directory of %s", asked[name], name, dir)
			}
		}
		for _, name := range slices.Sorted(maps.Keys(declared)) {
			if !composed(name, mentioned) {
				t.Errorf("%s has the statement %q, which nothing asks for", dir, name)
			}
		}
		if len(asked) < 50 {
			t.Errorf("%s asks for %d statements: this test has gone blind", dir, len(asked))
		}
	}
}

var declaration = regexp.MustCompile(`(?m)^-- name: (\w+)$`)

// namesDeclared returns the names of the statements of a store.
func namesDeclared(t *testing.T, dir string) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	for _, file := range filesIn(t, dir, "sql/*.sql", "internal/*/sql/*.sql") {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range declaration.FindAllStringSubmatch(string(content), -1) {
			names[match[1]] = true
		}
	}
	return names
}

// filesIn returns the files of a store, whose packages are a directory and those below its internal
// one.
func filesIn(t *testing.T, dir string, patterns ...string) (files []string) {
	t.Helper()
	for _, pattern := range patterns {
		found, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	if len(files) == 0 {
		t.Fatalf("%s: no files", dir)
	}
	return files
}

// namesAsked adds the statements that a file asks for, with where it does, and all strings it has:
// a name may reach its statement through a variable.
func namesAsked(t *testing.T, file string, asked map[string]string, mentioned map[string]bool) {
	t.Helper()
	files := token.NewFileSet()
	parsed, err := parser.ParseFile(files, file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ask := func(e ast.Expr) {
		if name, ok := textOf(e); ok {
			asked[name] = files.Position(e.Pos()).String()
		}
	}
	ast.Inspect(parsed, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CompositeLit:
			if kind := nameOf(n.Type); n.Type != nil && !strings.EqualFold(kind, "statement") {
				return true
			}
			for _, part := range n.Elts {
				pair, ok := part.(*ast.KeyValueExpr)
				if !ok {
					continue
				}
				if key, ok := pair.Key.(*ast.Ident); ok && strings.EqualFold(key.Name, "name") {
					ask(pair.Value)
				}
			}
		case *ast.CallExpr:
			method, ok := n.Fun.(*ast.SelectorExpr)
			if ok && slices.Contains([]string{"stmt", "text", "Stmt", "Text"}, method.Sel.Name) && len(n.Args) > 0 {
				ask(n.Args[0])
			}
		case *ast.BasicLit:
			if name, ok := textOf(n); ok {
				mentioned[name] = true
			}
		}
		return true
	})
}

// nameOf returns the name of a type, wherever it is declared.
func nameOf(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	}
	return ""
}

// composed reports whether a name is one of the strings, or several of them in a row.
func composed(name string, parts map[string]bool) bool {
	if parts[name] {
		return true
	}
	for i := 1; i < len(name); i++ {
		if name[i] == '_' && parts[name[:i]] && composed(name[i:], parts) {
			return true
		}
	}
	return false
}

// textOf returns the value of an expression that is a string literal.
func textOf(e ast.Expr) (string, bool) {
	lit, ok := e.(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING {
		return "", false
	}
	text, err := strconv.Unquote(lit.Value)
	return text, err == nil
}
