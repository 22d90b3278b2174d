package operate

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/internal/kept"
	"github.com/holdfastdev/holdfast/store/postgres/internal/classes"
	"github.com/holdfastdev/holdfast/store/postgres/internal/keys"
	"github.com/holdfastdev/holdfast/store/postgres/internal/pg"
	"github.com/holdfastdev/holdfast/store/postgres/internal/remains"
)

const (
	// lookAtOnce is how many jobs are looked at in one go, whose queue may keep them longer.
	lookAtOnce = 5000
	// looksAtMost is how often that is done in one Retain.
	looksAtMost = 20
)

// walkAges removes, row by row, jobs of queues that keep them for less than others: those that
// failed or were cancelled, and those that have outlived their day. It passes each of them once for
// each of the times (kept.Walks).
func (s *Store) walkAges(ctx context.Context, r retention, limit int) (removed int, more bool, err error) {
	if !s.walks.Take(r.rules, r.now) {
		return 0, false, nil // another call does it
	}
	defer s.walks.Give()
	looks := looksAtMost
	for _, state := range finishedStates {
		shorter, _ := r.rules.Times(state)
		for _, keep := range shorter {
			w := s.walks.Of(kept.Which{State: state, Keep: keep})
			for left := true; left; {
				if looks--; looks < 0 || removed >= limit {
					return removed, true, nil
				}
				n, all, err := s.walkOne(ctx, r, w, state, keep, limit-removed)
				removed, left = removed+n, !all
				if err != nil {
					return removed, false, err
				}
			}
		}
	}
	return removed, false, nil
}

// walkOne removes the next jobs of a walk, and tells whether it has come to the end.
func (s *Store) walkOne(
	ctx context.Context, r retention, w *kept.Walk, state store.State, keep time.Duration, limit int,
) (removed int, end bool, err error) {
	next := *w
	again := next.Again(limit)
	next, over, end, err := s.walkPage(ctx, r, next, state, keep, limit-len(again))
	if err != nil {
		return 0, false, err
	}
	removed, stay, err := s.removeEnded(ctx, append(again, over...))
	if err != nil {
		return 0, false, err
	}
	waits := removed > 0 && len(next.Left) > 0
	next.Stay(stay)
	*w = next
	return removed, end && !waits, nil
}

// walkPage finds the next jobs of a walk that are over, at most limit. end: nothing comes behind.
func (s *Store) walkPage(
	ctx context.Context, r retention, w kept.Walk, state store.State, keep time.Duration, limit int,
) (next kept.Walk, over []kept.Ended, end bool, err error) {
	name := "ended_after"
	if state == store.Completed {
		name = "ended_after_default"
	}
	looked := 0
	next, end = w, true
	err = s.InTx(ctx, pg.BeginRead, func(t pg.Session) error {
		return t.Run(ctx, name, func(row pg.Row) error {
			var id pgtype.UUID
			var at, queue int64
			if err := row.Scan(&id, &at, &queue); err != nil {
				return err
			}
			if len(over) >= limit {
				end = false
				return nil
			}
			looked++
			next.At, next.ID = at, id.Bytes
			if k := r.rules.Of(queue, state); k > 0 && k <= keep {
				over = append(over, kept.Ended{ID: id.Bytes, State: state, At: at})
			}
			return nil
		}, int32(state), w.At, pg.UUIDOf(w.ID), r.now.Add(-keep).UnixMicro(), int32(lookAtOnce))
	})
	return next, over, end && looked < lookAtOnce, err
}

// removeEnded removes those of the jobs that are as finished as they were, and returns those of
// them that stay, since others need them, or have them locked.
func (s *Store) removeEnded(ctx context.Context, over []kept.Ended) (removed int, stay []kept.Ended, err error) {
	if len(over) == 0 {
		return 0, nil, nil
	}
	ids, states, ends := arraysOf(over)
	err = pg.RetryOnConflict(ctx, func() error {
		removed, stay = 0, nil
		return s.InTx(ctx, pg.BeginHot, func(t pg.Session) error {
			var locked, still idSet
			if err := t.Run(ctx, "over_lock", locked.scan, ids, states, ends); err != nil {
				return err
			}
			gone, err := s.removeCounted(ctx, t, locked.ids, placesOf(over))
			if err != nil {
				return err
			}
			removed = len(gone)
			if removed == len(over) {
				return nil
			}
			err = t.Run(ctx, "over_still", still.scan, ids, states, ends)
			left := still.among()
			for _, e := range over {
				if left[e.ID] {
					stay = append(stay, e)
				}
			}
			return err
		})
	})
	return removed, stay, err
}

// placesOf are the archives in which jobs are that are to leave a stub.
func placesOf(over []kept.Ended) map[store.ID]string {
	places := map[store.ID]string{}
	for i := range over {
		if over[i].Archived != "" {
			places[over[i].ID] = over[i].Archived
		}
	}
	return places
}

// removeCounted removes finished jobs that are locked, but for those whose key another
// transaction is taking, and counts them. Those that places has a name for leave their stubs. It
// returns those that it has removed.
func (s *Store) removeCounted(
	ctx context.Context, t pg.Session, ids []pgtype.UUID, places map[store.ID]string,
) (gone []pgtype.UUID, err error) {
	busy, err := keys.Busy(ctx, t, ids)
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		if !busy[id.Bytes] {
			gone = append(gone, id)
		}
	}
	if len(gone) == 0 {
		return nil, nil
	}
	var counts classes.Counts
	if err := counts.Of(ctx, t, gone); err != nil {
		return nil, err
	}
	if err := remains.Leave(ctx, t, gone, places, s.Micros(), counts.Stubs); err != nil {
		return nil, err
	}
	if err := counts.Write(ctx, t, s.Micros()); err != nil {
		return nil, err
	}
	return gone, s.removeJobs(ctx, t, gone)
}
