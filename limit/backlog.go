package limit

import (
	"context"
	"errors"
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
// what it has let through since that count began, and what was not stored yet then. So what a
// single client enqueues never exceeds the bound, except for an enqueue that has failed with
// ErrUnavailable and was stored after the next count. Several clients may, by what the others
// enqueue in a quarter of a second, or longer if counting takes longer than a twentieth of that.
// Counting is bounded by most.
//
// An enqueue in a transaction of the caller is counted likewise until it is part of a count, which
// sees it when the transaction has committed: a transaction that commits later than the next count
// begins may exceed the bound. It waits for a count no longer than a quarter of a second, since its
// transaction may hold what counting needs, and goes by what is known then.
//
// It panics if the queue has no name, or if most is not positive.
func Backlog(queue string, most int) holdfast.Option { return backlog(queue, most, false) }

// BacklogWait is Backlog for enqueues that wait until there is room, or their context ends: then
// the error is that of the context as well. One that has more jobs than the bound never gets room,
// and fails at once. So does one in a transaction of the caller, on every database: others may wait
// for the transaction, the workers that would make room among them.
//
// A handler that waits keeps its slot. If all slots that could run the jobs of the queue are held
// by handlers that wait to enqueue into it, none gets room until the context of one ends. So a
// handler enqueues into a queue whose jobs have slots of their own (holdfast.WithQueue), or with a
// context that ends, or starts children, which are let through.
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
	turn chan struct{} // is full while one enqueue counts for all

	mu      sync.Mutex // is not held while it is counted
	counted int        // at the last count
	since   int        // let through since that began, or not ended when it began
	next    int        // the same of a count that is under way
	open    int        // let through, and not ended
	fresh   time.Time  // until then it is not counted again
}

// around is the middleware.
func (b *bound) around(ctx context.Context, jobs []*store.Job, next func(context.Context) error) error {
	more := map[string]int{}
	for _, j := range jobs {
		if j.Queue == b.queue && !j.Answers { // children answer
			more[j.Namespace]++
		}
	}
	var let []string // the namespaces into which they were let
	stored := false
	defer func() {
		for _, namespace := range let {
			b.of(namespace).end(more[namespace], stored)
		}
	}()
	for namespace, n := range more {
		if err := b.enter(ctx, b.of(namespace), namespace, n); err != nil {
			return err
		}
		let = append(let, namespace)
	}
	stored = true // perhaps, should next panic
	err := next(ctx)
	stored = err == nil || errors.Is(err, store.ErrUnavailable) || ctx.Err() != nil // perhaps
	return err
}

func (b *bound) of(namespace string) *waiting {
	b.mu.Lock()
	defer b.mu.Unlock()
	w := b.spaces[namespace]
	if w == nil {
		w = &waiting{turn: make(chan struct{}, 1)}
		b.spaces[namespace] = w
	}
	return w
}

// enter makes room for so many jobs.
func (b *bound) enter(ctx context.Context, w *waiting, namespace string, n int) error {
	var full *BacklogError
	for {
		if err := b.refresh(ctx, w, namespace); err != nil {
			if full == nil || ctx.Err() == nil {
				return err
			}
			full.Cause = context.Cause(ctx)
			return full
		}
		has, again := w.admit(n, b.most)
		if has == 0 {
			return nil
		}
		full = &BacklogError{Namespace: namespace, Queue: b.queue, Waiting: has, Most: b.most}
		if !b.wait || n > b.most || access.InTx(ctx) {
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

// refresh counts if the last count is too old, once for all that ask for it. An enqueue in a
// caller's transaction goes by what is known if that takes long.
func (b *bound) refresh(ctx context.Context, w *waiting, namespace string) error {
	if w.isFresh() {
		return nil
	}
	within := ctx
	if access.InTx(ctx) {
		short, cancel := context.WithTimeout(ctx, backlogEvery)
		defer cancel()
		within = short
	}
	err := b.recount(within, w, namespace)
	if err != nil && within.Err() != nil && ctx.Err() == nil {
		return nil
	}
	return err
}

func (b *bound) recount(ctx context.Context, w *waiting, namespace string) error {
	select {
	case w.turn <- struct{}{}:
	case <-ctx.Done():
		return fmt.Errorf("%w: gave up waiting for how many jobs wait in the queue %q: %w",
			store.ErrUnavailable, b.queue, context.Cause(ctx))
	}
	defer func() { <-w.turn }()
	if w.isFresh() {
		return nil // another one has counted meanwhile
	}
	began := time.Now()
	w.begin()
	n, err := b.count(ctx, namespace)
	if err == nil {
		took := time.Since(began)
		w.count(n, time.Now().Add(max(backlogEvery, backlogShare*took)))
	}
	return err
}

func (w *waiting) isFresh() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return time.Now().Before(w.fresh)
}

// begin begins a count. It sees what was stored before, and perhaps of what is being stored.
func (w *waiting) begin() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.next = w.open
}

// count takes in a count.
func (w *waiting) count(n int, fresh time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.counted, w.since, w.fresh = n, w.next, fresh
}

// admit lets so many jobs through if there is room. If not it tells how many wait, and after what
// time it may be tried again.
func (w *waiting) admit(n, most int) (has int, again time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if has = w.counted + w.since; has+n > most {
		return max(has, 1), time.Until(w.fresh)
	}
	w.since, w.next, w.open = w.since+n, w.next+n, w.open+n
	return 0, 0
}

// end ends an enqueue of so many jobs. If they are stored they count until a count has seen them.
func (w *waiting) end(n int, stored bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.open -= n; !stored {
		w.since, w.next = w.since-n, w.next-n
	}
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
