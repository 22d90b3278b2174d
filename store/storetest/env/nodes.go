package env

import (
	"context"
	"fmt"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// The silence after which the tests declare a node dead, and what its nodes promise: the wait after
// the second attempt that was lost, and all later ones. The first one is repeated at once, whatever
// they promise.
const (
	DeadAfter     = 20 * time.Second
	RescueBackoff = 10 * time.Second
)

// LeaderTTL is for how long who leads is the leader.
const LeaderTTL = 15 * time.Second

// Build is that of the nodes that Join and JoinWith register.
var Build = store.Build{Program: "v1", Engine: "e1"}

// Join registers a node that serves everything.
func (e *Env) Join() int64 {
	e.Helper()
	promise := store.Policy{Delays: []time.Duration{RescueBackoff}}
	return e.JoinWith(map[string]store.Policy{"send": promise, "push": promise, "bill": promise})
}

// JoinWith registers a node whose handlers promise this.
func (e *Env) JoinWith(policies map[string]store.Policy) int64 {
	e.Helper()
	node, err := e.Store.Join(e.Ctx, store.NodeInfo{
		Name: "host/1", Version: Build.Program, Engine: Build.Engine, Slots: 10, Policies: policies,
	})
	e.NoError("Join", err)
	return node
}

// Beat beats without an ambition to lead.
func (e *Env) Beat(node int64) store.Beat {
	e.Helper()
	beat, err := e.Store.Beat(e.Ctx, store.BeatParams{Node: node})
	e.NoError("Beat", err)
	return beat
}

// Lead beats with the ambition to lead and to be told what there is to do.
func (e *Env) Lead(node int64) store.Beat {
	e.Helper()
	beat, err := e.Store.Beat(e.Ctx, store.BeatParams{Node: node, LeaderTTL: LeaderTTL, Lead: true})
	e.NoError("Beat", err)
	return beat
}

// Leave lets a node leave.
func (e *Env) Leave(node int64) {
	e.Helper()
	wakes, err := e.Store.Leave(e.Ctx, node)
	e.told.Store(&wakes)
	if err != nil {
		e.Fatalf("Leave: %v", err)
	}
}

// SilentNodes are those that have given no sign of life for as long as a dead one.
func SilentNodes(ctx context.Context, s store.Store, now time.Time) ([]store.NodeBeat, error) {
	nodes, err := s.Nodes(ctx)
	if err != nil {
		return nil, fmt.Errorf("Nodes: %w", err)
	}
	var silent []store.NodeBeat
	for _, n := range nodes {
		if n.DeadAt.IsZero() && now.Sub(n.BeatAt) >= DeadAfter {
			silent = append(silent, store.NodeBeat{Node: n.ID, At: n.BeatAt})
		}
	}
	return silent, nil
}

// RescueParams declares those dead that are silent by now.
func (e *Env) RescueParams() store.RescueParams {
	e.Helper()
	silent, err := SilentNodes(e.Ctx, e.Store, e.Clock.Now())
	if err != nil {
		e.Fatal(err)
	}
	return store.RescueParams{Dead: silent, Limit: 100}
}

// Rescue rescues from silent nodes until there is nothing left to rescue.
func (e *Env) Rescue() []store.RescuedJob {
	e.Helper()
	return e.RescueWith(e.RescueParams())
}

// RescueWith rescues like this until there is nothing left to rescue.
func (e *Env) RescueWith(params store.RescueParams) []store.RescuedJob {
	e.Helper()
	var all []store.RescuedJob
	var wakes []store.Wake
	defer func() { e.told.Store(&wakes) }()
	for range 1000 {
		rescued, err := e.Store.Rescue(e.Ctx, params)
		wakes = append(wakes, rescued.Wakes...)
		e.NoError("Rescue", err)
		if len(rescued.Jobs) == 0 {
			return all
		}
		all = append(all, rescued.Jobs...)
	}
	e.Fatal("Rescue finds something for ever")
	return nil
}

// Lose declares the node of a run dead and rescues from it, which must take this run alone.
func (e *Env) Lose(run store.Claimed) store.RescuedJob {
	e.Helper()
	rescued := e.RescueWith(store.RescueParams{Dead: []store.NodeBeat{e.LastBeat(run.Lease.Node)}})
	if len(rescued) != 1 || rescued[0].Job != run.Job.ID || rescued[0].Node != run.Lease.Node {
		e.Fatalf("rescued: %+v, want job %v alone", rescued, run.Job.ID)
	}
	return rescued[0]
}

// GiveUp gives up runs, in one call.
func (e *Env) GiveUp(runs ...store.Claimed) []store.RescuedJob {
	e.Helper()
	rescued, err := e.Store.Rescue(e.Ctx, store.RescueParams{Lost: LeasesOf(runs)})
	e.told.Store(&rescued.Wakes)
	e.NoError("Rescue of what is given up", err)
	return rescued.Jobs
}

// Nodes are those that are listed.
func (e *Env) Nodes() map[int64]store.Node {
	e.Helper()
	listed, err := e.Store.Nodes(e.Ctx)
	e.NoError("Nodes", err)
	nodes := map[int64]store.Node{}
	for _, n := range listed {
		nodes[n.ID] = n
	}
	return nodes
}

// LastBeat is the last sign of life of a node, as the list of nodes tells it.
func (e *Env) LastBeat(node int64) store.NodeBeat {
	e.Helper()
	n, listed := e.Nodes()[node]
	if !listed {
		e.Fatalf("node %d is not listed", node)
	}
	return store.NodeBeat{Node: node, At: n.BeatAt}
}

// Second makes a job and a run of it that is its second attempt, so that what is lost now is
// repeated after rescueBackoff.
func (e *Env) Second(change ...func(*store.Enqueue)) store.Claimed {
	e.Helper()
	first := e.Started(change...)
	e.End(first, store.Retryable, func(o *store.Outcome) { o.Delay = time.Microsecond })
	e.Clock.Advance(time.Second)
	return e.ClaimOne(first.Lease.Node, first.Job.ID)
}

// Later moves the clock while a node lives, and makes available what is due.
func (e *Env) Later(node int64, d time.Duration) {
	e.Helper()
	e.Clock.Advance(d)
	e.Beat(node)
	e.Promote()
}
