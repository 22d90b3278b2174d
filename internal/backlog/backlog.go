package backlog

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// Rule bounds how many jobs wait in a queue, in each namespace.
type Rule struct {
	Queue string
	Keys  bool // of each key of a limit; what has none is not bounded
	Most  int
	Wait  bool // an enqueue waits until there is room
}

// Full is why an enqueue was refused.
type Full struct {
	Namespace, Queue string
	Key              store.KeyOfLimit // zero: the bound is of the queue
	Waiting, Most    int
	Cause            error // of the context that ended meanwhile
}

// Bounds are the rules of a client.
type Bounds struct {
	store store.Store
	rules []Rule
	inTx  func(context.Context) bool
	// refuse makes the error of an enqueue that was refused.
	refuse func(Full) error

	mu     sync.Mutex
	rooms  map[place]*room
	spaces map[space]*counting
	sweeps bool          // a sweep is to come
	idle   time.Duration // for how long a room is kept that is of no use
}

// space is a rule in a namespace: what is counted at once.
type space struct {
	rule      int
	namespace string
}

// place is what a room bounds.
type place struct {
	space
	key store.KeyOfLimit // zero: the queue
}

// need is how many jobs an enqueue brings into a place.
type need struct {
	place
	n int
}

// New returns the bounds of a client. An enqueue whose context is inTx does not wait.
func New(st store.Store, rules []Rule, inTx func(context.Context) bool, refuse func(Full) error) *Bounds {
	return &Bounds{
		store: st, rules: rules, inTx: inTx, refuse: refuse,
		rooms: map[place]*room{}, spaces: map[space]*counting{}, idle: 10 * time.Second,
	}
}

// Around lets an enqueue of jobs through if all bounds have room for it. It is a middleware of
// enqueues: next stores them.
func (b *Bounds) Around(ctx context.Context, jobs []*store.Job, next func(context.Context) error) error {
	needs := b.needs(jobs)
	if len(needs) == 0 {
		return next(ctx)
	}
	if err := b.enter(ctx, needs); err != nil {
		return err
	}
	stored := true // perhaps, should next panic
	defer func() { b.leave(needs, stored) }()
	err := next(ctx)
	stored = err == nil || errors.Is(err, store.ErrUnavailable) || ctx.Err() != nil // perhaps
	return err
}

// needs are what jobs need, in the order of the rules. The children of runs, which answer, need
// nothing.
func (b *Bounds) needs(jobs []*store.Job) (needs []need) {
	var more map[place]int
	for _, j := range jobs {
		for i, rule := range b.rules {
			if j.Answers || j.Queue != rule.Queue || rule.Keys && j.Options.Limit == "" {
				continue
			}
			at := place{space: space{i, j.Namespace}}
			if rule.Keys {
				at.key = store.KeyOfLimit{Limit: j.Options.Limit, Key: j.Options.LimitKey}
			}
			if more == nil {
				more = map[place]int{}
			}
			more[at]++
		}
	}
	for at, n := range more {
		needs = append(needs, need{at, n})
	}
	slices.SortFunc(needs, func(a, b need) int {
		return cmp.Or(cmp.Compare(a.rule, b.rule), cmp.Compare(a.namespace, b.namespace),
			cmp.Compare(a.key.Limit, b.key.Limit), cmp.Compare(a.key.Key, b.key.Key))
	})
	return needs
}

// enter makes room for jobs: in all places, or in none.
func (b *Bounds) enter(ctx context.Context, needs []need) error {
	var full *Full
	for {
		if err := b.refresh(ctx, needs); err != nil {
			if full == nil || ctx.Err() == nil {
				return err
			}
			full.Cause = context.Cause(ctx)
			return b.refuse(*full)
		}
		refused, waits, again := b.admit(needs)
		if full = refused; full == nil {
			return nil
		}
		if !waits || b.inTx(ctx) {
			return b.refuse(*full)
		}
		select {
		case <-time.After(again):
		case <-ctx.Done():
			full.Cause = context.Cause(ctx)
			return b.refuse(*full)
		}
	}
}

// admit lets jobs through if there is room in all places. If not it tells of one that has none,
// whether it may be waited for, and after what time it may be tried again. One that cannot be
// waited for comes before the others.
func (b *Bounds) admit(needs []need) (full *Full, waits bool, again time.Duration) {
	now := time.Now()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, q := range needs {
		rule, r := b.rules[q.rule], b.room(q.place)
		r.used = now
		has := r.counted + r.since
		if has+q.n <= rule.Most {
			continue
		}
		may := rule.Wait && q.n <= rule.Most
		if full == nil || waits && !may {
			full = &Full{Namespace: q.namespace, Queue: rule.Queue, Key: q.key, Waiting: max(has, 1), Most: rule.Most}
			waits = may
		}
		again = max(again, r.fresh.Sub(now)) // each has to be counted again
	}
	if full != nil {
		return full, waits, again
	}
	for _, q := range needs {
		r := b.room(q.place)
		r.since, r.next, r.open = r.since+q.n, r.next+q.n, r.open+q.n
	}
	return nil, false, 0
}

// leave ends an enqueue. If its jobs are stored they count until a count has seen them.
func (b *Bounds) leave(needs []need, stored bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, q := range needs {
		r := b.room(q.place)
		if r.open -= q.n; !stored {
			r.since, r.next = r.since-q.n, r.next-q.n
		}
	}
}
