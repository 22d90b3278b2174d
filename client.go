package holdfast

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"sync"

	"github.com/holdfastdev/holdfast/internal/builds"
	"github.com/holdfastdev/holdfast/internal/engine"
	"github.com/holdfastdev/holdfast/internal/explain"
	"github.com/holdfastdev/holdfast/internal/relay"
	"github.com/holdfastdev/holdfast/internal/sealed"
	"github.com/holdfastdev/holdfast/internal/timed"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/why"
)

// Client is an open Holdfast database. Every process that enqueues, reads or runs jobs has one; Run
// makes it a node. Its methods may be called concurrently.
type Client struct {
	*database

	namespace string
	actor     string
}

// database is shared by all clients made from one Open.
type database struct {
	engine *engine.Engine
	relay  *relay.Store // what the engine stands on, without a codec
	limit  int          // of a payload, in bytes
	stub   stub         // nil but in tests

	onStep       onStep                           // nil: nothing is told of steps
	traceOf      func(ctx context.Context) string // access.Telemetry.Sends; nil: messages carry no span of a context
	noOperations bool                             // the node does not handle operations

	around         []Middleware
	aroundEnqueues []enqueueMiddleware

	mu      sync.Mutex
	members map[string]*member // by namespace
	closed  bool
}

// Open opens a database: sqlite.File("holdfast.db"), postgres.URL("postgres://…"),
// postgres.Pool(pool) or postgres.DB(db). It first brings the schema up to date. The errors are
// ErrInvalid, ErrSchema, ErrReadOnly, ErrPermission and ErrUnavailable.
func Open(ctx context.Context, source store.Source, opts ...Option) (*Client, error) {
	s := settings{namespace: defaultNamespace, limit: MaxPayload, actor: defaultActor()}
	s.engine.Node.Name, s.engine.Node.Build = defaultActor(), store.Build{Program: builds.Program(), Engine: builds.Engine()}
	s.engine.Node.Host, _ = os.Hostname()
	for _, opt := range opts {
		if opt == nil {
			return nil, errNoOption
		}
		if err := opt.open(&s); err != nil {
			return nil, err
		}
	}
	if err := s.checkShares(); err != nil {
		return nil, err
	}
	if s.engine.Logger == nil {
		s.engine.Logger = slog.Default()
	}
	if s.engine.Redact != nil {
		s.engine.Logger = slog.New(s.engine.Redact(s.engine.Logger.Handler()))
	}
	if source == nil {
		return nil, invalid("source", "must not be nil")
	}
	st, err := source.Open(ctx)
	if err != nil {
		return nil, fmt.Errorf("opening %s: %w", source, err)
	}
	relayed := relay.Wrap(st)
	st = relayed
	if s.queried != nil {
		st = timed.Wrap(st, s.queried)
	}
	if s.codec != nil {
		st = sealed.Wrap(st, s.codec)
	}
	if s.onStore != nil {
		s.aroundEnqueues = append(s.aroundEnqueues, s.onStore(st, s.rules))
	}
	shared := &database{
		engine: engine.New(st, s.engine), relay: relayed, limit: s.limit, stub: s.stub,
		noOperations: s.noOperations, onStep: s.onStep, traceOf: s.traceOf,
		around: s.around, aroundEnqueues: s.aroundEnqueues, members: map[string]*member{},
	}
	return &Client{database: shared, namespace: s.namespace, actor: s.actor}, nil
}

// defaultNamespace is the namespace of clients without WithNamespace.
const defaultNamespace = "default"

func defaultActor() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown host"
	}
	return fmt.Sprintf("%s[%d]", host, os.Getpid())
}

// Close stops the nodes that run, commits pending writes, and closes the database (but not a pool
// of the caller's). If ctx ends first, handlers are ended as by Stop, and writes that wait are
// given up. Neither the client nor any other on the same database (In, As) can be used afterwards:
// calls return ErrClosed. A second Close does nothing.
func (c *Client) Close(ctx context.Context) error {
	c.mu.Lock()
	c.closed = true
	namespaces := slices.Collect(maps.Keys(c.members))
	c.mu.Unlock()
	var stopping sync.WaitGroup
	for _, namespace := range namespaces {
		stopping.Go(func() { c.stop(ctx, namespace) })
	}
	stopping.Wait()
	return c.engine.Close(ctx)
}

// In returns a client for another namespace of the same database. It has handlers and a node of its
// own, with the settings of Open, and costs next to nothing: connections, commits and notifications
// are shared. The error is ErrInvalid.
func (c *Client) In(namespace string) (*Client, error) {
	if err := checkName("namespace", namespace); err != nil {
		return nil, err
	}
	return &Client{database: c.database, namespace: namespace, actor: c.actor}, nil
}

// As returns a client whose actions on jobs, such as a cancel, are recorded under another name; see
// WithActor. For everything else it is the same client. The error is ErrInvalid.
func (c *Client) As(actor string) (*Client, error) {
	if err := checkName("actor", actor); err != nil {
		return nil, err
	}
	return &Client{database: c.database, namespace: c.namespace, actor: actor}, nil
}

// Namespace returns the client's namespace.
func (c *Client) Namespace() string { return c.namespace }

// Actor returns the name that is recorded for the client's actions on jobs.
func (c *Client) Actor() string { return c.actor }

// StoreName returns "sqlite" or "postgres".
func (c *Client) StoreName() string { return c.engine.Store.Traits().Name }

// Get returns everything known about a job. The error is ErrNotFound if there is no such job, and a
// *store.ArchivedError, which is one, if it was archived and has left a stub.
func (c *Client) Get(ctx context.Context, id ID) (store.Record, error) {
	return c.engine.Store.Get(ctx, c.namespace, id)
}

// List returns a page of jobs, newest first: at most limit, which is 1 to 1000. If the filter has
// no namespace, the client's is used. after is the Next of the previous page, or "". A page may be
// short even if there are more; only an empty Next marks the end. The error is ErrInvalid for a
// filter, a limit or a cursor that is wrong.
func (c *Client) List(ctx context.Context, filter store.Filter, after string, limit int) (store.Page, error) {
	return c.ListBy(ctx, store.SortNewest, filter, after, limit)
}

// Queues lists the queues of the client's namespace.
func (c *Client) Queues(ctx context.Context) ([]store.Queue, error) {
	return c.engine.Store.Queues(ctx, c.Namespace())
}

// PauseQueue stops the jobs of a queue from starting, on all nodes, until ResumeQueue. Running jobs
// continue. A queue without jobs can be paused, and pausing a paused one is not an error. The error
// is ErrInvalid for a name that no queue can have.
func (c *Client) PauseQueue(ctx context.Context, name string) error { return c.pause(ctx, name, true) }

// ResumeQueue ends the pause of a queue, and its rest. A queue that is not paused, or not there, is
// left as it is, without an error.
func (c *Client) ResumeQueue(ctx context.Context, name string) error {
	return c.pause(ctx, name, false)
}

func (c *Client) pause(ctx context.Context, name string, paused bool) error {
	if err := checkName("queue", name); err != nil {
		return err
	}
	return c.engine.Pause(ctx, store.PauseParams{Namespace: c.Namespace(), Queue: name, Paused: paused, Actor: c.actor})
}

// SetQueue sets how the jobs of a queue are attempted, and by which class of retention they are
// kept (package retention), without a deployment: what is 0 in set stays as it is, and what is in
// unset is no longer set. It returns what is set then, and when and by whom that was last changed.
// A queue that does not exist is created.
//
// Of each setting this is what counts, the first that says it: the enqueue of the job, or a person
// who has edited it; SetQueue; the options of the handler; those of the kind; the defaults.
// MaxAttempts and Backoff hold for the attempts that fail from then on, also those of jobs that
// were enqueued before; Timeout and Heartbeat for those that begin. Nodes hear of it at once where
// wake-ups work, and within 30 s if one was lost. The change is recorded, and lasts until it is
// unset or the queue is deleted.
//
// The errors are ErrInvalid, which says what is allowed, and ErrNotFound for a class that is not
// there.
func (c *Client) SetQueue(ctx context.Context, name string, set store.AttemptSettings, unset store.Setting) (store.QueueAttempts, error) {
	if err := checkName("queue", name); err != nil {
		return store.QueueAttempts{}, err
	}
	return c.engine.SetQueue(ctx, store.SetQueueParams{Namespace: c.Namespace(), Queue: name, Set: set, Unset: unset, Actor: c.actor})
}

// SetQueueFrom is SetQueue for what is set now being what was read before (store.Queue.Attempts):
// if another has changed it since, nothing changes, and the error is a *store.ChangedError, an
// ErrConflict.
func (c *Client) SetQueueFrom(
	ctx context.Context, name string, was store.QueueAttempts, set store.AttemptSettings, unset store.Setting,
) (store.QueueAttempts, error) {
	if err := checkName("queue", name); err != nil {
		return store.QueueAttempts{}, err
	}
	return c.engine.SetQueue(ctx, store.SetQueueParams{
		Namespace: c.Namespace(), Queue: name, Set: set, Unset: unset, Actor: c.actor, If: &was,
	})
}

// DeleteQueue takes a queue off the list, with its pause. It is listed again while it has jobs that
// are not finished; PauseQueue and ResumeQueue bring it back for good. Finished jobs of the queue
// are kept as long as others. The errors are ErrNotFound if there is no such queue, and ErrConflict
// if it has jobs that are not finished.
func (c *Client) DeleteQueue(ctx context.Context, name string) error {
	if err := checkName("queue", name); err != nil {
		return err
	}
	return c.engine.DeleteQueue(ctx, store.DeleteQueueParams{Namespace: c.Namespace(), Queue: name, Actor: c.actor})
}

// Unserved lists the kinds of the client's namespace whose jobs wait in vain, as no live node
// claims them in their queue: first those whose jobs have waited longest.
func (c *Client) Unserved(ctx context.Context) ([]store.Unserved, error) {
	found, err := c.engine.Store.Unserved(ctx, maxUnserved)
	return slices.DeleteFunc(found, func(u store.Unserved) bool { return u.Namespace != c.namespace }), err
}

// maxUnserved is how many kinds of all namespaces Unserved looks at.
const maxUnserved = 10_000

// Nodes lists the nodes of the database, including those that ended within the last day.
func (c *Client) Nodes(ctx context.Context) ([]store.Node, error) {
	return c.engine.Store.Nodes(ctx)
}

// QuietNode makes a node quiet, wherever it runs: it claims no more jobs, gives back those that it
// has not started, and goes on with those that run, until ResumeNode or DrainNode. It does
// everything else that a node does, such as the maintenance. The wish is kept in the database; the
// node hears of it at once where wake-ups arrive, and otherwise by its next heartbeat. It ends with
// the node: a process that starts again is not quiet, and one that was declared dead and has joined
// again is.
//
// Doing it twice is not an error. The errors are ErrNotFound for a node that does not exist,
// store.ErrNodeDead for one that has ended, and ErrConflict for one that drains. The same applies
// to ResumeNode and DrainNode.
func (c *Client) QuietNode(ctx context.Context, node int64) error {
	return c.askNode(ctx, node, store.NodeQuiet)
}

// ResumeNode lets a quiet node claim jobs again. A node that is not quiet is left as it is.
func (c *Client) ResumeNode(ctx context.Context, node int64) error {
	return c.askNode(ctx, node, store.NodeRuns)
}

// DrainNode makes a node stop as Stop does: it is quiet, its running jobs have the stop timeout of
// its process to end (WithStopTimeout), and its Run returns nil. Where jobs take longer, use
// QuietNode first, and DrainNode when none runs any more. It is final for that node; its process
// may call Run again, which joins as another one.
func (c *Client) DrainNode(ctx context.Context, node int64) error {
	return c.askNode(ctx, node, store.NodeDrains)
}

func (c *Client) askNode(ctx context.Context, node int64, mode store.NodeMode) error {
	return c.engine.AskNode(ctx, store.AskNodeParams{Node: node, Mode: mode, Actor: c.actor})
}

// Why says why a job does not start, continue or end, as the database sees it now. The cost does
// not depend on the number of jobs that wait or have ended. The error is ErrNotFound if there is no
// such job.
func (c *Client) Why(ctx context.Context, id ID) (why.Explanation, error) {
	return explain.Of(ctx, c.engine.Store, c.namespace, id)
}
