package sqlite

import (
	"context"

	"github.com/holdfastdev/holdfast/store"
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

// Promote implements store.Maintenance. Ordering keys need nothing here: they are handed on when they become free.
func (v workVerbs) Promote(ctx context.Context, limit int) (store.Promoted, error) {
	if limit <= 0 {
		limit = promoteLimit
	}
	var promoted store.Promoted
	var last *tx
	err := v.d.writeIf(ctx, "promote",
		func(t *tx) (bool, error) {
			due, err := t.nextDue()
			promoted = store.Promoted{NextDue: dueTime(due)}
			return due <= t.now, err
		},
		func(t *tx) (err error) {
			last, t.tells = t, true
			promoted, err = t.promote(limit)
			return err
		})
	if err == nil && last != nil {
		promoted.Wakes = last.woken
	}
	return promoted, err
}

// nextDue returns when the next job is due, or never.
func (t *tx) nextDue() (int64, error) {
	s := t.stmt("next_due")
	found, err := s.next()
	if err != nil || !found {
		return never, err
	}
	defer s.done()
	return s.readInt(), nil
}

func (t *tx) promote(limit int) (store.Promoted, error) {
	var jobs []deferredJob
	s := t.stmt("due")
	s.bindInt(t.now)
	s.bindInt(int64(limit))
	err := each(s, func() error {
		jobs = append(jobs, deferredJob{s.readInt(), readID(s), s.readInt(), readOptText(s)})
		return nil
	})
	if err != nil {
		return store.Promoted{}, err
	}
	promoted := store.Promoted{Jobs: len(jobs), More: len(jobs) >= limit}
	for _, j := range jobs {
		l, err := t.laneOf(j.lane)
		if err != nil {
			return store.Promoted{}, err
		}
		if err := t.makeAvailable(pointer{j.id, l, j.key, j.due}); err != nil {
			return store.Promoted{}, err
		}
		t.noteWoken(l)
	}
	if len(jobs) > 0 { // what was read is the beginning of the table
		last := jobs[len(jobs)-1]
		s = t.stmt("due_take")
		s.bindInt(last.due)
		bindID(s, last.id)
		if err := exec(s); err != nil {
			return store.Promoted{}, err
		}
	}
	due, err := t.nextDue()
	promoted.NextDue = dueTime(due)
	return promoted, err
}
