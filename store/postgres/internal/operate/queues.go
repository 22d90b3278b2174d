package operate

import (
	"context"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres/internal/pg"
)

// Pause is that of store.Queues, without the class of its error.
func (s *Store) Pause(ctx context.Context, params store.PauseParams) error {
	name := "queue_resume"
	if params.Paused {
		name = "queue_pause"
	}
	return pg.RetryOnConflict(ctx, func() error {
		return s.Send(ctx, pg.Statement{Name: name, Args: []any{params.Namespace, params.Queue, s.Micros(), pg.CleanText(params.Actor)}})
	})
}
