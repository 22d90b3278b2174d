package sqlite

import (
	"github.com/holdfastdev/holdfast/store"
)

// endLater plans to write an end.
func (t *tx) endLater(e end) error { return t.ends.plan(t, e, insertEnds()) }

// writeEnds writes the ends that are planned.
func (t *tx) writeEnds() error { return t.ends.writeAll(t, insertEnds()) }

func insertEnds() inserting[end] {
	return inserting[end]{
		many: "finished_insert_many",
		bind: func(t *tx, s stmt, e end) {
			t.bindFinished(s, e.o.Lease.Job, plainEnding(e.o), e.r, e.o.Lease.Number)
		},
		one: func(t *tx, e end) (bool, error) {
			return true, t.insertFinished(e.o.Lease.Job, plainEnding(e.o), e.r, e.o.Lease.Number)
		},
	}
}

// plainEnding is that of a run that completed its job.
func plainEnding(o *store.Outcome) *ending {
	return &ending{state: store.Completed, result: o.Result, codec: o.Codec, startedAt: o.StartedAt}
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
	bindOptTime(s, e.startedAt)
	if e.state == store.Completed {
		s.bindNull()
		s.bindNull()
		s.bindNull()
		bindPayload(s, e.result)
		bindOptInt(s, int64(e.codec))
	} else {
		bindOptText(s, string(e.reason))
		bindOptText(s, e.err)
		bindOptInt(s, e.fingerprint)
		s.bindNull()
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
