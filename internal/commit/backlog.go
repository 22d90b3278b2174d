package commit

import (
	"sync"

	"github.com/holdfastdev/holdfast/internal/supervise"
	"github.com/holdfastdev/holdfast/store"
)

// backlog is a queue of ops that are committed together.
type backlog struct {
	mu      sync.Mutex
	waiting []*op
	flying  []*op // outcomes that were taken and not answered
	wake    chan struct{}
	ended   bool // nothing is taken any more
}

func newBacklog() *backlog { return &backlog{wake: make(chan struct{}, 1)} }

// put adds an op, or answers it with ErrClosed if none is taken any more: a caller may have found
// the committer open a moment ago, and would wait for ever.
func (l *backlog) put(o *op) {
	l.mu.Lock()
	ended := l.ended
	if !ended {
		l.waiting = append(l.waiting, o)
	}
	l.mu.Unlock()
	if ended {
		o.done(store.ErrClosed)
		return
	}
	supervise.Signal(l.wake)
}

// end reports whether nothing waits; then nothing will any more.
func (l *backlog) end() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended = len(l.waiting) == 0
	return l.ended
}

// take removes ops from the head, up to limit operations but at least one op if there is one.
func (l *backlog) take(limit int) []*op {
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

// note adds the outcomes among ops that were taken. l.mu is held.
func (l *backlog) note(ops []*op) {
	for _, o := range ops {
		if o.Outcome != nil {
			l.flying = append(l.flying, o)
		}
	}
}

// keep sets the ops that were taken and are still to be answered.
func (l *backlog) keep(ops []*op) {
	l.mu.Lock()
	defer l.mu.Unlock()
	clear(l.flying)
	l.flying = l.flying[:0]
	l.note(ops)
}

// ending adds the jobs whose outcomes wait or were taken, and are not committed yet.
func (l *backlog) ending(jobs map[store.ID]bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, o := range l.flying {
		o.ending(jobs)
	}
	for _, o := range l.waiting {
		o.ending(jobs)
	}
}

func (l *backlog) length() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.waiting)
}
