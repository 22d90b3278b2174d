package attributes

import (
	"fmt"
	"strings"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

var declareTests = env.Tests{
	"they_are_declared_once_and_listed_by_name":       declared,
	"another_type_is_refused_and_nothing_declared":    otherType,
	"a_namespace_has_its_own":                         perNamespace,
	"there_are_a_hundred_at_most":                     atMost,
	"what_is_no_name_or_type_is_refused":              noNames,
	"one_is_removed_in_pieces_and_not_seen_meanwhile": removed,
	"one_that_is_not_there_is_not_removed":            notThere,
}

const (
	keyword = store.AttributeKeyword
	integer = store.AttributeInt
)

func namesOf(e *env.Env, namespace string) (names []string) {
	e.Helper()
	all, err := e.Store.DeclaredAttributes(e.Ctx, namespace)
	e.NoError("DeclaredAttributes", err)
	for _, a := range all {
		text := a.Name + " " + a.Type.String()
		if a.Leaving {
			text += " leaving"
		}
		names = append(names, text)
	}
	return names
}

func declared(e *env.Env) {
	e.Declare(map[string]store.AttributeType{"customer": keyword, "amount": integer})
	first, err := e.Store.DeclaredAttributes(e.Ctx, env.Namespace)
	e.NoError("DeclaredAttributes", err)
	if at := first[0].DeclaredAt; !at.Equal(e.Clock.Now().Truncate(time.Microsecond)) {
		e.Fatalf("it was declared at %v", at)
	}
	e.Clock.Advance(time.Second)
	e.Declare(map[string]store.AttributeType{"customer": keyword, "at": store.AttributeTime})
	e.Equal("declared", namesOf(e, env.Namespace), []string{"amount int", "at time", "customer keyword"})
	again, err := e.Store.DeclaredAttributes(e.Ctx, env.Namespace)
	e.NoError("DeclaredAttributes", err)
	e.Equal("one that was declared before", again[0], first[0])
	e.Declare(nil)
}

func otherType(e *env.Env) {
	e.Declare(map[string]store.AttributeType{"amount": integer})
	err := e.TryDeclare(map[string]store.AttributeType{"amount": store.AttributeFloat, "new": keyword})
	e.WantErr("another type", err, store.ErrInvalid)
	for _, word := range []string{"amount", "int", "float"} {
		if !strings.Contains(err.Error(), word) {
			e.Fatalf("the error does not say %s: %v", word, err)
		}
	}
	e.Equal("declared", namesOf(e, env.Namespace), []string{"amount int"})
	twice := store.DeclareAttributesParams{Namespace: env.Namespace, Attributes: []store.DeclaredAttribute{
		{Name: "x", Type: integer}, {Name: "x", Type: keyword},
	}}
	e.WantErr("two types at once", e.Store.DeclareAttributes(e.Ctx, twice), store.ErrInvalid)
}

func perNamespace(e *env.Env) {
	e.Declare(map[string]store.AttributeType{"customer": keyword})
	e.Equal("of another namespace", namesOf(e, "other"), nil)
	e.NoError("in another namespace", e.Store.DeclareAttributes(e.Ctx, store.DeclareAttributesParams{
		Namespace: "other", Attributes: []store.DeclaredAttribute{{Name: "customer", Type: integer}},
	}))
	e.Equal("of another namespace", namesOf(e, "other"), []string{"customer int"})
	e.Equal("declared", namesOf(e, env.Namespace), []string{"customer keyword"})
}

func atMost(e *env.Env) {
	all := map[string]store.AttributeType{}
	for i := range store.MaxAttributes {
		all[fmt.Sprintf("a%02d", i)] = keyword
	}
	e.Declare(all)
	e.WantErr("one more", e.TryDeclare(map[string]store.AttributeType{"more": keyword}), store.ErrInvalid)
	e.Declare(all)
	e.Equal("declared", len(namesOf(e, env.Namespace)), store.MaxAttributes)
}

func noNames(e *env.Env) {
	for _, name := range []string{"", "1a", ".a", "-a", "a b", "a=b", "ä", "a\x00", "a>", strings.Repeat("a", store.MaxAttributeName+1)} {
		e.WantErr("the name "+name, e.TryDeclare(map[string]store.AttributeType{name: keyword}), store.ErrInvalid)
	}
	for _, t := range []store.AttributeType{0, 6, 200} {
		e.WantErr("a type", e.TryDeclare(map[string]store.AttributeType{"a": t}), store.ErrInvalid)
	}
	e.WantErr("no namespace", e.Store.DeclareAttributes(e.Ctx, store.DeclareAttributesParams{}), store.ErrInvalid)
	e.Declare(map[string]store.AttributeType{"_a.b-C9": keyword, strings.Repeat("a", store.MaxAttributeName): keyword})
	for _, limit := range []int{0, -1, 10_001} {
		_, err := e.Store.RemoveAttribute(e.Ctx, store.RemoveAttributeParams{Namespace: env.Namespace, Name: "_a.b-C9", Limit: limit})
		e.WantErr("a limit", err, store.ErrInvalid)
	}
}

// remove takes out a piece of the attribute "customer", and reports whether there is more of it.
func remove(e *env.Env, limit int) bool {
	e.Helper()
	more, err := e.Store.RemoveAttribute(e.Ctx, store.RemoveAttributeParams{Namespace: env.Namespace, Name: "customer", Limit: limit})
	e.NoError("RemoveAttribute", err)
	return more
}

func removed(e *env.Env) {
	e.Declare(map[string]store.AttributeType{"customer": keyword, "amount": integer})
	var ids []store.ID
	for i := range 5 {
		ids = append(ids, e.Add(env.Searched("customer", store.KeywordValue("acme")), env.Searched("amount", store.IntValue(int64(i)))))
	}
	e.Equal("the first piece leaves more", remove(e, 2), true)
	for _, id := range ids {
		if values := e.Values(id); len(values) != 1 {
			e.Fatalf("of an attribute that is being removed something is seen: %q", values)
		}
	}
	late := e.Add(env.Searched("customer", store.KeywordValue("late")))
	e.Equal("a value that comes meanwhile", e.Values(late), nil)
	_, err := e.Store.List(e.Ctx, store.ListParams{Filter: matching("customer", store.AttributeIs, store.KeywordValue("acme")), Limit: 10})
	e.WantErr("a filter", err, store.ErrInvalid)
	e.WantErr("declaring it", e.TryDeclare(map[string]store.AttributeType{"customer": keyword}), store.ErrConflict)
	e.Equal("declared", namesOf(e, env.Namespace), []string{"amount int", "customer keyword leaving"})
	e.Equal("the second piece leaves more", remove(e, 2), true)
	e.Equal("the last piece leaves more", remove(e, 2), false)
	e.Equal("declared", namesOf(e, env.Namespace), []string{"amount int"})
	e.Declare(map[string]store.AttributeType{"customer": integer})
	e.WantIDs("jobs with a value", e.ListIDs(matching("customer", store.AttributeIsThere, store.AttributeValue{})))
	e.Equal("the other attribute", e.Values(ids[3]), []string{"amount=3"})
}

func notThere(e *env.Env) {
	_, err := e.Store.RemoveAttribute(e.Ctx, store.RemoveAttributeParams{Namespace: env.Namespace, Name: "customer", Limit: 1})
	e.WantErr("RemoveAttribute", err, store.ErrNotFound)
	e.NoError("in another namespace", e.Store.DeclareAttributes(e.Ctx, store.DeclareAttributesParams{
		Namespace: "other", Attributes: []store.DeclaredAttribute{{Name: "customer", Type: keyword}},
	}))
	_, err = e.Store.RemoveAttribute(e.Ctx, store.RemoveAttributeParams{Namespace: env.Namespace, Name: "customer", Limit: 1})
	e.WantErr("RemoveAttribute of another namespace", err, store.ErrNotFound)
	_, err = e.Store.RemoveAttribute(e.Ctx, store.RemoveAttributeParams{Namespace: env.Namespace, Name: "a b", Limit: 1})
	e.WantErr("RemoveAttribute of what is no name", err, store.ErrInvalid)
}
