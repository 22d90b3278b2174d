package work

import (
	"context"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/core"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/db"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/gating"
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
			free, err := gating.Look(t, &promoted)
			return free || due <= t.Now, err
		},
		func(t *core.Tx) (err error) {
			t.CallerWakes = true // promote notes the queues, and the answer says what is due next
			if promoted, err = promote(t, limit); err == nil {
				err = gating.Sweep(t, &promoted, limit)
			}
			return err
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
