package engine

import (
	"context"
	"fmt"
	"log/slog"
	"slices"

	"github.com/holdfastdev/holdfast/internal/commit"
	"github.com/holdfastdev/holdfast/internal/logs"
	"github.com/holdfastdev/holdfast/internal/news"
	"github.com/holdfastdev/holdfast/internal/supervise"
	"github.com/holdfastdev/holdfast/store"
)

// New makes an engine on an open store, which it owns from then on.
func New(st store.Store, cfg Config) *Engine {
	cfg.fill()
	e := &Engine{Store: st, cfg: cfg, plain: logs.Calm(cfg.Logger), handlers: map[string]*Handler{}}
	e.log = slog.New(logs.NewNodeHandler(e.plain.Handler(), &e.nodeID))
	e.lines = logs.NewLimiter(e.log)
	e.outage = logs.NewOutage(e.log)
	e.guard = supervise.New(e.lines)
	e.news = news.New(news.Parts{
		Store: st, Guard: e.guard, Outage: e.outage, Elsewhere: e.elsewhere, Wake: e.wake, Fatal: e.fatal,
	})
	e.loader = &loader{store: st, guard: e.guard}
	e.commit = commit.New(commit.Parts{
		Store: st, Patience: cfg.EnqueuePatience, Guard: e.guard, Outage: e.outage,
		After: e.committed, Reserve: e.reserve, Fatal: e.fatal,
	})
	return e
}

// Namespace is the namespace that the engine works in.
func (e *Engine) Namespace() string { return e.cfg.Namespace }

// Handle registers the handler of a kind. It fails if there is one already or the node runs.
func (e *Engine) Handle(h *Handler) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case e.starting || e.node != nil:
		return fmt.Errorf("%w: kind %q: handlers must be registered before Run", store.ErrInvalid, h.Kind)
	case e.handlers[h.Kind] != nil:
		return fmt.Errorf("%w: kind %q already has a handler", store.ErrInvalid, h.Kind)
	}
	e.handlers[h.Kind] = h
	return nil
}

// Enqueue commits enqueues and returns when they are durable. Each has its own result.
func (e *Engine) Enqueue(ctx context.Context, enqueues []*store.Enqueue) error {
	if e.isClosed() {
		return store.ErrClosed
	}
	return e.commit.Enqueue(ctx, enqueues)
}

// Cancel asks jobs to stop; those that run on this very node at once.
func (e *Engine) Cancel(ctx context.Context, params store.CancelParams) ([]store.CancelResult, error) {
	results, err := e.Store.Cancel(ctx, params)
	if err != nil {
		return nil, err
	}
	var running, ended []store.ID
	for _, r := range results {
		switch {
		case r.Err == nil && r.State == store.Running:
			running = append(running, r.Job)
		case r.Err == nil && r.State == store.Cancelled:
			ended = append(ended, r.Job)
			if params.Terminate {
				running = append(running, r.Job) // perhaps it did
			}
		}
	}
	if len(ended) > 0 {
		e.news.EndedHere(ended)
		// To everybody: this process may never have heard who waits for them.
		e.Store.Notify(store.Wake{Kind: store.WakeNews, Jobs: ended})
	}
	if len(running) > 0 {
		e.tellCancelled(running)
	}
	e.lookAgain()
	e.Store.Notify(store.Wake{Kind: store.WakeLeader}) // there may be children left
	return results, nil
}

// Retry makes finished jobs run again.
func (e *Engine) Retry(ctx context.Context, params store.RetryParams) ([]store.RetryResult, error) {
	results, err := e.Store.Retry(ctx, params)
	if err != nil {
		return nil, err
	}
	e.lookAgain()
	return results, nil
}

// Send delivers messages to jobs and returns when they are durable. Each has its own result.
func (e *Engine) Send(ctx context.Context, sends []*store.Send) error {
	if e.isClosed() {
		return store.ErrClosed
	}
	return e.commit.Send(ctx, sends)
}

// PauseJobs pauses jobs.
func (e *Engine) PauseJobs(ctx context.Context, params store.PauseJobsParams) ([]store.PauseResult, error) {
	results, err := e.Store.PauseJobs(ctx, params)
	if err != nil {
		return nil, err
	}
	var running []store.ID
	for _, r := range results {
		if r.Err == nil && r.State == store.Running {
			running = append(running, r.Job)
		}
	}
	if len(running) > 0 {
		e.tellCancelled(running)
	}
	return results, nil
}

// Resume lets a job go on.
func (e *Engine) Resume(ctx context.Context, params store.ResumeParams) (store.State, error) {
	state, err := e.Store.Resume(ctx, params)
	if err == nil {
		e.lookAgain()
	}
	return state, err
}

// Fork makes a new job out of another one's journal.
func (e *Engine) Fork(ctx context.Context, params store.ForkParams) error {
	err := e.Store.Fork(ctx, params)
	if err == nil {
		e.lookAgain()
	}
	return err
}

// Pause pauses or resumes a queue.
func (e *Engine) Pause(ctx context.Context, params store.PauseParams) error {
	if err := e.Store.Pause(ctx, params); err != nil {
		return err
	}
	wake := store.Wake{Kind: store.WakeQueue, Namespace: params.Namespace, Queue: params.Queue}
	e.Store.Notify(wake)
	e.wake(wake)
	return nil
}

// Wait returns when the job has finished.
func (e *Engine) Wait(ctx context.Context, id store.ID) (ended store.Ended, err error) {
	failed := e.WaitEach(ctx, []store.ID{id}, func(e store.Ended, why error) bool {
		ended, err = e, why
		return false
	})
	if failed != nil {
		return store.Ended{}, failed
	}
	return ended, err
}

// WaitEach calls each once for every one of the jobs, as they finish, or with ErrNotFound for one that is not there, until it has been
// called for all or returns false.
func (e *Engine) WaitEach(ctx context.Context, ids []store.ID, each func(store.Ended, error) bool) error {
	if e.isClosed() {
		return store.ErrClosed
	}
	return e.news.Wait(ctx, ids, each)
}

// Follow calls look at once, and then whenever the job may have published something, as the hub says.
func (e *Engine) Follow(ctx context.Context, job store.ID, look func() (found, enough bool, err error)) error {
	if e.isClosed() {
		return store.ErrClosed
	}
	return e.news.Follow(ctx, job, look)
}

// Close ends the engine and its store. A running node must have been stopped before. Writes that wait are committed
// unless ctx ends first.
func (e *Engine) Close(ctx context.Context) error {
	e.mu.Lock()
	if e.closed {
		e.mu.Unlock()
		return nil
	}
	if e.starting || e.node != nil {
		e.mu.Unlock()
		return fmt.Errorf("%w: the node is still running; stop it first", store.ErrConflict)
	}
	e.closed = true
	e.mu.Unlock()
	e.news.Close()
	e.commit.Close(ctx)
	e.lines.Flush()
	return e.Store.Close()
}

func (e *Engine) isClosed() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.closed
}

// committed passes on what a commit made possible: to those who wait for the jobs, to this node, and to the others.
func (e *Engine) committed(batch *store.Batch) {
	wakes := append(wakesOf(batch, e.Store.Now()), batch.Woken...)
	if n := e.running(); n != nil && len(batch.Outcomes) > 0 {
		n.slots.over(batch.Outcomes)
	}
	wakes = append(wakes, e.news.Committed(batch)...)
	for _, w := range wakes {
		e.wake(w)
	}
	if len(wakes) > 0 {
		e.Store.Notify(wakes...)
	}
}

// reserve takes slots of this process's node for jobs that may run at once.
func (e *Engine) reserve(enqueues []*store.Enqueue) *commit.Starting {
	e.mu.Lock()
	n := e.node
	e.mu.Unlock()
	if n == nil {
		return nil
	}
	return n.starts.reserve(enqueues)
}

// elsewhere returns those of the jobs that are not in the hands of this process: it does not run them, and has no end of theirs to write.
func (e *Engine) elsewhere(jobs []store.ID) []store.ID {
	n := e.running()
	if n == nil {
		return jobs
	}
	if jobs = n.slots.without(jobs); len(jobs) == 0 {
		return nil
	}
	ending := map[store.ID]bool{}
	e.commit.Ending(ending)
	return slices.DeleteFunc(jobs, func(id store.ID) bool { return ending[id] })
}
