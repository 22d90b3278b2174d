// Package namespaces keeps what people say of namespaces. It imports core, db and store.
package namespaces

import (
	"context"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/internal/audited"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/core"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/db"
)

// Verbs are those of store.Namespaces.
type Verbs struct {
	d    *core.Database
	list func(context.Context, store.ListParams) (store.Page, error)
}

// New returns the verbs of a database, and is told how its jobs are listed.
func New(d *core.Database, list func(context.Context, store.ListParams) (store.Page, error)) Verbs {
	return Verbs{d, list}
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

func look(t *core.Tx, name string) (i is, err error) {
	i.Name = name
	s := t.Stmt("namespace_look")
	s.BindText(name)
	s.BindInt(t.Now)
	return i, db.Each(s, func() error {
		i.has.Schedules, i.has.Limits = s.ReadInt() != 0, s.ReadInt() != 0
		i.has.Nodes, i.has.Keys = s.ReadInt() != 0, s.ReadInt() != 0
		i.has.Endpoints, i.queues = s.ReadInt() != 0, s.ReadInt() != 0
		readRow(s, &i.Namespace)
		return nil
	})
}

// readRow reads what a row says, if there is one.
func readRow(s db.Stmt, n *store.Namespace) {
	n.Note, n.CreatedAt, n.CreatedBy = db.ReadOptText(s), db.ReadOptTime(s), db.ReadOptText(s)
}

// Namespaces implements store.Namespaces.
func (v Verbs) Namespaces(ctx context.Context, params store.NamespaceParams) (all []store.Namespace, err error) {
	if err := store.CheckLimit(params.Limit); err != nil {
		return nil, err
	}
	err = v.d.Read(ctx, "list namespaces", func(t *core.Tx) error {
		all = nil
		if params.Name != "" {
			i, err := look(t, params.Name)
			if err == nil && i.isThere() && params.Name > params.After {
				all = append(all, i.Namespace)
			}
			return err
		}
		s := t.Stmt("namespaces")
		s.BindInt(t.Now)
		s.BindText(params.After)
		s.BindInt(int64(params.Limit))
		return db.Each(s, func() error {
			n := store.Namespace{Name: s.ReadText()}
			readRow(s, &n)
			all = append(all, n)
			return nil
		})
	})
	return all, err
}

// CreateNamespace implements store.Namespaces.
func (v Verbs) CreateNamespace(ctx context.Context, params store.CreateNamespaceParams) (n store.Namespace, err error) {
	if err := params.Check(); err != nil {
		return n, err
	}
	err = v.d.Write(ctx, "create namespace "+params.Name, func(t *core.Tx) error {
		there, err := look(t, params.Name)
		if err != nil {
			return err
		}
		if !there.CreatedAt.IsZero() {
			return store.NamespaceThere(params.Name)
		}
		n = store.Namespace{Name: params.Name, Note: params.Note, CreatedAt: db.TimeOf(t.Now), CreatedBy: params.Actor}
		s := t.Stmt("namespace_insert")
		s.BindText(n.Name)
		s.BindText(n.Note)
		s.BindInt(t.Now)
		s.BindText(n.CreatedBy)
		if err := db.Exec(s); err != nil {
			return err
		}
		return core.AuditChange(t, 0, audited.NamespaceMade(&params))
	})
	if err != nil {
		return store.Namespace{}, err
	}
	return n, nil
}

// DeleteNamespace implements store.Namespaces. Jobs are looked for through another connection, on
// which all is there that was written before: no other transaction writes meanwhile.
func (v Verbs) DeleteNamespace(ctx context.Context, params store.DeleteNamespaceParams) error {
	if err := params.Check(); err != nil {
		return err
	}
	return v.d.Write(ctx, "delete namespace "+params.Name, func(t *core.Tx) error {
		there, err := look(t, params.Name)
		if err != nil {
			return err
		}
		jobs, err := v.list(ctx, store.JobsOf(params.Name))
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
		s := t.Stmt("namespace_queues_delete")
		s.BindInt(t.Now)
		s.BindText(params.Name)
		if err := db.Exec(s); err != nil {
			return err
		}
		s = t.Stmt("namespace_delete")
		s.BindText(params.Name)
		if err := db.Exec(s); err != nil {
			return err
		}
		return core.AuditChange(t, 0, audited.NamespaceDeleted(&params, there.Note))
	})
}
