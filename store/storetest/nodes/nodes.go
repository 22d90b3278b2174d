package nodes

import (
	"slices"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

var nodesTests = env.Tests{
	"OneOwner_node_ids_are_never_used_twice":        nodeIDs,
	"nodes_are_listed_with_what_they_told":          nodesListed,
	"NoLoss_a_node_that_leaves_gives_its_jobs_back": nodeLeaves,
	"leaving_twice_does_nothing":                    nodeLeavesTwice,
}

func nodeIDs(e *env.Env) {
	seen := map[int64]bool{}
	for i := range 6 {
		node := e.Join()
		if seen[node] {
			e.Fatalf("node id %d came twice", node)
		}
		seen[node] = true
		if i%2 == 0 {
			e.Leave(node)
		}
	}
}

// listed are all nodes by their ids. Those alive come first in the list; the order within each part
// is the store's.
func listed(e *env.Env) []store.Node {
	e.Helper()
	nodes, err := e.Store.Nodes(e.Ctx)
	e.NoError("Nodes", err)
	for i := range nodes {
		if i > 0 && !nodes[i-1].DeadAt.IsZero() && nodes[i].DeadAt.IsZero() {
			e.Fatal("a node that ended is listed before one that lives")
		}
	}
	slices.SortFunc(nodes, func(a, b store.Node) int { return int(a.ID - b.ID) })
	return nodes
}

func nodesListed(e *env.Env) {
	infos := []store.NodeInfo{
		{
			Name: "a/1", Host: "a", Version: "v1", Namespace: "n", Queues: []string{"mail", "b"}, Kinds: []string{"send"}, Slots: 7,
			Policies: map[string]store.Policy{
				"send": {
					MaxAttempts: 3, Backoff: store.Backoff{Base: time.Second, Cap: time.Hour, Jitter: 0.5},
					Delays: []time.Duration{time.Millisecond, 0, time.Hour + 1},
				},
				"it's \"odd\" ä": {Backoff: store.Backoff{Base: 1}},
				"":               {},
			},
		},
		{Name: "b/2", Version: "v2", Kinds: []string{"push", "it's"}, Slots: 1},
		{Name: "c/3"},
		{Name: "d/4"},
	}
	var ids []int64
	for _, info := range infos {
		id, err := e.Store.Join(e.Ctx, info)
		e.NoError("Join", err)
		ids = append(ids, id)
	}
	e.Enqueue(e.Job(), e.Job())
	runs := e.Claim(ids[1], 2)
	e.End(runs[0], store.Completed)
	e.Leave(ids[3])
	left := e.Clock.Now()
	e.Clock.Advance(env.DeadAfter + time.Second)
	e.Beat(ids[0])
	beat, err := e.Store.Beat(e.Ctx, store.BeatParams{Node: ids[1], LeaderTTL: time.Minute})
	if err != nil || !beat.Leader {
		e.Fatalf("Beat: %+v, %v", beat, err)
	}
	e.Rescue()
	now := e.Clock.Now()
	want := []store.Node{
		{ID: ids[0], Info: infos[0], StartedAt: env.Start, BeatAt: now},
		{ID: ids[1], Info: infos[1], StartedAt: env.Start, BeatAt: now, Running: 1, Leader: true},
		{ID: ids[2], Info: infos[2], StartedAt: env.Start, BeatAt: env.Start, DeadAt: now, Ended: store.NodeDied},
		{ID: ids[3], Info: infos[3], StartedAt: env.Start, BeatAt: env.Start, DeadAt: left, Ended: store.NodeLeft},
	}
	e.Equal("nodes", listed(e), want)
	// A day after their end, nodes are no longer listed.
	e.Clock.Advance(24*time.Hour + time.Second)
	e.Beat(ids[0])
	e.Beat(ids[1])
	if got := listed(e); len(got) != 2 || got[0].ID != ids[0] || got[1].ID != ids[1] {
		e.Fatalf("nodes after a day: %+v", got)
	}
}

func nodeLeaves(e *env.Env) {
	e.Enqueue(e.Job(), e.Job(), e.Job())
	node, other := e.Join(), e.Join()
	runs := e.Claim(node, 2)
	others := e.Claim(other, 1)
	e.End(runs[0], store.Completed)
	e.Clock.Advance(time.Second)
	e.Leave(node)
	record := e.Get(runs[1].Job.ID)
	if record.State != store.Available || record.Attempt != 0 || record.LeaseNumber != 1 || !record.RunAt.Equal(e.Clock.Now()) {
		e.Fatalf("record of the job that was given back: %+v", record)
	}
	e.Equal("attempts", record.Attempts, []store.Attempt{{
		Number: 1, LeaseNumber: 1, Node: node, Build: env.Build, ClaimedAt: runs[1].ClaimedAt, EndedAt: e.Clock.Now(),
		Outcome: store.Available, Reason: store.ReasonReleased,
	}})
	e.WantState(runs[0].Job.ID, store.Completed)
	_, err := e.Store.Beat(e.Ctx, store.BeatParams{Node: node})
	e.WantErr("Beat after Leave", err, store.ErrNodeDead)
	if again := e.ClaimOne(other, runs[1].Job.ID); again.Job.Attempt != 1 || again.Lease.Number != 2 {
		e.Fatalf("second run: attempt %d, lease %d", again.Job.Attempt, again.Lease.Number)
	}
	e.End(others[0], store.Completed)
}

func nodeLeavesTwice(e *env.Env) {
	left, dead := e.Join(), e.Join()
	e.Leave(left)
	e.Clock.Advance(env.DeadAfter + time.Second)
	other := e.Join()
	e.Rescue()
	id := e.Add()
	run := e.ClaimOne(other, id)
	for _, node := range []int64{left, left, dead, dead} {
		e.Leave(node)
	}
	e.WantState(id, store.Running)
	e.End(run, store.Completed)
}
