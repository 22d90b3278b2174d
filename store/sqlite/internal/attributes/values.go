package attributes

import (
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/core"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/db"
)

// Set gives a job that is there values, or takes them away. One of a name that is not declared, or
// is declared with another type, is dropped.
func Set(t *core.Tx, job store.ID, list []store.Attribute) error {
	for i := range list {
		if err := set(t, job, &list[i]); err != nil {
			return err
		}
	}
	return nil
}

func set(t *core.Tx, job store.ID, a *store.Attribute) error {
	s := t.Stmt("attribute_for_job")
	db.BindID(s, job)
	s.BindText(a.Name)
	found, err := s.Next()
	if err != nil || !found {
		return err
	}
	id, typ := s.ReadInt(), store.AttributeType(s.ReadInt())
	s.Done()
	switch a.Value.Type {
	case 0:
		s = t.Stmt("attribute_value_unset")
		db.BindID(s, job)
		s.BindInt(id)
	case typ:
		s = t.Stmt("attribute_value_put")
		s.BindInt(id)
		s.BindBlob([]byte(a.Value.Data))
		db.BindID(s, job)
	default:
		return nil
	}
	return db.Exec(s)
}

// Of are those that a job has, by name.
func Of(t *core.Tx, job store.ID) (list []store.Attribute, err error) {
	s := t.Stmt("attributes_of_job")
	db.BindID(s, job)
	return list, db.Each(s, func() error {
		list = append(list, store.Attribute{
			Name: s.ReadText(), Value: store.AttributeValue{Type: store.AttributeType(s.ReadInt()), Data: string(s.ReadBlob())},
		})
		return nil
	})
}
