package tend

import (
	"context"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/internal/refusal"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/core"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/db"
)

// DeleteQueue implements store.Queues. The queue keeps its row, to which the lanes of its finished
// jobs refer.
func (v Verbs) DeleteQueue(ctx context.Context, params store.DeleteQueueParams) error {
	if err := params.Check(); err != nil {
		return err
	}
	return v.d.Write(ctx, "delete queue "+params.Queue, func(t *core.Tx) error {
		s := t.Stmt("queue_deleted")
		s.BindText(params.Namespace)
		s.BindText(params.Queue)
		found, err := s.Next()
		if err != nil {
			return err
		}
		if !found {
			return store.NoQueue(params.Queue)
		}
		id, deleted := s.ReadInt(), !s.ReadNull()
		s.Done()
		busy, err := isBusy(t, id)
		switch {
		case err != nil:
			return err
		case busy:
			return refusal.QueueInUse(params.Queue)
		case deleted:
			return store.NoQueue(params.Queue)
		}
		s = t.Stmt("queue_mark_deleted")
		s.BindInt(t.Now)
		s.BindInt(id)
		if err := db.Exec(s); err != nil {
			return err
		}
		return core.AuditQueue(t, params.Actor, "delete", id, "")
	})
}

// isBusy reports whether a queue has jobs that are not finished.
func isBusy(t *core.Tx, queue int64) (bool, error) {
	s := t.Stmt("queue_waits")
	s.BindInt(queue)
	s.BindInt(queue)
	if waits, err := db.Exists(s); waits || err != nil {
		return waits, err
	}
	runs, err := t.RunningByQueue()
	return runs[queue] > 0, err
}
