package loader

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

// Loader loads one thing of each job, a T.
type Loader[T any] struct {
	Parts

	read func(ctx context.Context, jobs []store.ID) ([]T, error)

	mu      sync.Mutex
	waiting []*loading[T]
	running bool
}

// Parts are the dependencies of a loader.
type Parts struct {
	Call   string // what the log calls the query, such as logs.CallJournals
	Guard  *supervise.Guard
	Outage *logs.Outage
}

type loading[T any] struct {
	ctx    context.Context // of the run
	job    store.ID
	answer chan loaded[T]
}

type loaded[T any] struct {
	value T
	err   error
}

// limit is how many jobs one query is about at the most.
const limit = 100

// New returns a loader. read answers for each of the jobs, in the order given.
func New[T any](p Parts, read func(ctx context.Context, jobs []store.ID) ([]T, error)) *Loader[T] {
	return &Loader[T]{Parts: p, read: read}
}

// Load returns what there is of a job, or why ctx has ended.
func (l *Loader[T]) Load(ctx context.Context, job store.ID) (T, error) {
	one := &loading[T]{ctx, job, make(chan loaded[T], 1)}
	l.mu.Lock()
	l.waiting = append(l.waiting, one)
	if !l.running {
		l.running = true
		go l.Guard.Supervise(context.WithoutCancel(ctx), l.Call, l.run)
	}
	l.mu.Unlock()
	select {
	case a := <-one.answer:
		return a.value, a.err
	case <-ctx.Done():
		var none T
		return none, context.Cause(ctx)
	}
}

// run serves requests until none is waiting. ctx never ends.
func (l *Loader[T]) run(ctx context.Context) {
	p, failures := portion.New(limit, portion.SlowBatch), 0
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
func (l *Loader[T]) take(limit int) (some []*loading[T]) {
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

func (l *Loader[T]) putBack(some []*loading[T]) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waiting = append(some, l.waiting...)
}

// ask reads, and answers the requests. It returns false if that is to be repeated.
func (l *Loader[T]) ask(ctx context.Context, some []*loading[T], p *portion.Portion) (answered bool) {
	ids := make([]store.ID, len(some))
	for i, one := range some {
		ids[i] = one.job
	}
	call, cancel := context.WithTimeout(ctx, store.CallTimeout)
	var values []T
	err := supervise.ErrPanicked
	began := time.Now() //nolint:forbidigo // a duration, not the time of day
	l.Guard.Try(l.Call, func() { values, err = l.read(call, ids) })
	took := time.Since(began) //nolint:forbidigo // as above
	cancel()
	switch {
	case err == nil:
		l.Outage.Succeeded(l.Call)
		p.Went(len(some), 0, took)
	case commit.Transient(err) || errors.Is(err, context.DeadlineExceeded):
		l.Outage.Stumbled(l.Call, err)
		p.Failed(len(some), 0, took)
		return false
	}
	for i, one := range some {
		if err != nil {
			one.answer <- loaded[T]{err: err}
		} else {
			one.answer <- loaded[T]{value: values[i]}
		}
	}
	return true
}
