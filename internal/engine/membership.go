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

// has notes which node runs, nil for none.
func (r *Runner) has(n *node) {
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

// nameNode lets the lines of the engine itself name the node, if there is one alone.
func (e *Engine) nameNode() {
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

// promise notes what the handlers promise of their attempts. It calls code of the user's, which may
// use the engine: so e.mu is not held. The handlers are not changed while the node starts.
func (n *node) promise() {
	for _, h := range n.runner.handlers {
		n.policies[h.Kind] = h.policy(n.lines)
	}
}

func (n *node) join(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, store.CallTimeout)
	defer cancel()
	info := store.NodeInfo{
		Name: n.cfg.Name, Version: n.cfg.Version, Namespace: n.runner.namespace, Kinds: n.kinds, Slots: n.cfg.Slots,
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
	n.runner.nodeID.Store(id)
	n.engine.nameNode()
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

// errNotSignedOff is what Run returns when the node has stopped and could not say so.
var errNotSignedOff = errors.New("could not sign off; its jobs are rescued when it is declared dead")

// errStopped is why a node's own loops end.
var errStopped = errors.New("holdfast: node stopped")

// fatal is told of every error of the store that does not pass by itself, and stops the node if nothing can be stored any more.
func (e *Engine) fatal(err error) {
	if !errors.Is(err, store.ErrDatabaseGone) {
		return
	}
	for _, n := range *e.nodes.Load() {
		select {
		case n.gone <- err:
		default: // it is known
		}
	}
}
