package operate

import (
	"context"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/internal/refusal"
	"github.com/holdfastdev/holdfast/store/postgres/internal/pg"
)

// Pause is that of store.Queues, without the class of its error.
func (s *Store) Pause(ctx context.Context, params store.PauseParams) error {
	args := []any{params.Namespace, params.Queue, s.Micros(), pg.CleanText(params.Actor)}
	list := []pg.Statement{{Name: "queue_pause", Args: args}}
	if !params.Paused { // its jobs may wait at gates that are free
		list = []pg.Statement{{Name: "queue_resume", Args: args}, {Name: "gates_changed"}}
	}
	return pg.RetryOnConflict(ctx, func() error { return s.Send(ctx, list...) })
}

// DeleteQueue is that of store.Queues, without the class of its error.
func (s *Store) DeleteQueue(ctx context.Context, params store.DeleteQueueParams) error {
	var found, busy, deleted bool
	st := pg.Statement{Name: "queue_delete", Args: []any{params.Namespace, params.Queue, s.Micros(), pg.CleanText(params.Actor)}}
	st.Each = func(r pg.Row) error {
		found = true
		return r.Scan(&busy, &deleted)
	}
	err := pg.RetryOnConflict(ctx, func() error {
		found = false
		return s.Send(ctx, st)
	})
	switch {
	case err != nil:
		return err
	case busy:
		return refusal.QueueInUse(params.Queue)
	case !found || deleted:
		return store.NoQueue(params.Queue)
	}
	return nil
}
