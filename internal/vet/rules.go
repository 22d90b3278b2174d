package vet

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
)

// check applies the rules to one function. Literals in it are checked on their own.
func (c *inspection) check(f *function) {
	if f.role == strand {
		c.checkCaptures(f.node)
	}
	if f.inStep() {
		c.checkNesting(f)
		return
	}
	communications := map[ast.Node]bool{} // of select statements, which are reported as a whole
	ast.Inspect(f.body, func(n ast.Node) bool {
		if _, ok := n.(*ast.FuncLit); ok {
			return false
		}
		c.checkErrors(n)
		if call, ok := n.(*ast.CallExpr); ok {
			c.checkStep(call)
		}
		if f.replayed() {
			c.checkUse(n)
			c.checkConcurrency(n, communications)
			c.checkMap(n, f)
		}
		return true
	})
}

// checkUse reports functions and variables of other packages that have a durable counterpart.
func (c *inspection) checkUse(n ast.Node) {
	var id *ast.Ident
	switch n := n.(type) {
	case *ast.SelectorExpr:
		id = n.Sel
	case *ast.Ident:
		id = n
	default:
		return
	}
	obj := c.info.Uses[id]
	found, ok := replacement(obj)
	if !ok || c.used[id] {
		return
	}
	c.used[id] = true // a selector is visited before its identifier
	name := obj.Pkg().Name() + "." + nameOf(obj)
	if own := inLibrary(obj); own != "" {
		name = display(own)
	}
	c.report(n, fmt.Sprintf("%s %s; %s", name, found.why, found.use))
}

// checkConcurrency reports concurrency and waits outside of the journal.
func (c *inspection) checkConcurrency(n ast.Node, communications map[ast.Node]bool) {
	switch n := n.(type) {
	case *ast.GoStmt:
		c.report(n, "a go statement runs outside the journal; use holdfast.Go")
	case *ast.SelectStmt:
		c.report(n, "a select statement may choose differently on every replay; use holdfast.Select")
		for _, clause := range n.Body.List {
			if comm, ok := clause.(*ast.CommClause); ok {
				communications[communication(comm.Comm)] = true
			}
		}
	case *ast.SendStmt:
		if !communications[n] {
			c.report(n, "a send on a channel waits outside the journal; return the value from a function started with holdfast.Go")
		}
	case *ast.UnaryExpr:
		if n.Op == token.ARROW && !communications[n] {
			c.report(n, "a receive from a channel "+waitsOutside+"; use Signal.Wait, holdfast.Select, or await the future of holdfast.Go")
		}
	case *ast.RangeStmt:
		if every(c.info.TypeOf(n.X), isChan) {
			c.report(n, "a range over a channel "+waitsOutside+"; use Signal.Wait, or await the future of holdfast.Go")
		}
	}
}

// communication returns the channel operation of a select case.
func communication(stmt ast.Stmt) ast.Node {
	switch stmt := stmt.(type) {
	case *ast.ExprStmt:
		return ast.Unparen(stmt.X)
	case *ast.AssignStmt:
		return ast.Unparen(stmt.Rhs[0])
	}
	return stmt
}

// checkMap reports loops over maps that perform durable operations.
func (c *inspection) checkMap(n ast.Node, f *function) {
	loop, ok := n.(*ast.RangeStmt)
	if !ok || isBlank(loop.Key) && isBlank(loop.Value) || !c.isUnordered(loop.X) || !c.performsIn(loop.Body, f) {
		return
	}
	c.report(loop, "the order of a map differs on every replay, and this loop performs durable operations; "+
		"range over slices.Sorted(maps.Keys(…))")
}

// isUnordered reports whether a range over an expression has no order: a map, or keys or values
// taken from one.
func (c *inspection) isUnordered(e ast.Expr) bool {
	if every(c.info.TypeOf(e), isMap) {
		return true
	}
	call, ok := ast.Unparen(e).(*ast.CallExpr)
	if !ok {
		return false
	}
	obj := c.object(call.Fun)
	if obj == nil || obj.Pkg() == nil {
		return false
	}
	switch obj.Pkg().Path() + "." + obj.Name() {
	case "maps.All", "maps.Keys", "maps.Values", "golang.org/x/exp/maps.Keys", "golang.org/x/exp/maps.Values":
		return true
	case "slices.Collect", "slices.Values":
		return len(call.Args) == 1 && c.isUnordered(call.Args[0])
	}
	return false
}

func isMap(t types.Type) bool {
	_, ok := t.(*types.Map)
	return ok
}

func isChan(t types.Type) bool {
	_, ok := t.(*types.Chan)
	return ok
}

// every reports whether is holds for a type, or for every type of a type parameter's constraint.
func every(t types.Type, is func(underlying types.Type) bool) bool {
	switch t := t.Underlying().(type) {
	case *types.Interface: // the constraint of a type parameter
		for embedded := range t.EmbeddedTypes() {
			if every(embedded, is) {
				return true
			}
		}
		return false
	case *types.Union:
		for term := range t.Terms() {
			if !every(term.Type(), is) {
				return false
			}
		}
		return true
	default:
		return is(t)
	}
}

// checkErrors reports dropped errors of durable operations. They say that the run must end, or that
// nothing was written to the journal.
func (c *inspection) checkErrors(n ast.Node) {
	switch n := n.(type) {
	case *ast.ExprStmt:
		c.checkUnused(n.X)
	case *ast.DeferStmt:
		c.checkUnused(n.Call)
	case *ast.AssignStmt:
		checkBlanks(c, n.Lhs, n.Rhs)
	case *ast.ValueSpec:
		checkBlanks(c, n.Names, n.Values)
	}
}

func (c *inspection) checkUnused(e ast.Expr) {
	if call, ok := ast.Unparen(e).(*ast.CallExpr); ok {
		if _, last := c.returnsError(call); last {
			c.reportDropped(call)
		}
	}
}

// checkBlanks checks assignments, of one call to many variables or one to one.
func checkBlanks[E ast.Expr](c *inspection, left []E, right []ast.Expr) {
	for i, e := range right {
		call, ok := ast.Unparen(e).(*ast.CallExpr)
		if !ok {
			continue
		}
		results, last := c.returnsError(call)
		if last && i+results <= len(left) && isBlank(left[i+results-1]) {
			c.reportDropped(call)
		}
	}
}

func (c *inspection) reportDropped(call *ast.CallExpr) {
	if name := c.performed(call); name != "" {
		c.report(call, "the error of "+name+" is dropped; return it, or handle it")
	}
}

func isBlank(e ast.Expr) bool {
	if e == nil {
		return true
	}
	id, ok := e.(*ast.Ident)
	return ok && id.Name == "_"
}

const doNotNest = "steps do not nest: %s is a durable operation inside a Step; perform it before or after the Step"

// checkNesting reports durable operations in a Step.
func (c *inspection) checkNesting(f *function) {
	ast.Inspect(f.body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return false
		case *ast.CallExpr:
			if lit, _ := c.resolve(n.Fun); lit != nil && c.of[lit].inStep() {
				return true // its operations are reported there
			}
			if name := c.performed(n); name != "" {
				c.report(n, fmt.Sprintf(doNotNest, name))
			}
		}
		return true
	})
}

// checkStep reports declared functions that perform durable operations and are passed to a Step.
func (c *inspection) checkStep(call *ast.CallExpr) {
	if r, ok := given[inLibrary(c.object(call.Fun))]; !ok || r != step {
		return
	}
	for _, arg := range call.Args {
		if _, fn := c.resolve(arg); fn != nil && c.declared[fn] != nil && c.declared[fn].durable {
			c.report(arg, "steps do not nest: "+fn.Name()+" performs durable operations and is passed to a Step; call it directly")
		}
	}
}

// checkCaptures reports literals passed to Go and OnFailure that use the run of another function.
func (c *inspection) checkCaptures(lit ast.Node) {
	if _, ok := lit.(*ast.FuncLit); !ok {
		return
	}
	ast.Inspect(lit, func(n ast.Node) bool {
		e, ok := n.(ast.Expr)
		if !ok || !isRun(c.info.TypeOf(e)) && !c.promotes(e) || !c.isOutside(e, lit) {
			return true
		}
		c.report(e, types.ExprString(e)+" is the run of the enclosing function; use the run passed to this function")
		return false
	})
}

// promotes reports whether an expression is a promoted method of an embedded run.
func (c *inspection) promotes(e ast.Expr) bool {
	n, ok := e.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	selection := c.info.Selections[n]
	if selection == nil || selection.Kind() != types.MethodVal || isRun(selection.Recv()) {
		return false
	}
	fn, ok := selection.Obj().(*types.Func)
	return ok && isRun(fn.Signature().Recv().Type())
}

// isOutside reports whether a variable, or the root of a selector, is declared outside of a
// function literal.
func (c *inspection) isOutside(e ast.Expr, lit ast.Node) bool {
	for {
		switch x := ast.Unparen(e).(type) {
		case *ast.SelectorExpr:
			e = x.X
		case *ast.StarExpr:
			e = x.X
		case *ast.IndexExpr:
			e = x.X
		case *ast.Ident:
			v, ok := c.info.Uses[x].(*types.Var)
			return ok && !v.IsField() && (v.Pos() < lit.Pos() || v.Pos() >= lit.End())
		default:
			return false
		}
	}
}
