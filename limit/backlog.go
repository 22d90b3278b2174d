package limit

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/access"
	"github.com/holdfastdev/holdfast/store"
)

// Backlog bounds how many jobs of a queue wait: those that are available, scheduled or to be
// retried. It is an option of holdfast.Open, for what the client enqueues: beyond the bound an
// enqueue fails with a *BacklogError, an ErrConflict, and nothing of it is stored. So producers are
// slowed down before the database is full. The children of runs are let through, since their
// parents could not go on, and what a schedule, the command line or SQL enqueues.
//
// A client counts the jobs of the queue as it enqueues some, at most four times a second, and adds
// what it has enqueued since; so several of them may exceed the bound by what the others enqueue in
// a quarter of a second, or longer if counting takes longer than a hundredth of that. Counting is
// bounded by most. It panics if the queue has no name, or if most is not positive.
func Backlog(queue string, most int) holdfast.Option { return backlog(queue, most, false) }

// BacklogWait is Backlog for enqueues that wait until there is room, or their context ends: then
// the error is that of the context as well. One that has more jobs than the bound never gets room,
// and fails at once.
func BacklogWait(queue string, most int) holdfast.Option { return backlog(queue, most, true) }

// BacklogError is the ErrConflict of an enqueue into a queue where too many jobs wait.
type BacklogError struct {
	Namespace, Queue string
	Waiting          int // at least so many, those that this client has just enqueued included
	Most             int // the bound
	Cause            error
}

func (e *BacklogError) Error() string {
	text := fmt.Sprintf("%v: %d jobs wait in the queue %q, which is bounded to %d here; enqueue later, or run more workers",
		store.ErrConflict, e.Waiting, e.Queue, e.Most)
	if e.Cause != nil {
		text += ": " + e.Cause.Error()
	}
	return text
}

// Unwrap makes the error an ErrConflict, and that of the context that ended while it was waited.
func (e *BacklogError) Unwrap() []error {
	if e.Cause == nil {
		return []error{store.ErrConflict}
	}
	return []error{store.ErrConflict, e.Cause}
}

const (
	backlogEvery = 250 * time.Millisecond // between two counts at the least
	backlogShare = 20                     // a count takes at most one in so many moments
)

// waits are the states of the jobs that count.
var waits = []store.State{store.Available, store.Scheduled, store.Retryable}

func backlog(queue string, most int, wait bool) holdfast.Option {
	if queue == "" || most <= 0 {
		panic(fmt.Sprintf("limit: a backlog of %d jobs in the queue %q", most, queue))
	}
	option, _ := access.AroundEnqueues(func(st store.Store) access.EnqueueMiddleware {
		b := &bound{store: st, queue: queue, most: most, wait: wait, spaces: map[string]*waiting{}}
		return b.around
	}).(holdfast.Option)
	return option
}

// bound is the bound of a queue in each namespace.
type bound struct {
	store store.Store
	queue string
	most  int
	wait  bool

	mu     sync.Mutex
	spaces map[string]*waiting
}

// waiting is what is known of the queue in a namespace.
type waiting struct {
	mu    sync.Mutex // held while it is counted, so that one does it for all
	n     int        // at the last count, and what was enqueued here since
	fresh time.Time  // until then it is not counted again
}

// around is the middleware.
func (b *bound) around(ctx context.Context, jobs []*store.Job, next func(context.Context) error) error {
	more := map[string]int{}
	for _, j := range jobs {
		if j.Queue == b.queue && !j.Answers { // children answer
			more[j.Namespace]++
		}
	}
	for namespace, n := range more {
		if err := b.enter(ctx, namespace, n); err != nil {
			for other, had := range more { // those that had entered
				if other == namespace {
					break
				}
				b.of(other).add(-had)
			}
			return err
		}
	}
	err := next(ctx)
	if err != nil {
		for namespace, n := range more {
			b.of(namespace).add(-n)
		}
	}
	return err
}

func (b *bound) of(namespace string) *waiting {
	b.mu.Lock()
	defer b.mu.Unlock()
	w := b.spaces[namespace]
	if w == nil {
		w = &waiting{}
		b.spaces[namespace] = w
	}
	return w
}

func (w *waiting) add(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.n += n
}

// enter makes room for so many jobs.
func (b *bound) enter(ctx context.Context, namespace string, n int) error {
	w := b.of(namespace)
	for {
		has, again, err := b.try(ctx, w, namespace, n)
		if err != nil || has == 0 {
			return err
		}
		full := &BacklogError{Namespace: namespace, Queue: b.queue, Waiting: has, Most: b.most}
		if !b.wait || n > b.most {
			return full
		}
		select {
		case <-time.After(again):
		case <-ctx.Done():
			full.Cause = context.Cause(ctx)
			return full
		}
	}
}

// try adds so many jobs if there is room. If not it tells how many wait, and after what time it may
// be tried again.
func (b *bound) try(ctx context.Context, w *waiting, namespace string, n int) (has int, again time.Duration, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	if !now.Before(w.fresh) {
		if w.n, err = b.count(ctx, namespace); err != nil {
			return 0, 0, err
		}
		took := time.Since(now)
		w.fresh = now.Add(took + max(backlogEvery, backlogShare*took))
	}
	if w.n+n <= b.most {
		w.n += n
		return 0, 0, nil
	}
	return max(w.n, 1), time.Until(w.fresh), nil
}

// count counts the jobs that wait, up to the bound.
func (b *bound) count(ctx context.Context, namespace string) (n int, err error) {
	params := store.CountParams{Filter: store.Filter{Namespace: namespace, Queues: []string{b.queue}, States: waits}}
	for {
		part, err := b.store.Count(ctx, params)
		if n += part.N; err != nil || n >= b.most || part.Next == "" {
			return n, err
		}
		params.After = part.Next
	}
}
