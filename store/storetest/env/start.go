package env

import "github.com/holdfastdev/holdfast/store"

// Starting returns a batch whose jobs are all to run at once on a node, with a number of its own.
func (e *Env) Starting(node int64, enqueues ...*store.Enqueue) *store.Batch {
	for _, q := range enqueues {
		q.Start = true
	}
	return e.Mixed(node, enqueues...)
}

// Mixed returns such a batch in which the enqueues themselves say whether they are to run at once.
func (e *Env) Mixed(node int64, enqueues ...*store.Enqueue) *store.Batch {
	return &store.Batch{Enqueues: enqueues, Start: &store.Start{Node: node, Seq: e.Demand(node, len(enqueues)).Seq}}
}

// RepeatedClaim returns what a claim with the numbers of a batch's Start says when it is repeated.
func (e *Env) RepeatedClaim(batch *store.Batch) []store.Claimed {
	e.Helper()
	params := e.Demand(batch.Start.Node, len(batch.Enqueues))
	params.Seq, params.Repeat = batch.Start.Seq, true
	return e.ClaimWith(params)
}

// StartAll applies a batch all of whose jobs must start, and returns their runs.
func (e *Env) StartAll(batch *store.Batch) []store.Claimed {
	e.Helper()
	e.Apply(batch)
	claimed := batch.Start.Claimed
	e.WantIDs("started", ClaimedIDs(claimed), IDsOf(batch.Enqueues)...)
	for i, q := range batch.Enqueues {
		if q.Err != nil {
			e.Fatalf("enqueue %d: %v", i, q.Err)
		}
		e.Equal("result", q.Result, store.EnqueueResult{ID: q.Job.ID, State: store.Running, RunAt: claimed[i].Job.RunAt})
		if record := e.Get(q.Job.ID); record.State != store.Running || record.Lease != claimed[i].Lease {
			e.Fatalf("record of the job that was started under %+v: %+v", claimed[i].Lease, record)
		}
	}
	return claimed
}

// StartNow starts jobs on a node, which must succeed, and returns their runs.
func (e *Env) StartNow(node int64, enqueues ...*store.Enqueue) []store.Claimed {
	e.Helper()
	return e.StartAll(e.Starting(node, enqueues...))
}

// WantWaiting applies a batch all of whose jobs must be available, and none started.
func (e *Env) WantWaiting(batch *store.Batch) {
	e.Helper()
	e.Apply(batch)
	if len(batch.Start.Claimed) != 0 {
		e.Fatalf("started %+v", batch.Start.Claimed)
	}
	for i, q := range batch.Enqueues {
		if q.Err != nil || q.Result.ID != q.Job.ID || q.Result.State != store.Available || q.Result.Existing {
			e.Fatalf("enqueue %d: %+v, %v", i, q.Result, q.Err)
		}
		e.WantState(q.Job.ID, store.Available)
	}
}
