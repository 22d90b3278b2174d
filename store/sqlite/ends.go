package sqlite

import "github.com/holdfastdev/holdfast/store"

// end is the plain success of a run, of which nobody is told.
type end struct {
	o *store.Outcome
	r *claimRecord
}

// endLater plans to write an end.
func (t *tx) endLater(e end) error {
	if t.ends = append(t.ends, e); len(t.ends) < rowsAtOnce {
		return nil
	}
	return t.writeEnds(rowsAtOnce)
}

// writeEnds writes what is planned: as many at once as a statement takes, while there are at least so many left, and the rest one by one
// if least is less.
func (t *tx) writeEnds(least int) error {
	for ; len(t.ends) >= rowsAtOnce; t.ends = rest(t.ends, rowsAtOnce) {
		s := t.many(manyEnds)
		for _, e := range t.ends[:rowsAtOnce] {
			t.bindFinished(s, e.o.Lease.Job, &ending{state: store.Completed, result: e.o.Result}, e.r, e.o.Lease.Number)
		}
		if err := exec(s); err != nil {
			return err
		}
	}
	if least == rowsAtOnce {
		return nil
	}
	for _, e := range t.ends {
		err := t.insertFinished(e.o.Lease.Job, &ending{state: store.Completed, result: e.o.Result}, e.r, e.o.Lease.Number)
		if err != nil {
			return err
		}
	}
	t.ends = t.ends[:0]
	return nil
}

// insertEnd records the end of a job, with its lane if it did not complete.
func (t *tx) insertEnd(b *body, e *ending, r *claimRecord, lease int64) error {
	if e.state == store.Completed {
		return t.insertFinished(b.ID, e, r, lease)
	}
	s := t.stmt("finished_insert_lane")
	t.bindFinished(s, b.ID, e, r, lease)
	s.bindInt(b.lane.id)
	return exec(s)
}

// insertFinished records the end of a job that completed. r is nil if it was not running.
func (t *tx) insertFinished(id store.ID, e *ending, r *claimRecord, lease int64) error {
	s := t.stmt("finished_insert")
	t.bindFinished(s, id, e, r, lease)
	return exec(s)
}

func (t *tx) bindFinished(s stmt, id store.ID, e *ending, r *claimRecord, lease int64) {
	bindID(s, id)
	s.bindInt(int64(e.state))
	s.bindInt(t.now)
	if r != nil {
		s.bindInt(lease)
		s.bindInt(r.node)
		s.bindInt(r.claimedAt)
	} else {
		s.bindNull()
		s.bindNull()
		s.bindNull()
	}
	if e.state == store.Completed {
		s.bindNull()
		s.bindNull()
		bindPayload(s, e.result)
	} else {
		bindOptText(s, string(e.reason))
		bindOptText(s, e.err)
		s.bindNull()
	}
}

func (t *tx) insertAttempt(b *body, e *ending, r *claimRecord, l store.Lease) error {
	s := t.stmt("attempt_insert")
	bindID(s, b.ID)
	s.bindInt(l.Number)
	s.bindInt(int64(b.Attempt))
	s.bindInt(l.Node)
	s.bindInt(r.claimedAt)
	bindOptTime(s, e.startedAt)
	s.bindInt(t.now)
	if e.pause != nil {
		s.bindInt(int64(store.Waiting))
	} else {
		s.bindInt(int64(e.state))
	}
	s.bindInt(boolInt(e.taken))
	bindOptText(s, string(e.reason))
	bindOptText(s, e.err)
	bindOptText(s, e.trace)
	return exec(s)
}
