package slots

import (
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// Share is what a queue has of a node's slots beside those of others.
type Share struct {
	// Min slots are kept for the queue: no others use them, also while it has no jobs.
	Min int
	// Weight is its part of the slots that are kept for no queue, while several queues have jobs;
	// 0: 1.
	Weight int
}

// share is the account of one of the queues that a node serves, or of all together if it serves
// all: the slots it may use, and its prefetched jobs. It is guarded by Slots.mu.
type share struct {
	queue string // "": all
	limit int    // slots that its jobs may use

	min, weight int // of its Share

	classes []*class
	byLane  map[lane]*class

	running  int
	reserved int              // slots reserved for jobs of enqueues in progress
	buffer   []*store.Claimed // jobs are large: they stay where the claim has put them
	pace     completionRate
}

// lane is a queue and a kind, as in store.ClaimParams. "" are those that are not named.
type lane struct{ queue, kind string }

func laneOf(job *store.Job) lane { return lane{job.Queue, job.ClaimKind()} }

// room is how many of its jobs may be claimed now, if the node has room for them.
func (q *share) room(now time.Time, mostAhead int) int {
	return max(q.limit-q.running-len(q.buffer)-q.reserved+min(q.pace.ahead(now), mostAhead), 0)
}

// heard notes that there may be jobs in one of its queues, or in all of them if it is "".
func (q *share) heard(queue string, now time.Time) {
	apart := false
	for _, c := range q.classes {
		if c.lane.queue == queue || queue == "" {
			c.heard(now)
			apart = true
		}
	}
	for _, c := range q.classes {
		if !apart && c.lane.queue == "" {
			c.heard(now)
		}
	}
}

// lag is how late the first job is that waits, here or in the database.
func (q *share) lag(now time.Time) (late time.Duration) {
	for _, c := range q.classes {
		late = max(late, c.lag(now))
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

// classOf returns the class of a job of the share, as store.DemandFor would find it.
func (q *share) classOf(at lane) *class {
	if len(q.classes) == 1 {
		return q.classes[0]
	}
	for _, l := range [...]lane{at, {queue: at.queue}, {kind: at.kind}} {
		if c := q.byLane[l]; c != nil {
			return c
		}
	}
	return q.byLane[lane{}]
}

// class is the part of a share whose jobs count in the same limits, and what is known of those that
// may be claimed. Without limits a share has one. It is guarded by Slots.mu.
type class struct {
	share *share
	lane  lane
	place int // index in Slots.classes

	counts []count

	oldest  time.Time // about when the first job was due that waits in the database; zero: none is known
	heardAt time.Time // the last wake-up
	news    int64     // counts wake-ups
	emptied int64     // value of news at the last claim that left no job behind, or never
}

// count is a limit in which jobs count, and how many of its slots each takes.
type count struct {
	limit  *limit
	weight int
}

// never is a value that news does not have.
const never = -1

// mayHaveJobs reports whether there may be jobs to claim. There are none if the last claim left no
// job behind and no wake-up has come since.
func (c *class) mayHaveJobs() bool { return c.emptied != c.news }

// heard notes a wake-up: if no job was known to wait, one does since now.
func (c *class) heard(now time.Time) {
	c.news++
	c.heardAt = now
	if c.oldest.IsZero() {
		c.oldest = now
	}
}

// backlog is how late a claimed job must be for those behind it to be taken for late.
const backlog = time.Second

// knows notes what a claim tells of jobs that are left: last is the last one that it took, if more
// may be left, and news were the wake-ups when it was sent.
func (c *class) knows(last *store.Claimed, news int64) {
	switch {
	case last != nil && last.ClaimedAt.Sub(last.Job.RunAt) >= backlog:
		c.oldest = last.Job.RunAt // the next one is due then or later
	case c.news != news:
		c.oldest = c.heardAt // while the claim was on its way
	default:
		c.oldest = time.Time{}
	}
}

// lag is how late the first job is that waits in the database.
func (c *class) lag(now time.Time) time.Duration {
	if !c.mayHaveJobs() || c.oldest.IsZero() {
		return 0
	}
	return now.Sub(c.oldest)
}

// fits reports whether one more of its jobs has room in its limits.
func (c *class) fits(at time.Duration) bool {
	for _, n := range c.counts {
		if n.limit.room() < n.weight {
			return false
		}
		if permits, bounds := n.limit.permitRoom(at); bounds && permits == 0 {
			return false
		}
	}
	return true
}
