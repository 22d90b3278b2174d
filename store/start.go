package store

import "time"

// Start asks that jobs run as soon as they are enqueued: those of a batch's Enqueues that have
// Enqueue.Start set are claimed for a node in the transaction that inserts them, in the order
// given. It is a claim that finds nothing else to do: it happens only if the node is alive, no
// queue of these jobs is paused, and no job is waiting in the lane of one of them, which is the
// jobs of the same namespace, queue, kind and priority that count in no limit per key. Otherwise
// all of them wait for a claim like any other job, and so does, in any case, one that is not new,
// is not due, is bound to a version, belongs to a batch, has an ordering key, a unique key or a
// business key, counts in a limit per key, or comes after others. A store may let them wait for
// reasons of its own.
//
// A node does not leave while batches that start jobs on it are under way.
//
// A batch whose answer was lost is repeated with the same Start and the same jobs. If it had
// happened, Claimed are those of its jobs that are not done.
type Start struct {
	Node int64
	// Seq is the number of the first claim record, from the numbers of ClaimParams.Seq: as many are
	// used as a claim of that many jobs uses.
	Seq int64
	// Claimed is set by the store: the jobs that run now.
	Claimed []Claimed
}

// Starting is how many enqueues of the batch are to start.
func (b *Batch) Starting() int {
	n := 0
	if b.Start == nil {
		return 0
	}
	for _, q := range b.Enqueues {
		if q.Start {
			n++
		}
	}
	return n
}

// Started is the claim of a job that runs as soon as it was enqueued, as Claim would return it, but
// that it shares its bytes with q.
func (q *Enqueue) Started(lease Lease, runAt, now time.Time) Claimed {
	job := q.Job
	if job.Parent == (ID{}) {
		job.Answers, job.OnParentClose = false, 0
	}
	job.RunAt, job.CreatedAt = runAt, now
	job.Attempt, job.LeaseNumber, job.UniqueStates, job.Closing = 1, 1, 0, false
	job.Attributes = nil // as those of jobs that are claimed
	if !job.Options.Deadline.IsZero() {
		job.Options.Deadline = job.Options.Deadline.Truncate(time.Microsecond)
	}
	lease.Job, lease.Number = job.ID, job.LeaseNumber
	return Claimed{Job: job, Lease: lease, ClaimedAt: now, HasSuccessors: q.HasSuccessors}
}

// MayStart reports whether a job that is due can be claimed by the transaction that inserts it.
func (q *Enqueue) MayStart() bool {
	return q.Start && q.Job.Batch == (ID{}) &&
		q.Job.OrderingKey == "" && len(q.Job.UniqueKey) == 0 && q.Job.Options.Key == "" && q.Job.Version == "" &&
		len(q.After) == 0 && q.Job.Options.Limit == "" && q.Job.Options.FairKey == ""
}
