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

// Loader loads what runs ask for: for each K a T.
type Loader[K, T any] struct {
	Parts

	read func(ctx context.Context, of []K) ([]T, error)

	mu      sync.Mutex
	waiting []*loading[K, T]
	running bool
}

// Parts are the dependencies of a loader.
type Parts struct {
	Call   string // what the log calls the query, such as logs.CallJournals
	Guard  *supervise.Guard
	Outage *logs.Outage
}

type loading[K, T any] struct {
	ctx    context.Context // of the run
	of     K
	answer chan loaded[T]
}

type loaded[T any] struct {
	value T
	err   error
}

// limit is how many runs share one query at the most.
const limit = 100

// New returns a loader. read answers for each of what is asked for, in the order given.
func New[K, T any](p Parts, read func(ctx context.Context, of []K) ([]T, error)) *Loader[K, T] {
	return &Loader[K, T]{Parts: p, read: read}
}

// Load returns what is asked for, or why ctx has ended.
func (l *Loader[K, T]) Load(ctx context.Context, of K) (T, error) {
	one := &loading[K, T]{ctx, of, make(chan loaded[T], 1)}
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
func (l *Loader[K, T]) run(ctx context.Context) {
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
func (l *Loader[K, T]) take(limit int) (some []*loading[K, T]) {
	l.mu.Lock()
	defer l.mu.Unlock()
	taken := 0
	for _, one := range l.waiting {
		if len(some) == limit {
			break
		}
		taken++
		if one.ctx.Err() == nil {
			some = append(some, one)
		}
	}
	l.waiting = l.waiting[taken:]
	if len(some) == 0 {
		l.waiting, l.running = nil, false
	}
	return some
}

func (l *Loader[K, T]) putBack(some []*loading[K, T]) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waiting = append(some, l.waiting...)
}

// ask reads, and answers the requests. It returns false if that is to be repeated.
func (l *Loader[K, T]) ask(ctx context.Context, some []*loading[K, T], p *portion.Portion) (answered bool) {
	of := make([]K, len(some))
	for i, one := range some {
		of[i] = one.of
	}
	call, cancel := context.WithTimeout(ctx, store.CallTimeout)
	var values []T
	err := supervise.ErrPanicked
	began := time.Now() //nolint:forbidigo // a duration, not the time of day
	l.Guard.Try(l.Call, func() { values, err = l.read(call, of) })
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
