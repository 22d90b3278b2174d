package expr

import (
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
	"cel.dev/cel-go/interpreter"
)

// purse is what one evaluation may still spend on the values that it makes of others. So no value
// is larger than what was in it, however often the same one is in it, and what is done with one
// value ends.
type purse struct{ left uint64 }

// decorate lets lists and maps be paid when they are made.
func (p *purse) decorate(i interpreter.InterpretableV2) (interpreter.InterpretableV2, error) {
	if made, is := i.(interpreter.InterpretableConstructor); is {
		return &paid{InterpretableConstructor: made, by: p}, nil
	}
	return i, nil
}

// paid is what makes a list or a map, and pays for it. The keys of the map come in their order.
type paid struct {
	interpreter.InterpretableConstructor

	by *purse
}

// Exec implements interpreter.InterpretableV2.
func (c *paid) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	value := c.InterpretableConstructor.Exec(frame)
	w := weight(value, c.by.left)
	if w > c.by.left {
		panic(interpreter.EvalCancelledError{Cause: interpreter.CostLimitExceeded, Message: "the values are too large"})
	}
	c.by.left -= w
	if m, isMap := value.(traits.Mapper); isMap {
		return sorted(m)
	}
	return value
}

// Eval implements interpreter.Interpretable.
func (c *paid) Eval(vars interpreter.Activation) ref.Val { return c.Exec(interpreter.AsFrame(vars)) }

// CallCost implements interpreter.ActualCostEstimator. The library knows what calls cost whose
// types are known when an expression is compiled; those of JSON are not. What compares values costs
// as much as there is to compare, what puts lists together as much as there is in them, and any
// call as much as there is to read and to write of texts.
func (*purse) CallCost(function, _ string, args []ref.Val, result ref.Val) *uint64 {
	cost := 1 + lengthOf(result)
	for _, arg := range args {
		cost += lengthOf(arg)
	}
	list, isList := result.(traits.Lister)
	_, grows := result.(traits.MutableLister) // one element at a time, which was paid
	switch {
	case len(args) != 2:
	case function == operators.Equals || function == operators.NotEquals:
		cost = lighter(args[0], args[1])
	case function == operators.In || function == operators.OldIn:
		if _, isMap := args[1].(traits.Mapper); !isMap { // which finds it at once
			cost = weight(args[1], mostSteps)
		}
	case function == operators.Add && isList && !grows:
		cost += uint64(sizeOf(list))
	}
	return &cost
}

// lighter is the weight of the lighter one of two values, or one above mostSteps. It looks at no
// more than about twice as much of either: what it costs to know the cost is in proportion to it.
func lighter(a, b ref.Val) uint64 {
	for limit := uint64(16); ; limit *= 2 {
		limit = min(limit, mostSteps)
		if w := min(weight(a, limit), weight(b, limit)); w <= limit || limit == mostSteps {
			return w
		}
	}
}

// lengthOf is what a text weighs.
func lengthOf(value ref.Val) uint64 {
	switch v := value.(type) {
	case types.String:
		return uint64(len(v)) / textWeight
	case types.Bytes:
		return uint64(len(v)) / textWeight
	default:
		return 0
	}
}

// textWeight is how many bytes of a text weigh as much as a value.
const textWeight = 10

// weight is how many values are in a value, itself included, but no more than one above a limit.
func weight(value ref.Val, limit uint64) uint64 {
	w := weigher{left: limit}
	if !w.add(value) {
		return limit + 1
	}
	return limit - w.left
}

type weigher struct{ left uint64 }

// pay reports whether there is as much left.
func (w *weigher) pay(n uint64) bool {
	if n > w.left {
		return false
	}
	w.left -= n
	return true
}

func (w *weigher) add(value ref.Val) bool {
	switch v := value.(type) {
	case traits.Lister:
		n := sizeOf(v)
		if n < 0 || uint64(n) > w.left || !w.pay(1) {
			return false
		}
		for i := range n {
			if !w.add(v.Get(types.Int(i))) {
				return false
			}
		}
		return true
	case traits.Mapper:
		if n := sizeOf(v); n < 0 || uint64(n) > w.left || !w.pay(1) {
			return false
		}
		for it := v.Iterator(); it.HasNext() == types.True; {
			key := it.Next()
			if !w.add(key) || !w.add(v.Get(key)) {
				return false
			}
		}
		return true
	default:
		return w.pay(1 + lengthOf(v))
	}
}
