package holdfast_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestIndexOfTheDocs: docs/README.md lists each page once, and the README at the top links to it.
func TestIndexOfTheDocs(t *testing.T) {
	t.Parallel()
	index, err := os.ReadFile("docs/README.md")
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]int{}
	for _, found := range regexp.MustCompile(`(?m)^- \[.*?\]\(([^)]*)\)`).FindAllStringSubmatch(string(index), -1) {
		listed[found[1]]++
	}
	pages, err := filepath.Glob("docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(prose(t, "README.md"), "(docs/README.md)") {
		t.Error("README.md does not link to docs/README.md")
	}
	for _, page := range pages {
		if name := filepath.Base(page); name != "README.md" && listed[name] != 1 {
			t.Errorf("docs/README.md lists %s %d times, want once", name, listed[name])
		}
	}
}

// TestOptionsOfTheDocs: docs/options.md names each function, of any package, whose result is an
// option of Open, and no other of this package.
func TestOptionsOfTheDocs(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("docs/options.md")
	if err != nil {
		t.Fatal(err)
	}
	options := optionsOfOpen(t)
	if len(options) < 15 || !options["limit.Backlog"] || !options["WithMiddleware"] {
		t.Fatalf("the options that were found: %v", options)
	}
	for name := range options {
		if !regexp.MustCompile("`" + regexp.QuoteMeta(name) + "[(`]").Match(page) {
			t.Errorf("docs/options.md does not name %s", name)
		}
	}
	for _, found := range regexp.MustCompile("(?m)^\\| `([\\w.]+)\\(").FindAllStringSubmatch(string(page), -1) {
		if !options[found[1]] {
			t.Errorf("docs/options.md lists %s, which is no option of Open", found[1])
		}
	}
}

// optionsOfOpen are the exported functions of all public packages that return an Option.
func optionsOfOpen(t *testing.T) map[string]bool {
	t.Helper()
	found := map[string]bool{}
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name := d.Name(); d.IsDir() && path != "." &&
			(strings.HasPrefix(name, ".") || slices.Contains([]string{"internal", "testdata", "bench"}, name)) {
			return fs.SkipDir
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		prefix := ""
		if filepath.Dir(path) != "." {
			prefix = file.Name.Name + "."
		}
		for _, decl := range file.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok && f.Recv == nil && f.Name.IsExported() && returnsOption(f, prefix == "") {
				found[prefix+f.Name.Name] = true
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// returnsOption reports whether the result of a function is an Option of the root package, or an
// interface that is one.
func returnsOption(f *ast.FuncDecl, inRoot bool) bool {
	if f.Type.Results == nil || len(f.Type.Results.List) != 1 {
		return false
	}
	result := f.Type.Results.List[0].Type
	all := []ast.Expr{result}
	if i, ok := result.(*ast.InterfaceType); ok {
		for _, part := range i.Methods.List {
			all = append(all, part.Type)
		}
	}
	for _, part := range all {
		switch of := part.(type) {
		case *ast.Ident:
			if inRoot && of.Name == "Option" {
				return true
			}
		case *ast.SelectorExpr:
			if pkg, ok := of.X.(*ast.Ident); ok && pkg.Name == "holdfast" && of.Sel.Name == "Option" {
				return true
			}
		}
	}
	return false
}

// TestPromisesNameTests: docs/reliability.md names tests and stories that there are.
func TestPromisesNameTests(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("docs/reliability.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "## Where each promise is held")
	table, _, _ = strings.Cut(table, "\n## ")
	var source strings.Builder
	for _, dir := range []string{"internal", "store"} {
		err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, "_test.go") && !strings.HasPrefix(path, filepath.Join("store", "storetest")) ||
				!strings.HasSuffix(path, ".go") {
				return err
			}
			content, err := os.ReadFile(path)
			source.Write(content)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	names := regexp.MustCompile("`(Test\\w+)((?:/\\w+)*)`").FindAllStringSubmatch(table, -1)
	if len(names) < 20 {
		t.Fatalf("the page names %d tests", len(names))
	}
	for _, found := range names {
		if !strings.Contains(source.String(), "func "+found[1]+"(") {
			t.Errorf("there is no test %s", found[1])
		}
		for part := range strings.SplitSeq(strings.TrimPrefix(found[2], "/"), "/") {
			if !strings.Contains(source.String(), `"`+part+`"`) && part != "" {
				t.Errorf("there is no story or group %s, of %s", part, found[0])
			}
		}
	}
}
