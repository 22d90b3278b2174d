package limits

import (
	"context"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres/internal/pg"
)

// SetQueue is that of store.Queues, without the class of its error.
func (s *Store) SetQueue(ctx context.Context, params store.SetQueueParams) (set store.QueueAttempts, err error) {
	err = pg.RetryOnConflict(ctx, func() error {
		return s.InTx(ctx, pg.BeginHot, func(t pg.Session) error {
			var queue int32
			var was store.QueueAttempts
			now := s.Micros()
			err := t.Run(ctx, "queue_set_lock", func(r pg.Row) error {
				var text *string
				err := r.Scan(&queue, &text)
				if err == nil {
					was, err = store.DecodeQueueAttempts(pg.TextOf(text))
				}
				return err
			}, params.Namespace, params.Queue, now)
			if set = params.After(was, pg.TimeOf(now)); err != nil || set == was {
				return err
			}
			var text *string
			if document := set.Encode(); document != "" {
				text = &document
			}
			return t.Run(ctx, "queue_set", nil, queue, text, now, pg.CleanText(params.Actor), params.Detail())
		})
	})
	return set, err
}

// QueueName is the name of a queue.
type QueueName struct{ Namespace, Name string }

// OfQueues is what is set of the queues of all namespaces.
func OfQueues(ctx context.Context, t pg.Session) (map[QueueName]store.AttemptSettings, error) {
	set := map[QueueName]store.AttemptSettings{}
	return set, t.Run(ctx, "queue_attempts_all", func(r pg.Row) error {
		var of QueueName
		var text string
		if err := r.Scan(&of.Namespace, &of.Name, &text); err != nil {
			return err
		}
		if q, err := store.DecodeQueueAttempts(text); err == nil { // what cannot be read was not set
			set[of] = q.AttemptSettings
		}
		return nil
	})
}
