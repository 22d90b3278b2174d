// Package classes has the classes of retention, which queues name, and counts what retention
// removes. It imports core, db and store, and store/internal/kept for what the classes mean.
package classes

import (
	"context"
	"slices"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/internal/audited"
	"github.com/holdfastdev/holdfast/store/internal/kept"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/core"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/db"
)

// Verbs are those of store.Retentions.
type Verbs struct{ d *core.Database }

// New returns the verbs of a database.
func New(d *core.Database) Verbs { return Verbs{d} }

// SetRetention implements store.Retentions.
func (v Verbs) SetRetention(ctx context.Context, class store.RetentionClass) (is store.RetentionClass, err error) {
	if err := class.Check(); err != nil {
		return is, err
	}
	err = v.d.Write(ctx, "set retention class "+class.Name, func(t *core.Tx) error {
		var was *store.RetentionClass
		all, err := All(t)
		if err != nil {
			return err
		}
		for i := range all {
			if all[i].Name == class.Name && all[i].Same(&class) {
				is = all[i]
				return nil
			}
			if all[i].Name == class.Name {
				was = new(store.RetentionClass)
				*was = all[i]
				all = append(all[:i:i], all[i+1:]...)
				break
			}
		}
		if err := class.Allows(was); err != nil {
			return err
		}
		if len(all) >= store.MostRetentionClasses {
			return store.TooManyRetentions(class.Name)
		}
		is = class
		is.SetAt = db.TimeOf(t.Now)
		if err := put(t, &is); err != nil {
			return err
		}
		return core.AuditChange(t, 0, audited.RetentionSet(was, &is))
	})
	return is, err
}

func put(t *core.Tx, c *store.RetentionClass) error {
	s := t.Stmt("class_put")
	s.BindText(c.Name)
	for _, keep := range []time.Duration{c.Completed, c.Failed, c.Cancelled} {
		s.BindInt(kept.Micros(keep))
	}
	s.BindInt(c.SetAt.UnixMicro())
	db.BindOptText(s, c.SetBy)
	return db.Exec(s)
}

// All returns the classes of a database, by name.
func All(t *core.Tx) (all []store.RetentionClass, err error) {
	s := t.Stmt("classes")
	all = []store.RetentionClass{}
	return all, db.Each(s, func() error {
		all = append(all, store.RetentionClass{
			Name: s.ReadText(), Completed: kept.OfMicros(s.ReadInt()), Failed: kept.OfMicros(s.ReadInt()), Cancelled: kept.OfMicros(s.ReadInt()),
			SetAt: db.ReadTime(s), SetBy: db.ReadOptText(s),
		})
		return nil
	})
}

// Import replaces the classes of a database by those of another one; nil: they stay.
func Import(t *core.Tx, classes []store.RetentionClass) error {
	if classes == nil {
		return nil
	}
	if err := db.Exec(t.Stmt("class_clear")); err != nil {
		return err
	}
	for i := range classes {
		if err := put(t, &classes[i]); err != nil {
			return err
		}
	}
	return nil
}

// RetentionClasses implements store.Retentions.
func (v Verbs) RetentionClasses(ctx context.Context) (all []store.RetentionClass, err error) {
	err = v.d.Read(ctx, "list retention classes", func(t *core.Tx) error {
		all, err = All(t)
		return err
	})
	return all, err
}

// DeleteRetention implements store.Retentions.
func (v Verbs) DeleteRetention(ctx context.Context, class store.RetentionClass) error {
	name := class.Name
	if err := store.CheckRetentionName(name); err != nil {
		return err
	}
	return v.d.Write(ctx, "delete retention class "+name, func(t *core.Tx) error {
		err := eachQueue(t, func(_ int64, namespace, queue, set string) error {
			if q, err := store.DecodeQueueAttempts(set); err == nil && q.Retention == name {
				return store.RetentionInUse(name, namespace, queue)
			}
			return nil
		})
		if err != nil {
			return err
		}
		all, err := All(t)
		if err != nil {
			return err
		}
		at := slices.IndexFunc(all, func(c store.RetentionClass) bool { return c.Name == name })
		if at < 0 {
			return store.NoRetention(name)
		}
		if err := class.Allows(&all[at]); err != nil {
			return err
		}
		s := t.Stmt("class_delete")
		s.BindText(name)
		if err := db.Exec(s); err != nil {
			return err
		}
		return core.AuditChange(t, 0, audited.RetentionDeleted(&all[at], class.SetBy))
	})
}

// MustBe returns an error if there is no class of a name; "" names none.
func MustBe(t *core.Tx, name string) error {
	if name == "" {
		return nil
	}
	all, err := All(t)
	for i := range all {
		if all[i].Name == name {
			return nil
		}
	}
	if err != nil {
		return err
	}
	return store.NoRetention(name)
}

// Rules are those of the database, now.
func Rules(t *core.Tx, base store.Retention) (*kept.Rules, error) {
	all, err := All(t)
	if err != nil || len(all) == 0 {
		return kept.New(base, nil, nil), err
	}
	set := map[int64]string{}
	err = eachQueue(t, func(id int64, _, _, text string) error {
		set[id] = text
		return nil
	})
	return kept.New(base, all, set), err
}

// eachQueue calls f for the queues of which something is set.
func eachQueue(t *core.Tx, f func(id int64, namespace, queue, set string) error) error {
	s := t.Stmt("queues_set")
	return db.Each(s, func() error { return f(s.ReadInt(), s.ReadText(), s.ReadText(), s.ReadText()) })
}
