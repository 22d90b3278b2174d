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
	for _, b := range seen {
		switch {
		case b.Through:
		case !b.sealed:
			todo = append(todo, pg.UUIDOf(b.ID))
		default:
			ids, cursors = append(ids, pg.UUIDOf(b.ID)), append(cursors, pg.UUIDOf(b.Cursor))
		}
	}
	if len(ids) == 0 {
		return todo, nil
	}
	return todo, s.Send(ctx, pg.Statement{Name: "batch_heads", Args: []any{ids, cursors}, Each: func(r pg.Row) error {
		var place int64
		var ready bool
		err := r.Scan(&place, &ready)
		if err == nil && ready {
			todo = append(todo, ids[place-1])
		}
		return err
	}})
}

// count counts members of batches that are locked, and writes that.
func count(ctx context.Context, t pg.Runner, locked []row, limit int) (again bool, err error) {
	var changed []*store.JobBatch
	var over notes
	for i := range locked {
		b := &locked[i].JobBatch
		if b.Through {
			continue
		}
		if limit <= 0 {
			again = true // for the next call
			break
		}
		members, all, err := membersOf(ctx, t, b, limit)
		if err != nil {
			return false, err
		}
		if n, is := b.Count(members, all); is {
			b.Version++
			changed = append(changed, b)
			again = again || n == len(members) && !b.Through
			over.add(b.ID, members[:n])
		}
		limit -= len(members)
	}
	if len(over.ids) > 0 {
		if err := t.Run(ctx, "batch_retried_forget", nil, over.batches, over.ids); err != nil {
			return false, err
		}
	}
	return again, write(ctx, t, changed)
}

// membersOf returns up to limit members of a batch that are to be counted, some of which may not
// have finished, and whether there are no others: those behind the cursor, and if these have
// finished those that were retried since they were counted.
func membersOf(ctx context.Context, t pg.Runner, b *store.JobBatch, limit int) (members []store.Member, all bool, err error) {
	waits := false
	err = t.Run(ctx, "batch_members", func(r pg.Row) error {
		var id pgtype.UUID
		var state int32
		err := r.Scan(&id, &state)
		m := store.Member{ID: id.Bytes, State: store.State(state)}
		members, waits = append(members, m), waits || !m.State.Finished()
		return err
	}, pg.UUIDOf(b.ID), pg.UUIDOf(b.Cursor), int32(limit))
	if limit -= len(members); err != nil || waits || limit <= 0 {
		return members, false, err
	}
	n := 0
	err = t.Run(ctx, "batch_retried", func(r pg.Row) error {
		var id pgtype.UUID
		var state, was int32
		var m store.Member
		err := r.Scan(&id, &state, &was, &m.Gone)
		m.ID, m.State, m.Was = id.Bytes, store.State(state), store.State(was)
		members, n = append(members, m), n+1
		return err
	}, pg.UUIDOf(b.ID), int32(limit))
	return members, n < limit, err
}

// notes are members that were retried, with their batches.
type notes struct{ batches, ids []pgtype.UUID }

// add adds those of the members of a batch that were.
func (n *notes) add(batch store.ID, members []store.Member) {
	for _, m := range members {
		if m.Was != 0 {
			n.batches, n.ids = append(n.batches, pg.UUIDOf(batch)), append(n.ids, pg.UUIDOf(m.ID))
		}
	}
}

func write(ctx context.Context, t pg.Runner, changed []*store.JobBatch) error {
	if len(changed) == 0 {
		return nil
	}
	n := len(changed)
	ids, cursors := make([]pgtype.UUID, n), make([]pgtype.UUID, n)
	completed, failed, cancelled := make([]int64, n), make([]int64, n), make([]int64, n)
	through := make([]bool, n)
	for i, b := range changed {
		ids[i], cursors[i] = pg.UUIDOf(b.ID), pgtype.UUID{Bytes: b.Cursor, Valid: b.Cursor != store.ID{}}
		completed[i], failed[i], cancelled[i] = b.Counts.Completed, b.Counts.Failed, b.Counts.Cancelled
		through[i] = b.Through
	}
	return t.Run(ctx, "batches_counted", nil, ids, completed, failed, cancelled, cursors, through)
}
