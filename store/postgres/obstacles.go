package postgres

import (
	"context"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/holdfastdev/holdfast/store"
)

// Obstacles implements store.Reader.
func (s *Store) Obstacles(ctx context.Context, namespace string, id store.ID) (store.Obstacles, error) {
	var o store.Obstacles
	found := false
	others, err := s.lookIn(ctx, namespace, []store.ID{id}, statement{name: "obstacles", args: []any{uuidOf(id)}, each: func(r row) error {
		var (
			pausedAt *int64
			pausedBy *string
			turn     pgtype.UUID
		)
		err := r.Scan(&pausedAt, &pausedBy, &turn)
		o.QueuePausedAt, o.QueuePausedBy, o.Turn = optTime(pausedAt), textOf(pausedBy), turn.Bytes
		found = true
		return err
	}})
	if err == nil && (!found || others[id]) {
		o, err = store.Obstacles{}, store.NoJob(id)
	}
	return o, classify(ctx, "look up what blocks job "+id.String(), err)
}
