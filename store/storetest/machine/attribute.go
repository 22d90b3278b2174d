package machine

import (
	"maps"
	"math"
	"slices"
	"time"

	"pgregory.net/rapid"

	"github.com/holdfastdev/holdfast/store"
)

// searchable are the search attributes that stay declared; another one comes and goes.
var searchable = map[string]store.AttributeType{
	"amount": store.AttributeInt, "at": store.AttributeTime, "customer": store.AttributeKeyword, "share": store.AttributeFloat,
}

const fleeting = "fleeting"

// search declares search attributes.
func (m *machine) search() {
	params := store.DeclareAttributesParams{Namespace: m.namespace}
	for name, t := range searchable {
		params.Attributes = append(params.Attributes, store.DeclaredAttribute{Name: name, Type: t})
	}
	m.must("DeclareAttributes", m.store.DeclareAttributes(m.ctx, params), m.model.DeclareAttributes(m.ctx, params))
}

func (m *machine) attributeActions() map[string]func(*rapid.T) {
	if !m.mode.searched {
		return nil
	}
	all := map[string]func(*rapid.T){"searchvalues": m.listByAttribute, "searchvalues2": m.listByAttribute}
	if !m.mode.lossy { // a piece that was removed and whose answer was lost is followed by another one
		all["declare"], all["undeclare"] = m.declareFleeting, m.removeFleeting
	}
	return all
}

// declareFleeting declares an attribute, with any type.
func (m *machine) declareFleeting(t *rapid.T) {
	params := store.DeclareAttributesParams{Namespace: m.namespace, Attributes: []store.DeclaredAttribute{
		{Name: fleeting, Type: pick(t, "type", store.AttributeKeyword, store.AttributeBool)},
	}}
	m.alike("DeclareAttributes", m.store.DeclareAttributes(m.ctx, params), m.model.DeclareAttributes(m.ctx, params))
}

// removeFleeting removes a piece of it.
func (m *machine) removeFleeting(t *rapid.T) {
	params := store.RemoveAttributeParams{Namespace: m.namespace, Name: fleeting, Limit: pick(t, "limit", 1, 100)}
	_, err := m.store.RemoveAttribute(m.ctx, params)
	_, want := m.model.RemoveAttribute(m.ctx, params)
	m.alike("RemoveAttribute", err, want)
}

// alike checks that both sides fail alike, or do not.
func (m *machine) alike(op string, got, want error) {
	m.t.Helper()
	if (got == nil) != (want == nil) || got != nil && got.Error() != want.Error() {
		m.t.Fatalf("%s: %v on the store, and %v on the model", op, got, want)
	}
}

// anyAttributes draws values, mostly of what is declared so. If unset some are without one.
func (m *machine) anyAttributes(t *rapid.T, unset bool) (list []store.Attribute) {
	if !m.mode.searched {
		return nil
	}
	for range rapid.IntRange(0, 3).Draw(t, "attributes") {
		name := pick(t, "attribute", append(slices.Sorted(maps.Keys(searchable)), fleeting, "undeclared")...)
		a := store.Attribute{Name: name}
		if !unset || !chance(t, "unset", 30) {
			a.Value = m.anyValue(t, name)
		}
		list = store.OverAttributes(list, []store.Attribute{a})
	}
	return list
}

func (m *machine) anyValue(t *rapid.T, name string) store.AttributeValue {
	typ := searchable[name]
	if typ == 0 {
		typ = pick(t, "type", store.AttributeKeyword, store.AttributeBool)
	}
	switch typ {
	case store.AttributeKeyword:
		return store.KeywordValue(pick(t, "keyword", "acme", "acme2", "Z", "é"))
	case store.AttributeInt:
		return store.IntValue(pick(t, "int", int64(0), 1, -1, 256, math.MinInt64, math.MaxInt64))
	case store.AttributeFloat:
		return store.FloatValue(pick(t, "float", 0.0, 0.5, -0.5, 1e300, -1e300))
	case store.AttributeBool:
		return store.BoolValue(rapid.Bool().Draw(t, "bool"))
	default:
		return store.TimeValue(time.Unix(pick(t, "time", int64(0), -1, 1, 1_700_000_000), 0))
	}
}

// anyAttributeMatch draws what a filter wants of search attributes.
func (m *machine) anyAttributeMatch(t *rapid.T, f *store.Filter) {
	if !m.mode.searched {
		return
	}
	name := pick(t, "attribute", slices.Sorted(maps.Keys(searchable))...)
	match := store.AttributeMatch{Name: name, Op: pick(t, "op", append(store.AttributeOps, store.AttributeIs, store.AttributeIs)...)}
	if match.Op != store.AttributeIsThere {
		match.Value = m.anyValue(t, name)
	}
	f.Attributes = append(f.Attributes, match)
}

// listByAttribute compares which jobs are found by one value or range, in all orders.
func (m *machine) listByAttribute(t *rapid.T) {
	f := store.Filter{Namespace: m.namespace}
	m.anyAttributeMatch(t, &f)
	for _, sort := range []store.Sort{store.SortNewest, store.SortOldest} {
		params := store.ListParams{Filter: f, Sort: sort, Limit: rapid.IntRange(1, 5).Draw(t, "limit")}
		m.same("List by "+m.filterText(&f, -1), m.names(m.pages(m.store, params)), m.names(m.pages(m.model, params)))
	}
}
