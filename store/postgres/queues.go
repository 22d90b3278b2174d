package postgres

import (
	"context"

	"github.com/holdfastdev/holdfast/store"
)

// Pause is that of store.Operators, without the class of its error.
func (s *operateStore) Pause(ctx context.Context, params store.PauseParams) error {
	name := "queue_resume"
	if params.Paused {
		name = "queue_pause"
	}
	return retryOnConflict(ctx, func() error {
		return s.send(ctx, statement{name: name, args: []any{params.Namespace, params.Queue, s.micros(), cleanText(params.Actor)}})
	})
}

func (s *readStore) queues(ctx context.Context, namespace string) ([]store.Queue, error) {
	var queues []store.Queue
	place := map[int32]int{}
	list := statement{name: "queues", args: []any{namespace}, each: func(r row) error {
		q := store.Queue{Counts: map[store.State]store.Count{}}
		var id int32
		var createdAt int64
		var pausedAt *int64
		var pausedBy *string
		err := r.Scan(&id, &q.Namespace, &q.Name, &createdAt, &pausedAt, &pausedBy)
		q.CreatedAt, q.PausedAt, q.PausedBy = timeOf(createdAt), optTime(pausedAt), textOf(pausedBy)
		place[id] = len(queues)
		queues = append(queues, q)
		return err
	}}
	counts := statement{name: "queue_counts", args: []any{namespace, int32(store.CountBound + 1)}, each: func(r row) error {
		var (
			id, state int32
			n         int64
			oldest    *int64
		)
		if err := r.Scan(&id, &state, &n, &oldest); err != nil {
			return err
		}
		i, ok := place[id]
		if !ok {
			return nil
		}
		if n > 0 {
			queues[i].Counts[store.State(state)] = store.Count{N: int(min(n, store.CountBound)), More: n > store.CountBound}
		}
		if oldest != nil {
			queues[i].OldestDue = timeOf(*oldest)
		}
		return nil
	}}
	err := s.read(ctx, list, counts)
	return queues, err
}
