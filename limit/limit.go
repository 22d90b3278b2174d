package limit

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/access"
	"github.com/holdfastdev/holdfast/internal/valid"
	"github.com/holdfastdev/holdfast/store"
)

// Limit is a limit as code declares it. It can be a package variable: what is wrong with it is told
// when it is used.
type Limit struct {
	name string
	opts []Option
}

// New declares a limit: with a Capacity, a Rate, or both. Without Queues and Kinds all jobs of the
// namespace count, each as one.
func New(name string, opts ...Option) Limit { return Limit{name: name, opts: opts} }

// OfQueue declares the limit of a queue. Its name is that of the queue with "queue:" in front.
func OfQueue(queue string, opts ...Option) Limit {
	return New(QueueName(queue), append([]Option{Queues(queue)}, opts...)...)
}

// OfKind declares the limit of a kind. Its name is that of the kind with "kind:" in front.
func OfKind(kind string, opts ...Option) Limit {
	return New("kind:"+kind, append([]Option{Kinds(kind)}, opts...)...)
}

// QueueName is the name of the limit of a queue.
func QueueName(queue string) string { return "queue:" + queue }

// Name returns the limit's name.
func (l Limit) Name() string { return l.name }

// Option says something of a limit.
type Option func(*store.Limit) error

// Capacity is how many slots there are: so many jobs run at once, over all nodes; 0: the jobs do
// not run.
func Capacity(slots int) Option {
	return func(l *store.Limit) error {
		l.Capacity, l.Uncapped = slots, false
		return nil
	}
}

// Queues are the queues whose jobs count. Without any all do.
func Queues(names ...string) Option {
	return func(l *store.Limit) error {
		l.Queues, l.NoJobs = nil, false
		for _, name := range names {
			if err := valid.Name("queue", name); err != nil {
				return fmt.Errorf("limit %q: %w", l.Name, err)
			}
			l.Queues = append(l.Queues, name)
		}
		return nil
	}
}

// Kinds are the kinds whose jobs count, each as one. Without any, and without a Weight, all do.
func Kinds(names ...string) Option {
	return func(l *store.Limit) error {
		l.Kinds, l.NoJobs = nil, false
		for _, name := range names {
			if err := weigh(l, name, 1); err != nil {
				return err
			}
		}
		return nil
	}
}

// Weight lets the jobs of a kind count, each as so many.
func Weight(kind string, slots int) Option {
	return func(l *store.Limit) error { return weigh(l, kind, slots) }
}

// PerKey makes the capacity and the rate those of each key: so many of the jobs run at once, and so
// many start in a time, that name the limit with the same key, see By. The jobs of such a limit are
// those that name it, whatever their queues and kinds; Queues, Kinds, Weight and FairShare do not
// go with it. Its burst may be any, as claims take the permits; Acquire and Drain do not. Its name
// has no @ in it.
func PerKey() Option {
	return func(l *store.Limit) error {
		l.PerKey, l.Queues, l.Kinds = true, nil, nil
		return nil
	}
}

// FairShare divides the slots of a limit evenly among the nodes that want some, as far as each can
// use its part: what one leaves goes to the others, and a node alone may use all. A node that uses
// more than its part gives slots back as its jobs end; none is stopped. Parts are whole jobs of the
// heaviest kind, so that such a job runs on each node that has a part. Without it slots are with
// the node that took them first, as long as it uses them. It needs a Capacity, and does not go with
// PerKey: nodes hold no slots of a limit per key, so there is nothing to divide.
func FairShare() Option {
	return func(l *store.Limit) error {
		l.Fair = true
		return nil
	}
}

// NoFairShare takes a FairShare away.
func NoFairShare() Option {
	return func(l *store.Limit) error {
		l.Fair = false
		return nil
	}
}

// By lets a job count in a limit per key, under a key of 1 to 200 bytes, such as the customer for
// whom it is: as many of one key run at once, over all nodes, as the limit has slots, and as many
// start as its rate lets. A job counts in one such limit: of several options the last one holds. It
// does not start in the transaction that enqueues it.
//
// While there is no limit per key with that name, the job runs without a bound; enqueueing does not
// ask. So programs may enqueue before others declare the limit, and a limit may be deleted while
// there are jobs. What counts already counts in one that is made later.
func By(limit, key string) holdfast.EnqueueOption {
	return access.LimitKey(limit, key).(holdfast.EnqueueOption) //nolint:errcheck // always one
}

// Running returns the jobs that run, or that a node has claimed ahead, under a key of a limit per
// key, in the order of their ids, no more than most; 0: all.
func Running(ctx context.Context, c *holdfast.Client, limit, key string, most int) ([]holdfast.ID, error) {
	e, _ := access.Engine(c)
	return e.Store.RunningOf(ctx, c.Namespace(), limit, key, max(most, 0))
}

// Next returns when the next job of a key may start by the rate of a limit per key; zero: at once,
// or never, as the rate is 0, or the limit is not there or has no rate. Of jobs of the key that
// wait the first one starts then, if nothing else keeps it.
func Next(ctx context.Context, c *holdfast.Client, limit, key string) (time.Time, error) {
	e, _ := access.Engine(c)
	return e.Store.NextOf(ctx, c.Namespace(), limit, key)
}

func weigh(l *store.Limit, kind string, slots int) error {
	if err := valid.Kind(kind); err != nil {
		return fmt.Errorf("limit %q: %w", l.Name, err)
	}
	kinds := map[string]int{kind: slots}
	for k, n := range l.Kinds {
		if k != kind {
			kinds[k] = n
		}
	}
	l.Kinds, l.NoJobs = kinds, false
	return nil
}

// NoJobs lets no jobs count, and any number run: the limit has a rate, whose permits Acquire and
// AcquireContext take.
func NoJobs() Option {
	return func(l *store.Limit) error {
		l.Queues, l.Kinds, l.NoJobs = nil, nil, true
		l.Capacity, l.Uncapped, l.Fair = 0, true, false
		return nil
	}
}

// draft returns what code declares.
func (l Limit) draft(c *holdfast.Client) (store.Limit, error) {
	d := empty(c, l.name)
	if err := apply(&d, l.opts); err != nil {
		return d, err
	}
	return d, d.Check()
}

// empty is a limit that bounds nothing yet.
func empty(c *holdfast.Client, name string) store.Limit {
	return store.Limit{Namespace: c.Namespace(), Name: name, LimitSettings: store.LimitSettings{Uncapped: true}}
}

func apply(l *store.Limit, opts []Option) error {
	if err := valid.Name("limit", l.Name); err != nil {
		return err
	}
	for _, opt := range opts {
		if opt == nil {
			return fmt.Errorf("%w: limit %q: an option is nil", store.ErrInvalid, l.Name)
		}
		if err := opt(l); err != nil {
			return err
		}
	}
	for _, queue := range l.Queues {
		if err := store.CheckQueueName(queue); err != nil {
			return fmt.Errorf("limit %q: %w", l.Name, err)
		}
	}
	if l.Rate != nil && l.Rate.Per == 0 {
		return fmt.Errorf("%w: limit %q: a burst needs a rate, of which it is how many start at once", store.ErrInvalid, l.Name)
	}
	if l.NoJobs && l.Rate == nil {
		return fmt.Errorf("%w: limit %q: no jobs count in it, so it needs a rate", store.ErrInvalid, l.Name)
	}
	return scope(l)
}

// scope lets a limit that is called as OfQueue and OfKind call theirs be of that queue or kind, and
// refuses one that is of others.
func scope(l *store.Limit) error {
	of, name, _ := strings.Cut(l.Name, ":")
	wrong := false
	switch {
	case of == "queue" && name != "":
		if len(l.Queues) == 0 && !l.NoJobs && !l.PerKey {
			l.Queues = []string{name}
		}
		wrong = !slices.Equal(l.Queues, []string{name})
	case of == "kind" && name != "":
		if len(l.Kinds) == 0 && !l.NoJobs && !l.PerKey {
			l.Kinds = map[string]int{name: 1}
		}
		wrong = len(l.Kinds) != 1 || l.Kinds[name] == 0
	}
	if wrong {
		return fmt.Errorf("%w: limit %q: a limit with this name is that of the %s %q; give one of other jobs another name",
			store.ErrInvalid, l.Name, of, name)
	}
	return nil
}
