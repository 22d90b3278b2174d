package expr

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"unicode/utf8"

	"cel.dev/cel-go/cel"
	celast "cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/env"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/interpreter"
)

// Expr is a compiled expression. It may be used concurrently.
type Expr struct {
	env      *cel.Env
	ast      *cel.Ast
	variable string
}

// environments are those of variables, which are made once.
var environments sync.Map // of string, *cel.Env

func environment(variable string) (*cel.Env, error) {
	if made, ok := environments.Load(variable); ok {
		return made.(*cel.Env), nil //nolint:errcheck // always one
	}
	e, err := cel.NewCustomEnv(
		cel.StdLib(cel.StdLibSubset(env.NewLibrarySubset().AddExcludedFunctions(env.NewFunction("matches")))),
		cel.Variable(variable, cel.DynType),
		cel.ParserExpressionSizeLimit(MaxText),
		cel.ParserRecursionLimit(deepest),
		cel.ExpressionNestingDepthLimit(deepest),
		cel.ParserErrorRecoveryLimit(1),
	)
	if err != nil {
		return nil, fmt.Errorf("cannot make an environment of expressions: %w", err)
	}
	made, _ := environments.LoadOrStore(variable, e)
	return made.(*cel.Env), nil //nolint:errcheck // always one
}

// Condition compiles an expression over a variable that is true or false.
func Condition(text, variable string) (*Expr, error) {
	x, err := Compile(text, variable)
	if err != nil {
		return nil, err
	}
	if t := x.ast.OutputType(); !t.IsExactType(cel.BoolType) && !t.IsExactType(cel.DynType) {
		return nil, &CompileError{Reason: fmt.Sprintf("its value is of the type %s; it is to be true or false", t)}
	}
	return x, nil
}

// Compile compiles an expression over a variable.
func Compile(text, variable string) (x *Expr, err error) {
	switch {
	case len(text) > MaxText:
		return nil, &CompileError{Reason: fmt.Sprintf("it has %d bytes, and may have %d", len(text), MaxText)}
	case !utf8.ValidString(text):
		return nil, &CompileError{Reason: "it is not valid UTF-8"}
	case strings.ContainsRune(text, 0):
		return nil, &CompileError{Reason: "it contains the character zero"}
	}
	e, err := environment(variable)
	if err != nil {
		return nil, err
	}
	defer func() {
		if broken := recover(); broken != nil {
			x, err = nil, &CompileError{Reason: fmt.Sprintf("it cannot be compiled: %v", broken)}
		}
	}()
	ast, issues := e.Compile(text)
	if all := issues.Errors(); len(all) > 0 {
		refused := &CompileError{Reason: oneLine(strings.TrimSuffix(all[0].Message, " (in container '')"))}
		if at := all[0].Location; at.Line() > 0 {
			refused.Line, refused.Column = at.Line(), max(at.Column()+1, 1)
		}
		return nil, refused
	}
	if len(celast.MatchDescendants(celast.NavigateAST(ast.NativeRep()), celast.KindMatcher(celast.StructKind))) > 0 {
		return nil, &CompileError{Reason: "it makes a message of Protocol Buffers; make a map, such as {\"name\": value}"}
	}
	x = &Expr{env: e, ast: ast, variable: variable}
	if _, err := x.program(&purse{}); err != nil {
		return nil, &CompileError{Reason: oneLine(err.Error())}
	}
	return x, nil
}

// program plans an evaluation that pays from a purse.
func (x *Expr) program(p *purse) (cel.Program, error) {
	return x.env.Program(x.ast, cel.CostTracking(p), cel.CostLimit(mostSteps), cel.CustomDecoratorV2(p.decorate))
}

// Holds evaluates a condition over JSON. Neither true nor false is an *EvalError.
func (x *Expr) Holds(json []byte) (bool, error) {
	value, err := x.eval(json)
	if err != nil {
		return false, err
	}
	is, ok := value.(types.Bool)
	if !ok {
		return false, &EvalError{Reason: fmt.Sprintf("its value is of the type %s; it is to be true or false", value.Type().TypeName())}
	}
	return bool(is), nil
}

// JSON evaluates an expression over JSON, and returns its value as JSON.
func (x *Expr) JSON(json []byte) ([]byte, error) {
	value, err := x.eval(json)
	if err != nil {
		return nil, err
	}
	return encode(value)
}

func (x *Expr) eval(json []byte) (value ref.Val, err error) {
	input, err := decode(json)
	if err != nil {
		return nil, err
	}
	program, err := x.program(&purse{left: mostValues})
	if err != nil {
		return nil, &EvalError{Reason: oneLine(err.Error())}
	}
	value, _, err = program.Eval(map[string]any{x.variable: input})
	if spent, is := errors.AsType[interpreter.EvalCancelledError](err); is && spent.Cause == interpreter.CostLimitExceeded {
		return nil, &EvalError{Reason: fmt.Sprintf("it takes too long: it may take %d steps, and make %d values", mostSteps, mostValues)}
	}
	if err != nil {
		return nil, &EvalError{Reason: oneLine(err.Error())}
	}
	return value, nil
}
