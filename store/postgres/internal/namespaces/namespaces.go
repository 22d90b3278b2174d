// Package namespaces keeps what people say of namespaces. It imports local, pg and store.
package namespaces

import (
	"context"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/internal/audited"
	"github.com/holdfastdev/holdfast/store/postgres/internal/local"
	"github.com/holdfastdev/holdfast/store/postgres/internal/pg"
)

// Store is what is done with namespaces.
type Store struct {
	*local.Store
	Jobs func(context.Context, store.ListParams) (store.Page, error) // lists jobs
}

// is tells what there is of a namespace.
type is struct {
	store.Namespace
	has    store.NamespaceContent
	queues bool
}

func (i *is) isThere() bool {
	return !i.CreatedAt.IsZero() || i.queues || i.has != store.NamespaceContent{}
}

func (s *Store) look(ctx context.Context, t pg.Runner, name string) (i is, err error) {
	i.Name = name
	return i, t.Run(ctx, "namespace_look", func(r pg.Row) error {
		var row row
		err := r.Scan(&i.has.Schedules, &i.has.Limits, &i.has.Nodes, &i.has.Keys, &i.has.Endpoints, &i.queues,
			&row.note, &row.at, &row.by)
		row.fill(&i.Namespace)
		return err
	}, name, s.Micros())
}

// row is what a namespace may have.
type row struct {
	note, by *string
	at       *int64
}

func (r *row) fill(n *store.Namespace) {
	n.Note, n.CreatedAt, n.CreatedBy = pg.TextOf(r.note), pg.OptTime(r.at), pg.TextOf(r.by)
}

// Namespaces is that of store.Namespaces, without the class of its error.
func (s *Store) Namespaces(ctx context.Context, params store.NamespaceParams) (all []store.Namespace, err error) {
	if err := store.CheckLimit(params.Limit); err != nil {
		return nil, err
	}
	err = s.InTx(ctx, pg.BeginRead, func(t pg.Session) error {
		all = nil
		if params.Name != "" {
			i, err := s.look(ctx, t, params.Name)
			if err == nil && i.isThere() && params.Name > params.After {
				all = append(all, i.Namespace)
			}
			return err
		}
		return t.Run(ctx, "namespaces", func(r pg.Row) error {
			var n store.Namespace
			var row row
			err := r.Scan(&n.Name, &row.note, &row.at, &row.by)
			row.fill(&n)
			all = append(all, n)
			return err
		}, params.After, s.Micros(), int32(params.Limit))
	})
	return all, err
}

// CreateNamespace is that of store.Namespaces, without the class of its error.
func (s *Store) CreateNamespace(ctx context.Context, params store.CreateNamespaceParams) (n store.Namespace, err error) {
	if err := params.Check(); err != nil {
		return n, err
	}
	now, made := s.Micros(), false
	st := pg.Statement{
		Name: "namespace_insert", Args: []any{params.Name, params.Note, now, pg.CleanText(params.Actor), audited.NamespaceMade(&params).After},
	}
	st.Each = func(pg.Row) error {
		made = true
		return nil
	}
	err = pg.RetryOnConflict(ctx, func() error {
		made = false
		return s.Send(ctx, st)
	})
	switch {
	case err != nil:
		return n, err
	case !made:
		return n, store.NamespaceThere(params.Name)
	}
	return store.Namespace{Name: params.Name, Note: params.Note, CreatedAt: pg.TimeOf(now), CreatedBy: pg.CleanText(params.Actor)}, nil
}

// DeleteNamespace is that of store.Namespaces, without the class of its error. Jobs are looked for
// before its transaction: it keeps none out.
func (s *Store) DeleteNamespace(ctx context.Context, params store.DeleteNamespaceParams) error {
	if err := params.Check(); err != nil {
		return err
	}
	jobs, err := s.Jobs(ctx, store.JobsOf(params.Name))
	if err != nil {
		return err
	}
	return pg.RetryOnConflict(ctx, func() error {
		return s.InTx(ctx, pg.BeginHot, func(t pg.Session) error {
			there, err := s.look(ctx, t, params.Name)
			if err != nil {
				return err
			}
			there.has.Jobs = len(jobs.Jobs) > 0
			if err := there.has.Check(params.Name); err != nil {
				return err
			}
			if !there.isThere() {
				return store.NoNamespace(params.Name)
			}
			e := audited.NamespaceDeleted(&params, there.Note)
			return t.Run(ctx, "namespace_delete", nil, params.Name, s.Micros(), pg.CleanText(e.Actor), e.Before)
		})
	})
}
