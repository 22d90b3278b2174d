// Package endpoints keeps where jobs and events are sent to by HTTP. It imports local, pg and
// store.
package endpoints

import (
	"bytes"
	"context"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/internal/audited"
	"github.com/holdfastdev/holdfast/store/postgres/internal/local"
	"github.com/holdfastdev/holdfast/store/postgres/internal/pg"
)

// Store is what is done with endpoints.
type Store struct{ *local.Store }

// into collects endpoints.
func into(all *[]store.Endpoint) func(pg.Row) error {
	return func(r pg.Row) error {
		var e store.Endpoint
		var purpose int16
		var created, updated int64
		err := r.Scan(&e.Namespace, &purpose, &e.Name, &e.Data, &e.Version, &created, &e.CreatedBy, &updated, &e.UpdatedBy)
		e.Purpose, e.CreatedAt, e.UpdatedAt = store.EndpointPurpose(purpose), pg.TimeOf(created), pg.TimeOf(updated)
		e.Data = bytes.Clone(e.Data)
		*all = append(*all, e)
		return err
	}
}

// Endpoints is that of store.Endpoints, without the class of its error.
func (s *Store) Endpoints(ctx context.Context, params store.EndpointParams) (all []store.Endpoint, err error) {
	if err := params.Check(); err != nil {
		return nil, err
	}
	for _, text := range []string{params.Namespace, params.Name, params.After.Namespace, params.After.Name} {
		if !pg.IsText(text) {
			return nil, nil
		}
	}
	return all, s.Read(ctx, pg.Statement{Name: "endpoints", Each: into(&all), Args: []any{
		int16(params.Purpose), params.Namespace, params.Name, params.After.Namespace, params.After.Name, int32(params.Limit),
	}})
}

// SetEndpoint is that of store.Endpoints, without the class of its error.
func (s *Store) SetEndpoint(ctx context.Context, params store.SetEndpointParams) (store.Endpoint, error) {
	if err := params.Check(); err != nil {
		return store.Endpoint{}, err
	}
	name := []any{params.Namespace, int16(params.Purpose), params.Name}
	entry := audited.EndpointSet(&params)
	change := pg.Statement{
		Name: "endpoint_update", Args: append(name[:3:3], params.Data, params.Version, s.Micros(), pg.CleanText(params.Actor),
			entry.Before, entry.After),
	}
	if params.Version == 0 {
		change = pg.Statement{
			Name: "endpoint_insert", Args: append(name[:3:3], params.Data, s.Micros(), pg.CleanText(params.Actor), int64(store.MostEndpoints),
				entry.After),
		}
	}
	var all []store.Endpoint
	err := pg.RetryOnConflict(ctx, func() error {
		all = nil
		return s.Send(ctx, change, pg.Statement{Name: "endpoint", Args: name, Each: into(&all)})
	})
	switch {
	case err != nil:
		return store.Endpoint{}, err
	case len(all) == 0 && params.Version == 0:
		return store.Endpoint{}, store.TooManyEndpoints(params.EndpointName)
	case len(all) == 0:
		return store.Endpoint{}, store.NoEndpoint(params.EndpointName)
	case all[0].Version != params.Version+1 || !bytes.Equal(all[0].Data, params.Data):
		return store.Endpoint{}, store.EndpointThere(params.EndpointName, params.Version)
	}
	return all[0], nil
}

// DeleteEndpoint is that of store.Endpoints, without the class of its error.
func (s *Store) DeleteEndpoint(ctx context.Context, params store.DeleteEndpointParams) error {
	if !pg.IsText(params.Namespace) || !pg.IsText(params.Name) {
		return store.NoEndpoint(params.EndpointName)
	}
	version := int64(0)
	err := pg.RetryOnConflict(ctx, func() error {
		return s.InTx(ctx, pg.BeginHot, func(t pg.Session) error {
			version = 0
			err := t.Run(ctx, "endpoint_delete", func(r pg.Row) error { return r.Scan(&version) },
				params.Namespace, int16(params.Purpose), params.Name)
			if err != nil || version == 0 {
				return err
			}
			return local.Record(ctx, t, s.Micros(), audited.EndpointDeleted(&params, version))
		})
	})
	if err == nil && version == 0 {
		err = store.NoEndpoint(params.EndpointName)
	}
	return err
}
