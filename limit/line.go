package limit

import (
	"context"
	"sync"
	"time"

	"github.com/holdfastdev/holdfast/internal/engine"
	"github.com/holdfastdev/holdfast/store"
)

// inFront is how many callers of AcquireContext of one limit in a process ask for permits at once:
// as many as permits come in the time ahead in which they ask, within bounds. The others wait
// behind them: so many callers ask no more often than few, and each comes in turn.
func inFront(r *store.Rate) int {
	const least, most = 2, 64
	if p := r.Period(); p > 0 {
		return min(max(int(store.PermitAhead/p), least), most)
	}
	return least
}

// place is what callers wait in line for.
type place struct {
	engine          *engine.Engine
	namespace, name string
}

// line is the line of those who wait in one place. It is there while a caller does.
type line struct {
	callers int
	front   chan struct{}
	next    time.Time // when the next permit comes, as is known last; zero: at once, for all that is known
}

var (
	linesMu sync.Mutex
	lines   = map[place]*line{}
)

// enter waits until the caller is in front of the line, which it is until it leaves. It does not
// wait if it is known that no permit comes before ctx ends.
func enter(ctx context.Context, at place, front int) (*line, error) {
	linesMu.Lock()
	l := lines[at]
	if l == nil {
		l = &line{front: make(chan struct{}, front)}
		lines[at] = l
	}
	if end, ok := ctx.Deadline(); ok && l.next.After(end) {
		linesMu.Unlock()
		return nil, context.DeadlineExceeded
	}
	l.callers++
	linesMu.Unlock()
	select {
	case l.front <- struct{}{}: // those who wait to send are served in their order
		return l, nil
	case <-ctx.Done():
		l.gone(at)
		return nil, context.Cause(ctx)
	}
}

// leave lets another caller come to the front.
func (l *line) leave(at place) {
	<-l.front
	l.gone(at)
}

func (l *line) gone(at place) {
	linesMu.Lock()
	defer linesMu.Unlock()
	if l.callers--; l.callers == 0 {
		delete(lines, at)
	}
}

// comes notes when the next permit comes.
func (l *line) comes(next time.Time) {
	linesMu.Lock()
	defer linesMu.Unlock()
	l.next = next
}
