package attributes

import (
	"context"
	"slices"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/internal/audited"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/core"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/db"
)

// Verbs are those of store.Attributes.
type Verbs struct{ d *core.Database }

// New returns the verbs of a database.
func New(d *core.Database) Verbs { return Verbs{d} }

// DeclareAttributes implements store.Attributes.
func (v Verbs) DeclareAttributes(ctx context.Context, params store.DeclareAttributesParams) error {
	if err := params.Check(); err != nil {
		return err
	}
	return v.d.Write(ctx, "declare search attributes", func(t *core.Tx) error {
		all, err := Declared(t, params.Namespace)
		if err != nil {
			return err
		}
		there := map[string]store.DeclaredAttribute{}
		for _, a := range all {
			there[a.Name] = a.DeclaredAttribute
		}
		for _, a := range params.Attributes {
			switch before, is := there[a.Name]; {
			case is && before.Leaving:
				return store.LeavingAttribute(params.Namespace, a.Name)
			case is && before.Type != a.Type:
				return store.OtherAttributeType(params.Namespace, a.Name, before.Type, a.Type)
			case is:
				continue
			}
			there[a.Name] = a
			if len(there) > store.MaxAttributes {
				return store.TooManyAttributes(params.Namespace, len(there))
			}
			if err := put(t, "attribute_insert", params.Namespace, a, t.Now); err != nil {
				return err
			}
			if err := core.AuditChange(t, 0, audited.AttributeDeclared(&params, &a)); err != nil {
				return err
			}
		}
		return nil
	})
}

func put(t *core.Tx, statement, namespace string, a store.DeclaredAttribute, at int64) error {
	s := t.Stmt(statement)
	s.BindText(namespace)
	s.BindText(a.Name)
	s.BindInt(int64(a.Type))
	s.BindInt(at)
	s.BindInt(db.BoolInt(a.Leaving))
	return db.Exec(s)
}

// Attribute is one that is declared, with the number that values have.
type Attribute struct {
	store.DeclaredAttribute

	ID int64
}

// Declared are those of a namespace, by name.
func Declared(t *core.Tx, namespace string) (all []Attribute, err error) {
	s := t.Stmt("attributes_declared")
	s.BindText(namespace)
	return all, db.Each(s, func() error {
		a := Attribute{ID: s.ReadInt()}
		a.Name, a.Type, a.DeclaredAt = s.ReadText(), store.AttributeType(s.ReadInt()), db.ReadTime(s)
		a.Leaving = s.ReadInt() != 0
		all = append(all, a)
		return nil
	})
}

// DeclaredAttributes implements store.Attributes.
func (v Verbs) DeclaredAttributes(ctx context.Context, namespace string) (all []store.DeclaredAttribute, err error) {
	err = v.d.Read(ctx, "list search attributes", func(t *core.Tx) error {
		all = []store.DeclaredAttribute{}
		declared, err := Declared(t, namespace)
		for _, a := range declared {
			all = append(all, a.DeclaredAttribute)
		}
		return err
	})
	return all, err
}

// leave begins to remove an attribute, unless that has begun, and returns its number.
func leave(t *core.Tx, params *store.RemoveAttributeParams) (id int64, err error) {
	all, err := Declared(t, params.Namespace)
	if err != nil {
		return 0, err
	}
	at := slices.IndexFunc(all, func(a Attribute) bool { return a.Name == params.Name })
	if at < 0 {
		return 0, store.NoAttribute(params.Namespace, params.Name)
	}
	a := &all[at]
	if a.Leaving {
		return a.ID, nil
	}
	s := t.Stmt("attribute_leave")
	s.BindInt(a.ID)
	if err := db.Exec(s); err != nil {
		return 0, err
	}
	return a.ID, core.AuditChange(t, 0, audited.AttributeRemoved(params, a.Type))
}

// RemoveAttribute implements store.Attributes.
func (v Verbs) RemoveAttribute(ctx context.Context, params store.RemoveAttributeParams) (more bool, err error) {
	if err := params.Check(); err != nil {
		return false, err
	}
	err = v.d.Write(ctx, "remove the search attribute "+params.Name, func(t *core.Tx) error {
		id, err := leave(t, &params)
		if err != nil {
			return err
		}
		s := t.Stmt("attribute_values_remove")
		s.BindInt(id)
		s.BindInt(int64(params.Limit))
		removed, err := s.Exec()
		if more = removed >= int64(params.Limit); err != nil || more {
			return err
		}
		s = t.Stmt("attribute_delete")
		s.BindInt(id)
		return db.Exec(s)
	})
	return more, err
}
