// Package descriptors keeps what code tells of queues and kinds. It imports local, pg and store.
package descriptors

import (
	"context"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/internal/audited"
	"github.com/holdfastdev/holdfast/store/postgres/internal/local"
	"github.com/holdfastdev/holdfast/store/postgres/internal/pg"
)

// Store is what is done with descriptors.
type Store struct{ *local.Store }

// columns are descriptors as statements take them.
type columns struct {
	namespaces, names, data, programs, engines []string
	subjects                                   []int16
}

func (c *columns) add(d *store.Descriptor) {
	c.namespaces, c.names, c.data = append(c.namespaces, d.Namespace), append(c.names, d.Name), append(c.data, string(d.Data))
	c.programs, c.engines = append(c.programs, d.Build.Program), append(c.engines, d.Build.Engine)
	c.subjects = append(c.subjects, int16(d.Subject))
}

// other are those of the descriptors that differ from what is there.
func other(ctx context.Context, t pg.Runner, list []store.Descriptor) (others columns, err error) {
	var all columns
	for i := range list {
		all.add(&list[i])
	}
	return others, t.Run(ctx, "descriptors_other", func(r pg.Row) error {
		var place int64
		err := r.Scan(&place)
		if err == nil {
			others.add(&list[place-1])
		}
		return err
	}, all.namespaces, all.subjects, all.names, all.data)
}

// Describe is that of store.Descriptors, without the class of its error.
func (s *Store) Describe(ctx context.Context, list []store.Descriptor, actor string) (changed int, err error) {
	if err := store.CheckDescriptors(list); err != nil || len(list) == 0 {
		return 0, err
	}
	// A node that starts finds nearly always that all is told already, and locks nothing then.
	err = s.InTx(ctx, pg.BeginRead, func(t pg.Session) error {
		others, err := other(ctx, t, list)
		changed = len(others.names)
		return err
	})
	if err != nil || changed == 0 {
		return 0, err
	}
	err = pg.RetryOnConflict(ctx, func() error {
		return s.InTx(ctx, pg.BeginHot, func(t pg.Session) error {
			if err := t.Run(ctx, "descriptors_lock", nil); err != nil {
				return err
			}
			c, err := other(ctx, t, list)
			changed = len(c.names)
			if err != nil || changed == 0 {
				return err
			}
			if err := t.Run(ctx, "descriptors_delete", nil, c.namespaces, c.subjects, c.names, c.data); err != nil {
				return err
			}
			if err := t.Run(ctx, "descriptors_put", nil, c.namespaces, c.subjects, c.names, c.data, c.programs, c.engines, s.Micros()); err != nil {
				return err
			}
			most := 0
			if err := s.forgotten(ctx, t, &c, actor); err != nil {
				return err
			}
			err = t.Run(ctx, "descriptors_count", func(r pg.Row) error { return r.Scan(&most) }, c.namespaces, c.subjects)
			if err == nil && most > store.MostDescriptors {
				err = store.TooManyDescriptors(&list[len(list)-1])
			}
			return err
		})
	})
	if err != nil {
		return 0, err
	}
	return changed, nil
}

// forgotten records which descriptors a person has removed.
func (s *Store) forgotten(ctx context.Context, t pg.Runner, c *columns, actor string) error {
	for i, data := range c.data {
		if actor == "" || data != "" {
			continue
		}
		d := store.Descriptor{Namespace: c.namespaces[i], Subject: store.Subject(c.subjects[i]), Name: c.names[i]}
		if err := local.Record(ctx, t, s.Micros(), audited.Forgotten(&d, actor)); err != nil {
			return err
		}
	}
	return nil
}

// Descriptors is that of store.Descriptors, without the class of its error.
func (s *Store) Descriptors(ctx context.Context, params store.DescriptorParams) (all []store.Descriptor, err error) {
	if err := store.CheckLimit(params.Limit); err != nil {
		return nil, err
	}
	name, args := "descriptors", []any{params.Namespace, int16(params.Subject), params.After, int32(params.Limit)}
	if params.Name != "" {
		name, args = "descriptors_of", []any{params.Namespace, int16(params.Subject), params.Name}
	}
	err = s.Read(ctx, pg.Statement{Name: name, Args: args, Each: func(r pg.Row) error {
		d := store.Descriptor{Namespace: params.Namespace, Subject: params.Subject}
		var at int64
		var data string
		err := r.Scan(&d.Name, &at, &d.Build.Program, &d.Build.Engine, &data)
		d.At, d.Data = pg.TimeOf(at), []byte(data)
		all = append(all, d)
		return err
	}})
	return all, err
}
