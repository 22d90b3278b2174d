package operate

import (
	"context"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres/internal/locks"
	"github.com/holdfastdev/holdfast/store/postgres/internal/pg"
	"github.com/holdfastdev/holdfast/store/postgres/internal/write"
)

// tellParents delivers up to limit answers of jobs that callers' transactions have ended, to the
// next parents of the round, and reports whether there were so many. Parents that a caller's
// transaction has are left to the next round, with all their answers.
func (s *Store) tellParents(ctx context.Context, limit int, closed *store.Closed) (full bool, err error) {
	round := &s.rounds.telling
	var parents []store.ID
	args := []any{pg.UUIDOf(s.rounds.after(round)), int32(limit)}
	err = s.Send(ctx, pg.Statement{Name: "untold_parents", Args: args, Each: func(r pg.Row) error {
		var parent pgtype.UUID
		err := r.Scan(&parent)
		parents = append(parents, parent.Bytes)
		return err
	}})
	if err != nil {
		return false, err
	}
	told := 0
	if len(parents) > 0 {
		var woken write.Woken
		err = pg.RetryOnConflict(ctx, func() error {
			woken = write.Woken{}
			return s.InTx(ctx, pg.BeginHot, func(t pg.Session) (err error) {
				told, err = s.tellThese(ctx, t, parents, limit, woken)
				return err
			})
		})
		if err != nil {
			return false, err
		}
		closed.Wakes = append(closed.Wakes, s.AfterCommit(ctx, woken, false)...)
	}
	switch {
	case told >= limit: // these parents may have more answers
	case len(parents) >= limit:
		s.rounds.pass(round, parents[len(parents)-1], false)
	default:
		s.rounds.pass(round, store.ID{}, false)
	}
	return told >= limit, nil
}

// tellThese tells those of the parents that can be had, and returns how many answers it removed.
func (s *Store) tellThese(
	ctx context.Context, t pg.Session, parents []store.ID, limit int, woken write.Woken,
) (told int, err error) {
	busy, err := locks.Grab(ctx, t, parents)
	if err != nil {
		return 0, err
	}
	var free []store.ID
	for _, parent := range parents {
		if !busy[parent] {
			free = append(free, parent)
		}
	}
	now := s.Micros()
	var answered []*write.Run
	err = t.Run(ctx, "tell_parents", func(r pg.Row) error {
		var parent, child pgtype.UUID
		var hears bool
		err := r.Scan(&parent, &child, &hears)
		if told++; hears {
			answered = append(answered, &write.Run{Lease: store.Lease{Job: child.Bytes}, Parent: parent.Bytes, Answers: true})
		}
		return err
	}, pg.UUIDsOf(free), int32(limit), now)
	if err != nil || len(answered) == 0 {
		return told, err
	}
	var n write.WakeCandidates
	n.AddRuns(answered)
	return told, t.RunAll(ctx, []pg.Statement{woken.Wake(n, now)})
}
