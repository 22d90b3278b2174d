package storetest

import (
	"context"
	"fmt"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// The words of tests about nodes, beside those of env.go.

// The silence after which the tests declare a node dead, and what its nodes promise: the wait after
// the second attempt that was lost, and all later ones. The first one is repeated at once, whatever
// they promise.
const (
	deadAfter     = 20 * time.Second
	rescueBackoff = 10 * time.Second
)

// join registers a node that serves everything.
func (e *env) join() int64 {
	e.Helper()
	promise := store.Policy{Delays: []time.Duration{rescueBackoff}}
	return e.joinWith(map[string]store.Policy{"send": promise, "push": promise, "bill": promise})
}

// joinWith registers a node whose handlers promise this.
func (e *env) joinWith(policies map[string]store.Policy) int64 {
	e.Helper()
	node, err := e.store.Join(e.ctx, store.NodeInfo{Name: "host/1", Version: "v1", Slots: 10, Policies: policies})
	if err != nil {
		e.Fatalf("Join: %v", err)
	}
	return node
}

// beat beats without an ambition to lead.
func (e *env) beat(node int64) store.Beat {
	e.Helper()
	beat, err := e.store.Beat(e.ctx, store.BeatParams{Node: node})
	if err != nil {
		e.Fatalf("Beat: %v", err)
	}
	return beat
}

func (e *env) leave(node int64) {
	e.Helper()
	if err := e.store.Leave(e.ctx, node); err != nil {
		e.Fatalf("Leave: %v", err)
	}
}

// silentNodes are those that have given no sign of life for as long as a dead one.
func silentNodes(ctx context.Context, s store.Store, now time.Time) ([]store.NodeBeat, error) {
	nodes, err := s.Nodes(ctx)
	if err != nil {
		return nil, fmt.Errorf("Nodes: %w", err)
	}
	var silent []store.NodeBeat
	for _, n := range nodes {
		if n.DeadAt.IsZero() && now.Sub(n.BeatAt) >= deadAfter {
			silent = append(silent, store.NodeBeat{Node: n.ID, At: n.BeatAt})
		}
	}
	return silent, nil
}

// rescueParams declares those dead that are silent by now.
func (e *env) rescueParams() store.RescueParams {
	e.Helper()
	silent, err := silentNodes(e.ctx, e.store, e.clock.Now())
	if err != nil {
		e.Fatal(err)
	}
	return store.RescueParams{Dead: silent, Limit: 100}
}

// rescue rescues from silent nodes until there is nothing left to rescue.
func (e *env) rescue() []store.Rescued {
	e.Helper()
	return e.rescueWith(e.rescueParams())
}

func (e *env) rescueWith(params store.RescueParams) []store.Rescued {
	e.Helper()
	var all []store.Rescued
	for range 1000 {
		rescued, err := e.store.Rescue(e.ctx, params)
		if err != nil {
			e.Fatalf("Rescue: %v", err)
		}
		if len(rescued) == 0 {
			return all
		}
		all = append(all, rescued...)
	}
	e.Fatal("Rescue finds something for ever")
	return nil
}

// lose declares the node of a run dead and rescues from it, which must take this run alone.
func (e *env) lose(run store.Claimed) store.Rescued {
	e.Helper()
	rescued := e.rescueWith(store.RescueParams{Dead: []store.NodeBeat{e.lastBeat(run.Lease.Node)}})
	if len(rescued) != 1 || rescued[0].Job != run.Job.ID || rescued[0].Node != run.Lease.Node {
		e.Fatalf("rescued: %+v, want job %v alone", rescued, run.Job.ID)
	}
	return rescued[0]
}

// nodes are those that are listed.
func (e *env) nodes() map[int64]store.Node {
	e.Helper()
	listed, err := e.store.Nodes(e.ctx)
	if err != nil {
		e.Fatalf("Nodes: %v", err)
	}
	nodes := map[int64]store.Node{}
	for _, n := range listed {
		nodes[n.ID] = n
	}
	return nodes
}

// lastBeat is the last sign of life of a node, as the list of nodes tells it.
func (e *env) lastBeat(node int64) store.NodeBeat {
	e.Helper()
	n, listed := e.nodes()[node]
	if !listed {
		e.Fatalf("node %d is not listed", node)
	}
	return store.NodeBeat{Node: node, At: n.BeatAt}
}

// second makes a job and a run of it that is its second attempt, so that what is lost now is
// repeated after rescueBackoff.
func (e *env) second(change ...func(*store.Enqueue)) store.Claimed {
	e.Helper()
	first := e.started(change...)
	e.end(first, store.Retryable, func(o *store.Outcome) { o.Delay = time.Microsecond })
	e.clock.Advance(time.Second)
	return e.claimOne(first.Lease.Node, first.Job.ID)
}
