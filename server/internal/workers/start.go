package workers

import (
	"fmt"
	"time"

	"github.com/holdfastdev/holdfast/internal/commit"
	"github.com/holdfastdev/holdfast/store"
)

// A job that is enqueued through this server starts on a worker whose poll waits here, in the
// commit that stores it: a claim of its own would be a second one. The poll says what it could
// take, the committer reserves it for a batch and says afterwards what was started. Until then the
// poll neither claims nor ends, so that its numbers are used by one at a time. Whether the jobs may
// start is decided by the store, as for nodes of this process (store.Start).

// offerLooks bounds how often jobs of a batch are compared with the polls that wait.
const offerLooks = 1000

// offers says that the poll waits, and could start jobs.
func (w *waiter) offers(o *offer) {
	w.hub.mu.Lock()
	defer w.hub.mu.Unlock()
	w.open = o
}

// withdraw ends the offer, and returns what was started. If a commit is under way that has taken it
// withdraw waits for its end, but not for longer than a claim may take: what starts later is given
// back, and the error is ErrUnavailable. The numbers are used if taken is true.
func (w *waiter) withdraw(atMost time.Duration, back func([]store.Claimed)) (jobs []store.Claimed, taken bool, err error) {
	h := w.hub
	h.mu.Lock()
	w.open = nil
	wait := w.taken
	h.mu.Unlock()
	if !wait {
		select {
		case jobs = <-w.started:
			return jobs, true, nil
		default:
			return nil, false, nil
		}
	}
	timer := time.NewTimer(atMost)
	defer timer.Stop()
	select {
	case jobs = <-w.started:
		return jobs, true, nil
	case <-timer.C:
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	select {
	case jobs = <-w.started:
		return jobs, true, nil
	default:
		w.back = back
		return nil, true, fmt.Errorf("%w: the commit in which jobs may start has not ended within %v", store.ErrUnavailable, atMost)
	}
}

// reserve offers enqueues to the polls that wait: those that come first in the batch go to the one
// that has waited longest of those that could run the first of them. It returns nil if there is
// none.
func (h *hub) reserve(enqueues []*store.Enqueue) *commit.Starting {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.waiting == 0 {
		return nil
	}
	at, w := h.opening(enqueues)
	if w == nil {
		return nil
	}
	jobs := commit.Startable(enqueues[at:], h.now(), w.open.want, w.group.runs)
	if len(jobs) == 0 {
		return nil
	}
	o := w.open
	w.open, w.taken = nil, true
	w.group.remove(w)
	start := &store.Start{Node: w.of.Node, Seq: o.seq}
	return &commit.Starting{Start: start, Settle: func() {
		for _, q := range jobs {
			q.Start = false
		}
		h.mu.Lock()
		defer h.mu.Unlock()
		w.taken = false
		if w.back != nil {
			if len(start.Claimed) > 0 {
				go w.back(start.Claimed)
			}
			return
		}
		w.started <- start.Claimed
		signal(w.woken) // if there is nothing, there may be something to claim
	}}
}

// opening finds the first enqueue that a poll which waits could run, and that poll.
func (h *hub) opening(enqueues []*store.Enqueue) (at int, w *waiter) {
	looks := 0
	for i, q := range enqueues {
		if i > 0 && sameLane(q, enqueues[i-1]) {
			continue
		}
		for _, g := range h.groups {
			if looks++; looks > offerLooks {
				return 0, nil
			}
			if !g.runs(q) || !h.free(g.of) {
				continue
			}
			for _, one := range g.idle {
				if one.open != nil {
					return i, one
				}
			}
		}
	}
	return 0, nil
}

func sameLane(a, b *store.Enqueue) bool {
	return a.Job.Queue == b.Job.Queue && a.Job.Kind == b.Job.Kind && a.Job.Namespace == b.Job.Namespace
}

// runs reports whether workers of the group run the job of an enqueue.
func (g *group) runs(q *store.Enqueue) bool {
	return q.Job.Namespace == g.of.Namespace && g.of.has(q.Job.Queue, q.Job.Kind)
}
