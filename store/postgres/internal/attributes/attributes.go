// Package attributes has what namespaces have declared of search attributes, in the table
// attribute, and removes what jobs have for it, in attribute_value. What sets values is in package
// pg, and what looks for them in package read.
//
// It imports local, pg and store.
package attributes

import (
	"context"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/internal/audited"
	"github.com/holdfastdev/holdfast/store/postgres/internal/local"
	"github.com/holdfastdev/holdfast/store/postgres/internal/pg"
)

// Store is what is done with search attributes.
type Store struct{ *local.Store }

// DeclareAttributes is that of store.Attributes, without the class of its error. What is declared
// already takes no lock.
func (s *Store) DeclareAttributes(ctx context.Context, params store.DeclareAttributesParams) error {
	if err := params.Check(); err != nil {
		return err
	}
	there, err := s.DeclaredAttributes(ctx, params.Namespace)
	if err != nil {
		return err
	}
	if missing, err := missing(&params, there); err != nil || len(missing) == 0 {
		return err
	}
	return pg.RetryOnConflict(ctx, func() error {
		return s.InTx(ctx, pg.BeginHot, func(t pg.Session) error {
			if err := t.Run(ctx, "attributes_lock", nil); err != nil {
				return err
			}
			there, err := Declared(ctx, t, params.Namespace)
			if err != nil {
				return err
			}
			missing, err := missing(&params, there)
			if err != nil {
				return err
			}
			for _, a := range missing {
				a.DeclaredAt = pg.TimeOf(s.Micros())
				if err := put(ctx, t, params.Namespace, a); err != nil {
					return err
				}
				if err := local.Record(ctx, t, s.Micros(), audited.AttributeDeclared(&params, &a)); err != nil {
					return err
				}
			}
			return nil
		})
	})
}

// missing are those that are to be declared and are not, or why they cannot be.
func missing(params *store.DeclareAttributesParams, there []store.DeclaredAttribute) (list []store.DeclaredAttribute, err error) {
	known := make(map[string]store.DeclaredAttribute, len(there))
	for _, a := range there {
		known[a.Name] = a
	}
	for _, a := range params.Attributes {
		switch before, is := known[a.Name]; {
		case !is:
			known[a.Name] = a
			list = append(list, store.DeclaredAttribute{Name: a.Name, Type: a.Type})
		case before.Leaving:
			return nil, store.LeavingAttribute(params.Namespace, a.Name)
		case before.Type != a.Type:
			return nil, store.OtherAttributeType(params.Namespace, a.Name, before.Type, a.Type)
		}
	}
	if len(list) > 0 && len(known) > store.MaxAttributes {
		return nil, store.TooManyAttributes(params.Namespace, len(known))
	}
	return list, nil
}

func put(ctx context.Context, t pg.Runner, namespace string, a store.DeclaredAttribute) error {
	return t.Run(ctx, "attribute_put", nil, namespace, a.Name, int32(a.Type), a.DeclaredAt.UnixMicro(), a.Leaving)
}

// DeclaredAttributes is that of store.Attributes, without the class of its error.
func (s *Store) DeclaredAttributes(ctx context.Context, namespace string) ([]store.DeclaredAttribute, error) {
	return Declared(ctx, pg.One{DB: s.DB}, pg.CleanText(namespace))
}

// Declared are those of a namespace, by name, as a transaction sees them.
func Declared(ctx context.Context, t pg.Runner, namespace string) (all []store.DeclaredAttribute, err error) {
	all = []store.DeclaredAttribute{}
	return all, t.Run(ctx, "attributes_declared", func(r pg.Row) error {
		var a store.DeclaredAttribute
		var id, typ int32
		var at int64
		err := r.Scan(&id, &a.Name, &typ, &at, &a.Leaving)
		a.Type, a.DeclaredAt = store.AttributeType(typ), pg.TimeOf(at)
		all = append(all, a)
		return err
	}, namespace)
}

// All are those of all namespaces.
func All(ctx context.Context, t pg.Runner) (all []store.NamespaceAttribute, err error) {
	return all, t.Run(ctx, "attributes_all", func(r pg.Row) error {
		var a store.NamespaceAttribute
		var typ int32
		var at int64
		err := r.Scan(&a.Namespace, &a.Name, &typ, &at, &a.Leaving)
		a.Type, a.DeclaredAt = store.AttributeType(typ), pg.TimeOf(at)
		all = append(all, a)
		return err
	})
}

// Import puts those of another database in the place of those that have their names. If one had
// another type the values that jobs have for it go.
func Import(ctx context.Context, t pg.Runner, all []store.NamespaceAttribute) error {
	for i := range all {
		err := t.Run(ctx, "attribute_values_of_other_type", nil, all[i].Namespace, all[i].Name, int32(all[i].Type))
		if err != nil {
			return err
		}
		if err := put(ctx, t, all[i].Namespace, all[i].DeclaredAttribute); err != nil {
			return err
		}
	}
	return nil
}

// RemoveAttribute is that of store.Attributes, without the class of its error. A transaction that
// has read the attribute before it was being removed may leave a value behind, which nothing finds,
// and which goes with its job.
func (s *Store) RemoveAttribute(ctx context.Context, params store.RemoveAttributeParams) (more bool, err error) {
	if err := params.Check(); err != nil {
		return false, err
	}
	err = pg.RetryOnConflict(ctx, func() error {
		return s.InTx(ctx, pg.BeginHot, func(t pg.Session) error {
			id, err := s.leave(ctx, t, &params)
			if err != nil {
				return err
			}
			var removed int64
			err = t.Run(ctx, "attribute_values_remove", func(r pg.Row) error { return r.Scan(&removed) }, id, int32(params.Limit))
			if more = removed >= int64(params.Limit); err != nil || more {
				return err
			}
			return t.Run(ctx, "attribute_delete", nil, id)
		})
	})
	return more, err
}

// leave begins to remove an attribute, unless that has begun, and returns its number.
func (s *Store) leave(ctx context.Context, t pg.Runner, params *store.RemoveAttributeParams) (id int32, err error) {
	var typ int32
	begins := false
	err = t.Run(ctx, "attribute_leave", func(r pg.Row) error { return r.Scan(&id, &typ, &begins) }, params.Namespace, params.Name)
	switch {
	case err != nil:
		return 0, err
	case id == 0:
		return 0, store.NoAttribute(params.Namespace, params.Name)
	case !begins:
		return id, nil
	}
	return id, local.Record(ctx, t, s.Micros(), audited.AttributeRemoved(params, store.AttributeType(typ)))
}

// ForgetGone removes what jobs up to one had that have gone.
func ForgetGone(ctx context.Context, d *pg.DB, to store.ID) error {
	return d.InPortions(ctx, store.ID{}, func(after pgtype.UUID, limit int32) pg.Statement {
		return pg.Statement{Name: "attributes_of_gone", Args: []any{after, pg.UUIDOf(to), limit}}
	})
}
