// Package classes has the classes of retention, which queues name, and counts what retention
// removes. It imports local, pg and store, and store/internal/kept for what the classes mean.
package classes

import (
	"context"
	"slices"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/internal/audited"
	"github.com/holdfastdev/holdfast/store/internal/kept"
	"github.com/holdfastdev/holdfast/store/postgres/internal/local"
	"github.com/holdfastdev/holdfast/store/postgres/internal/pg"
)

// Store is what is done with classes.
type Store struct{ *local.Store }

// SetRetention is that of store.Retentions, without the class of its error.
func (s *Store) SetRetention(ctx context.Context, class store.RetentionClass) (is store.RetentionClass, err error) {
	if err := class.Check(); err != nil {
		return is, err
	}
	err = pg.RetryOnConflict(ctx, func() error {
		return s.InTx(ctx, pg.BeginHot, func(t pg.Session) error {
			if err := t.Run(ctx, "classes_lock", nil); err != nil {
				return err
			}
			all, err := All(ctx, t)
			if err != nil {
				return err
			}
			others, was := 0, (*store.RetentionClass)(nil)
			for i := range all {
				switch {
				case all[i].Name != class.Name:
					others++
				case all[i].Same(&class):
					is = all[i]
					return nil
				default:
					was = &all[i]
				}
			}
			if err := class.Allows(was); err != nil {
				return err
			}
			if others >= store.MostRetentionClasses {
				return store.TooManyRetentions(class.Name)
			}
			is = class
			is.SetAt = pg.TimeOf(s.Micros())
			if err := put(ctx, t, &is); err != nil {
				return err
			}
			return local.Record(ctx, t, s.Micros(), audited.RetentionSet(was, &is))
		})
	})
	return is, err
}

func put(ctx context.Context, t pg.Runner, c *store.RetentionClass) error {
	var by *string
	if c.SetBy != "" {
		by = &c.SetBy
	}
	return t.Run(ctx, "class_put", nil, c.Name, kept.Micros(c.Completed), kept.Micros(c.Failed), kept.Micros(c.Cancelled),
		c.SetAt.UnixMicro(), by)
}

// All returns the classes of a database, by name.
func All(ctx context.Context, t pg.Runner) (all []store.RetentionClass, err error) {
	all = []store.RetentionClass{}
	err = t.Run(ctx, "classes", func(r pg.Row) error {
		var c store.RetentionClass
		var completed, failed, cancelled, at int64
		var by *string
		err := r.Scan(&c.Name, &completed, &failed, &cancelled, &at, &by)
		c.Completed, c.Failed, c.Cancelled = kept.OfMicros(completed), kept.OfMicros(failed), kept.OfMicros(cancelled)
		c.SetAt, c.SetBy = pg.TimeOf(at), pg.TextOf(by)
		all = append(all, c)
		return err
	})
	return all, err
}

// Import replaces the classes of a database by those of another one; nil: they stay.
func Import(ctx context.Context, t pg.Runner, classes []store.RetentionClass) error {
	if classes == nil {
		return nil
	}
	if err := t.Run(ctx, "class_clear", nil); err != nil {
		return err
	}
	for i := range classes {
		if err := put(ctx, t, &classes[i]); err != nil {
			return err
		}
	}
	return nil
}

// RetentionClasses is that of store.Retentions, without the class of its error.
func (s *Store) RetentionClasses(ctx context.Context) (all []store.RetentionClass, err error) {
	err = s.InTx(ctx, pg.BeginRead, func(t pg.Session) (err error) {
		all, err = All(ctx, t)
		return err
	})
	return all, err
}

// DeleteRetention is that of store.Retentions, without the class of its error.
func (s *Store) DeleteRetention(ctx context.Context, class store.RetentionClass) error {
	name := class.Name
	if err := store.CheckRetentionName(name); err != nil {
		return err
	}
	return pg.RetryOnConflict(ctx, func() error {
		return s.InTx(ctx, pg.BeginHot, func(t pg.Session) error {
			there := false
			if err := t.Run(ctx, "class_take", func(r pg.Row) error { return r.Scan(&there) }, name); err != nil {
				return err
			}
			// A transaction that was about to let a queue name it has ended: this statement sees
			// it.
			err := eachQueue(ctx, t, func(_ int64, namespace, queue, set string) error {
				if q, err := store.DecodeQueueAttempts(set); err == nil && q.Retention == name {
					return store.RetentionInUse(name, namespace, queue)
				}
				return nil
			})
			if err != nil {
				return err
			}
			all, err := All(ctx, t)
			if err != nil {
				return err
			}
			at := slices.IndexFunc(all, func(c store.RetentionClass) bool { return c.Name == name })
			if !there || at < 0 {
				return store.NoRetention(name)
			}
			if err := class.Allows(&all[at]); err != nil {
				return err
			}
			if err := t.Run(ctx, "class_delete", nil, name); err != nil {
				return err
			}
			return local.Record(ctx, t, s.Micros(), audited.RetentionDeleted(&all[at], class.SetBy))
		})
	})
}

// Hold returns an error if there is no class of a name, and keeps it from being deleted until the
// transaction ends; "" names none.
func Hold(ctx context.Context, t pg.Runner, name string) error {
	if name == "" {
		return nil
	}
	there := false
	err := t.Run(ctx, "class_hold", func(r pg.Row) error { return r.Scan(&there) }, name)
	if err == nil && !there {
		return store.NoRetention(name)
	}
	return err
}

// Rules are those of the database, now.
func Rules(ctx context.Context, t pg.Runner, base store.Retention) (*kept.Rules, error) {
	all, err := All(ctx, t)
	if err != nil || len(all) == 0 {
		return kept.New(base, nil, nil), err
	}
	set := map[int64]string{}
	err = eachQueue(ctx, t, func(id int64, _, _, text string) error {
		set[id] = text
		return nil
	})
	return kept.New(base, all, set), err
}

// eachQueue calls f for the queues of which something is set.
func eachQueue(ctx context.Context, t pg.Runner, f func(id int64, namespace, queue, set string) error) error {
	return t.Run(ctx, "queues_set", func(r pg.Row) error {
		var id int64
		var namespace, queue, set string
		if err := r.Scan(&id, &namespace, &queue, &set); err != nil {
			return err
		}
		return f(id, namespace, queue, set)
	})
}
