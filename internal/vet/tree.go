package vet

import (
	"go/ast"
	"go/types"
	"slices"
)

// function is a function declaration or a function literal.
type function struct {
	node     ast.Node // *ast.FuncDecl or *ast.FuncLit
	body     *ast.BlockStmt
	role     role
	takesRun bool // it has a parameter of type *holdfast.Run, or for a part the function around it has
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

// replayed reports whether f runs again on a replay, and so must be deterministic.
func (f *function) replayed() bool {
	f = f.code()
	return f.durable && f.role != step && f.role != opaque
}

// tree is the functions of a package.
type tree struct {
	info      *types.Info
	functions []*function // outer functions first
	of        map[ast.Node]*function
	declared  map[*types.Func]*function
	values    map[types.Object]*ast.FuncLit // variables that are only ever one literal
	roles     map[*ast.FuncLit]role         // as far as calls show
	strands   map[*types.Func]bool          // declared functions passed to Go, OnFailure or Update.Handle
}

// assignRoles assigns roles to the functions passed to a call.
func (t *tree) assignRoles(call *ast.CallExpr) {
	r, ok := given[inLibrary(t.object(call.Fun))]
	if lit, _ := t.resolve(call.Fun); lit != nil {
		// A literal that is called by name is no step, whatever it takes.
		if _, known := t.roles[lit]; !known {
			t.roles[lit] = part
		}
	}
	if !ok {
		return
	}
	for _, arg := range call.Args {
		switch lit, fn := t.resolve(arg); {
		case lit != nil && r == strand && !t.takes(lit.Type, isRun):
			t.roles[lit] = opaque
		case lit != nil:
			t.roles[lit] = r
		case fn != nil && r == strand && takesRun(fn):
			t.strands[fn] = true
		}
	}
}

// object is what an expression refers to: a function, with or without type arguments, a variable,
// or nil.
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

// function is object for an expression with type arguments, which excludes elements of a slice of
// functions.
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

// resolve returns the function that an expression refers to: a literal, or a declared function of
// any package.
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

// takes reports whether a function has a parameter of a type.
func takesRun(f *types.Func) bool {
	for p := range f.Signature().Params().Variables() {
		if isRun(p.Type()) {
			return true
		}
	}
	return false
}

func (t *tree) takes(f *ast.FuncType, is func(types.Type) bool) bool {
	return slices.ContainsFunc(f.Params.List, func(field *ast.Field) bool { return is(t.info.TypeOf(field.Type)) })
}
