package hookqueue

import (
	"context"
	"sync"
	"time"

	"github.com/holdfastdev/holdfast/hooks"
	"github.com/holdfastdev/holdfast/internal/logs"
	"github.com/holdfastdev/holdfast/store"
)

func enqueuedOf(h *hooks.Hooks) func(hooks.Enqueued) { return h.Enqueued }
func startedOf(h *hooks.Hooks) func(hooks.Started)   { return h.Started }
func retriedOf(h *hooks.Hooks) func(hooks.Retried)   { return h.Retried }
func parkedOf(h *hooks.Hooks) func(hooks.Parked)     { return h.Parked }
func finishedOf(h *hooks.Hooks) func(hooks.Finished) { return h.Finished }
func letterOf(h *hooks.Hooks) func(hooks.DeadLetter) { return h.DeadLetter }
func rescuedOf(h *hooks.Hooks) func(hooks.Rescued)   { return h.Rescued }
func nodeDiedOf(h *hooks.Hooks) func(hooks.NodeDied) { return h.NodeDied }

// Committed tells of the jobs that a batch has stored.
func (q *Queue) Committed(batch *store.Batch) {
	if !wants(q, enqueuedOf) {
		return
	}
	now := q.store.Now()
	for _, e := range batch.Enqueues {
		q.enqueued(e, now)
	}
	for _, a := range batch.Appends {
		if a.Err != nil {
			continue
		}
		for _, e := range a.Enqueues {
			q.enqueued(e, now)
		}
	}
}

// enqueued tells of an enqueue that has stored its job. One that was repeated, because the answer
// was lost, finds the job of its own first try, which is told unless others may have chosen its id,
// too.
func (q *Queue) enqueued(e *store.Enqueue, now time.Time) {
	if e.Err != nil || e.Result.Existing && (e.KnownID || e.Result.ID != e.Job.ID) {
		return
	}
	event := hooks.Enqueued{Job: jobOf(&e.Job), At: now, Parent: e.Job.Parent, State: e.Result.State, RunAt: e.Result.RunAt}
	switch {
	case event.RunAt.IsZero() && !e.Job.RunAt.IsZero():
		event.RunAt = e.Job.RunAt
	case event.RunAt.IsZero():
		event.RunAt = now.Add(e.Delay)
	}
	if event.State == 0 { // the answer was lost
		event.State = store.Available
		if event.RunAt.After(now) {
			event.State = store.Scheduled
		}
	}
	put(q, enqueuedOf, event)
}

// Started tells of a run that begins, whose job has waited for it.
func (q *Queue) Started(c *store.Claimed, at time.Time, waited time.Duration) {
	if q != nil {
		run := hooks.Run{Job: jobOf(&c.Job), Attempt: c.Job.Attempt, Lease: c.Lease.Number, Node: c.Lease.Node}
		put(q, startedOf, hooks.Started{Run: run, At: at, Waited: waited})
	}
}

// Ended tells of a run whose outcome was stored, and how long it took.
func (q *Queue) Ended(o *store.Outcome, about logs.About, took time.Duration) {
	if q == nil {
		return
	}
	now := q.store.Now()
	job := hooks.Job{ID: o.Lease.Job, Namespace: o.Namespace, Queue: o.Queue, Kind: about.Kind}
	run := hooks.Run{Job: job, Attempt: about.Attempt, Lease: o.Lease.Number, Node: o.Lease.Node}
	switch {
	case o.Final.Finished():
		e := hooks.Finished{Job: job, At: now, Attempt: about.Attempt, State: o.Final, Reason: reasonOf(o), Error: o.Error, Took: took}
		if o.State == store.Failed && o.Final == store.Failed {
			e.Fingerprint = o.Fingerprint
		}
		put(q, finishedOf, e)
		q.letter(e.State, func() hooks.Finished { return e })
	case o.StartedAt.IsZero(): // no run of it had begun
	case o.Final == store.Waiting || o.State == store.Waiting:
		e := hooks.Parked{Run: run, At: now, Took: took, Until: o.Due, Reason: o.Reason, Error: o.Error, Held: o.Wait != nil && o.Wait.Held}
		if o.State != store.Waiting { // a person has paused it
			e.Held, e.Reason, e.Error = true, store.ReasonPaused, ""
		}
		put(q, parkedOf, e)
	default:
		e := hooks.Retried{
			Run: run, At: now, Took: took, State: o.Final, Reason: o.Reason, Error: o.Error, Trace: o.Trace, RunAt: o.Due,
			Continued: o.Continue != nil,
		}
		if e.RunAt.IsZero() {
			e.RunAt = now.Add(o.Delay)
		}
		put(q, retriedOf, e)
	}
}

// reasonOf is why a job has finished, if the store has made another end of it than its run did.
func reasonOf(o *store.Outcome) store.Reason {
	switch {
	case o.State == o.Final:
		return o.Reason
	case o.Final == store.Cancelled:
		return store.ReasonCancelled
	}
	return store.ReasonDeadline
}

// Over tells of jobs that were finished without a run: by a cancel, from outside, or because their
// parents are over. What is not known of them is read.
func (q *Queue) Over(ids []store.ID) {
	if len(ids) == 0 || !wants(q, finishedOf) && !wants(q, letterOf) {
		return
	}
	now := q.store.Now()
	for _, id := range ids {
		read := sync.OnceValue(func() hooks.Finished { return q.finished(id, now) })
		q.add(func(h *hooks.Hooks) {
			if h.Finished != nil {
				h.Finished(read())
			}
		})
		q.letter(store.Failed, read)
	}
}

// finished reads how a job has finished.
func (q *Queue) finished(id store.ID, at time.Time) hooks.Finished {
	e := hooks.Finished{Job: hooks.Job{ID: id}, At: at, State: store.Cancelled, Reason: store.ReasonCancelled}
	q.reading.RLock()
	defer q.reading.RUnlock()
	if q.life.Err() != nil {
		return e
	}
	ctx, stop := context.WithTimeout(q.life, readTimeout)
	defer stop()
	record, err := q.store.Get(ctx, "", id)
	if err != nil {
		return e
	}
	e.Job, e.Attempt = jobOf(&record.Job), record.Attempt
	if record.State.Finished() { // a person may have let it run again
		e.State, e.Reason, e.Error, e.Fingerprint = record.State, record.Reason, record.Error, record.Fingerprint
	}
	return e
}

// Rescued tells of nodes that were declared dead, and of the jobs that were taken from nodes.
func (q *Queue) Rescued(r *store.Rescued) {
	if q == nil {
		return
	}
	now := q.store.Now()
	for _, node := range r.Died {
		put(q, nodeDiedOf, hooks.NodeDied{At: now, Node: node})
	}
	for i := range r.Jobs {
		j := &r.Jobs[i]
		job := hooks.Job{ID: j.Job, Namespace: j.Namespace, Queue: j.Queue, Kind: j.Kind}
		put(q, rescuedOf, hooks.Rescued{Job: job, At: now, Node: j.Node, State: j.State, Reason: j.Reason, RunAt: j.RunAt})
		if j.State.Finished() {
			e := hooks.Finished{Job: job, At: now, State: j.State, Reason: j.Reason}
			put(q, finishedOf, e)
			q.letter(e.State, func() hooks.Finished { return e })
		}
	}
}

func jobOf(j *store.Job) hooks.Job {
	return hooks.Job{ID: j.ID, Namespace: j.Namespace, Queue: j.Queue, Kind: j.Kind}
}
