package tend

import (
	"context"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/internal/audited"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/classes"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/core"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/db"
)

// SetQueue implements store.Queues.
func (v Verbs) SetQueue(ctx context.Context, params store.SetQueueParams) (set store.QueueAttempts, err error) {
	if err := params.Check(); err != nil {
		return set, err
	}
	err = v.d.Write(ctx, "set queue "+params.Queue, func(t *core.Tx) error {
		if err := classes.MustBe(t, params.Set.Retention); err != nil {
			return err
		}
		queue, err := t.Queue(params.Namespace, params.Queue)
		if err != nil {
			return err
		}
		was, err := attemptsOf(t, queue)
		if err != nil {
			return err
		}
		if err := params.Allows(was); err != nil {
			return err
		}
		set = params.After(was, db.TimeOf(t.Now))
		s := t.Stmt("queue_set")
		db.BindOptText(s, set.Encode())
		s.BindInt(queue)
		if err := db.Exec(s); err != nil || set == was {
			return err
		}
		return core.AuditChange(t, queue, audited.QueueSet(&params, was, set))
	})
	return set, err
}

// tuned is what is set of the queue of a job that a rescue ends.
func tuned(t *core.Tx, queue int64) (store.AttemptSettings, error) {
	if set, known := t.Tuned[queue]; known {
		return set, nil
	}
	q, err := attemptsOf(t, queue)
	if t.Tuned == nil {
		t.Tuned = map[int64]store.AttemptSettings{}
	}
	t.Tuned[queue] = q.AttemptSettings
	return q.AttemptSettings, err
}

// attemptsOf is what is set of a queue.
func attemptsOf(t *core.Tx, queue int64) (set store.QueueAttempts, err error) {
	s := t.Stmt("queue_attempts")
	s.BindInt(queue)
	return set, db.Each(s, func() (err error) {
		set, err = db.ReadAttempts(s)
		return err
	})
}
