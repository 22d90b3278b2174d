package engine

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/holdfastdev/holdfast/internal/commit"
	"github.com/holdfastdev/holdfast/internal/hookqueue"
	"github.com/holdfastdev/holdfast/internal/loader"
	"github.com/holdfastdev/holdfast/internal/logs"
	"github.com/holdfastdev/holdfast/internal/news"
	"github.com/holdfastdev/holdfast/internal/ping"
	"github.com/holdfastdev/holdfast/internal/runlog"
	"github.com/holdfastdev/holdfast/internal/searched"
	"github.com/holdfastdev/holdfast/internal/supervise"
	"github.com/holdfastdev/holdfast/internal/tail"
	"github.com/holdfastdev/holdfast/store"
)

// Runner returns the runner of a namespace; there is one for each.
func (e *Engine) Runner(namespace string) *Runner {
	e.mu.Lock()
	defer e.mu.Unlock()
	r := e.runners[namespace]
	if r == nil {
		r = &Runner{engine: e, namespace: namespace, cfg: e.cfg.Node, handlers: map[string]*Handler{}}
		r.log = slog.New(logs.NewNodeHandler(e.plain.Handler(), &r.nodeID, r.space))
		r.lines = logs.NewLimiter(r.log)
		e.runners[namespace] = r
	}
	return r
}

// Handle registers the handler of a kind. It fails if the kind has one already or the node runs.
func (r *Runner) Handle(h *Handler) error {
	r.engine.mu.Lock()
	defer r.engine.mu.Unlock()
	switch {
	case r.starting || r.node != nil:
		return fmt.Errorf("%w: kind %q: handlers must be registered before Run", store.ErrInvalid, h.Kind)
	case r.handlers[h.Kind] != nil:
		return fmt.Errorf("%w: kind %q already has a handler", store.ErrInvalid, h.Kind)
	}
	if len(r.handlers) == 0 {
		r.engine.serves.Add(1)
	}
	r.handlers[h.Kind] = h
	return nil
}

// isIdle reports that no kind has a handler but those of Holdfast's own. The engine's lock is held.
func (r *Runner) isIdle() bool {
	for _, h := range r.handlers {
		if h.Own == "" {
			return false
		}
	}
	return true
}

// space is the namespace as the log tells it: "" if this process serves no other.
func (r *Runner) space() string {
	if r.engine.serves.Load() < 2 {
		return ""
	}
	return r.namespace
}

// Handler returns the handler of a kind, or nil.
func (r *Runner) Handler(kind string) *Handler {
	r.engine.mu.Lock()
	defer r.engine.mu.Unlock()
	return r.handlers[kind]
}

// New makes an engine on an open store and takes ownership of it.
func New(st store.Store, cfg Config) *Engine {
	cfg.fill()
	e := &Engine{Store: st, cfg: cfg, plain: logs.Calm(cfg.Logger), runners: map[string]*Runner{}}
	e.nodes.Store(new([]*node))
	e.log = slog.New(logs.NewNodeHandler(e.plain.Handler(), &e.nodeID, func() string { return "" }))
	e.lines = logs.NewLimiter(e.log)
	e.outage = logs.NewOutage(e.log)
	e.Prober = ping.New(st, e.outage)
	e.guard = supervise.New(e.lines)
	e.hooks = hookqueue.New(cfg.Hooks, st, e.lines)
	if encodes, ok := st.(interface{ OnFailure(failed func(error)) }); ok {
		encodes.OnFailure(e.sayCodecFails)
	}
	e.news = news.New(news.Parts{
		Store: st, Guard: e.guard, Outage: e.outage, Elsewhere: e.elsewhere, Wake: e.wake, Fatal: e.fatal, Rarely: cfg.Rarely,
	})
	e.journals = loader.New(loader.Parts{Call: logs.CallJournals, Guard: e.guard, Outage: e.outage},
		func(ctx context.Context, jobs []jobOf) ([]store.Journal, error) {
			namespace, ids := idsOf(jobs)
			return st.Journals(ctx, namespace, ids)
		})
	e.updates = loader.New(loader.Parts{Call: logs.CallUpdates, Guard: e.guard, Outage: e.outage}, st.OpenUpdates)
	e.Feed, e.Declared = tail.New(st), searched.New(st)
	e.logs = runlog.New(runlog.Parts{Config: cfg.Logs, Keep: st.KeepLogs, Guard: e.guard, Outage: e.outage, Lost: e.lostLogs})
	e.commit = commit.New(commit.Parts{
		Store: st, Patience: cfg.EnqueuePatience, Guard: e.guard, Outage: e.outage,
		Before: e.news.Begun, After: e.committed, Reserve: e.reserve, Fatal: e.fatal,
	})
	e.unobserved = cfg.Observer.Began(e.observed)
	return e
}

// Enqueue commits enqueues and returns when they are durable. Each has its own result.
func (e *Engine) Enqueue(ctx context.Context, enqueues []*store.Enqueue) error {
	if e.isClosed() {
		return store.ErrClosed
	}
	return e.commit.Enqueue(ctx, enqueues)
}

// Ask commits a request with its effect: see commit.Committer.
func (e *Engine) Ask(ctx context.Context, u *store.Unit) error {
	if e.isClosed() {
		return store.ErrClosed
	}
	return e.commit.Ask(ctx, u)
}

// Cancel asks jobs to stop; runs on this node are told at once.
func (e *Engine) Cancel(ctx context.Context, params store.CancelParams) ([]store.Result, error) {
	results, wakes, err := e.Store.Cancel(ctx, params)
	var running, ended, now []store.ID
	for _, r := range results {
		if r.Ended {
			now = append(now, r.Job)
		}
		switch {
		case r.Err == nil && r.State == store.Running:
			running = append(running, r.Job)
		case r.Err == nil && r.State == store.Cancelled:
			ended = append(ended, r.Job)
			if params.Terminate {
				running = append(running, r.Job) // it may have been running
			}
		}
	}
	e.announce(append(wakes, append(toStop(running), e.tellEnded(ended)...)...)...)
	e.hooks.Over(now)
	return results, err
}

// tellEnded tells this process that jobs have ended without a run, and returns what others are
// told.
func (e *Engine) tellEnded(ended []store.ID) []store.Wake {
	if len(ended) == 0 {
		return nil
	}
	e.news.EndedHere(ended)
	return []store.Wake{
		{Kind: store.WakeNews, Jobs: ended}, // to all: this process may not know who waits for the jobs
		{Kind: store.WakeLeader},            // there may be children to close, and a parent to tell
	}
}

// Finish ends jobs that were handed over.
func (e *Engine) Finish(ctx context.Context, params store.FinishParams) ([]store.Result, error) {
	results, wakes, err := e.Store.Finish(ctx, params)
	var ended []store.ID
	for _, r := range results {
		if r.Ended {
			ended = append(ended, r.Job)
		}
	}
	e.announce(append(wakes, e.tellEnded(ended)...)...)
	e.hooks.Over(ended)
	return results, err
}

// Retry makes finished jobs available again.
func (e *Engine) Retry(ctx context.Context, params store.RetryParams) ([]store.Result, error) {
	results, wakes, err := e.Store.Retry(ctx, params)
	e.announce(wakes...)
	return results, err
}

// Delete removes finished jobs. Others may follow, whose turn one of them has kept.
func (e *Engine) Delete(ctx context.Context, params store.DeleteParams) ([]store.Result, error) {
	results, wakes, err := e.Store.Delete(ctx, params)
	e.announce(wakes...)
	return results, err
}

// Send delivers messages to jobs and returns when they are durable. Each has its own result. A send
// without a key gets one that nothing else has, so that the committer may repeat it.
func (e *Engine) Send(ctx context.Context, sends []*store.Send) error {
	if e.isClosed() {
		return store.ErrClosed
	}
	var made []*store.Send
	for _, q := range sends {
		if q.Key == "" {
			q.Key = rand.Text()
			made = append(made, q)
		}
	}
	err := e.commit.Send(ctx, sends)
	if err != nil {
		return err // and the committer may still be writing them
	}
	for _, q := range made {
		q.Result.Duplicate = false // it is its own
	}
	return nil
}

// PauseJobs pauses jobs.
func (e *Engine) PauseJobs(ctx context.Context, params store.PauseJobsParams) ([]store.Result, error) {
	results, wakes, err := e.Store.PauseJobs(ctx, params)
	var running []store.ID
	for _, r := range results {
		if r.Err == nil && r.State == store.Running {
			running = append(running, r.Job)
		}
	}
	e.announce(append(wakes, toStop(running)...)...)
	return results, err
}

// Resume lets a paused job go on.
func (e *Engine) Resume(ctx context.Context, params store.ResumeParams) (store.State, error) {
	state, wakes, err := e.Store.Resume(ctx, params)
	e.announce(wakes...)
	return state, err
}

// Fork creates a new job from the journal of another one.
func (e *Engine) Fork(ctx context.Context, params store.ForkParams) error {
	wakes, err := e.Store.Fork(ctx, params)
	e.announce(wakes...)
	return err
}

// Edit changes a job.
func (e *Engine) Edit(ctx context.Context, params store.EditParams) (store.State, error) {
	state, wakes, err := e.Store.Edit(ctx, params)
	e.announce(wakes...)
	return state, err
}

// Depend lets a job come after others.
func (e *Engine) Depend(ctx context.Context, params store.DependParams) (store.State, error) {
	state, wakes, err := e.Store.Depend(ctx, params)
	if state == store.Waiting {
		wakes = append(wakes, store.Wake{Kind: store.WakeLeader}) // who looks at those others
	}
	e.announce(wakes...)
	return state, err
}

// Pause pauses or resumes a queue.
func (e *Engine) Pause(ctx context.Context, params store.PauseParams) error {
	if err := e.Store.Pause(ctx, params); err != nil {
		return err
	}
	e.announce(store.Wake{Kind: store.WakeQueue, Namespace: params.Namespace, Queue: params.Queue})
	if !params.Paused { // its jobs may wait at gates that are free
		e.announce(store.Wake{Kind: store.WakeDeferred, Namespace: params.Namespace, Due: e.Store.Now()})
	}
	return nil
}

// SetQueue sets how the jobs of a queue are attempted.
func (e *Engine) SetQueue(ctx context.Context, params store.SetQueueParams) (store.QueueAttempts, error) {
	set, err := e.Store.SetQueue(ctx, params)
	if err == nil {
		e.announce(store.Wake{Kind: store.WakeQueue, Namespace: params.Namespace, Queue: params.Queue})
	}
	return set, err
}

// DeleteQueue takes a queue off the list, and ends its pause.
func (e *Engine) DeleteQueue(ctx context.Context, params store.DeleteQueueParams) error {
	if err := e.Store.DeleteQueue(ctx, params); err != nil {
		return err
	}
	e.announce(store.Wake{Kind: store.WakeQueue, Namespace: params.Namespace, Queue: params.Queue})
	return nil
}

// AskNode asks a node, of this process or another one, for a mode.
func (e *Engine) AskNode(ctx context.Context, params store.AskNodeParams) error {
	if err := e.Store.AskNode(ctx, params); err != nil {
		return err
	}
	e.announce(store.Wake{Kind: store.WakeNode, Node: params.Node})
	return nil
}

// SaveSchedule makes or changes a schedule.
func (e *Engine) SaveSchedule(ctx context.Context, s store.Schedule, expect int64, actor string) (store.Schedule, error) {
	s, err := e.Store.SaveSchedule(ctx, s, expect, actor)
	if err == nil {
		e.announce(store.Wake{Kind: store.WakeLeader})
	}
	return s, err
}

// WakeLeader has the node that leads look at schedules.
func (e *Engine) WakeLeader() { e.announce(store.Wake{Kind: store.WakeLeader}) }

// SaveLimit makes or changes a limit.
func (e *Engine) SaveLimit(ctx context.Context, l store.Limit, expect int64, actor string) (store.Limit, error) {
	l, err := e.Store.SaveLimit(ctx, l, expect, actor)
	if err == nil {
		e.announce(e.limitChanged(l.Namespace, l.Name)...)
	}
	return l, err
}

// DeleteLimit removes a limit.
func (e *Engine) DeleteLimit(ctx context.Context, namespace, name string, force bool, actor string) error {
	err := e.Store.DeleteLimit(ctx, namespace, name, force, actor)
	if err == nil {
		e.announce(e.limitChanged(namespace, name)...)
	}
	return err
}

// limitChanged are the wake-ups for a limit that was changed: promotion lets jobs go on that it
// bound by their key.
func (e *Engine) limitChanged(namespace, name string) []store.Wake {
	return []store.Wake{
		{Kind: store.WakeLimit, Namespace: namespace, Queue: name},
		{Kind: store.WakeDeferred, Namespace: namespace, Due: e.Store.Now()},
	}
}

// DrainLimit lets no permit of a limit come before a time.
func (e *Engine) DrainLimit(ctx context.Context, namespace, name string, until time.Time, actor string) error {
	err := e.Store.Drain(ctx, namespace, name, until, actor)
	if err == nil {
		e.announce(store.Wake{Kind: store.WakeLimit, Namespace: namespace, Queue: name})
	}
	return err
}

// ResumeLimit takes back a drain of a limit.
func (e *Engine) ResumeLimit(ctx context.Context, params store.ResumeLimitParams) error {
	err := e.Store.ResumeLimit(ctx, params)
	if err == nil {
		e.announce(store.Wake{Kind: store.WakeLimit, Namespace: params.Namespace, Queue: params.Name})
	}
	return err
}

// Fire commits a fire that a person has asked for, and returns when it is durable.
func (e *Engine) Fire(ctx context.Context, u *store.Unit) error {
	if e.isClosed() {
		return store.ErrClosed
	}
	answer := make(chan error, 1)
	e.commit.Fire(ctx, u, func(err error) { answer <- err })
	select {
	case err := <-answer:
		return err
	case <-ctx.Done():
		return fmt.Errorf("%w: gave up waiting for the commit: %w", store.ErrUnavailable, context.Cause(ctx))
	}
}

// Wait returns when the job has finished.
func (e *Engine) Wait(ctx context.Context, namespace string, id store.ID) (ended store.Ended, err error) {
	failed := e.WaitEach(ctx, namespace, []store.ID{id}, func(e store.Ended, why error) bool {
		ended, err = e, why
		return false
	})
	if failed != nil {
		return store.Ended{}, failed
	}
	return ended, err
}

// WaitEach calls each once for every job as it finishes, or with ErrNotFound for a job that does
// not exist, until it has been called for all or returns false.
func (e *Engine) WaitEach(ctx context.Context, namespace string, ids []store.ID, each func(store.Ended, error) bool) error {
	if e.isClosed() {
		return store.ErrClosed
	}
	return e.news.Wait(ctx, namespace, ids, each)
}

// Follow calls look at once, and then whenever the job may have published something; see news.Hub.
func (e *Engine) Follow(ctx context.Context, namespace string, job store.ID, look func() (found, enough bool, err error)) error {
	if e.isClosed() {
		return store.ErrClosed
	}
	return e.news.Follow(ctx, namespace, job, look)
}

// Watch is Follow for all that the runs of a job do; see news.Hub.
func (e *Engine) Watch(ctx context.Context, namespace string, job store.ID, look func() (found, enough bool, err error)) error {
	if e.isClosed() {
		return store.ErrClosed
	}
	return e.news.Watch(ctx, namespace, job, look)
}

// Close ends the engine and its store. A running node must have been stopped before. Pending writes
// are committed unless ctx ends first.
func (e *Engine) Close(ctx context.Context) error {
	e.mu.Lock()
	if e.closed {
		e.mu.Unlock()
		return nil
	}
	for _, r := range e.runners {
		if r.starting || r.node != nil {
			e.mu.Unlock()
			return fmt.Errorf("%w: the node of namespace %s is still running; stop it first", store.ErrConflict, r.namespace)
		}
	}
	e.closed = true
	e.mu.Unlock()
	e.unobserved()
	e.news.Close()
	e.Prober.Close()
	e.logs.Close(ctx)
	e.commit.Close(ctx)
	e.hooks.Close()
	e.lines.Flush()
	return e.Store.Close()
}

func (e *Engine) isClosed() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.closed
}

// committed sends the wake-ups of a commit: to the waiters of jobs, to this node, and to the other
// nodes. begun waits had begun before.
func (e *Engine) committed(batch *store.Batch, begun uint64) {
	wakes := append(wakesOf(batch, e.Store.Now(), e.cfg.every(idlePoll)), batch.Woken...)
	if len(batch.Outcomes) > 0 {
		for _, n := range *e.nodes.Load() {
			if n.slots.Over(batch.Outcomes, e.Store.Now()) {
				n.dispatch.free()
			}
		}
	}
	e.hooks.Committed(batch) // first: what is announced may start at once
	e.announce(append(wakes, e.news.Committed(batch, begun)...)...)
}

// reserve reserves slots for jobs that may start in the commit that enqueues them. One commit
// starts jobs for one node only: the first that has room; the other nodes claim theirs.
func (e *Engine) reserve(enqueues []*store.Enqueue) *commit.Starting {
	for _, n := range *e.nodes.Load() {
		if starting := n.starts.reserve(enqueues); starting != nil {
			return starting
		}
	}
	return nil
}

// elsewhere returns those jobs of a namespace ("" for any) that this process neither runs nor has
// an unwritten outcome of.
func (e *Engine) elsewhere(namespace string, jobs []store.ID) []store.ID {
	nodes := *e.nodes.Load()
	if len(nodes) == 0 {
		return jobs
	}
	for _, n := range nodes {
		if namespace != "" && namespace != n.runner.namespace {
			continue
		}
		if jobs = n.slots.Without(jobs); len(jobs) == 0 {
			return nil
		}
	}
	ending := map[store.ID]bool{}
	e.ending(ending)
	return slices.DeleteFunc(jobs, func(id store.ID) bool { return ending[id] })
}

// WantSlots has nodes give back the slots of a limit that they do not use.
func (e *Engine) WantSlots(namespace, limit string) {
	e.announce(store.Wake{Kind: store.WakeSlotsWanted, Namespace: namespace, Queue: limit})
}
