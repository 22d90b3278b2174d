package model

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/internal/audited"
	"github.com/holdfastdev/holdfast/store/storetest/model/copyof"
)

func inOrder(a, b store.EndpointName) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}

// Endpoints implements store.Endpoints.
func (s *Store) Endpoints(ctx context.Context, params store.EndpointParams) (all []store.Endpoint, err error) {
	if _, err := s.begin(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	if err := params.Check(); err != nil {
		return nil, err
	}
	for of, e := range s.endpoints {
		if of.Purpose == params.Purpose && (params.Namespace == "" || of.Namespace == params.Namespace) &&
			(params.Name == "" || of.Name == params.Name) && inOrder(of, params.After) > 0 {
			all = append(all, copyof.Endpoint(e))
		}
	}
	slices.SortFunc(all, func(a, b store.Endpoint) int { return inOrder(a.EndpointName, b.EndpointName) })
	return all[:min(len(all), params.Limit)], nil
}

// SetEndpoint implements store.Endpoints.
func (s *Store) SetEndpoint(ctx context.Context, params store.SetEndpointParams) (store.Endpoint, error) {
	now, err := s.begin(ctx)
	if err != nil {
		return store.Endpoint{}, err
	}
	defer s.mu.Unlock()
	if err := params.Check(); err != nil {
		return store.Endpoint{}, err
	}
	e, there := s.endpoints[params.EndpointName]
	switch {
	case there && e.Version == params.Version+1 && bytes.Equal(e.Data, params.Data):
		return copyof.Endpoint(e), nil
	case !there && params.Version > 0:
		return store.Endpoint{}, store.NoEndpoint(params.EndpointName)
	case e.Version != params.Version:
		return store.Endpoint{}, store.EndpointThere(params.EndpointName, params.Version)
	case !there && s.endpointsOf(params.Namespace, params.Purpose) >= store.MostEndpoints:
		return store.Endpoint{}, store.TooManyEndpoints(params.EndpointName)
	}
	e.EndpointName, e.Data, e.Version = params.EndpointName, bytes.Clone(params.Data), params.Version+1
	e.UpdatedAt, e.UpdatedBy = now.Truncate(time.Microsecond), params.Actor
	if !there {
		e.CreatedAt, e.CreatedBy = e.UpdatedAt, e.UpdatedBy
	}
	s.endpoints[e.EndpointName] = e
	s.audit(now, audited.EndpointSet(&params))
	return copyof.Endpoint(e), nil
}

func (s *Store) endpointsOf(namespace string, purpose store.EndpointPurpose) (n int) {
	for of := range s.endpoints {
		if of.Namespace == namespace && of.Purpose == purpose {
			n++
		}
	}
	return n
}

// DeleteEndpoint implements store.Endpoints.
func (s *Store) DeleteEndpoint(ctx context.Context, params store.DeleteEndpointParams) error {
	now, err := s.begin(ctx)
	if err != nil {
		return err
	}
	defer s.mu.Unlock()
	e, there := s.endpoints[params.EndpointName]
	if !there {
		return store.NoEndpoint(params.EndpointName)
	}
	s.audit(now, audited.EndpointDeleted(&params, e.Version))
	delete(s.endpoints, params.EndpointName)
	return nil
}
