package holdfast

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/holdfastdev/holdfast/internal/access"
	"github.com/holdfastdev/holdfast/internal/engine"
	"github.com/holdfastdev/holdfast/internal/replay"
	"github.com/holdfastdev/holdfast/internal/timed"
	"github.com/holdfastdev/holdfast/store"
)

// Option is a setting of Open.
type Option interface {
	open(*settings) error
}

type option func(*settings) error

func (f option) open(s *settings) error { return f(s) }

type settings struct {
	engine    engine.Config
	namespace string
	actor     string
	limit     int
	stub      stub

	noOperations bool
	onStep       onStep
	traceOf      func(ctx context.Context) string
	queried      func(op timed.Operation, took time.Duration)
	codec        store.Codec // nil: none

	around         []Middleware
	aroundEnqueues []enqueueMiddleware
	// onStore makes a further one of rules, once there is a store.
	onStore func(st store.Store, rules []any) enqueueMiddleware
	rules   []any
}

// Middleware is put around handlers, for what concerns all of them: metrics, traces, values in
// contexts. It calls next once, with its run or one made from it by WithContext, and returns what
// next returned, or another error. It is called for each run of a job, also when a parked run goes
// on. What it returns is what the handler has returned: nil completes the job, without a result
// unless the handler returned one, and an error decides as it would from the handler. If it does
// not call next, the handler is not called.
//
// next returns the error of the handler. An ErrParked says that the job has not ended: its run is
// parked, or the handler has returned Snooze, HandOver or ContinueAsNew, whose errors match it with
// errors.Is, and the job goes on like that; or an earlier run has decided the end, and was told so,
// and this one only compensates. A metric that leaves them out counts each attempt that ends once.
// Such an error of the handler has to be returned, like any other. A durable run that is
// interrupted returns ErrShutdown, because its node stops, or ErrLeaseLost. If the run is parked or
// interrupted, it ends in its own way, whatever the middleware returns. A panic of the handler
// comes out of next as a panic, whose value is an error with the handler's stack; a panic of the
// middleware is one of the handler. next called twice, or with another run, is an ErrInvalid.
//
// A job that ends without a run does not reach the middleware: one that is finished from outside
// (Complete, Fail), cancelled while it waits, or terminated. The hook Finished is told of each end.
//
// Compensations run outside of the middleware.
type Middleware func(run *Run, next func(run *Run) error) error

type enqueueMiddleware = func(ctx context.Context, jobs []*store.Job, next func(context.Context) error) error

// stub returns what a test has put in place of a step's function; see access.Tests.
type stub func(kind, step string, like any, tx bool) (any, error)

// onStep is access.Telemetry.Step.
type onStep = func(ctx context.Context, name string, attempt int) (inside context.Context, end func(returned bool, err error))

// addTelemetry puts telemetry around everything else.
func (s *settings) addTelemetry(t access.Telemetry) error {
	if s.engine.Observer != nil {
		return invalid("telemetry", "it is given twice; remove one of the options telemetry.With")
	}
	s.engine.Observer, s.engine.Hooks, s.onStep = t.Observer, append(s.engine.Hooks, t.Hooks), t.Step
	s.traceOf = t.Sends
	s.queried = t.Queried
	s.around = append([]Middleware{t.Around.(Middleware)}, s.around...) //nolint:errcheck // always one
	s.aroundEnqueues = append([]enqueueMiddleware{t.Enqueues}, s.aroundEnqueues...)
	return nil
}

// WithLogger sets the logger of the client. Default, and for nil: slog.Default(), as it is when
// Open is called. If all is well, a node logs one line when it starts and two when it stops.
// docs/logging.md lists all lines, and what to do about each.
//
//	holdfast.WithLogger(slog.New(slog.DiscardHandler)) // turns it off
func WithLogger(log *slog.Logger) Option {
	return option(func(s *settings) error { s.engine.Logger = log; return nil })
}

// WithNamespace sets the namespace in which the client enqueues, runs and lists jobs. Default:
// "default". Each namespace has its own queues, unique keys and ordering keys. Client.In returns a
// client for another one on the same database.
func WithNamespace(name string) Option {
	return option(func(s *settings) error {
		s.namespace = name
		return checkName("namespace", name)
	})
}

// WithActor sets the name that is recorded for the client's actions on jobs, such as a cancel.
// Default: host and process.
func WithActor(name string) Option {
	return option(func(s *settings) error {
		s.actor = name
		return checkName("actor", name)
	})
}

// WithMaxPayload limits the args and the result of a job, and each value that its run stores or is
// sent: results of steps, checkpoints, what is published, and the payloads of signals, updates and
// callbacks. In bytes of JSON: 1 to 2^30. Default: MaxPayload. What is larger is an ErrInvalid; a
// result that is fails its job or step.
func WithMaxPayload(bytes int) Option {
	return option(func(s *settings) error {
		s.limit = bytes
		if bytes < 1 || bytes > 1<<30 {
			return invalid("max payload", "%d is not between 1 and 2^30", bytes)
		}
		return nil
	})
}

// WithMaxJournal limits the journal of a durable function. When it is full, operations return
// ErrJournalFull. Default: 50,000 entries or 64 MiB. A warning is logged when it reaches half of
// either. The whole journal is read whenever the function resumes.
func WithMaxJournal(entries int, bytes int64) Option {
	return option(func(s *settings) error {
		s.engine.MaxJournal = replay.JournalLimit{Entries: int64(entries), Bytes: bytes}
		if entries < 1 || bytes < 1 {
			return invalid("max journal", "%d entries and %d bytes: both must be positive", entries, bytes)
		}
		return nil
	})
}

// WithSlots sets how many jobs the node runs at once. Default: 100.
func WithSlots(n int) Option {
	return option(func(s *settings) error {
		s.engine.Node.Slots = n
		if n < 1 {
			return invalid("slots", "%d is not positive", n)
		}
		return nil
	})
}

// WithQueue makes the node serve a queue, with at most slots of its jobs at once; 0 means as many
// as the node has slots. Without any WithQueue a node serves all queues of its namespace.
//
// A name that ends with "*" is a pattern: "tenant-*" is for each queue whose name begins with
// "tenant-", also for those that do not exist yet, with so many slots for each. A queue that has a
// WithQueue of its own, or matches a longer pattern, counts there alone.
func WithQueue(name string, slots int) Option {
	return option(func(s *settings) error {
		if err := checkName("queue", name); err != nil {
			return err
		}
		for _, q := range s.engine.Node.Queues {
			if q.Name == name {
				return invalid("queue", "%q is given twice", name)
			}
		}
		s.engine.Node.Queues = append(s.engine.Node.Queues, store.QueueDemand{Name: name, Limit: slots})
		if slots < 0 {
			return invalid("queue", "%q: %d slots is negative; use 0 for no limit of its own", name, slots)
		}
		return nil
	})
}

// WithShare says what a queue of WithQueue has of the node's slots beside those of others. So many
// slots as minSlots are kept for it: no other queue uses them, also while it has no jobs, so its
// jobs find them at once. The slots that are kept for no queue are shared, while several queues
// have jobs, by their weights: as slots become free they go to the queue that has least of them by
// its weight. What runs is never stopped for that. What one queue does not need the others use.
//
// Without a WithShare no slot is kept for a queue, and its weight is 1. If no queue has one, a slot
// goes to the job that is due first, whatever its queue. The kept slots of all queues together are
// at most those of the node, and those of one at most its own.
func WithShare(queue string, minSlots, weight int) Option {
	return option(func(s *settings) error {
		if err := checkName("queue", queue); err != nil {
			return err
		}
		if minSlots < 0 || weight < 1 || weight > maxWeight {
			return invalid("share", "queue %q: %d slots must not be negative, and the weight %d be between 1 and %d",
				queue, minSlots, weight, maxWeight)
		}
		if _, twice := s.engine.Node.Shares[queue]; twice {
			return invalid("share", "that of queue %q is given twice", queue)
		}
		if s.engine.Node.Shares == nil {
			s.engine.Node.Shares = map[string]engine.Share{}
		}
		s.engine.Node.Shares[queue] = engine.Share{Min: minSlots, Weight: weight}
		return nil
	})
}

// maxWeight is the greatest weight of a queue.
const maxWeight = 1000

// checkShares refuses shares of queues that the node does not serve, and more slots than there are.
func (s *settings) checkShares() error {
	n := &s.engine.Node
	kept, all := 0, cmp.Or(n.Slots, engine.DefaultSlots)
	for _, q := range n.Queues {
		most := all
		if q.Limit > 0 {
			most = min(q.Limit, all)
		}
		of := n.Shares[q.Name].Min
		if _, is := store.QueuePrefix(q.Name); is && of > 0 {
			return invalid("share", "%d slots would be kept for each queue that matches %q; a pattern can have a weight only", of, q.Name)
		}
		if kept += of; of > most {
			return invalid("share", "%d slots would be kept for queue %q, which has %d", of, q.Name, most)
		}
	}
	if kept > all {
		return invalid("share", "%d slots would be kept for queues; the node has %d", kept, all)
	}
	for name := range n.Shares {
		if !slices.ContainsFunc(n.Queues, func(q store.QueueDemand) bool { return q.Name == name }) {
			return invalid("share", "the node does not serve queue %q; give it a WithQueue", name)
		}
	}
	return nil
}

// WithNodeName sets the node's name, for people. Default: host and process.
func WithNodeName(name string) Option {
	return option(func(s *settings) error {
		s.engine.Node.Name = name
		return checkName("node name", name)
	})
}

// WithLeases sets the interval of the node's heartbeat (default 5 s) and the silence after which it
// is dead (default 20 s, at least three beats). The next beat of the leader then gives its jobs to
// other nodes. All nodes of a database should use the same values.
func WithLeases(beat, deadAfter time.Duration) Option {
	return option(func(s *settings) error {
		s.engine.Node.Beat, s.engine.Node.DeadAfter = beat, deadAfter
		if beat <= 0 || deadAfter < 3*beat {
			return invalid("leases", "beat %v and dead after %v: both must be positive, and the second at least three beats", beat, deadAfter)
		}
		return nil
	})
}

// WithAging sets the wait after which a job gains one level of priority. Default: a minute; 0 or
// less: never.
func WithAging(d time.Duration) Option {
	return option(func(s *settings) error {
		s.engine.Node.Aging = d
		if d <= 0 {
			s.engine.Node.Aging = -1
		}
		return nil
	})
}

// WithStopTimeout sets how long handlers may keep running after the node is told to stop, before
// their contexts end. Nothing, or less, ends them at once. Default: 20 s.
func WithStopTimeout(d time.Duration) Option {
	return option(func(s *settings) error {
		s.engine.Node.StopTimeout = max(d, time.Nanosecond)
		return nil
	})
}

// WithStuckAfter sets how long a handler may ignore the end of its context before it is reported
// and abandoned. Default: 10 s.
func WithStuckAfter(d time.Duration) Option {
	return option(func(s *settings) error {
		s.engine.Node.StuckAfter = d
		return checkPositive("stuck after", d)
	})
}

// WithRetention sets how long finished jobs are kept, counted from their end, by how they ended,
// how long it is kept what people did, how long the feed of changes goes back, and how long the
// stubs of archived jobs are kept. A field that is zero keeps its default: 24 hours for completed
// and cancelled jobs, 7 days for failed ones, 90 days for what people did, 3 days for the feed, a
// year for stubs. A negative one keeps them for ever. Limit is how many jobs SQLite removes in one
// transaction; default 500.
//
// Jobs are removed by the nodes, and may stay longer than that: a day on PostgreSQL, which drops
// them by day.
func WithRetention(r store.Retention) Option {
	return option(func(s *settings) error {
		s.engine.Node.Retain = r
		return nil
	})
}
