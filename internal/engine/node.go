package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/holdfastdev/holdfast/internal/duty"
	"github.com/holdfastdev/holdfast/internal/grants"
	"github.com/holdfastdev/holdfast/internal/logs"
	"github.com/holdfastdev/holdfast/internal/promoter"
	"github.com/holdfastdev/holdfast/internal/scheduler"
	"github.com/holdfastdev/holdfast/internal/slots"
	"github.com/holdfastdev/holdfast/internal/tuning"
	"github.com/holdfastdev/holdfast/internal/usercode"
	"github.com/holdfastdev/holdfast/store"
)

// serves chooses of the handlers those that a node has; nil: all, of which there has to be one.
type serves func(h *Handler) bool

// enter makes a node, the only one of the namespace in this process. See newNode.
func (r *Runner) enter(which serves) (*node, error) {
	e := r.engine
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case e.closed:
		return nil, store.ErrClosed
	case r.starting || r.node != nil:
		return nil, fmt.Errorf("%w: the node is already running", store.ErrConflict)
	case which == nil && r.cfg.Maintains && !r.isIdle():
		return nil, fmt.Errorf("%w: handlers are registered, but the node only maintains; remove one or the other", store.ErrInvalid)
	case which == nil && !r.cfg.Maintains && r.isIdle():
		return nil, fmt.Errorf("%w: no handler is registered; register one before Run", store.ErrInvalid)
	}
	r.starting = true
	return r.newNode(which), nil
}

// start joins; see newNode. It does not hold the engine's lock, because the database may be slow.
func (r *Runner) start(ctx context.Context, stop Stop, which serves) (*node, error) {
	n, err := r.enter(which)
	if err != nil {
		return nil, err
	}
	n.promise()
	joining, cancel := context.WithTimeout(ctx, store.CallTimeout)
	defer cancel()
	unhook := context.AfterFunc(stop.Hard, cancel)
	defer unhook()
	err = n.join(joining)
	if err == nil {
		err = n.prepare(joining, stop)
	}
	if err == nil {
		// A process that was killed here a moment ago may have left jobs behind and be declared
		// dead already.
		if err := n.rescue(joining); err != nil {
			n.outage.Stumbled(duty.Rescue, err)
		}
	}
	if err != nil {
		r.setNode(nil)
		return nil, err
	}
	r.setNode(n)
	return n, nil
}

// prepare reads what a node has to know before its first claim. A node that cannot begin leaves: it
// holds nothing, and others would wait for its next beat.
func (n *node) prepare(ctx context.Context, stop Stop) error {
	err := n.grants.Load(ctx)
	if err == nil {
		err = n.tuning.Load(ctx)
	}
	if err != nil {
		leaving, cancel := context.WithTimeout(context.WithoutCancel(ctx), store.CallTimeout)
		defer cancel()
		defer context.AfterFunc(stop.Hard, cancel)()
		if _, left := n.store.Leave(leaving, n.id.Load()); left != nil {
			err = errors.Join(err, n.notSignedOff(left))
		}
	}
	return err
}

// newNode makes a node for kinds with handlers. The engine's lock is held.
func (r *Runner) newNode(which serves) *node {
	n := &node{
		engine: r.engine, runner: r, store: r.engine.Store, cfg: r.cfg, log: r.log, lines: r.lines, outage: r.engine.outage,
		beatNow: make(chan struct{}, 1), giveUpNow: make(chan struct{}, 1), rescueNow: make(chan struct{}, 1), sweepNow: make(chan struct{}, 1),
		closeNow: make(chan struct{}, 1), countNow: make(chan struct{}, 1), factsNow: make(chan struct{}, 1),
		wakeIdle: make(chan store.Claimed), endIdle: make(chan struct{}), gone: make(chan error, 1),
		policies: map[string]store.Policy{}, mode: mode{drained: make(chan struct{})},
	}
	kinds := map[string]string{}
	for _, h := range r.handlers {
		if which == nil || which(h) {
			n.kinds = append(n.kinds, h.claims()...)
			for _, claimed := range h.claims() {
				kinds[claimed] = h.Kind
			}
			n.gathers = n.gathers || h.Gather != nil
			n.serveOwn(h)
		}
	}
	slices.Sort(n.kinds)
	n.hurry(false) // of an earlier node
	n.slots = slots.New(slots.Config{Size: n.cfg.Slots, Queues: n.cfg.Queues, Shares: n.cfg.Shares, Kinds: kinds, MaxAside: n.cfg.maxAside})
	n.starts.node = n
	n.dispatch = newDispatcher(n)
	n.promote = promoter.New(promoter.Parts{
		Store: n.store, Idle: n.dispatch.slowest, Announce: r.engine.announce, Fatal: func(err error) { r.engine.fatal(err) },
		Turn: func() { n.turns.Note(duty.Promote) }, Outage: n.outage,
	})
	n.dispatch.sweep = n.promote.Hint
	n.heart = newHeart(n)
	n.facts = n.newFacts()
	n.schedule = scheduler.New(scheduler.Parts{
		Store: n.store, Leads: n.leader.Load, Idle: n.dispatch.slowest, Cancel: r.engine.Cancel,
		Fire: r.engine.cfg.Observer.Fire(r.engine.commit.Fire, n.store.Now),
		Turn: func() { n.turns.Note(duty.Schedules) }, Lines: r.lines, Outage: n.outage,
	})
	n.tuning = tuning.New(tuning.Parts{
		Store: n.store, Namespace: r.namespace, Every: n.patience, Turn: func() { n.turns.Note(duty.Settings) }, Outage: n.outage,
	})
	n.grants = grants.New(grants.Parts{
		Store: n.store, Slots: n.slots, Namespace: r.namespace, Node: n.id.Load, Dead: n.declaredDead, Every: n.patience,
		Free: n.dispatch.free, Look: func() { n.dispatch.wake("") }, Turn: func() { n.turns.Note(duty.Limits) }, Outage: n.outage,
	})
	return n
}

// serveOwn adds the queue of a kind of Holdfast's own to those that the node was told to serve,
// with one slot. One that serves all queues of its namespace serves it, too.
func (n *node) serveOwn(h *Handler) {
	if _, served := store.ServedAs(queueNames(n.cfg.Queues), h.Own); h.Own == "" || len(n.cfg.Queues) == 0 || served {
		return
	}
	n.cfg.Queues = append(slices.Clip(n.cfg.Queues), store.QueueDemand{Name: h.Own, Limit: 1})
}

func queueNames(queues []store.QueueDemand) []string {
	names := make([]string, len(queues))
	for i := range queues {
		names[i] = queues[i].Name
	}
	return names
}

// patience is how long what wake-ups tell of limits may take to be found without them. Where there
// are none that is long, so that an idle node does not ask for nothing.
func (n *node) patience() time.Duration {
	if n.slots.IsLimited() || !n.store.Traits().Wakeups {
		return min(n.cfg.Beat, n.dispatch.slowest())
	}
	return 3 * n.dispatch.slowest()
}

// Stop tells a running node to stop.
type Stop struct {
	Soft <-chan struct{} // closed: claim nothing more, and let handlers finish
	Hard context.Context // done: end the contexts of handlers now
}

// Run is Start, and serves.
func (r *Runner) Run(ctx context.Context, stop Stop) error {
	serve, err := r.Start(ctx, stop)
	if err != nil {
		return err
	}
	return serve()
}

// Start joins as a node. It fails at once if there is no handler or the database cannot be reached.
// serve, which is to be called, serves jobs until ctx ends or the node is told to stop, and returns
// when the node has left. The package comment says what becomes of running handlers.
func (r *Runner) Start(ctx context.Context, stop Stop) (serve func() error, err error) {
	n, err := r.start(ctx, stop, nil)
	if err != nil {
		return nil, err
	}
	return func() error { return r.serve(ctx, n, stop) }, nil
}

func (r *Runner) serve(ctx context.Context, n *node, stop Stop) error {
	kinds := slices.DeleteFunc(slices.Clone(n.kinds), store.IsOwnKind)
	n.log.Info("node started", logs.KeyName, n.cfg.Name, logs.KeySlots, n.cfg.Slots, logs.KeyKinds, kinds)
	// The loops outlive claiming: while handlers finish, the node keeps beating.
	stopClaiming := n.begin(ctx, map[string]func(context.Context){"claims": n.dispatch.loop})
	die := n.begin(ctx, n.loops())
	deaf := r.engine.news.Listen()
	defer deaf()

	var gone error
	select {
	case <-ctx.Done():
	case <-stop.Soft:
	case <-n.mode.drained:
	case gone = <-n.gone:
		// No handler can write any more, and the node cannot leave the cluster.
		n.log.Error("the database is gone; the node stops", logs.KeyRunning, n.slots.Running(), logs.KeyError, gone)
		n.slots.CancelAll(store.ErrLeaseLost)
		hard, now := context.WithCancel(stop.Hard)
		now()
		stop.Hard = hard
	}
	n.log.Info("node stopping", logs.KeyRunning, n.slots.Running())
	patience, forgo := context.WithTimeout(context.WithoutCancel(ctx), n.cfg.StopTimeout)
	defer forgo()
	stopClaiming()
	n.starts.close()
	n.giveBack()
	n.hurry(true) // no more jobs come
	n.drain(stop.Hard)
	close(n.endIdle)
	n.rested.Wait()
	timely := n.flush(stop.Hard, patience)
	die()
	n.lastFacts(ctx, stop, timely && gone == nil)
	return n.leave(ctx, stop, timely, gone)
}

// WorkOne is Run for one due job of a kind, the one that a node would claim first, and returns when
// its run has ended, with its id; zero if none is due. No job starts with its enqueue, as the slots
// do not learn that there are no others. The end of ctx ends the handler's context.
func (r *Runner) WorkOne(ctx context.Context, kind string) (worked store.ID, err error) {
	n, err := r.start(ctx, Stop{Hard: ctx}, func(h *Handler) bool { return h.Kind == kind })
	if err != nil {
		return worked, err
	}
	defer r.engine.news.Listen()()
	die := n.begin(ctx, map[string]func(context.Context){"heartbeat": n.heart.loop})
	n.promote.Look(ctx)
	n.hurry(true)
	jobs, _, err := n.dispatch.take(ctx, 1, nil)
	if len(jobs) > 0 {
		worked = jobs[0].Job.ID
	}
	defer context.AfterFunc(ctx, func() { n.slots.CancelAll(usercode.ErrShutdown) })()
	n.handlers.Wait()
	close(n.endIdle)
	n.rested.Wait()
	n.outcomes.Wait()
	err = errors.Join(err, n.closeChildren(ctx))
	die()
	n.lastFacts(ctx, Stop{Hard: ctx}, true)
	return worked, errors.Join(err, n.leave(ctx, Stop{Hard: ctx}, true, nil))
}

// begin starts loops, which are restarted when they panic. stop returns when all have ended.
func (n *node) begin(ctx context.Context, loops map[string]func(context.Context)) (stop func()) {
	living, die := context.WithCancelCause(context.WithoutCancel(ctx))
	var all sync.WaitGroup
	for part, loop := range loops {
		all.Go(func() { n.engine.guard.Supervise(living, part, loop) })
	}
	return func() {
		die(errStopped)
		all.Wait()
	}
}

// loops are those of a living node, by name.
func (n *node) loops() map[string]func(context.Context) {
	loops := map[string]func(context.Context){
		duty.Heartbeat: n.heart.loop, duty.Promote: n.promote.Run, duty.Schedules: n.schedule.Run, duty.Limits: n.grants.Run,
		duty.Rates: n.grants.RunPermits, duty.Settings: n.tuning.Run, duty.Facts: n.writeFacts,
	}
	for _, d := range n.duties() {
		loops[d.name] = func(ctx context.Context) { n.perform(ctx, d) }
	}
	return loops
}

// leave leaves the cluster, unless the database is gone. timely reports that all outcomes are
// stored.
func (n *node) leave(ctx context.Context, stop Stop, timely bool, gone error) (err error) {
	defer n.runner.nameNode(0)
	wait := store.CallTimeout
	if !timely {
		wait = time.Second // the database has been away for long already
	}
	leaving, cancel := context.WithTimeout(context.WithoutCancel(ctx), wait)
	defer cancel()
	unhook := context.AfterFunc(stop.Hard, func() { time.AfterFunc(time.Second, cancel) })
	defer unhook()
	var wakes []store.Wake
	if gone == nil {
		wakes, err = n.store.Leave(leaving, n.id.Load())
	}
	n.runner.setNode(nil)
	n.engine.announce(wakes...)
	if gone != nil {
		return fmt.Errorf("node %d stopped: %w", n.id.Load(), gone)
	}
	if err != nil {
		return n.notSignedOff(err)
	}
	n.lines.Flush()
	n.log.Info("node stopped")
	return nil
}

// giveBack releases the jobs that were claimed and not started.
func (n *node) giveBack() {
	for _, c := range n.slots.TakeBuffer() {
		n.release(c)
	}
}

// drain waits for the handlers: at first with their contexts alive, and after the stop timeout or
// the end of force with their contexts ended, until they return or are given up as stuck.
func (n *node) drain(force context.Context) {
	idle := make(chan struct{})
	go func() {
		n.handlers.Wait()
		close(idle)
	}()
	timer := time.NewTimer(n.cfg.StopTimeout)
	defer timer.Stop()
	select {
	case <-idle:
		return
	case <-timer.C:
	case <-force.Done():
	}
	select {
	case <-idle:
		return
	default:
	}
	if running := n.slots.Running(); running > 0 {
		n.log.Warn("handlers are still running; ending their contexts", logs.KeyRunning, running)
	}
	n.slots.CancelAll(usercode.ErrShutdown)
	// Each execution gives up its handler after StuckAfter.
	<-idle
}

// leastFlush is the least time for outcomes that come at the very end of the stop timeout.
const leastFlush = 5 * time.Second

// flush waits until the outcomes are durable, because leaving gives up their leases. It waits until
// patience ends, which is the stop timeout, and for leastFlush at least; after force has ended, for
// a second only. It reports whether all outcomes are durable; the other jobs run again.
func (n *node) flush(force, patience context.Context) bool {
	durable := make(chan struct{})
	go func() {
		n.outcomes.Wait()
		close(durable)
	}()
	hurry := make(chan struct{})
	unhook := context.AfterFunc(force, func() { time.AfterFunc(time.Second, func() { close(hurry) }) })
	defer unhook()
	late := time.NewTimer(leastFlush)
	defer late.Stop()
	select {
	case <-durable:
		return true
	case <-hurry:
		return false
	case <-late.C:
	}
	select {
	case <-durable:
		return true
	case <-hurry:
	case <-patience.Done():
		n.log.Warn("some outcomes could not be stored before the node stopped; their jobs will run again")
	}
	return false
}
