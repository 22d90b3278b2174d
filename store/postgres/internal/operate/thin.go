package operate

import (
	"context"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/internal/kept"
	"github.com/holdfastdev/holdfast/store/postgres/internal/pg"
	"github.com/holdfastdev/holdfast/store/postgres/internal/schema"
)

// thinAgain is when a day that was thinned is gone through again at the latest: a job of it may
// have run again since, and end as one that is kept for less.
const thinAgain = 7 * pg.Day

// thinning is how far a day has been thinned: it stays, as too many of its jobs are kept, and those
// that are over are removed row by row.
type thinning struct {
	after store.ID
	next  time.Time // when the first of the jobs that were passed is over; zero: none ever is

	left []kept.Ended // that were over, and are to be removed by others
}

// look is what is known of a day that stays.
type look struct {
	notBefore time.Time // it is left alone until then
	thinning  *thinning // it is under way
}

// leaveAlone notes until when a day is not looked at, which costs a scan.
func (s *Store) leaveAlone(p schema.Partition, r retention, until time.Time) {
	s.noteLook(p, r, look{notBefore: until})
}

// noteLook notes what is known of a day, and forgets what is not worth knowing any more.
func (s *Store) noteLook(p schema.Partition, r retention, l look) {
	s.lookedMu.Lock()
	defer s.lookedMu.Unlock()
	if s.looked == nil {
		s.looked = map[looked]look{}
	}
	for of, l := range s.looked {
		if of.mark != r.rules.Mark() || l.thinning == nil && !l.notBefore.After(r.now) {
			delete(s.looked, of)
		}
	}
	s.looked[looked{p, r.rules.Mark()}] = l
}

// lookAt tells whether it is worth while to look at a day, and how far its thinning has come.
func (s *Store) lookAt(p schema.Partition, r retention) (worth bool, _ *thinning) {
	s.lookedMu.Lock()
	defer s.lookedMu.Unlock()
	l, ok := s.looked[looked{p, r.rules.Mark()}]
	if !ok || r.now.Add(2*thinAgain).Before(l.notBefore) { // the clock was set back
		return true, nil
	}
	return l.thinning != nil || !l.notBefore.After(r.now), l.thinning
}

// thin removes, row by row, up to limit jobs of a day that are over, while others that are kept
// hold the day. It goes through the day once, in as many calls as it needs, and then leaves it
// alone until the first of those that it has passed is over, and a day longer. end: it is through.
func (s *Store) thin(ctx context.Context, r retention, p schema.Partition, at thinning, limit int) (removed int, end bool, err error) {
	from, to := p.Bounds()
	if at.after == (store.ID{}) {
		at.after = from
	}
	for range looksAtMost {
		if removed >= limit {
			break
		}
		over, next, end, err := s.thinPage(ctx, r, at, to, limit-removed)
		if err != nil {
			return removed, false, err
		}
		gone, _, err := s.removeEnded(ctx, over)
		removed += gone
		if err != nil {
			return removed, false, err
		}
		if at = next; !end {
			continue
		}
		until, err := s.thinnedUntil(ctx, r, p, at)
		s.leaveAlone(p, r, until)
		return removed, true, err
	}
	s.noteLook(p, r, look{thinning: &at})
	return removed, false, nil
}

// thinnedUntil is when a day is to be gone through again.
func (s *Store) thinnedUntil(ctx context.Context, r retention, p schema.Partition, at thinning) (until time.Time, err error) {
	from, to := p.Bounds()
	until = r.now.Add(thinAgain)
	if r.Archived { // all days are gone through so
		until = r.now.Add(pg.Day)
	}
	err = s.InTx(ctx, pg.BeginScan, func(t pg.Session) error {
		return t.Run(ctx, "unfinished_between", func(pg.Row) error {
			until = r.now.Add(pg.Day)
			return nil
		}, pg.UUIDOf(from), pg.UUIDOf(to), int32(1))
	})
	if first := at.next.Add(pg.Day); !at.next.IsZero() && first.Before(until) {
		until = first
	}
	return until, err
}

// thinPage finds the next jobs of a day that are over, at most limit.
func (s *Store) thinPage(
	ctx context.Context, r retention, at thinning, to store.ID, limit int,
) (over []kept.Ended, next thinning, end bool, err error) {
	seen := 0
	next, end = at, true
	err = s.InTx(ctx, pg.BeginRead, func(t pg.Session) error {
		return t.Run(ctx, "ended_between", func(row pg.Row) error {
			var id [16]byte
			var state int32
			var ended, queue int64
			if err := row.Scan(&id, &state, &ended, &queue); err != nil {
				return err
			}
			if len(over) >= limit {
				end = false
				return nil
			}
			seen++
			next.after = id
			keep := r.rules.Of(queue, store.State(state))
			switch until := pg.TimeOf(ended).Add(keep); {
			case keep <= 0:
			case !until.After(r.now):
				over = append(over, kept.Ended{ID: id, State: store.State(state), At: ended})
			case next.next.IsZero() || until.Before(next.next):
				next.next = until
			}
			return nil
		}, pg.UUIDOf(at.after), pg.UUIDOf(to), int32(lookAtOnce))
	})
	return over, next, end && seen < lookAtOnce, err
}
