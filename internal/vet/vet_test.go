package vet

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/go/analysis/analysistest"
)

// TestRules compares the findings in testdata with the "want" comments there. The stub of the
// library is not checked.
func TestRules(t *testing.T) {
	t.Parallel()
	analysistest.Run(t, analysistest.TestData(), Analyzer,
		"captured", "clock", "concurrency", "dropped", "ignored", "looked", "maporder", "nested", "random", "writes", library)
}

// harmless are the functions of the library that take a run and are no durable operations: they may
// be used anywhere, and their errors may be ignored.
var harmless = []string{
	"Run.Attempt",
	"Run.Client",
	"Run.EnqueuedAt",
	"Run.Heartbeat",
	"Run.ID",
	"Run.IdempotencyKey",
	"Run.Kind",
	"Run.Lease",
	"Run.LoadCheckpoint",
	"Run.Logger",
	"Run.Metadata",
	"Run.Progress",
	"Run.Queue",
	"Run.SaveCheckpoint",
	"Run.Schedule",
	"Run.SetMetadata",
	"Run.SetTags",
	"Run.Tags",
	"Run.Value",
	"Run.WithContext",
}

// TestOperations compares the table of operations with the library.
func TestOperations(t *testing.T) {
	t.Parallel()
	found := signatures(t, filepath.Join("..", ".."))
	for name := range operations {
		if found[name] == "" {
			t.Errorf("the library has no %s", name)
		}
	}
	for name := range endings {
		if found[name] == "" {
			t.Errorf("the library has no %s", name)
		}
	}
	for name := range given {
		if found[name] == "" {
			t.Errorf("the library has no %s", name)
		}
	}
	for name, signature := range found {
		signature = strings.ReplaceAll(signature, "func(run *Run", "func(") // the parameters of a function argument
		takesRun := strings.HasPrefix(name, "Run.") || strings.Contains(signature, "run *Run")
		if takesRun && !operations[name] && !endings[name] && !slices.Contains(harmless, name) {
			t.Errorf("%s%s takes a run; is it a durable operation? If so, it belongs to operations, else to harmless", name, signature)
		}
	}
}

// reads are the functions of the library with a context that change nothing that a replay would
// change again.
var reads = []string{
	"Client.Close",
	"Client.Count",
	"Client.Ends",
	"Client.FindKey",
	"Client.Follow",
	"Client.Get",
	"Client.Journal",
	"Client.JournalEntries",
	"Client.JournalMessages",
	"Client.List",
	"Client.ListBy",
	"Client.Nodes",
	"Client.Published",
	"Client.Queues",
	"Client.Run",
	"Client.Start",
	"Client.Stop",
	"Client.Stream",
	"Client.Unserved",
	"Client.Wait",
	"Client.WaitAll",
	"Client.WaitPublished",
	"Client.Why",
	"Job.Get",
	"Job.Wait",
	"Kind.Find",
	"Kind.Get",
	"Open",
	"Run.WithContext",
	"RunFrom",
	"StepAttempt",
	"Task.Wait",
}

// TestWrites compares the table of a client's writes with the library.
func TestWrites(t *testing.T) {
	t.Parallel()
	found := signatures(t, filepath.Join("..", ".."))
	for name := range replaced {
		if own, ok := strings.CutPrefix(name, library+"."); ok && found[own] == "" {
			t.Errorf("the library has no %s", own)
		}
	}
	for name, signature := range found {
		_, writes := replaced[library+"."+name]
		if strings.HasPrefix(signature, "(ctx context.Context") && !writes && !slices.Contains(reads, name) {
			t.Errorf("%s%s takes a context; does it write? If so, it belongs to replaced, else to reads", name, signature)
		}
	}
}

// TestStub compares the stub in testdata with the library.
func TestStub(t *testing.T) {
	t.Parallel()
	actual := signatures(t, filepath.Join("..", ".."))
	stub := signatures(t, filepath.Join("testdata", "src", filepath.FromSlash(library)))
	for name, signature := range stub {
		if actual[name] != signature {
			t.Errorf("testdata has %s%s, the library has %s%s", name, signature, name, actual[name])
		}
	}
	for name := range operations {
		if stub[name] == "" {
			t.Errorf("testdata has no %s", name)
		}
	}
	for name := range replaced {
		if own, ok := strings.CutPrefix(name, library+"."); ok && stub[own] == "" {
			t.Errorf("testdata has no %s", own)
		}
	}
}

// signatures returns the types of the exported functions and methods of a package, by name.
func signatures(t *testing.T, dir string) map[string]string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		fset := token.NewFileSet()
		parsed, err := parser.ParseFile(fset, file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range parsed.Decls {
			// A method of a type that is not exported is no call of a user's.
			if fn, ok := decl.(*ast.FuncDecl); ok && fn.Name.IsExported() && ast.IsExported(declaredName(fn)) {
				var text bytes.Buffer
				if err := printer.Fprint(&text, fset, fn.Type); err != nil {
					t.Fatal(err)
				}
				signature := strings.Join(strings.Fields(text.String()), " ")
				signature = strings.NewReplacer("( ", "(", ", )", ")").Replace(signature) // of lists in lines of their own
				found[declaredName(fn)] = strings.TrimPrefix(signature, "func")
			}
		}
	}
	return found
}

func declaredName(fn *ast.FuncDecl) string {
	if fn.Recv == nil {
		return fn.Name.Name
	}
	of := fn.Recv.List[0].Type
	for {
		switch e := of.(type) {
		case *ast.StarExpr:
			of = e.X
		case *ast.IndexExpr:
			of = e.X
		case *ast.IndexListExpr:
			of = e.X
		case *ast.Ident:
			return e.Name + "." + fn.Name.Name
		default:
			return ""
		}
	}
}
