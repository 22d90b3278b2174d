package vet

import (
	"go/ast"
	"go/types"
	"iter"
)

// findDurable finds the functions that perform durable operations.
func (t *tree) findDurable() {
	for found := true; found; {
		found = false
		for _, f := range t.functions {
			if !f.durable && t.isDurable(f) {
				f.durable, found = true, true
			}
		}
	}
}

func (t *tree) isDurable(f *function) bool {
	if f.body == nil {
		return false
	}
	return t.performsIn(f.body, f)
}

// performsIn reports whether a part of a function performs durable operations.
func (t *tree) performsIn(n ast.Node, f *function) bool {
	found := false
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			found = found || t.performsInside(t.of[n], f)
			return false
		case *ast.CallExpr:
			found = found || t.performed(n) != "" && !t.ends(n)
		}
		return !found
	})
	return found
}

// ends reports whether a call is one of the endings.
func (t *tree) ends(call *ast.CallExpr) bool {
	_, fn := t.resolve(call.Fun)
	return fn != nil && endings[inLibrary(fn)]
}

// performsInside reports whether an operation of a literal counts for the function around it. A
// literal with a run of its own counts where a run is passed along with it, as in retry(run,
// func(run *holdfast.Run) error { … }), and not where it is only created.
func (t *tree) performsInside(lit, f *function) bool {
	switch lit.role {
	case part, opaque:
		return lit.durable
	case own, strand:
		return lit.durable && f.takesRun
	case step:
	}
	return false
}

// performed returns the name of the durable operation that is called, or of the called function of
// this package that performs some; or "".
func (t *tree) performed(call *ast.CallExpr) string {
	lit, fn := t.resolve(call.Fun)
	if lit != nil {
		if f := t.of[lit]; f != nil && f.durable {
			return nameOfCallee(call.Fun)
		}
		return ""
	}
	if fn == nil {
		return ""
	}
	if op := operationOf(fn); op != "" {
		return display(op)
	}
	if f := t.declared[fn]; f != nil && f.durable {
		return fn.Name()
	}
	return ""
}

func nameOfCallee(e ast.Expr) string {
	if id, ok := ast.Unparen(e).(*ast.Ident); ok {
		return id.Name
	}
	return "the function literal"
}

// returnsError returns the number of results of a call, and reports whether the last one is an
// error.
func (t *tree) returnsError(call *ast.CallExpr) (results int, last bool) {
	switch r := t.info.TypeOf(call).(type) {
	case nil:
		return 0, false
	case *types.Tuple:
		return r.Len(), r.Len() > 0 && isError(r.At(r.Len()-1).Type())
	default:
		return 1, isError(r)
	}
}

func isError(t types.Type) bool { return types.Identical(t, types.Universe.Lookup("error").Type()) }

// nodes returns the nodes of type N at and below a node.
func nodes[N ast.Node](root ast.Node) iter.Seq[N] {
	return func(yield func(N) bool) {
		done := false
		ast.Inspect(root, func(n ast.Node) bool {
			if found, ok := n.(N); ok && !done {
				done = !yield(found)
			}
			return !done
		})
	}
}
