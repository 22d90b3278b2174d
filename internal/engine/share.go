package engine

import (
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// share is the account of one of the queues that a node serves, or of all together if it serves
// all: the slots it may use, its prefetched jobs, and whether there may be jobs to claim. It is
// guarded by slots.mu.
type share struct {
	queue string // "": all
	limit int    // slots that its jobs may use
	place int    // index in slots.shares

	running  int
	reserved int // slots reserved for jobs of enqueues in progress
	buffer   []store.Claimed
	pace     completionRate

	news    int64 // counts wake-ups
	emptied int64 // value of news at the last claim that left no job behind, or never
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

// pop takes the first prefetched job.
func (q *share) pop() store.Claimed {
	c := q.buffer[0]
	q.buffer[0] = store.Claimed{}
	if q.buffer = q.buffer[1:]; len(q.buffer) == 0 {
		q.buffer = nil
	}
	return c
}

// demand is what may be claimed at a moment.
type demand struct {
	limit  int
	sum    int                 // sum over the queues; the limit may be less
	queues []store.QueueDemand // nil: all of the namespace
	parts  []part              // by share

	likely bool // there may be jobs and there is room for them
	waits  bool // there may be jobs but there is no room for them
}

// part is the part of a share in a demand: its room, and its news at that moment.
type part struct {
	room int
	news int64
}
