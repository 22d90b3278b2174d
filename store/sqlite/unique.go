package sqlite

import (
	"context"

	"github.com/holdfastdev/holdfast/store"
)

func (t *tx) uniqueHolder(key []byte) (holder store.ID, taken bool, err error) {
	s := t.stmt("unique_holder")
	s.bindBlob(key)
	taken, err = s.next()
	if taken {
		holder = readID(s)
		s.done()
	}
	return holder, taken, err
}

func (t *tx) takeUnique(key []byte, id store.ID) error {
	s := t.stmt("unique_insert")
	s.bindBlob(key)
	bindID(s, id)
	return exec(s)
}

// enter releases the job's unique key if the job does not hold it in the state that it enters. Nothing but an
// operator's retry takes it back.
func (t *tx) enter(job *store.Job, state store.State) error {
	if len(job.UniqueKey) == 0 || job.UniqueStates.Has(state) {
		return nil
	}
	s := t.stmt("unique_delete")
	s.bindBlob(job.UniqueKey)
	bindID(s, job.ID)
	return exec(s)
}

// onConflict answers an enqueue whose unique key is taken.
func (t *tx) onConflict(q *store.Enqueue, holder store.ID, runAt int64) error {
	if q.OnConflict == store.Reject {
		q.Err = &store.UniqueError{Holder: holder}
		return nil
	}
	b, found, err := t.body(holder)
	if err != nil || !found {
		return unexpected("the body of the job that holds a unique key", err)
	}
	q.Result = store.EnqueueResult{ID: holder, Existing: true, RunAt: b.RunAt}
	// A job with a lease number has started: even if it snoozed or was released, its handler may have seen the args.
	if q.OnConflict != store.Replace || b.LeaseNumber > 0 {
		return nil
	}
	state, blocked, err := t.pointerState(b)
	if err != nil || state != store.Available && state != store.Scheduled {
		return err // it is held, or finished without ever running and holds its key in that state
	}
	if err := t.deletePointer(b, state, blocked); err != nil {
		return err
	}
	s := t.stmt("job_replace")
	bindPayload(s, q.Job.Args)
	s.bindInt(int64(q.Job.Codec))
	bindOptText(s, string(q.Job.Metadata))
	s.bindInt(runAt)
	bindID(s, holder)
	if err := exec(s); err != nil {
		return err
	}
	p := b.pointer()
	p.runAt = runAt
	// A job that has the turn of its ordering key keeps it, even until later: its place in the order does not change.
	if state, err = t.place(p, store.Scheduled); err != nil {
		return err
	}
	q.Result.Replaced, q.Result.RunAt = true, timeOf(runAt)
	return t.enter(&b.Job, state)
}

// Obstacles implements store.Reader.
func (v workVerbs) Obstacles(ctx context.Context, namespace string, id store.ID) (store.Obstacles, error) {
	var o store.Obstacles
	err := v.d.read(ctx, "look up what blocks job "+id.String(), func(t *tx) error {
		o = store.Obstacles{}
		b, found, err := t.body(id)
		if err != nil {
			return err
		}
		if !found || namespace != "" && b.Namespace != namespace {
			return store.NoJob(id)
		}
		st := t.stmt("queue_paused")
		st.bindInt(b.lane.queue)
		if found, err = st.next(); err != nil {
			return err
		}
		if found {
			o.QueuePausedAt, o.QueuePausedBy = readOptTime(st), readOptText(st)
			st.done()
		}
		if b.OrderingKey == "" {
			return nil
		}
		holder, held, err := t.keyHolder(keyName{b.lane.queue, b.OrderingKey})
		if held && holder != id {
			o.Turn = holder
		}
		return err
	})
	return o, err
}
