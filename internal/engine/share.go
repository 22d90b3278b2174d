package engine

import (
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// share is what a node does for one of the queues that it serves, or, if it serves all alike, for
// all of them together: how many jobs run at once at the most, which are claimed ahead, and what is
// known of those that may be claimed. It is guarded by slots.mu.
type share struct {
	queue string // "": all
	limit int    // slots that its jobs may have
	place int    // among the shares

	running  int
	reserved int // jobs that may be claimed as they are enqueued
	buffer   []store.Claimed
	pace     completionRate

	news    int64 // counts what the node was told of jobs to claim
	emptied int64 // what news was before the last claim that left nothing behind, or never
}

// never is the number of no news.
const never = -1

func newShare(queue string, limit int) *share {
	return &share{queue: queue, limit: limit, emptied: never}
}

// room is how many of its jobs may be claimed now, if the node has as much.
func (q *share) room(now time.Time, mostAhead int) int {
	return max(q.limit-q.running-len(q.buffer)-q.reserved+min(q.pace.ahead(now), mostAhead), 0)
}

// sawNothing reports whether the last claim left nothing behind and nothing has come since, as far
// as this node was told.
func (q *share) sawNothing() bool { return q.emptied == q.news }

// pop takes the first job out of the buffer.
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
	sum    int                 // of what may be claimed of each queue: the limit may be less
	queues []store.QueueDemand // nil: all of the namespace
	parts  []part              // of each share

	likely bool // there may be something that there is room for
	waits  bool // there may be something, but for lack of room
}

// part is a share's part of a demand: how many jobs, and what its news were.
type part struct {
	room int
	news int64
}
