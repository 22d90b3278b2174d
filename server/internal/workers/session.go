package workers

import (
	"context"
	"sync"
	"time"

	"github.com/holdfastdev/holdfast/server/internal/problem"
	"github.com/holdfastdev/holdfast/store"
)

// session is what this server keeps of a worker to save work. Another server that its requests come
// to begins without it.
type session struct {
	mu      sync.Mutex
	polling *turn // the poll that is under way here; nil: none is
	last    int64 // the number of the last poll that was answered here; 0: none was
	// clean tells that the polls up to last were answered here one after the other, so that no
	// other server works on one.
	clean bool

	mode   store.NodeMode
	beatAt time.Time // when this server last beat for the worker

	// runs are runs of the worker that may count in limits, by their leases, as far as this server
	// knows.
	runs map[store.Lease]place

	heaviest int // bytes of the largest job that it has got lately

	wantedAt time.Time // when the worker last said that it lacks slots

	held holdings
	used time.Time
}

// place is where a job counts in limits.
type place struct{ queue, kind string }

// turn is a poll that is under way.
type turn struct {
	stop   context.CancelFunc
	over   chan struct{} // closed when it has ended
	seq    int64         // the number of the poll; 0: it is something else
	repeat bool
	ender  *turn // that has ended it; nil: none has
}

// isAfter reports whether the worker has sent t after other, whichever came here first: a poll that
// was given up on its way may come later than its repeat.
func (t *turn) isAfter(other *turn) bool {
	return t.seq > other.seq || t.seq == other.seq && t.repeat && !other.repeat
}

// take lets one poll, or leave, of the worker be under way here: it ends the one before, and waits
// for its end. The context of who has the turn is cut off by stop. It returns nil if ctx ends.
func (s *session) take(ctx context.Context) (end func()) {
	_, end, _ = s.begin(ctx, &turn{})
	return end
}

// overtaken is the answer to a poll that another one has ended. Of repeats of one poll it is not
// known which the worker waits for, as they come in any order: that one is to be sent again.
func (t *turn) overtaken(by *turn) error {
	if by != nil && by.seq == t.seq && t.seq > 0 && t.repeat {
		return problem.New(problem.Unavailable, "this poll was repeated, and another repeat has come").In(time.Second)
	}
	return problem.New(problem.Conflict, "another poll of this worker has come: a worker sends one after the other")
}

// begin is take for a poll, with the context of its turn. It ends what is under way, but for a
// later poll: then it returns an error, as it does if ctx ends.
func (s *session) begin(ctx context.Context, mine *turn) (context.Context, func(), error) {
	own, stop := context.WithCancel(ctx)
	mine.stop, mine.over = stop, make(chan struct{})
	for {
		s.mu.Lock()
		before := s.polling
		if before == nil {
			s.polling = mine
			s.mu.Unlock()
			return own, func() {
				stop()
				s.mu.Lock()
				s.polling = nil
				s.mu.Unlock()
				close(mine.over)
			}, nil
		}
		s.mu.Unlock()
		if mine.seq > 0 && before.isAfter(mine) {
			stop()
			return nil, nil, mine.overtaken(before)
		}
		s.mu.Lock()
		before.ender = mine
		s.mu.Unlock()
		before.stop()
		select {
		case <-before.over:
		case <-ctx.Done():
			stop()
			return nil, nil, context.Cause(ctx)
		}
	}
}

// overtaken is the answer to a poll that was ended.
func (s *session) overtaken(mine *turn) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return mine.overtaken(mine.ender)
}

// tryTake takes the turn if no poll is under way here, and returns what ends it; nil: one is. A
// poll that comes meanwhile waits for that.
func (s *session) tryTake() (end func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.polling != nil {
		return nil
	}
	mine := &turn{stop: func() {}, over: make(chan struct{})}
	s.polling = mine
	return func() {
		s.mu.Lock()
		s.polling = nil
		s.mu.Unlock()
		close(mine.over)
	}
}

// sessions are the sessions of workers, by their nodes.
type sessions struct {
	mu     sync.Mutex
	all    map[int64]*session
	pruned time.Time
}

// sessionKept is how long a session is kept that is not used.
const sessionKept = 10 * time.Minute

// of is the session of a worker.
func (s *sessions) of(node int64) *session {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if s.all == nil {
		s.all, s.pruned = map[int64]*session{}, now
	}
	if now.Sub(s.pruned) > time.Minute {
		s.pruned = now
		for node, one := range s.all {
			if now.Sub(one.used) > sessionKept && one.isIdle() {
				delete(s.all, node)
			}
		}
	}
	one := s.all[node]
	if one == nil {
		one = &session{runs: map[store.Lease]place{}}
		s.all[node] = one
	}
	one.used = now
	return one
}

func (s *session) isIdle() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.polling == nil
}

// forget drops the session of a worker that is gone.
func (s *sessions) forget(node int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all, node)
}
