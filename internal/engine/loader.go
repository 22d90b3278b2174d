package engine

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/holdfastdev/holdfast/internal/commit"
	"github.com/holdfastdev/holdfast/internal/logs"
	"github.com/holdfastdev/holdfast/internal/portion"
	"github.com/holdfastdev/holdfast/internal/supervise"
	"github.com/holdfastdev/holdfast/store"
)

// loader loads the journals of runs that start, and the inboxes of those that go on. Concurrent
// requests share a query. While the database does not answer it is asked again, as long as a run
// waits: an attempt is not lost because a connection broke.
type loader struct {
	store  store.Store
	guard  *supervise.Guard
	outage *logs.Outage

	mu      sync.Mutex
	waiting []*loading
	running bool
}

type loading struct {
	ctx    context.Context // of the run
	job    store.ID
	answer chan loaded
}

type loaded struct {
	journal store.Journal
	err     error
}

// loadLimit is how many journals one query reads at the most.
const loadLimit = 100

func newLoader(st store.Store, guard *supervise.Guard, outage *logs.Outage) *loader {
	return &loader{store: st, guard: guard, outage: outage}
}

// load returns the journal of a job, or why ctx has ended.
func (l *loader) load(ctx context.Context, job store.ID) (store.Journal, error) {
	one := &loading{ctx, job, make(chan loaded, 1)}
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
	p, failures := portion.New(loadLimit, portion.SlowBatch), 0
	for {
		some := l.take(p.Count)
		if len(some) == 0 {
			return
		}
		if l.ask(ctx, some, p) {
			failures = 0
			continue
		}
		failures++
		first := some[0].ctx
		l.putBack(some)
		supervise.Sleep(first, store.Backoff{Base: 20 * time.Millisecond, Cap: 2 * time.Second, Jitter: 0.5}.Delay(failures))
	}
}

// take takes up to limit requests whose runs still wait. If there is none, the loader has ended.
func (l *loader) take(limit int) (some []*loading) {
	l.mu.Lock()
	defer l.mu.Unlock()
	taken := 0
	for _, one := range l.waiting {
		if len(some) == limit {
			break
		}
		if taken++; one.ctx.Err() == nil {
			some = append(some, one)
		}
	}
	l.waiting = l.waiting[taken:]
	if len(some) == 0 {
		l.waiting, l.running = nil, false
	}
	return some
}

func (l *loader) putBack(some []*loading) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waiting = append(some, l.waiting...)
}

// ask reads journals and answers the requests. It returns false if that is to be repeated.
func (l *loader) ask(ctx context.Context, some []*loading, p *portion.Portion) (answered bool) {
	ids := make([]store.ID, len(some))
	for i, one := range some {
		ids[i] = one.job
	}
	call, cancel := context.WithTimeout(ctx, store.CallTimeout)
	var journals []store.Journal
	err := supervise.ErrPanicked
	began := time.Now() //nolint:forbidigo // a duration, not the time of day
	l.guard.Try("journals", func() { journals, err = l.store.Journals(call, "", ids) })
	took := time.Since(began) //nolint:forbidigo // as above
	cancel()
	switch {
	case err == nil:
		l.outage.Succeeded(logs.CallJournals)
		p.Went(len(some), 0, took)
	case commit.Transient(err) || errors.Is(err, context.DeadlineExceeded):
		l.outage.Stumbled(logs.CallJournals, err)
		p.Failed(len(some), 0, took)
		return false
	}
	for i, one := range some {
		if err != nil {
			one.answer <- loaded{err: err}
		} else {
			one.answer <- loaded{journal: journals[i]}
		}
	}
	return true
}
