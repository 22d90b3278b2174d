package work

import (
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/core"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/db"
)

// planSuccess plans to write the finished row of a success.
func planSuccess(t *core.Tx, p core.Success) error { return t.Successes.Plan(t, p, insertSuccesses()) }

// writeSuccesses writes the finished rows that are planned.
func writeSuccesses(t *core.Tx) error { return t.Successes.WriteAll(t, insertSuccesses()) }

func insertSuccesses() core.Inserting[core.Success] {
	return core.Inserting[core.Success]{
		Many: "finished_insert_many",
		Bind: func(t *core.Tx, s db.Stmt, p core.Success) {
			bindFinished(t, s, p.Outcome.Lease.Job, plainEnding(p.Outcome), p.Record, p.Outcome.Lease.Number)
		},
		One: func(t *core.Tx, p core.Success) (bool, error) {
			return true, insertFinished(t, p.Outcome.Lease.Job, plainEnding(p.Outcome), p.Record, p.Outcome.Lease.Number)
		},
	}
}

// plainEnding is that of a run that completed its job.
func plainEnding(o *store.Outcome) *Ending {
	return &Ending{State: store.Completed, result: o.Result, codec: o.Codec, startedAt: o.StartedAt}
}

// insertEnd records the end of a job, with its lane if it did not complete.
func insertEnd(t *core.Tx, b *core.Body, e *Ending, r *core.ClaimRecord, lease int64) error {
	if e.State == store.Completed {
		return insertFinished(t, b.ID, e, r, lease)
	}
	s := t.Stmt("finished_insert_lane")
	bindFinished(t, s, b.ID, e, r, lease)
	s.BindInt(b.Lane.ID)
	return db.Exec(s)
}

// insertFinished records the end of a job that completed. r is nil if it was not running.
func insertFinished(t *core.Tx, id store.ID, e *Ending, r *core.ClaimRecord, lease int64) error {
	s := t.Stmt("finished_insert")
	bindFinished(t, s, id, e, r, lease)
	return db.Exec(s)
}

func bindFinished(t *core.Tx, s db.Stmt, id store.ID, e *Ending, r *core.ClaimRecord, lease int64) {
	t.TellEnd(id, e.State, e.Reason)
	db.BindID(s, id)
	s.BindInt(int64(e.State))
	s.BindInt(t.Now)
	if r != nil {
		s.BindInt(lease)
		s.BindInt(r.Node)
		s.BindInt(r.ClaimedAt)
	} else {
		s.BindNull()
		s.BindNull()
		s.BindNull()
	}
	db.BindOptTime(s, e.startedAt)
	if e.State == store.Completed {
		s.BindNull()
		s.BindNull()
		s.BindNull()
		db.BindPayload(s, e.result)
		db.BindOptInt(s, int64(e.codec))
	} else {
		db.BindOptText(s, string(e.Reason))
		db.BindOptText(s, e.err)
		db.BindOptInt(s, e.fingerprint)
		s.BindNull()
		s.BindNull()
	}
}

func insertAttempt(t *core.Tx, b *core.Body, e *Ending, r *core.ClaimRecord, l store.Lease) error {
	s := t.Stmt("attempt_insert")
	db.BindID(s, b.ID)
	s.BindInt(l.Number)
	s.BindInt(int64(b.Attempt))
	s.BindInt(l.Node)
	s.BindInt(r.ClaimedAt)
	db.BindOptTime(s, e.startedAt)
	s.BindInt(t.Now)
	if e.pause != nil {
		s.BindInt(int64(store.Waiting))
	} else {
		s.BindInt(int64(e.State))
	}
	if e.Lost {
		s.BindInt(db.TakenLost)
	} else {
		s.BindInt(db.BoolInt(e.Taken))
	}
	db.BindOptText(s, string(e.Reason))
	db.BindOptText(s, e.err)
	db.BindOptText(s, e.trace)
	return db.Exec(s)
}
