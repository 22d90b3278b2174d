package commit

import (
	"sync"

	"github.com/holdfastdev/holdfast/internal/supervise"
	"github.com/holdfastdev/holdfast/store"
)

// lane is a line of ops that are committed together.
type lane struct {
	mu      sync.Mutex
	waiting []*op
	flying  []store.ID // jobs whose outcomes were taken and are not answered yet
	wake    chan struct{}
}

func newLane() *lane { return &lane{wake: make(chan struct{}, 1)} }

func (l *lane) put(o *op) {
	l.mu.Lock()
	l.waiting = append(l.waiting, o)
	l.mu.Unlock()
	supervise.Signal(l.wake)
}

// take removes ops from the head of the line, at least one if there is one, up to limit operations.
func (l *lane) take(limit int) []*op {
	l.mu.Lock()
	defer l.mu.Unlock()
	count, n := 0, 0 // a single op may be larger than the limit
	for n < len(l.waiting) && (n == 0 || count+l.waiting[n].size() <= limit) {
		count += l.waiting[n].size()
		n++
	}
	taken := l.waiting[:n:n]
	l.waiting = l.waiting[n:]
	if len(l.waiting) == 0 {
		l.waiting = nil
	}
	l.note(taken)
	return taken
}

// note adds the jobs whose outcomes are among ops that were taken. l.mu is held.
func (l *lane) note(ops []*op) {
	for _, o := range ops {
		if o.outcome != nil {
			l.flying = append(l.flying, o.outcome.Lease.Job)
		}
	}
}

// keep notes which of the ops that were taken are still to be answered.
func (l *lane) keep(ops []*op) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.flying = l.flying[:0]
	l.note(ops)
}

// ending adds the jobs whose outcomes are in the line or on their way.
func (l *lane) ending(jobs map[store.ID]bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, id := range l.flying {
		jobs[id] = true
	}
	for _, o := range l.waiting {
		o.ending(jobs)
	}
}

func (l *lane) length() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.waiting)
}
