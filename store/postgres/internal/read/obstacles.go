package read

import (
	"context"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres/internal/pg"
)

// Obstacles is that of store.Reader, without the class of its error.
func (s *Store) Obstacles(ctx context.Context, namespace string, id store.ID) (store.Obstacles, error) {
	var o store.Obstacles
	found := false
	ask := pg.Statement{Name: "obstacles", Args: []any{pg.UUIDOf(id), int64(store.MostFairAhead)}, Each: func(r pg.Row) error {
		var (
			pausedAt, restsUntil *int64
			pausedBy             *string
			turn                 pgtype.UUID
			rest                 store.Resting
		)
		err := r.Scan(&pausedAt, &pausedBy, &restsUntil, &rest.Level, &turn, &o.FairAhead)
		if rest.Until = pg.OptTime(restsUntil); rest.At(s.Now()) {
			o.QueueRest = rest
		}
		o.QueuePausedAt, o.QueuePausedBy = pg.OptTime(pausedAt), pg.TextOf(pausedBy)
		if o.HasTurn = turn.Bytes == id; !o.HasTurn {
			o.Turn = turn.Bytes
		}
		found = true
		return err
	}}
	others, err := s.LookIn(ctx, namespace, []store.ID{id}, ask)
	if err == nil && (!found || others[id]) {
		o, err = store.Obstacles{}, store.NoJob(id)
	}
	return o, err
}
