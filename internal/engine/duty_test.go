package engine

import (
	"context"
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
	"testing"

	"github.com/holdfastdev/holdfast/internal/duty"
	"github.com/holdfastdev/holdfast/store"
)

// TestDutiesAreNamedInOnePlace: every loop of a node, and every duty, has a name of package duty,
// and each of these is used.
func TestDutiesAreNamedInOnePlace(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "../duty/duty.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	left := map[string]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		if spec, ok := n.(*ast.ValueSpec); ok && len(spec.Values) == 1 {
			if value, ok := spec.Values[0].(*ast.BasicLit); ok {
				left[strings.Trim(value.Value, `"`)] = true
			}
		}
		return true
	})
	inBed(t, Config{}, func(b *bed) {
		b.handle("k", func(context.Context, Attempt) ([]byte, error) { return nil, nil })
		b.run()
		b.expect(b.wait(b.enqueue(b.job("k"))), store.Completed, "")
		known := b.runner().Health().Loops
		for name := range b.runner().node.loops() {
			if known[name] = known["claims"]; !left[name] {
				t.Errorf("the loop %q has a name of its own", name)
			}
		}
		for name := range known {
			delete(left, name)
		}
	})
	delete(left, duty.Look) // only with an observer, which this node has not
	for name := range left {
		t.Errorf("nothing is called %q", name)
	}
}
