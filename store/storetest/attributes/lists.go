package attributes

import (
	"slices"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

var listTests = env.Tests{
	"jobs_are_found_by_a_value_in_both_orders_page_by_page": byValue,
	"ranges_of_every_type_are_in_the_order_of_the_values":   ranges,
	"several_must_all_fit":                                  several,
	"other_fields_and_orders_go_along":                      along,
	"jobs_of_other_namespaces_are_not_found":                otherSpace,
	"a_text_is_read_as_the_declared_type":                   texts,
	"what_cannot_be_asked_is_refused":                       cannotAsk,
}

func match(name string, op store.AttributeOp, v store.AttributeValue) store.AttributeMatch {
	return store.AttributeMatch{Name: name, Op: op, Value: v}
}

func matching(name string, op store.AttributeOp, v store.AttributeValue) store.Filter {
	return filter(match(name, op, v))
}

func filter(all ...store.AttributeMatch) store.Filter {
	return store.Filter{Namespace: env.Namespace, Attributes: all}
}

func byValue(e *env.Env) {
	e.Declare(allTypes)
	var ids []store.ID
	for i := range 7 {
		name := "acme"
		if i == 3 {
			name = "acme2"
		}
		id := e.Add(env.Searched("customer", store.KeywordValue(name)))
		if i != 3 {
			ids = append(ids, id)
		}
		e.Add()
	}
	f := matching("customer", store.AttributeIs, store.KeywordValue("acme"))
	e.Equal("counted", e.Count(f), len(ids))
	for _, limit := range []int{1, 2, 100} {
		e.WantIDs("oldest first", e.Sorted(store.SortOldest, f, limit), ids...)
	}
	slices.Reverse(ids)
	for _, limit := range []int{1, 2, 100} {
		e.WantIDs("newest first", e.Sorted(store.SortNewest, f, limit), ids...)
	}
}

func ranges(e *env.Env) {
	day := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for name, values := range map[string][]store.AttributeValue{
		"amount": {
			store.IntValue(-1 << 63), store.IntValue(-2), store.IntValue(0), store.IntValue(255), store.IntValue(256), store.IntValue(1<<63 - 1),
		},
		"share": {store.FloatValue(-1e300), store.FloatValue(-0.5), store.FloatValue(0), store.FloatValue(1e-9), store.FloatValue(3)},
		"customer": {
			store.KeywordValue("B"), store.KeywordValue("a"), store.KeywordValue("aa"), store.KeywordValue("b"), store.KeywordValue("ä"),
		},
		"paid": {store.BoolValue(false), store.BoolValue(true)},
		"at":   {store.TimeValue(time.Unix(-5, 0)), store.TimeValue(day), store.TimeValue(day.Add(time.Microsecond))},
	} {
		e.Declare(map[string]store.AttributeType{name: values[0].Type})
		var ids []store.ID
		for _, v := range values {
			ids = append(ids, e.Add(env.Searched(name, v)))
		}
		for i, v := range values {
			for op, want := range map[store.AttributeOp][]store.ID{
				store.AttributeIs: ids[i : i+1], store.AttributeBelow: ids[:i], store.AttributeUpTo: ids[:i+1],
				store.AttributeAbove: ids[i+1:], store.AttributeFrom: ids[i:],
			} {
				what := name + " " + string(op) + " " + v.String()
				e.WantIDs(what, e.Sorted(store.SortOldest, matching(name, op, v), 2), want...)
				e.Equal(what, e.Count(matching(name, op, v)), len(want))
			}
		}
		e.WantIDs(name, e.Sorted(store.SortOldest, matching(name, store.AttributeIsThere, store.AttributeValue{}), 2), ids...)
		middle := filter(match(name, store.AttributeFrom, values[0]), match(name, store.AttributeBelow, values[len(values)-1]))
		e.WantIDs(name+" between", e.Sorted(store.SortOldest, middle, 2), ids[:len(ids)-1]...)
	}
	e.Equal("there is one zero", store.FloatValue(-1/inf()), store.FloatValue(0))
}

// inf is a number that the compiler does not know.
func inf() float64 {
	zero := float64(len(""))
	return 1 / zero
}

func several(e *env.Env) {
	e.Declare(allTypes)
	a := e.Add(acme, amount7)
	b := e.Add(acme, env.Searched("amount", store.IntValue(8)))
	c := e.Add(acme)
	d := e.Add(amount7)
	isAcme := match("customer", store.AttributeIs, store.KeywordValue("acme"))
	e.WantIDs("both", e.ListIDs(filter(isAcme, match("amount", store.AttributeIs, store.IntValue(7)))), a)
	e.WantIDs("both", e.ListIDs(filter(match("amount", store.AttributeFrom, store.IntValue(7)), isAcme)), b, a)
	e.WantIDs("there", e.ListIDs(filter(match("amount", store.AttributeIsThere, store.AttributeValue{}))), d, b, a)
	e.WantIDs("two values", e.ListIDs(filter(isAcme, match("customer", store.AttributeIs, store.KeywordValue("other")))))
	above, below := match("amount", store.AttributeAbove, store.IntValue(7)), match("amount", store.AttributeBelow, store.IntValue(8))
	e.WantIDs("an empty range", e.ListIDs(filter(above, below)))
	e.WantIDs("one", e.ListIDs(filter(isAcme)), c, b, a)
}

func along(e *env.Env) {
	e.Declare(allTypes)
	node := e.Join()
	var ids []store.ID
	for i := range 4 {
		id := e.Add(acme, env.Searched("amount", store.IntValue(int64(i))), func(q *store.Enqueue) { q.Job.Tags = []string{"t"} })
		ids = append(ids, id)
		e.Add(func(q *store.Enqueue) { q.Job.Tags = []string{"t"} })
	}
	e.End(e.ClaimOne(node, ids[0]), store.Completed)
	e.Clock.Advance(time.Second)
	for _, id := range ids[1:] {
		for _, c := range e.Claim(node, 1) {
			e.End(c, store.Failed)
		}
		e.Clock.Advance(time.Second)
		_ = id
	}
	isAcme := match("customer", store.AttributeIs, store.KeywordValue("acme"))
	for _, states := range [][]store.State{{store.Completed}, {store.Failed}, {store.Available}, {store.Available, store.Failed}, nil} {
		var want []store.ID
		for _, r := range e.List(store.Filter{Namespace: env.Namespace, States: states}, 100) {
			if slices.Contains(ids, r.ID) {
				want = append(want, r.ID)
			}
		}
		f := filter(isAcme)
		f.States = states
		e.WantIDs("in states", e.ListIDs(f), want...)
		e.Equal("counted", e.Count(f), len(want))
		f.Attributes = append(f.Attributes, match("amount", store.AttributeFrom, store.IntValue(0)))
		e.WantIDs("in states, by two", e.ListIDs(f), want...)
	}
	for _, sort := range []store.Sort{store.SortFinished, store.SortRunAt} {
		var want []store.ID
		for _, id := range e.Sorted(sort, store.Filter{Namespace: env.Namespace}, 100) {
			if slices.Contains(ids, id) {
				want = append(want, id)
			}
		}
		e.WantIDs("sorted by "+sort.String(), e.Sorted(sort, filter(isAcme), 1), want...)
	}
	f := filter(isAcme)
	f.IDs = []store.ID{ids[2], e.Add(amount7)}
	e.WantIDs("by id", e.ListIDs(f), ids[2])
	f = filter(isAcme)
	f.Queues = []string{"nothing"}
	e.WantIDs("in another queue", e.ListIDs(f))
	f.Queues, f.Tags = nil, []string{"t"}
	e.Equal("by tag", e.Count(f), len(ids))
	f.Tags = []string{"other"}
	e.Equal("by another tag", e.Count(f), 0)
}

func otherSpace(e *env.Env) {
	e.Declare(allTypes)
	own := e.Add(acme)
	other := e.InOtherSpace()
	e.NoError("in another namespace", e.Store.DeclareAttributes(e.Ctx, store.DeclareAttributesParams{
		Namespace: other.Job().Job.Namespace, Attributes: []store.DeclaredAttribute{{Name: "customer", Type: keyword}},
	}))
	theirs := other.Add(acme)
	f := matching("customer", store.AttributeIs, store.KeywordValue("acme"))
	e.WantIDs("own", e.ListIDs(f), own)
	f.Namespace = other.Job().Job.Namespace
	e.WantIDs("theirs", e.ListIDs(f), theirs)
}

func cannotAsk(e *env.Env) {
	e.Declare(allTypes)
	e.Add(acme)
	one := store.IntValue(1)
	many := make([]store.AttributeMatch, store.MaxAttributeMatches+1)
	for i := range many {
		many[i] = match("amount", store.AttributeFrom, one)
	}
	for what, f := range map[string]store.Filter{
		"not declared":     matching("nobody", store.AttributeIs, one),
		"another type":     matching("customer", store.AttributeIs, one),
		"no comparison":    matching("amount", "~", one),
		"no value":         matching("amount", store.AttributeIs, store.AttributeValue{}),
		"a needless one":   matching("amount", store.AttributeIsThere, one),
		"no name":          matching("a b", store.AttributeIs, one),
		"too many":         filter(many...),
		"no namespace":     {Attributes: []store.AttributeMatch{match("amount", store.AttributeIs, one)}},
		"of another space": {Namespace: "elsewhere", Attributes: []store.AttributeMatch{match("amount", store.AttributeIs, one)}},
	} {
		_, err := e.Store.List(e.Ctx, store.ListParams{Filter: f, Limit: 1})
		e.WantErr("List: "+what, err, store.ErrInvalid)
		_, err = e.Store.Count(e.Ctx, store.CountParams{Filter: f})
		e.WantErr("Count: "+what, err, store.ErrInvalid)
	}
}

func texts(e *env.Env) {
	e.Declare(allTypes)
	id := e.Add(amount7, acme)
	e.Add(env.Searched("amount", store.IntValue(10)))
	f := filter(match("amount", store.AttributeBelow, store.TextValue("10")), match("customer", store.AttributeIs, store.TextValue("acme")))
	e.WantIDs("by texts", e.ListIDs(f), id)
	_, err := e.Store.List(e.Ctx, store.ListParams{Filter: filter(match("amount", store.AttributeIs, store.TextValue("x"))), Limit: 1})
	e.WantErr("a text that is no number", err, store.ErrInvalid)
	_, err = e.Store.List(e.Ctx, store.ListParams{Filter: filter(match("amount", store.AttributeIs, store.TextValue("\xff"))), Limit: 1})
	e.WantErr("a text that is none", err, store.ErrInvalid)
	e.WantErr("an enqueue with a text", e.Try(env.Searched("amount", store.TextValue("7"))).Err, store.ErrInvalid)
}
