package holdfast

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/holdfastdev/holdfast/internal/engine"
	"github.com/holdfastdev/holdfast/store"
)

// Health is the state of a client's node as the process itself knows it, without asking the
// database.
type Health struct {
	// Node is the id of the node, 0 if none runs.
	Node int64
	// Ended is the error with which the last node ended, if none runs.
	Ended  error
	Leader bool // it does the maintenance of the database
	// Mode is what people want of the node, as its last heartbeat has told it: see QuietNode. A
	// quiet node is well.
	Mode store.NodeMode
	// BeatAt is the time of the last heartbeat, and Silent the time since. After DeadAfter other
	// nodes take its jobs.
	BeatAt    time.Time
	Silent    time.Duration
	DeadAfter time.Duration
	// RoundTrip is how long the last heartbeat took, AwaySince the time since when the database
	// does not answer, and Away for how long it has not; zero if it does. A call that is repeated
	// until it succeeds has failed then, or a heartbeat, a commit or the ping of a probe has been
	// under way for 3 seconds.
	RoundTrip time.Duration
	AwaySince time.Time
	Away      time.Duration
	// Full: calls fail because the disk of the database is full, not as it does not answer.
	Full bool
	// Loops has the node's loops and duties by name, and when each last did its work. One that has
	// nothing to do rests: claims look for jobs every 10 s at the latest while the node has a free
	// slot, duties of the leader only on the leader.
	Loops map[string]time.Time
	// Lag is about how late the first job is that waits for a slot of the node; 0 if the node knows
	// of none. It comes from claims and wake-ups, and not from a look into the database: while all
	// slots are taken it counts on from the last job that was claimed late.
	Lag     time.Duration
	Running int // jobs in its slots
	Pending int // outcomes of jobs that are not stored yet
	// HooksDropped is how many events hooks were not told of, because they are too slow.
	HooksDropped int64
	// Panics are the panics in Holdfast's own loops, which continued afterwards, by part.
	Panics []struct {
		Part  string
		Count int       // since the client was opened
		Last  string    // the value of the last panic; its stack is in the log
		At    time.Time // of the last one
		Down  bool      // the part is waiting to restart
	}
}

// Err returns what is wrong with the node, or nil: no node runs, and why if it has ended by itself;
// the disk of the database is full; it has not answered for 3 seconds; the node could not beat for
// half of the time after which it is declared dead; or a part of it is down.
func (h Health) Err() error {
	var errs []error
	switch {
	case h.Node == 0 && h.Ended != nil:
		return fmt.Errorf("the node has ended: %w", h.Ended)
	case h.Node == 0:
		return fmt.Errorf("%w: no node is running", ErrConflict)
	case h.BeatAt.IsZero():
		errs = append(errs, fmt.Errorf("%w: node %d has not sent a heartbeat yet", ErrUnavailable, h.Node))
	case h.Silent > h.DeadAfter/2:
		errs = append(errs, fmt.Errorf("%w: node %d has not sent a heartbeat for %v", ErrUnavailable, h.Node, h.Silent.Round(time.Millisecond)))
	}
	if h.Full {
		errs = append(errs, fmt.Errorf("%w: nothing was stored for %v; make room where the database is", ErrFull, h.Away.Round(time.Millisecond)))
	} else if h.Away >= engine.Unanswered {
		errs = append(errs, fmt.Errorf("%w: the database has not answered for %v", ErrUnavailable, h.Away.Round(time.Millisecond)))
	}
	for _, p := range h.Panics {
		if p.Down {
			errs = append(errs, fmt.Errorf("%s is down after panic %d: %s", p.Part, p.Count, p.Last)) //nolint:err113 // for people
		}
	}
	return errors.Join(errs...)
}

// Health returns the state of this client's node.
func (c *Client) Health() Health {
	e := c.engine.Runner(c.namespace).Health()
	h := Health{
		Node: e.Node, Leader: e.Leader, Mode: e.Mode, BeatAt: e.BeatAt, Silent: e.Silent, DeadAfter: e.DeadBy, Running: e.Running,
		Pending: e.Pending, HooksDropped: e.Dropped, RoundTrip: e.RoundTrip, AwaySince: e.AwaySince, Full: e.Full, Loops: e.Loops, Lag: e.Lag,
	}
	if !h.AwaySince.IsZero() {
		h.Away = time.Since(h.AwaySince)
	}
	if h.Node == 0 {
		c.mu.Lock()
		h.Ended = c.member(c.namespace).ended
		c.mu.Unlock()
	}
	h.Panics = slices.Grow(h.Panics, len(e.Troubles))[:len(e.Troubles)]
	for i, t := range e.Troubles {
		p := &h.Panics[i]
		p.Part, p.Count, p.Last, p.At, p.Down = t.Part, t.Panics, t.Last, t.At, t.Down
	}
	return h
}
