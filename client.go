package holdfast

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime/debug"
	"sync"
	"time"

	"github.com/holdfastdev/holdfast/internal/engine"
	"github.com/holdfastdev/holdfast/internal/replay"
	"github.com/holdfastdev/holdfast/store"
)

// Client is an open Holdfast database. Every process that enqueues, reads or runs jobs has one; Run
// makes it a node. Its methods may be called concurrently.
type Client struct {
	engine *engine.Engine
	actor  string
	limit  int

	mu      sync.Mutex
	runs    *running
	stopped bool // by Stop, for good
	closed  bool
}

// running is one call of Run.
type running struct {
	stop     chan struct{}
	stopOnce sync.Once
	force    context.Context
	now      context.CancelFunc
	done     chan struct{}
}

// Option is a setting of Open.
type Option func(*settings) error

type settings struct {
	engine engine.Config
	actor  string
	limit  int
}

// Open opens a database: sqlite.File("holdfast.db"), postgres.URL("postgres://…") or
// postgres.Pool(pool). It first brings the schema up to date. The errors are ErrInvalid, ErrSchema,
// ErrReadOnly and ErrUnavailable.
func Open(ctx context.Context, source store.Source, opts ...Option) (*Client, error) {
	s := settings{limit: MaxPayload, actor: defaultActor()}
	s.engine.Node.Name, s.engine.Node.Version = defaultActor(), programVersion()
	for _, opt := range opts {
		if opt == nil {
			return nil, errNoOption
		}
		if err := opt(&s); err != nil {
			return nil, err
		}
	}
	if s.engine.Logger == nil {
		s.engine.Logger = slog.Default()
	}
	st, err := source.Open(ctx)
	if err != nil {
		return nil, fmt.Errorf("opening %s: %w", source, err)
	}
	return &Client{engine: engine.New(st, s.engine), actor: s.actor, limit: s.limit}, nil
}

func defaultActor() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown host"
	}
	return fmt.Sprintf("%s[%d]", host, os.Getpid())
}

// programVersion is what the go command knows of the program that this is part of, such as v1.2.3 or a commit.
func programVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	return info.Main.Version
}

// WithLogger sets the logger of the client. Default, and for nil: slog.Default(), as it is when
// Open is called. If all is well, a node logs one line when it starts and two when it stops.
// docs/logging.md lists all lines, and what to do about each.
//
//	holdfast.WithLogger(slog.New(slog.DiscardHandler)) // turns it off
func WithLogger(log *slog.Logger) Option {
	return func(s *settings) error { s.engine.Logger = log; return nil }
}

// WithNamespace sets the namespace in which the client enqueues, runs and lists jobs. Default:
// "default". Each namespace has its own queues, unique keys and ordering keys. Ids are unique
// across namespaces: an id reaches its job from any of them.
func WithNamespace(name string) Option {
	return func(s *settings) error {
		s.engine.Namespace = name
		return checkName("namespace", name)
	}
}

// WithActor sets the name that is recorded for the client's actions on jobs, such as a cancel.
// Default: host and process.
func WithActor(name string) Option {
	return func(s *settings) error {
		s.actor = name
		return checkName("actor", name)
	}
}

// WithMaxPayload limits the args and the result of a job, in bytes. Default: MaxPayload.
func WithMaxPayload(bytes int) Option {
	return func(s *settings) error {
		s.limit = bytes
		if bytes < 1 || bytes > 1<<30 {
			return invalid("max payload", "%d is not between 1 and 2^30", bytes)
		}
		return nil
	}
}

// WithMaxJournal limits the journal of a durable function. When it is full, operations return
// ErrJournalFull. Default: 50,000 entries or 64 MiB. A warning is logged when it reaches half of
// either. The whole journal is read whenever the function resumes.
func WithMaxJournal(entries int, bytes int64) Option {
	return func(s *settings) error {
		s.engine.MaxJournal = replay.JournalLimit{Entries: int64(entries), Bytes: bytes}
		if entries < 1 || bytes < 1 {
			return invalid("max journal", "%d entries and %d bytes: both must be positive", entries, bytes)
		}
		return nil
	}
}

// WithSlots sets how many jobs the node runs at once. Default: 100.
func WithSlots(n int) Option {
	return func(s *settings) error {
		s.engine.Node.Slots = n
		if n < 1 {
			return invalid("slots", "%d is not positive", n)
		}
		return nil
	}
}

// WithQueue makes the node serve a queue, with at most slots of its jobs at once; 0 means as many
// as the node has slots. Without any WithQueue a node serves all queues of its namespace.
func WithQueue(name string, slots int) Option {
	return func(s *settings) error {
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
	}
}

// WithNodeName sets the node's name, for people. Default: host and process.
func WithNodeName(name string) Option {
	return func(s *settings) error {
		s.engine.Node.Name = name
		return checkName("node name", name)
	}
}

// WithLeases sets the interval of the node's heartbeat (default 5 s) and the silence after which it
// is dead (default 20 s, at least three beats). The next beat of the leader then gives its jobs to
// other nodes. All nodes of a database should use the same values.
func WithLeases(beat, deadAfter time.Duration) Option {
	return func(s *settings) error {
		s.engine.Node.Beat, s.engine.Node.DeadAfter = beat, deadAfter
		if beat <= 0 || deadAfter < 3*beat {
			return invalid("leases", "beat %v and dead after %v: both must be positive, and the second at least three beats", beat, deadAfter)
		}
		return nil
	}
}

// WithAging sets the wait after which a job gains one level of priority. Default: a minute; 0 or
// less: never.
func WithAging(d time.Duration) Option {
	return func(s *settings) error {
		s.engine.Node.Aging = d
		if d <= 0 {
			s.engine.Node.Aging = -1
		}
		return nil
	}
}

// WithStopTimeout sets how long handlers may keep running after the node is told to stop, before their
// contexts end. Default: 20 s.
func WithStopTimeout(d time.Duration) Option {
	return func(s *settings) error {
		s.engine.Node.StopTimeout = max(d, time.Nanosecond)
		return nil
	}
}

// WithStuckAfter sets how long a handler may ignore the end of its context before it is reported and left behind. Default: 10 s.
func WithStuckAfter(d time.Duration) Option {
	return func(s *settings) error {
		s.engine.Node.StuckAfter = d
		if d <= 0 {
			return invalid("stuck after", "%v is not positive", d)
		}
		return nil
	}
}

// WithRetention sets how long finished jobs are kept.
func WithRetention(r Retention) Option {
	return func(s *settings) error {
		s.engine.Node.Retain = r
		return nil
	}
}

// Run makes the process a node. It serves the kinds that have handlers until ctx ends or Stop is
// called, and returns when it has left. If ctx ends, it stops as Stop does, with the stop timeout,
// and Run may be called again. A second Run at the same time is an ErrConflict. After Stop, Run
// returns nil at once, and after Close ErrClosed.
func (c *Client) Run(ctx context.Context) error {
	c.mu.Lock()
	switch {
	case c.closed:
		c.mu.Unlock()
		return ErrClosed
	case c.stopped:
		c.mu.Unlock()
		return nil
	case c.runs != nil:
		c.mu.Unlock()
		return fmt.Errorf("%w: the node is already running", ErrConflict)
	}
	force, now := context.WithCancel(context.WithoutCancel(ctx))
	r := &running{stop: make(chan struct{}), force: force, now: now, done: make(chan struct{})}
	c.runs = r
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		c.runs = nil
		c.mu.Unlock()
		now()
		close(r.done)
	}()
	return c.engine.Run(ctx, engine.Stop{Soft: r.stop, Hard: force})
}

// Stop stops the node: it claims no more jobs and waits for its handlers. After the stop timeout,
// or when ctx ends if that is sooner, their contexts end with ErrShutdown. Jobs that fail because
// of that run again elsewhere, and the attempt does not count. Stop returns when Run is about to.
// To hurry it, call it again with a context that has ended. Stop is final, like http.Server's
// Shutdown: a later Run serves nothing. For everything else the client remains usable until Close.
func (c *Client) Stop(ctx context.Context) error {
	c.mu.Lock()
	c.stopped = true
	r := c.runs
	c.mu.Unlock()
	if r == nil {
		return nil
	}
	r.stopOnce.Do(func() { close(r.stop) })
	unhook := context.AfterFunc(ctx, r.now)
	defer unhook()
	<-r.done
	return nil
}

// Close stops the node if it runs, commits pending writes, and closes the database (but not a pool
// of the caller's). The client cannot be used afterwards.
func (c *Client) Close(ctx context.Context) error {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	return errors.Join(c.Stop(ctx), c.engine.Close(ctx))
}

// Namespace returns the client's namespace.
func (c *Client) Namespace() string { return c.engine.Namespace() }

// StoreName returns "sqlite" or "postgres".
func (c *Client) StoreName() string { return c.engine.Store.Traits().Name }

// Get returns everything known about a job.
func (c *Client) Get(ctx context.Context, id ID) (Record, error) {
	return c.engine.Store.Get(ctx, id)
}

// List returns a page of jobs, newest first. If the filter has no namespace, the client's is used.
// after is the Next of the previous page, or "". A page may be short even if there are more; only
// an empty Next marks the end.
func (c *Client) List(ctx context.Context, filter Filter, after string, limit int) (Page, error) {
	if filter.Namespace == "" {
		filter.Namespace = c.Namespace()
	}
	if err := checkLimit(limit); err != nil {
		return Page{}, err
	}
	return c.engine.Store.List(ctx, store.ListParams{Filter: filter, After: after, Limit: limit})
}

// Cancel cancels jobs: running jobs when their handlers return, others at once. It returns a result
// for each, in the order given.
func (c *Client) Cancel(ctx context.Context, reason string, ids ...ID) ([]CancelResult, error) {
	return c.engine.Cancel(ctx, store.CancelParams{Jobs: ids, Reason: reason, Actor: c.actor})
}

// Retry makes jobs run again at once. Failed and cancelled jobs begin again with the first attempt;
// jobs that wait for a retry or a run time keep their attempts. A finished durable job continues
// after its last step that succeeded, as in ResumeJob. It returns a result for each, in the order
// given.
func (c *Client) Retry(ctx context.Context, ids ...ID) ([]RetryResult, error) {
	journals, err := c.engine.Store.Journals(ctx, ids)
	if err != nil {
		return nil, err
	}
	var plain []ID
	durable := map[ID]RetryResult{}
	for i, j := range journals {
		if len(j.Entries) == 0 {
			plain = append(plain, ids[i])
			continue
		}
		r, err := c.retryDurable(ctx, ids[i])
		if err != nil {
			return nil, err
		}
		durable[ids[i]] = r
	}
	done, err := c.engine.Retry(ctx, store.RetryParams{Jobs: plain, Actor: c.actor})
	if err != nil {
		return nil, err
	}
	results := make([]RetryResult, 0, len(ids))
	for _, id := range ids {
		if r, ok := durable[id]; ok {
			results = append(results, r)
			continue
		}
		results, done = append(results, done[0]), done[1:]
	}
	return results, nil
}

// retryDurable returns an error only if the database does not answer.
func (c *Client) retryDurable(ctx context.Context, id ID) (RetryResult, error) {
	record, err := c.Get(ctx, id)
	if err != nil {
		return RetryResult{}, err
	}
	if !record.State.Finished() {
		results, err := c.engine.Retry(ctx, store.RetryParams{Jobs: []ID{id}, Actor: c.actor})
		if err != nil {
			return RetryResult{}, err
		}
		return results[0], nil
	}
	state, err := c.ResumeJob(ctx, id, "retry")
	if err != nil && !errors.Is(err, ErrConflict) && !errors.Is(err, ErrNotFound) {
		return RetryResult{}, err
	}
	return RetryResult{Job: id, State: state, Err: err}, nil
}

// Queues lists the queues of the client's namespace.
func (c *Client) Queues(ctx context.Context) ([]QueueInfo, error) {
	return c.engine.Store.Queues(ctx, c.Namespace())
}

// PauseQueue stops the jobs of a queue from starting. Running jobs continue. Pausing a paused queue is
// not an error.
func (c *Client) PauseQueue(ctx context.Context, name string) error { return c.pause(ctx, name, true) }

// ResumeQueue ends the pause of a queue.
func (c *Client) ResumeQueue(ctx context.Context, name string) error {
	return c.pause(ctx, name, false)
}

func (c *Client) pause(ctx context.Context, name string, paused bool) error {
	if err := checkName("queue", name); err != nil {
		return err
	}
	return c.engine.Pause(ctx, store.PauseParams{Namespace: c.Namespace(), Queue: name, Paused: paused, Actor: c.actor})
}

// Nodes lists the nodes of the database, including those that ended within the last day.
func (c *Client) Nodes(ctx context.Context) ([]NodeInfo, error) {
	return c.engine.Store.Nodes(ctx)
}
