package rules

import (
	"slices"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/simulate/play"
)

// batchRule: the jobs for the end of a batch are enqueued once, with the mark that it was called
// back, when it is closed and all members have ended; and those that fit how they have.
type batchRule struct {
	e       *eye
	members map[store.ID][]store.ID
	retried map[store.ID]bool // batches of which a member was let run again
}

func newBatchRule(e *eye) rule { return &batchRule{e, map[store.ID][]store.ID{}, map[store.ID]bool{}} }

func (r *batchRule) check(c *change) {
	switch p := c.params.(type) {
	case *store.Batch:
		for _, q := range p.Enqueues {
			if q.Job.Batch != (store.ID{}) && q.Err == nil && !q.Result.Existing && c.err == nil {
				r.add(c, q)
			}
		}
	case store.RetryParams:
		for _, id := range p.Jobs {
			if j := r.e.jobs[id]; j != nil && c.err == nil && c.was[id].State.Finished() {
				r.retried[j.Batch] = true
			}
		}
	}
	for i := range r.e.batches {
		b := &r.e.batches[i]
		at := slices.IndexFunc(c.batches, func(was store.JobBatch) bool { return was.ID == b.ID })
		r.checkBatch(b, at >= 0 && !c.batches[at].DoneAt.IsZero())
	}
}

// add notes a member.
func (r *batchRule) add(c *change, q *store.Enqueue) {
	at := slices.IndexFunc(c.batches, func(b store.JobBatch) bool { return b.ID == q.Job.Batch })
	if at < 0 || !c.batches[at].ClosedAt.IsZero() {
		play.Brokenf("Batches", "%s is added to the batch %v, which is closed or not there", short(q.Job.ID), q.Job.Batch)
	}
	r.members[q.Job.Batch] = append(r.members[q.Job.Batch], q.Job.ID)
}

// checkBatch looks at a batch, which was called back before or not.
func (r *batchRule) checkBatch(b *store.JobBatch, before bool) {
	var ends store.BatchCounts
	for _, id := range r.members[b.ID] {
		switch j := r.e.jobs[id]; {
		case j.State == store.Completed:
			ends.Completed++
		case j.State == store.Failed:
			ends.Failed++
		case j.State == store.Cancelled:
			ends.Cancelled++
		case !b.DoneAt.IsZero() && !before && !r.retried[b.ID]:
			play.Brokenf("Batches", "batch %v is called back, and its member %v is %v", b.ID, j, j.State)
		}
	}
	done := !b.DoneAt.IsZero()
	if done && !before && !r.retried[b.ID] && ends != b.Counts {
		play.Brokenf("Batches", "the members of batch %v have ended like %+v, and are counted as %+v", b.ID, ends, b.Counts)
	}
	if done && b.ClosedAt.IsZero() {
		play.Brokenf("Batches", "batch %v is called back, and not closed", b.ID)
	}
	failed := b.Counts.Failed+b.Counts.Cancelled > 0
	for _, call := range b.Calls {
		fits := call.When == store.BatchEnded || (call.When == store.BatchFailed) == failed
		if there := r.e.jobs[call.ID] != nil; there != (done && fits) {
			play.Brokenf("Batches", "batch %v, called back: %v, of %+v has a job for the end %d: %v", b.ID, done, b.Counts, call.When, there)
		}
	}
}

// end: all batches that are closed were called back.
func (r *batchRule) end() {
	for i := range r.e.batches {
		if b := &r.e.batches[i]; b.DoneAt.IsZero() && !b.ClosedAt.IsZero() {
			play.Brokenf("Batches", "all members of batch %v have ended, and it was not called back: %+v", b.ID, b)
		}
	}
}
