package local

import (
	"context"
	"slices"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres/internal/pg"
)

// foreign asks which of the jobs are not in a namespace. It goes along with what reads them: the
// namespace of a job never changes.
func foreign(namespace string, ids []store.ID, found map[store.ID]bool) pg.Statement {
	return pg.Statement{Name: "foreign", Args: []any{pg.UUIDsOf(ids), namespace}, Each: func(r pg.Row) error {
		var id pgtype.UUID
		err := r.Scan(&id)
		found[id.Bytes] = true
		return err
	}}
}

// Foreign returns those of the jobs that are not in a namespace, as a transaction sees them.
func Foreign(ctx context.Context, t pg.Runner, namespace string, ids []store.ID) (map[store.ID]bool, error) {
	if namespace == "" || len(ids) == 0 {
		return nil, nil
	}
	others := map[store.ID]bool{}
	look := foreign(namespace, ids, others)
	return others, t.Run(ctx, look.Name, look.Each, look.Args...)
}

// LookIn reads something of jobs of a namespace, and returns which of them are not there.
func (s *Store) LookIn(ctx context.Context, namespace string, ids []store.ID, look pg.Statement) (map[store.ID]bool, error) {
	if namespace == "" {
		return nil, s.Send(ctx, look)
	}
	others := map[store.ID]bool{}
	err := s.Send(ctx, foreign(namespace, ids, others), look)
	return others, err
}

// RequireIn returns ErrNotFound if the job is not in the namespace.
func (s *Store) RequireIn(ctx context.Context, namespace string, id store.ID) error {
	if namespace == "" {
		return nil
	}
	others := map[store.ID]bool{}
	if err := s.Send(ctx, foreign(namespace, []store.ID{id}, others)); err != nil {
		return err
	}
	if others[id] {
		return store.NoJob(id)
	}
	return nil
}

// EachIn does something to those of the jobs that are in a namespace, and answers for all, in the
// order given.
func (s *Store) EachIn(
	ctx context.Context, namespace string, ids []store.ID, do func(own []store.ID) ([]store.Result, error),
) ([]store.Result, error) {
	if namespace == "" || len(ids) == 0 {
		return do(ids)
	}
	others := map[store.ID]bool{}
	if err := s.Send(ctx, foreign(namespace, ids, others)); err != nil {
		return nil, err
	}
	done, err := do(slices.DeleteFunc(slices.Clone(ids), func(id store.ID) bool { return others[id] }))
	if err != nil {
		return nil, err
	}
	results := make([]store.Result, len(ids))
	for i, id := range ids {
		if others[id] {
			results[i] = store.Result{Job: id, Err: store.NoJob(id)}
			continue
		}
		results[i], done = done[0], done[1:]
	}
	return results, nil
}
