package env

import "github.com/holdfastdev/holdfast/store"

// Declare declares search attributes in the namespace: name and type in turn.
func (e *Env) Declare(all map[string]store.AttributeType) {
	e.Helper()
	e.NoError("DeclareAttributes", e.TryDeclare(all))
}

// TryDeclare is Declare with its error.
func (e *Env) TryDeclare(all map[string]store.AttributeType) error {
	params := store.DeclareAttributesParams{Namespace: Namespace}
	for name, t := range all {
		params.Attributes = append(params.Attributes, store.DeclaredAttribute{Name: name, Type: t})
	}
	return e.Store.DeclareAttributes(e.Ctx, params)
}

// Searched gives a job a search attribute.
func Searched(name string, v store.AttributeValue) func(*store.Enqueue) {
	return func(q *store.Enqueue) {
		q.Job.Attributes = store.OverAttributes(q.Job.Attributes, []store.Attribute{{Name: name, Value: v}})
	}
}

// Values are the search attributes that a job has, as "name=value".
func (e *Env) Values(id store.ID) []string {
	e.Helper()
	return ValuesOf(e.Get(id).Attributes)
}

// ValuesOf are search attributes as "name=value".
func ValuesOf(list []store.Attribute) (all []string) {
	for _, a := range list {
		all = append(all, a.Name+"="+a.Value.String())
	}
	return all
}
