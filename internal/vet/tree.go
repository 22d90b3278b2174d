package vet

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
)

// role says whose code a function is.
type role int

const (
	own    role = iota // it is declared, or a literal that takes a run: its operations are its own
	part               // a literal that is a part of the function around it
	strand             // it is given to Go or OnFailure, and so replayed whatever it does
	step               // it is given to Step or StepTx: it may do anything, but perform durable operations
	opaque             // a literal that somebody calls with a context, perhaps as a step
)

// function is a function declaration or a function literal.
type function struct {
	node     ast.Node // *ast.FuncDecl or *ast.FuncLit
	body     *ast.BlockStmt
	role     role
	takesRun bool // it, or for a part the function around it, has a parameter of type *holdfast.Run
	outer    *function
	inner    []*function
	durable  bool // it performs durable operations
}

// code is the function whose operations are numbered with those of f.
func (f *function) code() *function {
	for f.role == part && f.outer != nil {
		f = f.outer
	}
	return f
}

// inStep reports whether f is run by a Step.
func (f *function) inStep() bool {
	for (f.role == part || f.role == opaque) && f.outer != nil {
		f = f.outer
	}
	return f.role == step
}

// replayed reports whether f is run again on a replay, and so must do the same again.
func (f *function) replayed() bool {
	f = f.code()
	return f.durable && f.role != step && f.role != opaque
}

// tree is what is known of the functions of a package.
type tree struct {
	info      *types.Info
	functions []*function // those around others first
	of        map[ast.Node]*function
	declared  map[*types.Func]*function
	values    map[types.Object]*ast.FuncLit // variables that are one literal all their life
	roles     map[*ast.FuncLit]role         // as far as calls tell
	strands   map[*types.Func]bool          // declared functions that are given to Go or OnFailure
}

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

// findValues finds the variables that are assigned once, and a function literal.
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
					assign(n.X, nil) // whoever has its address may assign it
				}
			}
			return true
		})
	}
}

// one returns the expression that is assigned to the i-th variable, or nil if they are all results of one call.
func one[T any](left []T, right []ast.Expr, i int) ast.Expr {
	if len(left) != len(right) {
		return nil
	}
	return ast.Unparen(right[i])
}

// assignRoles gives the functions that a call is given their roles.
func (t *tree) assignRoles(call *ast.CallExpr) {
	r, ok := given[inLibrary(t.object(call.Fun))]
	if lit, _ := t.resolve(call.Fun); lit != nil {
		// What is called by its name is no step, whatever it takes.
		if _, known := t.roles[lit]; !known {
			t.roles[lit] = part
		}
	}
	if !ok {
		return
	}
	for _, arg := range call.Args {
		switch lit, fn := t.resolve(arg); {
		case lit != nil:
			t.roles[lit] = r
		case fn != nil && r == strand:
			t.strands[fn] = true
		}
	}
}

// object is what an expression names: a function, whatever its type arguments, a variable or nothing.
func (t *tree) object(e ast.Expr) types.Object {
	switch e := ast.Unparen(e).(type) {
	case *ast.Ident:
		return origin(t.info.Uses[e])
	case *ast.SelectorExpr:
		return origin(t.info.Uses[e.Sel])
	case *ast.IndexExpr:
		return t.function(e.X)
	case *ast.IndexListExpr:
		return t.function(e.X)
	}
	return nil
}

// function is object for what has type arguments: an element of a slice of functions is none.
func (t *tree) function(e ast.Expr) types.Object {
	if fn, ok := t.object(e).(*types.Func); ok {
		return fn
	}
	return nil
}

func origin(obj types.Object) types.Object {
	if fn, ok := obj.(*types.Func); ok {
		return fn.Origin()
	}
	return obj
}

// resolve returns the function that an expression stands for: a literal, or one that is declared, here or elsewhere.
func (t *tree) resolve(e ast.Expr) (*ast.FuncLit, *types.Func) {
	if lit, ok := ast.Unparen(e).(*ast.FuncLit); ok {
		return lit, nil
	}
	obj := t.object(e)
	if fn, ok := obj.(*types.Func); ok {
		return nil, fn
	}
	return t.values[obj], nil
}

// build makes the functions at and below a node that is a part of outer.
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

// takes reports whether a function has a parameter of a type.
func (t *tree) takes(f *ast.FuncType, is func(types.Type) bool) bool {
	return slices.ContainsFunc(f.Params.List, func(field *ast.Field) bool { return is(t.info.TypeOf(field.Type)) })
}
