package work

import (
	"context"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/core"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/db"
)

// promoteLimit is how many jobs one Promote moves if it is not told.
const promoteLimit = 1000

// deferredJob is a pointer in deferred.
type deferredJob struct {
	due  int64
	id   store.ID
	lane int64
	key  string
}

// Promote implements store.Maintenance. Ordering keys need nothing here: they are handed on when
// they become free.
func (v Verbs) Promote(ctx context.Context, limit int) (store.Promoted, error) {
	if limit <= 0 {
		limit = promoteLimit
	}
	var promoted store.Promoted
	wakes, err := v.d.Move(ctx, "promote",
		func(t *core.Tx) (bool, error) {
			due, err := nextDue(t)
			if err != nil {
				return false, err
			}
			promoted = store.Promoted{NextDue: core.DueTime(due)}
			free, err := lookAtGates(t, &promoted)
			return free || due <= t.Now, err
		},
		func(t *core.Tx) (err error) {
			t.CallerWakes = true // promote notes the queues, and the answer says what is due next
			if promoted, err = promote(t, limit); err != nil {
				return err
			}
			return sweepGates(t, &promoted)
		})
	promoted.Wakes = wakes
	return promoted, err
}

// nextDue returns when the next job is due, or never.
func nextDue(t *core.Tx) (int64, error) {
	s := t.Stmt("next_due")
	found, err := s.Next()
	if err != nil || !found {
		return db.Never, err
	}
	defer s.Done()
	return s.ReadInt(), nil
}

func promote(t *core.Tx, limit int) (store.Promoted, error) {
	var jobs []deferredJob
	s := t.Stmt("due")
	s.BindInt(t.Now)
	s.BindInt(int64(limit))
	err := db.Each(s, func() error {
		jobs = append(jobs, deferredJob{s.ReadInt(), db.ReadID(s), s.ReadInt(), db.ReadOptText(s)})
		return nil
	})
	if err != nil {
		return store.Promoted{}, err
	}
	promoted := store.Promoted{Jobs: len(jobs), More: len(jobs) >= limit}
	for _, j := range jobs {
		l, err := t.LaneOf(j.lane)
		if err != nil {
			return store.Promoted{}, err
		}
		if err := t.MakeAvailable(core.Pointer{ID: j.id, Lane: l, Key: j.key, RunAt: j.due}); err != nil {
			return store.Promoted{}, err
		}
		t.NoteWoken(l)
	}
	if len(jobs) > 0 { // what was read is the beginning of the table
		last := jobs[len(jobs)-1]
		s = t.Stmt("due_take")
		s.BindInt(last.due)
		db.BindID(s, last.id)
		if err := db.Exec(s); err != nil {
			return store.Promoted{}, err
		}
	}
	due, err := nextDue(t)
	promoted.NextDue = core.DueTime(due)
	return promoted, err
}

// lookAtGates reports whether it is time to look at the gates at which jobs wait, and one of them
// is free. Nearly always there are none.
func lookAtGates(t *core.Tx, promoted *store.Promoted) (free bool, err error) {
	any, err := t.AnyGated()
	if err != nil || !any {
		return false, err
	}
	if sweep := &t.Database.Sweep; sweep.IsDue(t.Now) {
		began := time.Now()
		if free, err = t.TouchWaiting("", ""); err != nil || free {
			return free, err
		}
		sweep.Done(t.Now, time.Since(began))
	}
	promoted.NextDue = earlier(promoted.NextDue, t.Database.Sweep.Next())
	return false, nil
}

// sweepGates lets jobs go on that wait at gates that are free, if it is time for that.
func sweepGates(t *core.Tx, promoted *store.Promoted) error {
	any, err := t.AnyGated()
	if err != nil || !any {
		return err
	}
	if sweep := &t.Database.Sweep; sweep.IsDue(t.Now) {
		began := time.Now()
		if _, err := t.TouchWaiting("", ""); err != nil {
			return err
		}
		sweep.Done(t.Now, time.Since(began))
	}
	promoted.NextDue = earlier(promoted.NextDue, t.Database.Sweep.Next())
	return nil
}

// earlier returns the earlier of two times, of which the first may be none.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || b.Before(a) {
		return b
	}
	return a
}
