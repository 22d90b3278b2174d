package engine

import (
	"context"
	"sync"

	"github.com/holdfastdev/holdfast/internal/supervise"
	"github.com/holdfastdev/holdfast/store"
)

// loader loads the journals of runs that start. Concurrent requests share a query.
type loader struct {
	store store.Store
	guard *supervise.Guard

	mu      sync.Mutex
	waiting []*loading
	running bool
}

type loading struct {
	job    store.ID
	answer chan loaded
}

type loaded struct {
	journal store.Journal
	err     error
}

// loadLimit is how many journals one query reads.
const loadLimit = 100

func (l *loader) load(ctx context.Context, job store.ID) (store.Journal, error) {
	one := &loading{job, make(chan loaded, 1)}
	l.mu.Lock()
	l.waiting = append(l.waiting, one)
	if !l.running {
		l.running = true
		go l.guard.Supervise(context.WithoutCancel(ctx), "journals", l.run)
	}
	l.mu.Unlock()
	select {
	case a := <-one.answer:
		return a.journal, a.err
	case <-ctx.Done():
		return store.Journal{}, context.Cause(ctx)
	}
}

// run serves requests until none is waiting. ctx never ends.
func (l *loader) run(ctx context.Context) {
	for {
		l.mu.Lock()
		some := l.waiting[:min(len(l.waiting), loadLimit)]
		l.waiting = l.waiting[len(some):]
		if len(some) == 0 {
			l.waiting, l.running = nil, false
			l.mu.Unlock()
			return
		}
		l.mu.Unlock()
		l.ask(ctx, some)
	}
}

func (l *loader) ask(ctx context.Context, some []*loading) {
	ids := make([]store.ID, len(some))
	for i, one := range some {
		ids[i] = one.job
	}
	call, cancel := context.WithTimeout(ctx, store.CallTimeout)
	var journals []store.Journal
	err := supervise.ErrPanicked
	l.guard.Try("journals", func() { journals, err = l.store.Journals(call, "", ids) })
	cancel()
	for i, one := range some {
		if err != nil {
			one.answer <- loaded{err: err}
		} else {
			one.answer <- loaded{journal: journals[i]}
		}
	}
}
