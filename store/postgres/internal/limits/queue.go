package limits

import (
	"context"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/internal/audited"
	"github.com/holdfastdev/holdfast/store/postgres/internal/classes"
	"github.com/holdfastdev/holdfast/store/postgres/internal/pg"
)

// SetQueue is that of store.Queues, without the class of its error.
func (s *Store) SetQueue(ctx context.Context, params store.SetQueueParams) (set store.QueueAttempts, err error) {
	err = pg.RetryOnConflict(ctx, func() error {
		return s.InTx(ctx, pg.BeginHot, func(t pg.Session) error {
			if err := classes.Hold(ctx, t, params.Set.Retention); err != nil {
				return err
			}
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
			if err == nil {
				err = params.Allows(was)
			}
			if err != nil {
				return err
			}
			if set = params.After(was, pg.TimeOf(now)); set == was {
				return nil
			}
			var text *string
			if document := set.Encode(); document != "" {
				text = &document
			}
			return t.Run(ctx, "queue_set", nil, queue, text, now, pg.CleanText(params.Actor), params.Detail(),
				pg.OptText(audited.QueueText(was)), pg.OptText(audited.QueueText(set)))
		})
	})
	return set, err
}

// Queues is what is set of the queues of all namespaces.
type Queues struct {
	set map[queueName]store.AttemptSettings
}

type queueName struct{ namespace, name string }

// Of is what is set of the queue of a job.
func (q *Queues) Of(job *store.Job) store.AttemptSettings {
	return q.set[queueName{job.Namespace, job.Queue}]
}

// Learn reads it. What this program cannot read, because a later one has written it, was not set.
func (q *Queues) Learn(ctx context.Context, t pg.Session) error {
	q.set = map[queueName]store.AttemptSettings{}
	return t.Run(ctx, "queue_attempts_all", func(r pg.Row) error {
		var of queueName
		var text string
		if err := r.Scan(&of.namespace, &of.name, &text); err != nil {
			return err
		}
		if set, err := store.DecodeQueueAttempts(text); err == nil {
			q.set[of] = set.AttemptSettings
		}
		return nil
	})
}
