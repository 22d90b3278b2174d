package engine

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdfastdev/holdfast/internal/logs"
	"github.com/holdfastdev/holdfast/internal/supervise"
	"github.com/holdfastdev/holdfast/internal/usercode"
	"github.com/holdfastdev/holdfast/store"
)

// node is a running engine: one membership after the other, should it be declared dead in between.
type node struct {
	engine *Engine
	store  store.Store
	cfg    NodeConfig
	log    *slog.Logger
	lines  *logs.Limiter
	outage *logs.Outage
	kinds  []string

	policies map[string]store.Policy // of the kinds, for those who rescue the node's jobs

	id    atomic.Int64 // of the present membership
	joins sync.Mutex   // one rejoin at a time

	leader   atomic.Bool
	unserved unserved
	pending  atomic.Int64 // outcomes that wait for their commit

	slots    *slots
	numbers  numbers
	starts   starts
	dispatch *dispatcher
	promote  *promoter
	heart    *heart
	beatNow  chan struct{}

	gone chan error // the database is, why: the node is to stop

	giveUpNow chan struct{} // there are leases that nobody works on

	// What a leader is to do at once.
	rescueNow chan struct{}
	sweepNow  chan struct{}
	closeNow  chan struct{}

	handlers sync.WaitGroup // executions, but for those left behind
	resting  atomic.Int64   // goroutines that wait for a job
	rested   sync.WaitGroup
	rouse    chan store.Claimed // gives them one
	retire   chan struct{}      // closed: they end
	outcomes sync.WaitGroup     // outcomes that wait for their commit
}

// Stop is how a running node is told to stop.
type Stop struct {
	Soft <-chan struct{} // closed: claim nothing more, and let handlers finish
	Hard context.Context // ended: end their contexts now
}

// Run joins as a node, serves jobs until ctx ends or it is told to stop, and returns when the node has left. What a handler
// is still doing then is ended as the package comment says. It fails at once if there is no handler or the database
// cannot be reached.
func (e *Engine) Run(ctx context.Context, stop Stop) error {
	n, err := e.start(ctx, stop)
	if err != nil {
		return err
	}
	defer e.nodeID.Store(0)
	n.log.Info("node started", logs.KeyName, n.cfg.Name, logs.KeySlots, n.cfg.Slots, logs.KeyKinds, n.kinds)

	// The loops outlive the claims: while handlers finish, the node goes on beating.
	claiming, stopClaiming := context.WithCancelCause(context.WithoutCancel(ctx))
	living, die := context.WithCancelCause(context.WithoutCancel(ctx))
	var claims, loops sync.WaitGroup
	supervise := func(wg *sync.WaitGroup, ctx context.Context, part string, loop func(context.Context)) {
		wg.Go(func() { e.guard.Supervise(ctx, part, loop) })
	}
	supervise(&claims, claiming, "claims", n.dispatch.loop)
	supervise(&loops, living, "heartbeat", n.heart.loop)
	supervise(&loops, living, "promotion", n.promote.loop)
	deaf := e.news.Listen()
	defer deaf()
	for _, d := range n.duties() {
		supervise(&loops, living, d.name, func(ctx context.Context) { n.perform(ctx, d) })
	}

	var gone error
	select {
	case <-ctx.Done():
	case <-stop.Soft:
	case gone = <-n.gone:
		// No handler can write anything any more, nor can the node say that it leaves.
		n.log.Error("the database is gone; the node stops", logs.KeyRunning, n.slots.running(), logs.KeyError, gone)
		n.slots.cancelAll(store.ErrLeaseLost)
		hard, now := context.WithCancel(stop.Hard)
		now()
		stop.Hard = hard
	}
	n.log.Info("node stopping", logs.KeyRunning, n.slots.running())
	patience, forgo := context.WithTimeout(context.WithoutCancel(ctx), n.cfg.StopTimeout)
	defer forgo()
	stopClaiming(errStopped)
	claims.Wait()
	n.starts.close()
	n.giveBack()
	n.drain(stop.Hard)
	close(n.retire)
	n.rested.Wait()
	timely := n.flush(stop.Hard, patience)
	die(errStopped)
	loops.Wait()

	leaving := store.CallTimeout
	if !timely {
		leaving = time.Second // the database has been away for long
	}
	leave, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaving)
	defer cancel()
	unhook := context.AfterFunc(stop.Hard, func() { time.AfterFunc(time.Second, cancel) })
	defer unhook()
	if gone == nil {
		err = n.store.Leave(leave, n.id.Load())
	}
	e.mu.Lock()
	e.node = nil
	e.mu.Unlock()
	if gone != nil {
		return fmt.Errorf("node %d stopped: %w", n.id.Load(), gone)
	}
	if err != nil {
		return fmt.Errorf("node %d %w: %w", n.id.Load(), errNotSignedOff, err)
	}
	n.lines.Flush()
	n.log.Info("node stopped")
	return nil
}

// start joins. Meanwhile the engine serves everybody else: the database may be slow.
func (e *Engine) start(ctx context.Context, stop Stop) (*node, error) {
	e.mu.Lock()
	switch {
	case e.closed:
		e.mu.Unlock()
		return nil, store.ErrClosed
	case e.starting || e.node != nil:
		e.mu.Unlock()
		return nil, fmt.Errorf("%w: the node is already running", store.ErrConflict)
	case len(e.handlers) == 0:
		e.mu.Unlock()
		return nil, fmt.Errorf("%w: no handler is registered; register one before Run", store.ErrInvalid)
	}
	e.starting = true
	n := e.newNode()
	e.mu.Unlock()

	n.promise()
	joining, cancel := context.WithTimeout(ctx, store.CallTimeout)
	defer cancel()
	unhook := context.AfterFunc(stop.Hard, cancel)
	defer unhook()
	err := n.join(joining)
	if err == nil {
		// A process that was killed here a moment ago left jobs behind, and may be known to be dead already.
		if err := n.rescue(joining); err != nil {
			n.outage.Stumbled("rescue", err)
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.starting = false
	if err != nil {
		return nil, err
	}
	e.node = n
	return n, nil
}

// newNode makes a node of the handlers there are. e.mu is held.
func (e *Engine) newNode() *node {
	n := &node{
		engine: e, store: e.Store, cfg: e.cfg.Node, log: e.log, lines: e.lines, outage: e.outage,
		beatNow: make(chan struct{}, 1), giveUpNow: make(chan struct{}, 1), rescueNow: make(chan struct{}, 1), sweepNow: make(chan struct{}, 1),
		closeNow: make(chan struct{}, 1), rouse: make(chan store.Claimed), retire: make(chan struct{}), gone: make(chan error, 1),
		policies: map[string]store.Policy{},
	}
	for _, h := range e.handlers {
		n.kinds = append(n.kinds, h.claims()...)
	}
	slices.Sort(n.kinds)
	n.slots = newSlots(n.cfg.Slots, n.cfg.Queues)
	n.starts.node = n
	n.dispatch = newDispatcher(n)
	n.promote = newPromoter(n)
	n.heart = newHeart(n)
	return n
}

// promise notes what the handlers promise of their attempts. It calls code of the user's, which may
// use the engine: so e.mu is not held. The handlers are not changed while the node starts.
func (n *node) promise() {
	for _, h := range n.engine.handlers {
		n.policies[h.Kind] = h.policy(n.lines)
	}
}

func (n *node) join(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, store.CallTimeout)
	defer cancel()
	info := store.NodeInfo{
		Name: n.cfg.Name, Version: n.cfg.Version, Namespace: n.engine.cfg.Namespace, Kinds: n.kinds, Slots: n.cfg.Slots,
		DeadAfter: n.cfg.DeadAfter, Policies: n.policies,
	}
	for _, q := range n.cfg.Queues {
		info.Queues = append(info.Queues, q.Name)
		if q.Limit > 0 && q.Limit < n.cfg.Slots {
			if info.QueueSlots == nil {
				info.QueueSlots = map[string]int{}
			}
			info.QueueSlots[q.Name] = q.Limit
		}
	}
	id, err := n.store.Join(ctx, info)
	if err != nil {
		return fmt.Errorf("joining as a node: %w", err)
	}
	n.id.Store(id)
	n.engine.nodeID.Store(id)
	return nil
}

// declaredDead is called by whoever learns that the membership id is over. The handlers of its jobs are cancelled, and the
// node joins again under a new id.
func (n *node) declaredDead(ctx context.Context, id int64) {
	n.joins.Lock()
	defer n.joins.Unlock()
	if n.id.Load() != id {
		return // somebody else has seen to it
	}
	n.log.Error("this node was declared dead: its jobs are cancelled here and run elsewhere; joining again",
		logs.KeyRunning, n.slots.running())
	n.leader.Store(false)
	n.slots.loseAll(id)
	for try := 1; ; try++ {
		err := n.join(ctx)
		if err == nil {
			break
		}
		if ctx.Err() != nil {
			return
		}
		n.outage.Stumbled("join", err)
		supervise.Sleep(ctx, store.Backoff{Base: 100 * time.Millisecond, Cap: 5 * time.Second, Jitter: 0.5}.Delay(try))
	}
	n.dispatch.wake("")
}

// giveBack releases what was claimed and not started.
func (n *node) giveBack() {
	for _, c := range n.slots.takeBuffer() {
		n.release(c)
	}
}

// drain waits for the handlers: for the stop timeout with their contexts alive, then, or as soon as force ends, with their
// contexts ended, until they return or are given up as stuck.
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
	if running := n.slots.running(); running > 0 {
		n.log.Warn("handlers are still running; ending their contexts", logs.KeyRunning, running)
	}
	n.slots.cancelAll(usercode.ErrShutdown)
	// Each execution gives its handler up after StuckAfter by itself.
	<-idle
}

// leastFlush is how long the last outcomes may take that come at the very end of the stop timeout.
const leastFlush = 5 * time.Second

// flush waits until the outcomes are durable: after the node has left, their leases are gone. It does so until patience ends, which
// is the stop timeout, and for five seconds at the least; once force has ended, for a second only. It reports whether all are; those
// that are not run again.
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

// wake reacts to a wake-up. It does not block.
func (n *node) wake(w store.Wake) {
	if w.IsAboutQueue() && w.Namespace != n.engine.cfg.Namespace {
		return
	}
	switch w.Kind {
	case store.WakeReady, store.WakeQueue:
		if n.slots.serves(w.Queue) {
			n.dispatch.wake(w.Queue)
		}
	case store.WakeDeferred:
		n.promote.hint(w.Due)
	case store.WakeCancel:
		supervise.Signal(n.sweepNow)
		if len(w.Jobs) == 0 || n.slots.runs(w.Jobs) {
			supervise.Signal(n.beatNow)
		}
	case store.WakeAll:
		n.dispatch.wake("")
		n.promote.hint(n.store.Now())
		supervise.Signal(n.closeNow)
		// No beat: it writes, and on SQLite every write of one process wakes the others with WakeAll.
	case store.WakeLeader:
		supervise.Signal(n.closeNow)
	default: // for those who wait
	}
}
