package read

import (
	"context"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres/internal/pg"
)

// Queues is that of store.Queues, without the class of its error.
func (s *Store) Queues(ctx context.Context, namespace string) ([]store.Queue, error) {
	var queues []store.Queue
	var deleted []bool
	place := map[int32]int{}
	list := pg.Statement{Name: "queues", Args: []any{namespace}, Each: func(r pg.Row) error {
		q := store.Queue{Counts: map[store.State]store.Count{}}
		var id int32
		var createdAt int64
		var pausedAt, restsUntil *int64
		var pausedBy, attempts *string
		var isDeleted bool
		err := r.Scan(&id, &q.Namespace, &q.Name, &createdAt, &pausedAt, &pausedBy, &restsUntil, &q.Rest.Level, &attempts, &isDeleted)
		if err != nil {
			return err
		}
		q.Rest.Until = pg.OptTime(restsUntil)
		q.CreatedAt, q.PausedAt, q.PausedBy = pg.TimeOf(createdAt), pg.OptTime(pausedAt), pg.TextOf(pausedBy)
		place[id] = len(queues)
		q.Attempts, err = store.DecodeQueueAttempts(pg.TextOf(attempts))
		queues, deleted = append(queues, q), append(deleted, isDeleted)
		return err
	}}
	counts := pg.Statement{Name: "queue_counts", Args: []any{namespace, int32(store.CountBound + 1)}, Each: func(r pg.Row) error {
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
			queues[i].OldestDue = pg.TimeOf(*oldest)
		}
		return nil
	}}
	err := s.Read(ctx, list, counts)
	return listed(queues, deleted), err
}

// AttemptsOfQueues is that of store.Queues, without the class of its error.
func (s *Store) AttemptsOfQueues(ctx context.Context, namespace string) (set map[string]store.QueueAttempts, err error) {
	set = map[string]store.QueueAttempts{}
	err = s.Read(ctx, pg.Statement{Name: "queue_attempts", Args: []any{namespace}, Each: func(r pg.Row) error {
		var space, name, text string
		if err := r.Scan(&space, &name, &text); err != nil {
			return err
		}
		set[name], err = store.DecodeQueueAttempts(text)
		return err
	}})
	return set, err
}

// listed returns the queues without those that were deleted and have no job that is not finished.
func listed(queues []store.Queue, deleted []bool) (list []store.Queue) {
	for i, q := range queues {
		if !deleted[i] || len(q.Counts) > 0 {
			list = append(list, q)
		}
	}
	return list
}
