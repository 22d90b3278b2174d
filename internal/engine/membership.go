package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/holdfastdev/holdfast/internal/logs"
	"github.com/holdfastdev/holdfast/internal/supervise"
	"github.com/holdfastdev/holdfast/store"
)

// running is the node of this process, or nil.
func (e *Engine) running() *node {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.node
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

// errNotSignedOff is what Run returns when the node has stopped and could not say so.
var errNotSignedOff = errors.New("could not sign off; its jobs are rescued when it is declared dead")

// errStopped is why a node's own loops end.
var errStopped = errors.New("holdfast: node stopped")

// fatal is told of every error of the store that does not pass by itself, and stops the node if nothing can be stored any more.
func (e *Engine) fatal(err error) {
	if !errors.Is(err, store.ErrDatabaseGone) {
		return
	}
	e.mu.Lock()
	n := e.node
	e.mu.Unlock()
	if n == nil {
		return
	}
	select {
	case n.gone <- err:
	default: // it is known
	}
}
