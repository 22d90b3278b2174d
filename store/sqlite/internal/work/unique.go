package work

import (
	"context"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/core"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/db"
)

func uniqueHolder(t *core.Tx, key []byte) (holder store.ID, taken bool, err error) {
	s := t.Stmt("unique_holder")
	s.BindBlob(key)
	taken, err = s.Next()
	if taken {
		holder = db.ReadID(s)
		s.Done()
	}
	return holder, taken, err
}

func takeUnique(t *core.Tx, key []byte, id store.ID) error {
	s := t.Stmt("unique_insert")
	s.BindBlob(key)
	db.BindID(s, id)
	return db.Exec(s)
}

// releaseUnique releases the job's unique key if the job does not hold it in the state that it
// enters.
// Nothing but an operator's retry takes it back.
func releaseUnique(t *core.Tx, job *store.Job, state store.State) error {
	if len(job.UniqueKey) == 0 || job.UniqueStates.Has(state) {
		return nil
	}
	s := t.Stmt("unique_delete")
	s.BindBlob(job.UniqueKey)
	db.BindID(s, job.ID)
	return db.Exec(s)
}

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
	// have seen the args.
	if q.OnConflict != store.Replace || b.LeaseNumber > 0 {
		return nil
	}
	state, blocked, err := t.PointerState(b)
	if err != nil || state != store.Available && state != store.Scheduled {
		return err // it is held, or finished without ever running and holds its key in that state
	}
	if err := t.DeletePointer(b, state, blocked); err != nil {
		return err
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
	p := b.Pointer()
	p.RunAt = runAt
	// A job that has the turn of its ordering key keeps it, even until later: its place in the
	// order does not change.
	if state, err = t.Place(p, store.Scheduled); err != nil {
		return err
	}
	q.Result.Replaced, q.Result.RunAt = true, db.TimeOf(runAt)
	return releaseUnique(t, &b.Job, state)
}

// Obstacles implements store.Reader.
func (v Verbs) Obstacles(ctx context.Context, namespace string, id store.ID) (store.Obstacles, error) {
	var o store.Obstacles
	err := v.d.Read(ctx, "look up what blocks job "+id.String(), func(t *core.Tx) error {
		o = store.Obstacles{}
		b, found, err := t.Body(id)
		if err != nil {
			return err
		}
		if !found || namespace != "" && b.Namespace != namespace {
			return store.NoJob(id)
		}
		st := t.Stmt("queue_paused")
		st.BindInt(b.Lane.Queue)
		if found, err = st.Next(); err != nil {
			return err
		}
		if found {
			o.QueuePausedAt, o.QueuePausedBy = db.ReadOptTime(st), db.ReadOptText(st)
			st.Done()
		}
		if b.OrderingKey == "" {
			return nil
		}
		holder, held, err := t.KeyHolder(core.KeyName{Queue: b.Lane.Queue, Key: b.OrderingKey})
		if held && holder != id {
			o.Turn = holder
		}
		return err
	})
	return o, err
}
