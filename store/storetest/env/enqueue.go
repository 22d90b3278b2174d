package env

import (
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// Apply commits a batch, without the operations that are refused; each operation's own error is
// left to the caller.
func (e *Env) Apply(batch *store.Batch) {
	e.Helper()
	e.NoError("Apply", store.ApplyEach(e.Ctx, e.Store, batch))
}

// Enqueue inserts the jobs in one batch, each of which must succeed, and returns them.
func (e *Env) Enqueue(enqueues ...*store.Enqueue) []*store.Enqueue {
	e.Helper()
	e.Apply(&store.Batch{Enqueues: enqueues})
	for i, q := range enqueues {
		if q.Err != nil {
			e.Fatalf("enqueue %d: %v", i, q.Err)
		}
	}
	return enqueues
}

// Add enqueues one job and returns its id.
func (e *Env) Add(change ...func(*store.Enqueue)) store.ID {
	e.Helper()
	q := e.Enqueue(e.Job(change...))[0]
	if q.Result.ID != q.Job.ID {
		e.Fatalf("enqueue of %v returned the id %v", q.Job.ID, q.Result.ID)
	}
	return q.Job.ID
}

// Many enqueues n jobs in one batch, and returns them.
func (e *Env) Many(n int, change ...func(*store.Enqueue)) []*store.Enqueue {
	e.Helper()
	var enqueues []*store.Enqueue
	for range n {
		enqueues = append(enqueues, e.Job(change...))
	}
	return e.Enqueue(enqueues...)
}

// Running makes n runs of new jobs, on a node of their own.
func (e *Env) Running(n int, change ...func(*store.Enqueue)) []store.Claimed {
	e.Helper()
	jobs := e.Many(n, change...)
	runs := e.Claim(e.Join(), n)
	e.WantIDs("claimed", ClaimedIDs(runs), IDsOf(jobs)...)
	return runs
}

// Try enqueues one job and returns it with its result or error.
func (e *Env) Try(change ...func(*store.Enqueue)) *store.Enqueue {
	e.Helper()
	q := e.Job(change...)
	e.Apply(&store.Batch{Enqueues: []*store.Enqueue{q}})
	return q
}

// WantTaken checks that the key is held by the given job, and that asking did not insert anything.
func (e *Env) WantTaken(key string, holder store.ID) {
	e.Helper()
	q := e.Try(Unique(key))
	if q.Err != nil || q.Result.ID != holder || !q.Result.Existing || q.Result.Replaced || q.Result.State != 0 {
		e.Fatalf("enqueue with the key of %v returned %+v, %v", holder, q.Result, q.Err)
	}
	_, err := e.Store.Get(e.Ctx, "", q.Job.ID)
	e.WantErr("Get of the job that was not inserted", err, store.ErrNotFound)
}

// WantFree checks that the key is free: a job that asks for it is inserted, and cancelled to free
// it again.
func (e *Env) WantFree(key string) {
	e.Helper()
	q := e.Try(Unique(key), Delay(1000*time.Hour))
	if q.Err != nil || q.Result.Existing || q.Result.ID != q.Job.ID {
		e.Fatalf("the key is not free: %+v, %v", q.Result, q.Err)
	}
	e.Cancel(q.Job.ID)
}
