package work

import (
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/attributes"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/core"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/db"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/keys"
)

// onConflict answers an enqueue whose unique key is taken.
func onConflict(t *core.Tx, q *store.Enqueue, holder store.ID, runAt int64) error {
	if q.OnConflict == store.Reject {
		q.Err = &store.UniqueError{Holder: holder}
		return nil
	}
	b, found, err := t.Body(holder)
	if err != nil || !found {
		return db.Unexpected("the body of the job that holds a unique key", err)
	}
	q.Result = store.EnqueueResult{ID: holder, Existing: true, RunAt: b.RunAt}
	// A job with a lease number has started: even if it snoozed or was released, its handler may
	// have seen the args. To the handler of another kind they mean something else.
	if q.OnConflict != store.Replace || b.LeaseNumber > 0 || b.Kind != q.Job.Kind {
		return nil
	}
	state, blocked, err := t.PointerState(b)
	if err != nil || state != store.Available && state != store.Scheduled {
		return err // it is held, or finished without ever running and holds its key in that state
	}
	if err := t.DeletePointer(b, state, blocked); err != nil {
		return err
	}
	if q.MaxDelay > 0 {
		runAt = min(runAt, b.CreatedAt.Add(q.MaxDelay).UnixMicro())
	}
	s := t.Stmt("job_replace")
	db.BindPayload(s, q.Job.Args)
	s.BindInt(int64(q.Job.Codec))
	db.BindOptText(s, string(q.Job.Metadata))
	s.BindInt(runAt)
	db.BindID(s, holder)
	if err := db.Exec(s); err != nil {
		return err
	}
	if err := attributes.Set(t, holder, q.Job.Attributes); err != nil {
		return err
	}
	p := b.Pointer()
	p.RunAt = runAt
	// A job that has the turn of its ordering key keeps it, even until later: its place in the
	// order does not change.
	if state, err = t.Place(p, store.Scheduled); err != nil {
		return err
	}
	q.Result.Replaced, q.Result.RunAt = true, db.TimeOf(runAt)
	return keys.ReleaseUnique(t, &b.Job, state)
}
