package write

import (
	"context"
	"slices"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres/internal/batches"
	"github.com/holdfastdev/holdfast/store/postgres/internal/keys"
	"github.com/holdfastdev/holdfast/store/postgres/internal/pg"
)

func (e *Entry) isMember() bool { return e.Job.Batch != store.ID{} }

// admit keeps the batches of jobs open until the transaction ends, and returns the enqueues without
// those whose batch is closed or missing. These have their answer: of one that is known it is that.
func (s *Store) admit(ctx context.Context, t pg.Runner, entries []*Entry, now int64) ([]*Entry, error) {
	var ids []pgtype.UUID
	for _, e := range entries {
		if id := pg.UUIDOf(e.Job.Batch); e.isMember() && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	if ids == nil {
		return entries, nil
	}
	open, there, err := batches.Keep(ctx, t, ids)
	if err != nil {
		return nil, err
	}
	isOut := func(e *Entry) bool { return e.isMember() && !open[batches.NameOf(&e.Job)] }
	refused := slices.DeleteFunc(slices.Clone(entries), func(e *Entry) bool { return !isOut(e) })
	return slices.DeleteFunc(slices.Clone(entries), isOut), refuse(ctx, t, refused, there, now)
}

// refuse answers enqueues whose batch takes no members.
func refuse(ctx context.Context, t pg.Runner, refused []*Entry, there map[batches.Name]bool, now int64) error {
	met := make([]*keys.Obstacle, len(refused))
	refused, asking := obstacles(refused, now, false, met)
	for _, st := range asking {
		if err := st.On(ctx, t); err != nil {
			return err
		}
	}
	for i, e := range refused {
		if e.Result, e.Err = (store.EnqueueResult{}), nil; met[i] == nil || met[i].RunAt == nil {
			e.Err = &store.BatchClosedError{Job: e.Job.ID, Batch: e.Job.Batch, Missing: !there[batches.NameOf(&e.Job)]}
		} else if _, err := e.yield(*met[i]); err != nil {
			return err
		}
	}
	return nil
}

// enqueueAdmitted is enqueueAfter for those that may be added to their batches.
func (s *Store) enqueueAdmitted(
	ctx context.Context, t pg.Runner, entries []*Entry, now int64, mark bool, enqueue func([]*Entry) error,
) error {
	entries, err := s.admit(ctx, t, entries, now)
	if err != nil || len(entries) == 0 {
		return err
	}
	return enqueueAfter(ctx, t, entries, now, mark, enqueue)
}
