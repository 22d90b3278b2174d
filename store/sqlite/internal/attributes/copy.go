package attributes

import (
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/core"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/db"
)

// All are those of all namespaces.
func All(t *core.Tx) (all []store.NamespaceAttribute, err error) {
	s := t.Stmt("attributes_all")
	return all, db.Each(s, func() error {
		var a store.NamespaceAttribute
		a.Namespace, a.Name, a.Type = s.ReadText(), s.ReadText(), store.AttributeType(s.ReadInt())
		a.DeclaredAt, a.Leaving = db.ReadTime(s), s.ReadInt() != 0
		all = append(all, a)
		return nil
	})
}

// Import puts those of another database in the place of those that have their names. If one had
// another type the values that jobs have for it go.
func Import(t *core.Tx, all []store.NamespaceAttribute) error {
	for i := range all {
		a := &all[i]
		s := t.Stmt("attribute_values_of_other_type")
		s.BindText(a.Namespace)
		s.BindText(a.Name)
		s.BindInt(int64(a.Type))
		if err := db.Exec(s); err != nil {
			return err
		}
		if err := put(t, "attribute_import", a.Namespace, a.DeclaredAttribute, a.DeclaredAt.UnixMicro()); err != nil {
			return err
		}
	}
	return nil
}
