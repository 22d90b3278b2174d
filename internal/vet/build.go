package vet

import (
	"go/ast"
	"go/token"
	"go/types"
)

func newTree(files []*ast.File, info *types.Info) *tree {
	t := &tree{
		info:     info,
		of:       map[ast.Node]*function{},
		declared: map[*types.Func]*function{},
		values:   map[types.Object]*ast.FuncLit{},
		roles:    map[*ast.FuncLit]role{},
		strands:  map[*types.Func]bool{},
	}
	t.findValues(files)
	for _, file := range files {
		for call := range nodes[*ast.CallExpr](file) {
			t.assignRoles(call)
		}
	}
	for _, file := range files {
		for _, decl := range file.Decls {
			t.build(decl, nil)
		}
	}
	t.findDurable()
	return t
}

// findValues finds the variables that are assigned once, to a function literal.
func (t *tree) findValues(files []*ast.File) {
	assigned := map[types.Object]int{}
	assign := func(left, right ast.Expr) {
		id, ok := ast.Unparen(left).(*ast.Ident)
		if !ok {
			return
		}
		obj := t.info.ObjectOf(id)
		if obj == nil {
			return
		}
		assigned[obj]++
		delete(t.values, obj)
		if lit, ok := right.(*ast.FuncLit); ok && assigned[obj] == 1 {
			t.values[obj] = lit
		}
	}
	for _, file := range files {
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.AssignStmt:
				for i, left := range n.Lhs {
					assign(left, one(n.Lhs, n.Rhs, i))
				}
			case *ast.ValueSpec:
				for i, name := range n.Names {
					if len(n.Values) > 0 {
						assign(name, one(n.Names, n.Values, i))
					}
				}
			case *ast.UnaryExpr:
				if n.Op == token.AND {
					assign(n.X, nil) // it may be assigned through its address
				}
			}
			return true
		})
	}
}

// one returns the expression assigned to the i-th variable, or nil if one call returns all of them.
func one[T any](left []T, right []ast.Expr, i int) ast.Expr {
	if len(left) != len(right) {
		return nil
	}
	return ast.Unparen(right[i])
}

// build adds the functions at and below a node of outer.
func (t *tree) build(n ast.Node, outer *function) {
	ast.Inspect(n, func(n ast.Node) bool {
		f := &function{node: n, outer: outer}
		switch n := n.(type) {
		case *ast.FuncDecl:
			f.body, f.takesRun = n.Body, t.takes(n.Type, isRun)
			if fn, ok := t.info.Defs[n.Name].(*types.Func); ok {
				t.declared[fn] = f
				if t.strands[fn] {
					f.role, f.durable = strand, true
				}
			}
		case *ast.FuncLit:
			f.body, f.takesRun, f.role = n.Body, t.takes(n.Type, isRun), t.roleOf(n, outer)
			f.durable = f.role == strand
			if outer != nil {
				f.takesRun = f.takesRun || f.role == part && outer.takesRun
				outer.inner = append(outer.inner, f)
			}
		default:
			return true
		}
		t.of[n] = f
		t.functions = append(t.functions, f)
		if f.body != nil {
			t.build(f.body, f)
		}
		return false
	})
}

func (t *tree) roleOf(lit *ast.FuncLit, outer *function) role {
	r, known := t.roles[lit]
	switch {
	case known && r != part:
		return r
	case outer == nil || t.takes(lit.Type, isRun):
		return own
	case known || !t.takes(lit.Type, isContext):
		return part
	}
	return opaque
}
