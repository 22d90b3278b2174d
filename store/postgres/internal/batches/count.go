package batches

import (
	"context"
	"slices"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres/internal/pg"
)

// CountBatches is that of store.JobBatches, without the class of its error.
func (s *Store) CountBatches(ctx context.Context, params store.CountBatchesParams) (c store.CountedBatches, err error) {
	var seen []row
	look := pg.Statement{Name: "batches_look", Args: []any{pg.UUIDOf(params.After), int32(params.Limit)}, Each: into(&seen)}
	if err := s.Send(ctx, look); err != nil || len(seen) == 0 {
		return c, err
	}
	if c.Open = true; len(seen) >= params.Limit {
		c.Next = seen[len(seen)-1].ID
	}
	todo, err := s.toCount(ctx, seen)
	if err != nil {
		return c, err
	}
	for _, b := range seen {
		if b.Through {
			c.Through = append(c.Through, b.JobBatch)
		}
	}
	if len(todo) == 0 {
		return c, nil
	}
	var locked []row
	err = pg.RetryOnConflict(ctx, func() error {
		return s.InTx(ctx, pg.BeginHot, func(t pg.Session) (err error) {
			locked, c.Again = nil, false
			if err := t.Run(ctx, "batches_seal", nil, todo); err != nil {
				return err
			}
			if err := t.Run(ctx, "batches_lock", into(&locked), todo); err != nil {
				return err
			}
			c.Again, err = count(ctx, t, locked, params.Members)
			return err
		})
	})
	if err != nil {
		return store.CountedBatches{}, err
	}
	for _, b := range locked {
		if b.Through {
			c.Through = append(c.Through, b.JobBatch)
		}
	}
	slices.SortFunc(c.Through, func(a, b store.JobBatch) int { return store.CompareBatches(&b, &a) })
	return c, nil
}

// toCount are the batches that a count may change.
func (s *Store) toCount(ctx context.Context, seen []row) (todo []pgtype.UUID, err error) {
	var ids, cursors []pgtype.UUID
	var waits []bool
	for _, b := range seen {
		switch {
		case b.Through:
		case !b.sealed:
			todo = append(todo, pg.UUIDOf(b.ID))
		default:
			ids, cursors, waits = append(ids, pg.UUIDOf(b.ID)), append(cursors, pg.UUIDOf(b.Cursor)), append(waits, b.Waited)
		}
	}
	if len(ids) == 0 {
		return todo, nil
	}
	return todo, s.Send(ctx, pg.Statement{Name: "batch_heads", Args: []any{ids, cursors}, Each: func(r pg.Row) error {
		var place int64
		var there, over bool
		err := r.Scan(&place, &there, &over)
		if err == nil && (!there || over || !waits[place-1]) {
			todo = append(todo, ids[place-1])
		}
		return err
	}})
}

// count counts members of batches that are locked, and writes that.
func count(ctx context.Context, t pg.Runner, locked []row, limit int) (again bool, err error) {
	var changed []*store.JobBatch
	for i := range locked {
		b := &locked[i].JobBatch
		if b.Through {
			continue
		}
		if limit <= 0 {
			again = true // for the next call
			break
		}
		var members []store.Member
		err := t.Run(ctx, "batch_members", func(r pg.Row) error {
			var id pgtype.UUID
			var state int32
			err := r.Scan(&id, &state)
			members = append(members, store.Member{ID: id.Bytes, State: store.State(state)})
			return err
		}, pg.UUIDOf(b.ID), pg.UUIDOf(b.Cursor), int32(limit))
		if err != nil {
			return false, err
		}
		looked := len(members)
		if b.Count(members, looked < limit) {
			b.Version++
			changed = append(changed, b)
			again = again || b.GoesOn(members)
		}
		limit -= looked
	}
	return again, write(ctx, t, changed)
}

func write(ctx context.Context, t pg.Runner, changed []*store.JobBatch) error {
	if len(changed) == 0 {
		return nil
	}
	n := len(changed)
	ids, cursors := make([]pgtype.UUID, n), make([]pgtype.UUID, n)
	completed, failed, cancelled := make([]int64, n), make([]int64, n), make([]int64, n)
	through, waited := make([]bool, n), make([]bool, n)
	for i, b := range changed {
		ids[i], cursors[i] = pg.UUIDOf(b.ID), pgtype.UUID{Bytes: b.Cursor, Valid: b.Cursor != store.ID{}}
		completed[i], failed[i], cancelled[i] = b.Counts.Completed, b.Counts.Failed, b.Counts.Cancelled
		through[i], waited[i] = b.Through, b.Waited
	}
	return t.Run(ctx, "batches_counted", nil, ids, completed, failed, cancelled, cursors, through, waited)
}
