package commit

import (
	"errors"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// Starting is the enqueues of a batch for which a node has reserved room, so that their jobs start
// in that commit.
type Starting struct {
	Start *store.Start // of the batch
	// Settle is called once, when the result is known: the jobs of Start.Claimed run.
	Settle func()

	lost    bool // an answer was lost: the jobs may have started
	settled bool
}

// Startable are the first enqueues that a node could start which has room for so many, of those
// that it serves, and are marked so. It stops at the first that must wait for a claim, so that jobs
// start in order.
func Startable(enqueues []*store.Enqueue, now time.Time, most int, serves func(*store.Enqueue) bool) (jobs []*store.Enqueue) {
	for _, q := range enqueues {
		if !serves(q) || q.Job.RunAt.After(now) || q.Job.RunAt.IsZero() && q.Delay > 0 {
			continue
		}
		q.Start = true
		if !q.MayStart() || len(jobs) == most {
			q.Start = false
			break
		}
		jobs = append(jobs, q)
	}
	return jobs
}

// settle calls Settle. A nil Starting has nothing to settle.
func (s *Starting) settle() {
	if s != nil {
		s.settled = true
		s.Settle()
	}
}

// failed is called when the enqueues are to be retried. If the database has refused them, because
// it is full or read-only, and no earlier answer was lost, no job has started: then they are
// retried as plain enqueues.
func (s *Starting) failed(err error) {
	if s == nil {
		return
	}
	s.lost = s.lost || errors.Is(err, store.ErrUnavailable)
	if !s.lost {
		s.cancel()
	}
}

// cancel is settle for enqueues that did not happen, or whose result is unknown.
func (s *Starting) cancel() {
	if s != nil && !s.settled {
		s.Start.Claimed = nil
		s.settle()
	}
}
