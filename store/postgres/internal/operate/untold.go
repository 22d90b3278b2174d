package operate

import (
	"context"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres/internal/pg"
	"github.com/holdfastdev/holdfast/store/postgres/internal/write"
)

// tellParents delivers answers of jobs that callers' transactions have ended, and returns how many
// there were. Those of parents that a caller's transaction has are left to the next time.
func (s *Store) tellParents(ctx context.Context, limit int, closed *store.Closed) (told int, err error) {
	parents := map[store.ID]store.ID{}
	var children []store.ID
	err = s.Send(ctx, pg.Statement{Name: "untold", Args: []any{int32(limit)}, Each: func(r pg.Row) error {
		var child, parent pgtype.UUID
		err := r.Scan(&child, &parent)
		parents[child.Bytes], children = parent.Bytes, append(children, child.Bytes)
		return err
	}})
	if err != nil || len(children) == 0 {
		return 0, err
	}
	var woken write.Woken
	err = pg.RetryOnConflict(ctx, func() error {
		woken, told = write.Woken{}, 0
		return s.InTx(ctx, pg.BeginHot, func(t pg.Session) (err error) {
			told, err = s.tellThese(ctx, t, children, parents, woken)
			return err
		})
	})
	if err == nil {
		closed.Wakes = append(closed.Wakes, s.AfterCommit(ctx, woken, false)...)
	}
	return told, err
}

func (s *Store) tellThese(
	ctx context.Context, t pg.Session, children []store.ID, parents map[store.ID]store.ID, woken write.Woken,
) (told int, err error) {
	ids := make([]store.ID, 0, len(parents))
	for _, parent := range parents {
		ids = append(ids, parent)
	}
	busy, err := write.Grab(ctx, t, ids)
	if err != nil {
		return 0, err
	}
	var free []store.ID
	for _, child := range children {
		if !busy[parents[child]] {
			free = append(free, child)
		}
	}
	now := s.Micros()
	var answered []*write.Run
	err = t.Run(ctx, "tell_parents", func(r pg.Row) error {
		var parent, child pgtype.UUID
		err := r.Scan(&parent, &child)
		answered = append(answered, &write.Run{Lease: store.Lease{Job: child.Bytes}, Parent: parent.Bytes, Answers: true})
		return err
	}, pg.UUIDsOf(free), now)
	if err != nil || len(answered) == 0 {
		return len(free), err
	}
	var n write.WakeCandidates
	n.AddRuns(answered)
	return len(free), t.RunAll(ctx, []pg.Statement{woken.Wake(n, now)})
}
