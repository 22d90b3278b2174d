package env

import (
	"errors"

	"github.com/holdfastdev/holdfast/store"
)

// Calls is a job for the end of a batch.
func (e *Env) Calls(when store.BatchEnd) store.BatchJob {
	return store.BatchJob{When: when, ID: e.IDs.Next(), Job: store.ScheduledJob{
		Kind: "send", Queue: "mail", Priority: 2, Args: []byte(`{"n":1}`), MaxAttempts: 3,
	}}
}

// NewBatch makes an open batch with these jobs for its end.
func (e *Env) NewBatch(calls ...store.BatchJob) store.JobBatch {
	e.Helper()
	b := store.JobBatch{ID: e.IDs.Next(), Namespace: e.space, BatchSettings: store.BatchSettings{Name: "import", Calls: calls}}
	e.NoError("CreateBatch", e.Store.CreateBatch(e.Ctx, nil, b))
	return e.BatchOf(b.ID)
}

// BatchOf returns a batch, or fails.
func (e *Env) BatchOf(id store.ID) store.JobBatch {
	e.Helper()
	found, err := e.Store.Batches(e.Ctx, store.BatchFilter{Namespace: e.space, ID: id, Limit: 1})
	e.NoError("Batches", err)
	if len(found) != 1 {
		e.Fatalf("there are %d batches %v", len(found), id)
	}
	return found[0]
}

// CloseBatch closes a batch.
func (e *Env) CloseBatch(id store.ID) {
	e.Helper()
	e.NoError("CloseBatch", e.Store.CloseBatch(e.Ctx, nil, e.space, id))
}

// Member lets the job belong to a batch.
func Member(batch store.ID) func(*store.Enqueue) {
	return func(q *store.Enqueue) { q.Job.Batch = batch }
}

// CountBatches counts, a few batches and members at a time, until there is nothing more to count
// now, and returns the batches that are through.
func (e *Env) CountBatches(batches, members int) (through []store.JobBatch) {
	e.Helper()
	for range 1000 {
		again := false
		through = nil
		for after := (store.ID{}); ; {
			c, err := e.Store.CountBatches(e.Ctx, store.CountBatchesParams{After: after, Limit: batches, Members: members})
			e.NoError("CountBatches", err)
			through, again, after = append(through, c.Through...), again || c.Again, c.Next
			if c.Next == (store.ID{}) {
				break
			}
		}
		if !again {
			return through
		}
	}
	e.Fatal("CountBatches says Again for ever")
	return nil
}

// CallBack calls back what is through, and returns the jobs that were enqueued. A call that is
// refused because the batch has changed enqueues none.
func (e *Env) CallBack() (jobs []store.ID) {
	e.Helper()
	for _, b := range e.CountBatches(100, 100) {
		u := b.Call()
		err := e.Store.Apply(e.Ctx, Batched(u))
		if _, refused := errors.AsType[*store.RefusedError](err); refused && errors.Is(u.Call.Err, store.ErrConflict) {
			continue
		}
		e.NoError("the call of a batch", err)
		for _, q := range u.Enqueues {
			jobs = append(jobs, q.Job.ID)
		}
	}
	return jobs
}

// WantNoCall checks that a batch which was counted so is not called back any more.
func (e *Env) WantNoCall(when string, counted store.JobBatch) {
	e.Helper()
	u := counted.Call()
	err := e.Store.Apply(e.Ctx, Batched(u))
	if _, refused := errors.AsType[*store.RefusedError](err); !refused {
		e.Fatalf("the call %s: %v", when, err)
	}
	e.WantErr("the call "+when, u.Call.Err, store.ErrConflict)
	for _, q := range u.Enqueues {
		e.WantUnknown(q.Job.ID)
	}
}
