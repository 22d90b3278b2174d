package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/holdfastdev/holdfast/internal/logs"
	"github.com/holdfastdev/holdfast/internal/supervise"
	"github.com/holdfastdev/holdfast/store"
)

// setNode records the node that runs, or that none runs if it is nil.
func (r *Runner) setNode(n *node) {
	e := r.engine
	e.mu.Lock()
	defer e.mu.Unlock()
	r.starting, r.node = false, n
	running := []*node{}
	for _, r := range e.runners {
		if r.node != nil {
			running = append(running, r.node)
		}
	}
	slices.SortFunc(running, func(a, b *node) int { return cmp.Compare(a.runner.namespace, b.runner.namespace) })
	e.nodes.Store(&running)
}

// nameNode makes the log lines of a namespace name its node, and those of the engine the only one
// that runs.
func (r *Runner) nameNode(id int64) {
	r.nodeID.Store(id)
	e := r.engine
	e.mu.Lock()
	defer e.mu.Unlock()
	only := int64(0)
	for _, r := range e.runners {
		switch id := r.nodeID.Load(); {
		case id == 0:
		case only == 0:
			only = id
		default:
			only = -1
		}
	}
	e.nodeID.Store(max(only, 0))
}

// promise samples the retry policies of the handlers. It calls user code, which may use the engine,
// so e.mu must not be held. The handlers do not change while the node starts.
func (n *node) promise() {
	for _, h := range n.runner.handlers {
		n.policies[h.Kind] = h.policy(n.lines)
	}
}

func (n *node) join(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, store.CallTimeout)
	defer cancel()
	info := store.NodeInfo{
		Name: n.cfg.Name, Host: n.cfg.Host, Version: n.cfg.Build.Program, Engine: n.cfg.Build.Engine, Namespace: n.runner.namespace,
		Kinds: n.kinds, Slots: n.cfg.Slots,
		DeadAfter: n.cfg.DeadAfter, Policies: n.policies,
		Was: n.id.Load(), Mode: n.mode.known(),
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
	n.numbers.begin(id)
	n.id.Store(id)
	n.facts.Joined(id)
	n.runner.nameNode(id)
	n.describe(ctx)
	return nil
}

// describe tells what code tells of queues and kinds, if it is not what is there. A node that
// cannot runs all the same.
func (n *node) describe(ctx context.Context) {
	if len(n.cfg.Describes) == 0 {
		return
	}
	list := slices.Clone(n.cfg.Describes)
	for i := range list {
		list[i].Namespace, list[i].Build = n.runner.namespace, n.cfg.Build
	}
	if _, err := n.store.Describe(ctx, list, ""); err != nil {
		n.outage.Stumbled("describe", err)
	}
}

// declaredDead is called when a beat or a write finds that the membership id was declared dead. It
// cancels the handlers of that membership and joins again under a new id.
func (n *node) declaredDead(ctx context.Context, id int64) {
	n.joins.Lock()
	defer n.joins.Unlock()
	if n.id.Load() != id {
		return // another goroutine has done it
	}
	n.log.Error("this node was declared dead: its jobs are cancelled here and run elsewhere; joining again",
		logs.KeyRunning, n.slots.Running())
	n.leader.Store(false)
	n.slots.LoseAll(id)
	n.doubt(id)
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
	supervise.Signal(n.beatNow) // which tells whether it may claim
}

// notSignedOff is what Run returns when the node has stopped but could not leave the cluster.
func (n *node) notSignedOff(err error) error {
	return fmt.Errorf("node %d could not sign off; its jobs are rescued when it is declared dead: %w", n.id.Load(), err)
}

// errStopped is the cause with which a node's own loops end.
var errStopped = errors.New("holdfast: node stopped")

// fatal is called with errors of the store, and stops the nodes if the database is gone for good.
func (e *Engine) fatal(err error) {
	if !errors.Is(err, store.ErrDatabaseGone) {
		return
	}
	for _, n := range *e.nodes.Load() {
		select {
		case n.gone <- err:
		default: // known already
		}
	}
}
