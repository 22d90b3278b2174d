package limit

import (
	"fmt"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/access"
	"github.com/holdfastdev/holdfast/internal/backlog"
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
// Of several bounds, of queues and of keys, all that concern an enqueue must have room for it; if
// one has not, it takes none of the others.
//
// It panics if the queue has no name, or if most is not positive.
func Backlog(queue string, most int) holdfast.Option {
	return bounded(backlog.Rule{Queue: queue, Most: most})
}

// BacklogWait is Backlog for enqueues that wait until there is room, or their context ends: then
// the error is that of the context as well. One that has more jobs than the bound never gets room,
// and fails at once. So does one in a transaction of the caller, on every database: others may wait
// for the transaction, the workers that would make room among them. One that waits for several
// bounds holds room in none of them meanwhile.
//
// A handler that waits keeps its slot. If all slots that could run the jobs of the queue are held
// by handlers that wait to enqueue into it, none gets room until the context of one ends. So a
// handler enqueues into a queue whose jobs have slots of their own (holdfast.WithQueue), or with a
// context that ends, or starts children, which are let through.
func BacklogWait(queue string, most int) holdfast.Option {
	return bounded(backlog.Rule{Queue: queue, Most: most, Wait: true})
}

// BacklogOfKey bounds how many jobs of each key wait in a queue, as Backlog does for the queue. The
// key is that of By: a limit and a key in it, whether the limit is there or not. A job without one
// is not counted, and let through. An enqueue of jobs of many keys is refused as a whole if one of
// the keys has no room.
//
// What an enqueue needs is counted in at most two queries, however many keys it has, and together
// with what other enqueues of the client need. A key is not counted again for a quarter of a
// second, so the first enqueue of a key that was not used lately costs a query. Where few jobs of
// the limit wait in the queue, up to 200, or 10 for each key, these are looked at. Where more do
// the jobs of each key are, the newest first, until most wait: where fewer wait that are all that
// the database still has of the key, those that have finished among them. What a client knows of a
// key is dropped when the key was not used for ten seconds or so.
func BacklogOfKey(queue string, most int) holdfast.Option {
	return bounded(backlog.Rule{Queue: queue, Keys: true, Most: most})
}

// BacklogOfKeyWait is BacklogOfKey for enqueues that wait, as those of BacklogWait do.
func BacklogOfKeyWait(queue string, most int) holdfast.Option {
	return bounded(backlog.Rule{Queue: queue, Keys: true, Most: most, Wait: true})
}

// BacklogError is the ErrConflict of an enqueue into a queue where too many jobs wait.
type BacklogError struct {
	Namespace, Queue string
	Limit, Key       string // the key of which too many wait; "": the bound is that of the queue
	Waiting          int    // at least so many, those that this client has just enqueued included
	Most             int    // the bound
	Cause            error
}

func (e *BacklogError) Error() string {
	which := ""
	if e.Limit != "" {
		which = fmt.Sprintf(" of the key %q of the limit %q", e.Key, e.Limit)
	}
	text := fmt.Sprintf("%v: %d jobs%s wait in the queue %q, which is bounded to %d here; enqueue later, or run more workers",
		store.ErrConflict, e.Waiting, which, e.Queue, e.Most)
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

// bounded returns the option of a rule. One client has one backlog.Bounds of all its rules.
func bounded(rule backlog.Rule) holdfast.Option {
	if rule.Queue == "" || rule.Most <= 0 {
		panic(fmt.Sprintf("limit: a backlog of %d jobs in the queue %q", rule.Most, rule.Queue))
	}
	option, _ := access.AroundEnqueues(rule, func(st store.Store, rules []any) access.EnqueueMiddleware {
		var all []backlog.Rule
		for _, rule := range rules {
			all = append(all, rule.(backlog.Rule))
		}
		return backlog.New(st, all, access.InTx, full).Around
	}).(holdfast.Option)
	return option
}

func full(f backlog.Full) error {
	return &BacklogError{
		Namespace: f.Namespace, Queue: f.Queue, Limit: f.Key.Limit, Key: f.Key.Key, Waiting: f.Waiting, Most: f.Most, Cause: f.Cause,
	}
}
