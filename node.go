package holdfast

import (
	"context"
	"fmt"
	"sync"

	"github.com/holdfastdev/holdfast/internal/engine"
)

// running is one call of Run.
type running struct {
	stop     chan struct{}
	stopOnce sync.Once
	force    context.Context
	now      context.CancelFunc
	done     chan struct{}
}

// member is the node of a namespace in this process.
type member struct {
	runs    *running
	stopped bool  // by Stop, for good
	ended   error // of the last node, which has ended with it
}

// member returns the member of a namespace. d.mu is held.
func (d *database) member(namespace string) *member {
	m := d.members[namespace]
	if m == nil {
		m = &member{}
		d.members[namespace] = m
	}
	return m
}

// Run makes the process a node of the client's namespace. It serves the kinds that have handlers
// until ctx ends or Stop is called, and returns when it has left. If ctx ends, it stops as Stop
// does, with the stop timeout, and Run may be called again; so it does if the node was asked to
// drain (DrainNode). A second Run at the same time is an
// ErrConflict. After Stop, Run returns nil at once, and after Close ErrClosed. A node that cannot
// join, as the database does not answer or refuses it, returns that error, and one whose database
// is gone for good ErrDatabaseGone.
func (c *Client) Run(ctx context.Context) error {
	serve, err := c.join(ctx)
	if err != nil {
		return err
	}
	return serve()
}

// Start is Run that returns when the node has joined, or could not. The node then runs in the
// background until ctx ends, or Stop or Close is called; Close, or a Stop, waits for its end. If it
// ends by itself, because the database is gone for good, Health tells why.
func (c *Client) Start(ctx context.Context) error {
	serve, err := c.join(ctx)
	if err != nil {
		return err
	}
	go func() { _ = serve() }() // the member keeps its error
	return nil
}

// join makes the process a node, unless it was stopped for good. serve is to be called.
func (c *Client) join(ctx context.Context) (serve func() error, err error) {
	c.mu.Lock()
	m := c.member(c.namespace)
	switch {
	case c.closed:
		c.mu.Unlock()
		return nil, ErrClosed
	case m.stopped:
		c.mu.Unlock()
		return func() error { return nil }, nil
	case m.runs != nil:
		c.mu.Unlock()
		return nil, fmt.Errorf("%w: the node is already running", ErrConflict)
	}
	force, now := context.WithCancel(context.WithoutCancel(ctx))
	r := &running{stop: make(chan struct{}), force: force, now: now, done: make(chan struct{})}
	m.runs, m.ended = r, nil
	c.mu.Unlock()
	left := func(err error) {
		c.mu.Lock()
		m.runs, m.ended = nil, err
		c.mu.Unlock()
		now()
		close(r.done)
	}
	err = c.handleOperations()
	var begun func() error
	if err == nil {
		begun, err = c.engine.Runner(c.namespace).Start(ctx, engine.Stop{Soft: r.stop, Hard: force})
	}
	if err != nil {
		left(nil)
		return nil, err
	}
	return func() (err error) {
		defer func() { left(err) }()
		return begun()
	}, nil
}

// Stop stops the node: it claims no more jobs and waits for its handlers. After the stop timeout,
// or when ctx ends if that is sooner, their contexts end with ErrShutdown. Jobs that fail because
// of that run again elsewhere, and the attempt does not count. Stop returns when Run is about to.
// To hurry it, call it again with a context that has ended. Stop is final, like http.Server's
// Shutdown: a later Run serves nothing. For everything else the client remains usable until Close.
// The error is always nil.
func (c *Client) Stop(ctx context.Context) error {
	c.stop(ctx, c.namespace)
	return nil
}

func (d *database) stop(ctx context.Context, namespace string) {
	d.mu.Lock()
	m := d.member(namespace)
	m.stopped = true
	r := m.runs
	d.mu.Unlock()
	if r == nil {
		return
	}
	r.stopOnce.Do(func() { close(r.stop) })
	unhook := context.AfterFunc(ctx, r.now)
	defer unhook()
	<-r.done
}
