package slots

import (
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// share is the account of one of the queues that a node serves, or of all together if it serves
// all: the slots it may use, its prefetched jobs, and whether there may be jobs to claim. It is
// guarded by Slots.mu.
type share struct {
	queue string // "": all
	limit int    // slots that its jobs may use
	place int    // index in Slots.shares

	running  int
	reserved int // slots reserved for jobs of enqueues in progress
	buffer   []*store.Claimed // jobs are large: they stay where the claim has put them
	pace     completionRate

	oldest  time.Time // about when the first job was due that waits in the database; zero: none is known
	heardAt time.Time // the last wake-up
	news    int64     // counts wake-ups
	emptied int64     // value of news at the last claim that left no job behind, or never
}

// never is a value that news does not have.
const never = -1

func newShare(queue string, limit int) *share {
	return &share{queue: queue, limit: limit, emptied: never}
}

// room is how many of its jobs may be claimed now, if the node has room for them.
func (q *share) room(now time.Time, mostAhead int) int {
	return max(q.limit-q.running-len(q.buffer)-q.reserved+min(q.pace.ahead(now), mostAhead), 0)
}

// mayHaveJobs reports whether there may be jobs to claim. There are none if the last claim left no
// job behind and no wake-up has come since.
func (q *share) mayHaveJobs() bool { return q.emptied != q.news }

// heard notes a wake-up: if no job was known to wait, one does since now.
func (q *share) heard(now time.Time) {
	q.news++
	q.heardAt = now
	if q.oldest.IsZero() {
		q.oldest = now
	}
}

// backlog is how late a claimed job must be for those behind it to be taken for late.
const backlog = time.Second

// knows notes what a claim tells of jobs that are left: last is the last one that it took, if more
// may be left, and news were the wake-ups when it was sent.
func (q *share) knows(last *store.Claimed, news int64) {
	switch {
	case last != nil && last.ClaimedAt.Sub(last.Job.RunAt) >= backlog:
		q.oldest = last.Job.RunAt // the next one is due then or later
	case q.news != news:
		q.oldest = q.heardAt // while the claim was on its way
	default:
		q.oldest = time.Time{}
	}
}

// lag is how late the first job is that waits, here or in the database.
func (q *share) lag(now time.Time) time.Duration {
	late := time.Duration(0)
	if q.mayHaveJobs() && !q.oldest.IsZero() {
		late = now.Sub(q.oldest)
	}
	if len(q.buffer) > 0 {
		late = max(late, now.Sub(q.buffer[0].Job.RunAt))
	}
	return max(late, 0)
}

// pop takes the first prefetched job.
func (q *share) pop() store.Claimed {
	c := *q.buffer[0]
	q.buffer[0] = nil
	q.buffer = q.buffer[1:]
	if len(q.buffer) == 0 {
		q.buffer = nil
	}
	return c
}
