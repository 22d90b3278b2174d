// Package endpoints keeps where jobs and events are sent to by HTTP. It imports core, db and store.
package endpoints

import (
	"bytes"
	"context"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/internal/audited"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/core"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/db"
)

// Verbs are those of store.Endpoints.
type Verbs struct{ d *core.Database }

// New returns the verbs of a database.
func New(d *core.Database) Verbs { return Verbs{d} }

// read reads the columns of an endpoint.
func read(s db.Stmt) store.Endpoint {
	return store.Endpoint{
		EndpointName: store.EndpointName{Namespace: s.ReadText(), Purpose: store.EndpointPurpose(s.ReadInt()), Name: s.ReadText()},
		Data:         bytes.Clone(s.ReadBlob()), Version: s.ReadInt(),
		CreatedAt: db.ReadTime(s), CreatedBy: s.ReadText(), UpdatedAt: db.ReadTime(s), UpdatedBy: s.ReadText(),
	}
}

func bindName(s db.Stmt, n *store.EndpointName) {
	s.BindText(n.Namespace)
	s.BindInt(int64(n.Purpose))
	s.BindText(n.Name)
}

// find returns an endpoint; its Version is 0 if there is none.
func find(t *core.Tx, n *store.EndpointName) (e store.Endpoint, err error) {
	s := t.Stmt("endpoint")
	bindName(s, n)
	return e, db.Each(s, func() error {
		e = read(s)
		return nil
	})
}

// Endpoints implements store.Endpoints.
func (v Verbs) Endpoints(ctx context.Context, params store.EndpointParams) (all []store.Endpoint, err error) {
	if err := params.Check(); err != nil {
		return nil, err
	}
	err = v.d.Read(ctx, "list endpoints", func(t *core.Tx) error {
		all = nil
		s := t.Stmt("endpoints")
		s.BindInt(int64(params.Purpose))
		for _, text := range []string{params.Namespace, params.Name, params.After.Namespace, params.After.Name} {
			s.BindText(text)
		}
		s.BindInt(int64(params.Limit))
		return db.Each(s, func() error {
			all = append(all, read(s))
			return nil
		})
	})
	return all, err
}

// SetEndpoint implements store.Endpoints.
func (v Verbs) SetEndpoint(ctx context.Context, params store.SetEndpointParams) (e store.Endpoint, err error) {
	if err := params.Check(); err != nil {
		return e, err
	}
	err = v.d.Write(ctx, "set "+params.String(), func(t *core.Tx) error {
		e, err = find(t, &params.EndpointName)
		switch {
		case err != nil:
			return err
		case e.Version == params.Version+1 && bytes.Equal(e.Data, params.Data):
			return nil // again
		case e.Version == 0 && params.Version > 0:
			return store.NoEndpoint(params.EndpointName)
		case e.Version != params.Version:
			return store.EndpointThere(params.EndpointName, params.Version)
		case e.Version == 0:
			err = insert(t, &params)
		default:
			err = update(t, &params)
		}
		if err == nil {
			e, err = find(t, &params.EndpointName)
		}
		return err
	})
	if err != nil {
		return store.Endpoint{}, err
	}
	return e, nil
}

func insert(t *core.Tx, p *store.SetEndpointParams) error {
	s := t.Stmt("endpoints_count")
	s.BindText(p.Namespace)
	s.BindInt(int64(p.Purpose))
	var n int64
	if err := db.Each(s, func() error {
		n = s.ReadInt()
		return nil
	}); err != nil {
		return err
	}
	if n >= store.MostEndpoints {
		return store.TooManyEndpoints(p.EndpointName)
	}
	s = t.Stmt("endpoint_insert")
	bindName(s, &p.EndpointName)
	s.BindBlob(p.Data)
	for range 2 {
		s.BindInt(t.Now)
		s.BindText(p.Actor)
	}
	if err := db.Exec(s); err != nil {
		return err
	}
	return core.AuditChange(t, 0, audited.EndpointSet(p))
}

func update(t *core.Tx, p *store.SetEndpointParams) error {
	s := t.Stmt("endpoint_update")
	s.BindBlob(p.Data)
	s.BindInt(t.Now)
	s.BindText(p.Actor)
	bindName(s, &p.EndpointName)
	if err := db.Exec(s); err != nil {
		return err
	}
	return core.AuditChange(t, 0, audited.EndpointSet(p))
}

// DeleteEndpoint implements store.Endpoints.
func (v Verbs) DeleteEndpoint(ctx context.Context, params store.DeleteEndpointParams) error {
	return v.d.Write(ctx, "delete "+params.String(), func(t *core.Tx) error {
		e, err := find(t, &params.EndpointName)
		if err != nil {
			return err
		}
		if e.Version == 0 {
			return store.NoEndpoint(params.EndpointName)
		}
		s := t.Stmt("endpoint_delete")
		bindName(s, &params.EndpointName)
		if err := db.Exec(s); err != nil {
			return err
		}
		return core.AuditChange(t, 0, audited.EndpointDeleted(&params, e.Version))
	})
}
