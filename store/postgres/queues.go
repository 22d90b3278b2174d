package postgres

import (
	"context"

	"github.com/holdfastdev/holdfast/store"
)

// Pause implements store.Operators.
func (s *Store) Pause(ctx context.Context, params store.PauseParams) error {
	if err := params.Check(); err != nil {
		return err
	}
	name := "queue_resume"
	if params.Paused {
		name = "queue_pause"
	}
	return classify(ctx, "pause queue "+params.Queue, retryOnConflict(ctx, func() error {
		return s.send(ctx, statement{name: name, args: []any{params.Namespace, params.Queue, s.now(), cleanText(params.Actor)}})
	}))
}

// Queues implements store.Reader. Its cost is bounded for each queue, and by the number of jobs that run.
func (s *Store) Queues(ctx context.Context, namespace string) ([]store.Queue, error) {
	queues, err := s.queues(ctx, namespace)
	return queues, classify(ctx, "list the queues", err)
}

func (s *Store) queues(ctx context.Context, namespace string) ([]store.Queue, error) {
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
