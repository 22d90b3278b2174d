// Package expr compiles and evaluates expressions of CEL, the Common Expression Language, over one
// variable, which holds JSON.
//
//	expr    an expression: compiled, and evaluated to true or false or to JSON
//	spend   what an evaluation may cost
//	value   JSON as the values of the language, and back
//	bounds  how large all of it may be, and the errors
//
// # What it promises
//
// An expression has the same result for the same JSON, whenever and wherever: it knows no clock and
// no random numbers, and reads nothing but its variable. Integers that fit 64 bits are exact, in
// and out.
//
// Both the expression and the JSON may come from outside. So all is bounded: the length of the text
// (MaxText), what an evaluation costs, and the size of its result. The library counts the steps of
// an evaluation, and takes some for equally cheap that are not: a value that holds the same list
// again and again is small in memory, and takes for ever to compare. What is made of lists and maps
// and what is compared is therefore counted here, element by element (spend.go). Regular
// expressions are left out: how long one takes cannot be told beforehand.
//
// # How it fails
//
// Compile returns a *CompileError, which is an ErrInvalid and says where in the text it is.
// Evaluations return an *EvalError. Nothing is guessed: what there is no value for is an error,
// such as a field that is not there.
//
// # Imports
//
// Of ours, store. No other package imports cel-go; the root package and the stores do not link it.
package expr
