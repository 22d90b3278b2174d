package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// Engine is the part of Holdfast that lives in every process that uses it. It can enqueue, read and wait as it is; Run makes it a node.
type Engine struct {
	Store store.Store

	cfg    Config
	log    *slog.Logger
	commit *committer
	loader *loader
	ended  *waiters

	mu       sync.Mutex
	handlers map[string]*Handler
	starting bool  // a node is joining
	node     *node // while it runs
	closed   bool
}

// New makes an engine on an open store, which it owns from then on.
func New(st store.Store, cfg Config) *Engine {
	cfg.fill()
	e := &Engine{Store: st, cfg: cfg, log: cfg.Logger, handlers: map[string]*Handler{}}
	e.ended = newWaiters(st, e.log, e.elsewhere)
	e.loader = &loader{store: st}
	e.commit = newCommitter(st, cfg.EnqueuePatience, e.log, e.committed, e.reserve)
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
		return fmt.Errorf("%w: kind %q has a handler already", store.ErrInvalid, h.Kind)
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
	var running []store.ID
	woken := false
	for _, r := range results {
		switch {
		case r.Err == nil && r.State == store.Running:
			running = append(running, r.Job)
		case r.Err == nil && r.State == store.Cancelled:
			e.ended.look(r.Job)
			woken = true
			if params.Terminate {
				running = append(running, r.Job) // perhaps it did
			}
		case r.Err == nil && r.State == store.Available:
			woken = true
		}
	}
	if len(running) > 0 {
		e.tellCancelled(running)
	}
	if params.Terminate || woken {
		// Parents may have an answer, durable jobs are to end themselves.
		e.tellAll()
	}
	// A cancelled job may have held the turn of its ordering key.
	e.wake(store.Wake{Kind: store.WakeDeferred, Due: e.Store.Now()})
	return results, nil
}

// Retry makes finished jobs run again.
func (e *Engine) Retry(ctx context.Context, params store.RetryParams) ([]store.RetryResult, error) {
	results, err := e.Store.Retry(ctx, params)
	if err != nil {
		return nil, err
	}
	e.tellAll()
	return results, nil
}

// tellAll wakes every node: what people do is rare, and the answers do not name the queues.
func (e *Engine) tellAll() {
	wake := store.Wake{Kind: store.WakeAll, Namespace: e.cfg.Namespace}
	e.Store.Notify(wake)
	e.wake(wake)
}

// tellCancelled tells the nodes that run the jobs that they are to be cancelled, or paused.
func (e *Engine) tellCancelled(jobs []store.ID) {
	wake := store.Wake{Kind: store.WakeCancel, Namespace: e.cfg.Namespace, Jobs: jobs}
	e.Store.Notify(wake)
	e.wake(wake)
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
		e.tellAll()
	}
	return state, err
}

// Fork makes a new job out of another one's journal.
func (e *Engine) Fork(ctx context.Context, params store.ForkParams) error {
	err := e.Store.Fork(ctx, params)
	if err == nil {
		e.tellAll()
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
func (e *Engine) Wait(ctx context.Context, id store.ID) (store.Ended, error) {
	if e.isClosed() {
		return store.Ended{}, store.ErrClosed
	}
	return e.ended.wait(ctx, id)
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
		return fmt.Errorf("%w: the node still runs; stop it first", store.ErrConflict)
	}
	e.closed = true
	e.mu.Unlock()
	e.ended.close()
	e.commit.close(ctx)
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
	if slices.ContainsFunc(batch.Outcomes, func(o *store.Outcome) bool { return o.HasChildren && o.Err == nil && o.Final.Finished() }) {
		e.closeChildren()
	}
	for _, o := range batch.Outcomes {
		if o.Err == nil && o.Final.Finished() {
			e.ended.deliver(o)
		}
	}
	for _, w := range wakes {
		e.wake(w)
	}
	if len(wakes) > 0 {
		e.Store.Notify(wakes...)
	}
}

// reserve takes slots of this process's node for jobs that may run at once.
func (e *Engine) reserve(enqueues []*store.Enqueue) *starting {
	e.mu.Lock()
	n := e.node
	e.mu.Unlock()
	if n == nil {
		return nil
	}
	return n.starts.reserve(enqueues)
}

// wakesOf lists what a batch gives a node to do: one wake for each queue that got an available job, and one for the earliest due
// time. Jobs of an ordering key become available through promotion, so for them something is due at once.
func wakesOf(batch *store.Batch, now time.Time) []store.Wake {
	var wakes []store.Wake
	deferred := store.Wake{Kind: store.WakeDeferred}
	due := func(at time.Time) {
		if deferred.Due.IsZero() || at.Before(deferred.Due) {
			deferred.Due = at
		}
	}
	type place struct{ namespace, queue string }
	var ready map[place]bool
	enqueues := batch.Enqueues
	for _, a := range batch.Appends {
		if a.Err == nil {
			enqueues = append(slices.Clip(enqueues), a.Enqueues...)
		}
	}
	for _, e := range enqueues {
		switch {
		case e.Err != nil, e.Result.State == store.Running:
		case e.Result.Existing && !e.Result.Replaced && e.Result.ID != e.Job.ID: // of the same id it may be our own, whose answer was lost
		case e.Job.OrderingKey != "":
			due(now)
		case e.Result.RunAt.After(now):
			due(e.Result.RunAt)
		default:
			at := place{e.Job.Namespace, e.Job.Queue}
			if ready[at] {
				continue
			}
			if ready == nil {
				ready = map[place]bool{}
			}
			ready[at] = true
			wakes = append(wakes, store.Wake{Kind: store.WakeReady, Namespace: at.namespace, Queue: at.queue})
		}
	}
	for _, o := range batch.Outcomes {
		switch {
		case o.Err != nil:
		case o.Final == store.Retryable, o.Final == store.Scheduled:
			at := o.RunAt
			if at.IsZero() {
				at = now.Add(o.Delay)
			}
			due(at)
		case o.HasOrdering && o.Final.Finished():
			due(now)
		case o.Final == store.Waiting && !o.Wait.Held && !o.Wait.Until.IsZero():
			due(o.Wait.Until)
		case o.Final == store.Available:
			wakes = append(wakes, store.Wake{Kind: store.WakeAll})
		}
	}
	if !deferred.Due.IsZero() && deferred.Due.Before(now.Add(idlePoll)) {
		// What is due later than the idle poll is found by it.
		wakes = append(wakes, deferred)
	}
	return wakes
}

// elsewhere returns those of the jobs that are not in the hands of this process: it does not run them, and has no end of theirs to write.
func (e *Engine) elsewhere(jobs []store.ID) []store.ID {
	e.mu.Lock()
	n := e.node
	e.mu.Unlock()
	if n == nil {
		return jobs
	}
	if jobs = n.slots.without(jobs); len(jobs) == 0 {
		return nil
	}
	ending := map[store.ID]bool{}
	e.commit.main.ending(ending)
	return slices.DeleteFunc(jobs, func(id store.ID) bool { return ending[id] })
}

// closeChildren asks the node of this process, if it leads, to end the children of a job that has finished.
func (e *Engine) closeChildren() {
	e.mu.Lock()
	n := e.node
	e.mu.Unlock()
	if n != nil {
		signal(n.closeNow)
	}
}

// wake passes a wake-up to the node of this process, if one runs.
func (e *Engine) wake(w store.Wake) {
	e.mu.Lock()
	n := e.node
	e.mu.Unlock()
	if n != nil {
		n.wake(w)
	}
}

// errNotSignedOff is what Run returns when the node has stopped and could not say so.
var errNotSignedOff = errors.New("could not sign off; its jobs are rescued when it is found dead")

// errStopped is why a node's own loops end.
var errStopped = errors.New("holdfast: node stopped")
