package layers_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"testing"
)

// aside are packages of the conformance suite that tell no stories.
var aside = []string{"crowd", "faults", "machine", "model", "tx"}

// waits starts a goroutine that only waits for its end.
const waits = "watchEnds"

// TestStoriesSayThatGoroutinesCompete: a story that starts goroutines says so by Env.Competes,
// which crowd.Together calls as well. So it is in a group that runs under the race detector.
func TestStoriesSayThatGoroutinesCompete(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../store/storetest/*/*.go")
	if err != nil {
		t.Fatal(err)
	}
	said := 0
	for _, file := range files {
		if slices.Contains(aside, filepath.Base(filepath.Dir(file))) {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range parsed.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if !ok || f.Body == nil || f.Name.Name == waits {
				continue
			}
			starts, says := goroutines(f.Body)
			if starts && !says {
				t.Errorf("%s: %s starts goroutines, and does not say that they compete", file, f.Name.Name)
			}
			if says {
				said++
			}
		}
	}
	if said < 5 {
		t.Errorf("%d functions say that goroutines compete", said)
	}
}

// goroutines reports whether a function starts any, and says so.
func goroutines(body *ast.BlockStmt) (starts, says bool) {
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			starts = true
		case *ast.SelectorExpr:
			starts = starts || n.Sel.Name == "Go"
			says = says || n.Sel.Name == "Competes"
		}
		return true
	})
	return starts, says
}
