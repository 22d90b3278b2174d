package operate

import (
	"context"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres/internal/pg"
)

// Rest is that of store.Queues, without the class of its error.
func (s *Store) Rest(ctx context.Context, params store.RestParams) (rest store.Resting, err error) {
	err = pg.RetryOnConflict(ctx, func() error {
		return s.InTx(ctx, pg.BeginHot, func(t pg.Session) error {
			var queue int32
			var was store.Resting
			now := s.Micros()
			err := t.Run(ctx, "queue_rested", func(r pg.Row) error {
				var until *int64
				err := r.Scan(&queue, &until, &was.Level)
				was.Until = pg.OptTime(until)
				return err
			}, params.Namespace, params.Queue, now)
			if rest = params.After(was, pg.TimeOf(now)); err != nil || rest == was {
				return err
			}
			return t.Run(ctx, "queue_rest", nil, queue, rest.Until.UnixMicro(), int32(rest.Level), now, pg.CleanText(params.Actor), rest.String())
		})
	})
	return rest, err
}
