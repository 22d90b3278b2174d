package faults

import (
	"slices"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// Copy returns a batch with operations of its own, whose results are empty, as a caller needs it to
// send them again.
func Copy(batch *store.Batch) *store.Batch {
	copied := &store.Batch{}
	for _, c := range batch.Checkpoints {
		one := *c
		one.Err = nil
		copied.Checkpoints = append(copied.Checkpoints, &one)
	}
	for _, a := range batch.Appends {
		one := *a
		one.Err = nil
		one.Enqueues = copyEnqueues(a.Enqueues)
		copied.Appends = append(copied.Appends, &one)
	}
	for _, q := range batch.Sends {
		one := *q
		one.Result, one.Err = store.SendResult{}, nil
		copied.Sends = append(copied.Sends, &one)
	}
	for _, o := range batch.Outcomes {
		one := *o
		one.Final, one.Due, one.Err = 0, time.Time{}, nil
		copied.Outcomes = append(copied.Outcomes, &one)
	}
	copied.Enqueues = copyEnqueues(batch.Enqueues)
	copied.Fires = copyFires(batch, copied.Enqueues)
	copied.Requests = copyRequests(batch, copied)
	for _, c := range batch.Calls {
		one := *c
		one.Err = nil
		copied.Calls = append(copied.Calls, &one)
	}
	if batch.Start != nil {
		copied.Start = &store.Start{Node: batch.Start.Node, Seq: batch.Start.Seq}
	}
	return copied
}

func copyEnqueues(enqueues []*store.Enqueue) []*store.Enqueue {
	var copied []*store.Enqueue
	for _, q := range enqueues {
		one := *q
		one.Result, one.Err = store.EnqueueResult{}, nil
		if q.Send != nil {
			along := *q.Send
			along.Result = store.SendResult{}
			one.Send = &along
		}
		one.FollowUps = copyEnqueues(q.FollowUps)
		copied = append(copied, &one)
	}
	return copied
}

// copyFires copies the fires of a batch, of which enqueues are the copied ones.
func copyFires(batch *store.Batch, enqueues []*store.Enqueue) []*store.Fire {
	var copied []*store.Fire
	for _, f := range batch.Fires {
		one := *f
		one.Err, one.Runs = nil, slices.Clone(f.Runs)
		for i, r := range one.Runs {
			if place := slices.Index(batch.Enqueues, r.Enqueue); place >= 0 {
				one.Runs[i].Enqueue = enqueues[place]
			}
		}
		copied = append(copied, &one)
	}
	return copied
}

// copyRequests copies the requests of a batch, with the copies of what they do.
func copyRequests(batch, to *store.Batch) []*store.KeyedRequest {
	var copied []*store.KeyedRequest
	for _, r := range batch.Requests {
		one := *r
		one.Err, one.Enqueues, one.Sends = nil, nil, nil
		for _, q := range r.Enqueues {
			one.Enqueues = append(one.Enqueues, to.Enqueues[slices.Index(batch.Enqueues, q)])
		}
		for _, q := range r.Sends {
			one.Sends = append(one.Sends, to.Sends[slices.Index(batch.Sends, q)])
		}
		copied = append(copied, &one)
	}
	return copied
}

// deliver hands the results of a batch to the caller's.
func deliver(from, to *store.Batch) {
	for i, r := range from.Requests {
		to.Requests[i].Err = r.Err
	}
	for i, c := range from.Checkpoints {
		to.Checkpoints[i].Err = c.Err
	}
	for i, a := range from.Appends {
		to.Appends[i].Err = a.Err
		deliverEnqueues(a.Enqueues, to.Appends[i].Enqueues)
	}
	for i, q := range from.Sends {
		to.Sends[i].Result, to.Sends[i].Err = q.Result, q.Err
	}
	for i, o := range from.Outcomes {
		to.Outcomes[i].Final, to.Outcomes[i].Due, to.Outcomes[i].Err = o.Final, o.Due, o.Err
	}
	deliverEnqueues(from.Enqueues, to.Enqueues)
	for i, f := range from.Fires {
		to.Fires[i].Err = f.Err
	}
	for i, c := range from.Calls {
		to.Calls[i].Err = c.Err
	}
	if from.Start != nil {
		to.Start.Claimed = from.Start.Claimed
	}
	to.Woken = from.Woken
}

func deliverEnqueues(from, to []*store.Enqueue) {
	for i, q := range from {
		if to[i].Result, to[i].Err = q.Result, q.Err; q.Send != nil {
			to[i].Send.Job, to[i].Send.Result = q.Send.Job, q.Send.Result
		}
		deliverEnqueues(q.FollowUps, to[i].FollowUps)
	}
}

// repeat marks a batch as one whose answer was lost.
func repeat(batch *store.Batch) {
	for _, a := range batch.Appends {
		a.Repeat = true
	}
	for _, o := range batch.Outcomes {
		o.Repeat = true
	}
}

// keyless reports whether one of the sends would be a second message if it were repeated.
func keyless(sends []*store.Send) bool {
	for _, q := range sends {
		if q.Key == "" {
			return true
		}
	}
	return false
}

// hold returns a batch of those operations that are not busy, and answers the others.
func (f Fault) hold(batch *store.Batch) *store.Batch {
	if f.Busy == nil {
		return batch
	}
	return &store.Batch{
		Requests:    batch.Requests,
		Checkpoints: free(f, batch.Checkpoints, func(c *store.CheckpointWrite) { c.Err = store.ErrBusy }),
		Appends:     free(f, batch.Appends, func(a *store.Append) { a.Err = store.ErrBusy }),
		Sends:       free(f, batch.Sends, func(q *store.Send) { q.Err = store.ErrBusy }),
		Outcomes:    free(f, batch.Outcomes, func(o *store.Outcome) { o.Err = store.ErrBusy }),
		Enqueues:    free(f, batch.Enqueues, func(q *store.Enqueue) { q.Err = store.ErrBusy }),
		Fires:       free(f, batch.Fires, func(f *store.Fire) { f.Err = store.ErrBusy }),
		Calls:       free(f, batch.Calls, func(c *store.BatchCall) { c.Err = store.ErrBusy }),
		Start:       batch.Start,
	}
}

func free[T any](f Fault, operations []*T, refuse func(*T)) []*T {
	var left []*T
	for _, operation := range operations {
		if f.Busy(operation) {
			refuse(operation)
		} else {
			left = append(left, operation)
		}
	}
	return left
}
