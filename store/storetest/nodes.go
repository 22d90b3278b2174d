package storetest

import (
	"slices"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

var nodesTests = []test{
	{"OneOwner_node_ids_are_never_used_twice", nodeIDs},
	{"nodes_are_listed_with_what_they_told", nodesListed},
	{"NoLoss_a_node_that_leaves_gives_its_jobs_back", nodeLeaves},
	{"leaving_twice_does_nothing", nodeLeavesTwice},
}

func nodeIDs(e *env) {
	seen := map[int64]bool{}
	for i := range 6 {
		node := e.join()
		if seen[node] {
			e.Fatalf("node id %d came twice", node)
		}
		seen[node] = true
		if i%2 == 0 {
			e.leave(node)
		}
	}
}

func nodesListed(e *env) {
	infos := []store.NodeInfo{
		{
			Name: "a/1", Version: "v1", Namespace: "n", Queues: []string{"mail", "b"}, Kinds: []string{"send"}, Slots: 7,
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
		id, err := e.store.Join(e.ctx, info)
		if err != nil {
			e.Fatalf("Join: %v", err)
		}
		ids = append(ids, id)
	}
	e.enqueue(e.job(), e.job())
	runs := e.claim(ids[1], 2)
	e.end(runs[0], store.Completed)
	e.leave(ids[3])
	left := e.clock.Now()
	e.clock.Advance(deadAfter + time.Second)
	e.beat(ids[0])
	beat, err := e.store.Beat(e.ctx, store.BeatParams{Node: ids[1], LeaderTTL: time.Minute})
	if err != nil || !beat.Leader {
		e.Fatalf("Beat: %+v, %v", beat, err)
	}
	e.rescue()
	now := e.clock.Now()
	nodes := func() []store.Node {
		e.Helper()
		nodes, err := e.store.Nodes(e.ctx)
		if err != nil {
			e.Fatalf("Nodes: %v", err)
		}
		// Those alive come first; the order within each part is the store's.
		for i := range nodes {
			if i > 0 && !nodes[i-1].DeadAt.IsZero() && nodes[i].DeadAt.IsZero() {
				e.Fatal("a node that ended is listed before one that lives")
			}
		}
		slices.SortFunc(nodes, func(a, b store.Node) int { return int(a.ID - b.ID) })
		return nodes
	}
	want := []store.Node{
		{ID: ids[0], Info: infos[0], StartedAt: Start, BeatAt: now},
		{ID: ids[1], Info: infos[1], StartedAt: Start, BeatAt: now, Running: 1, Leader: true},
		{ID: ids[2], Info: infos[2], StartedAt: Start, BeatAt: Start, DeadAt: now},
		{ID: ids[3], Info: infos[3], StartedAt: Start, BeatAt: Start, DeadAt: left},
	}
	e.equal("nodes", nodes(), want)
	// A day after they ended they are no longer told.
	e.clock.Advance(24*time.Hour + time.Second)
	e.beat(ids[0])
	e.beat(ids[1])
	if got := nodes(); len(got) != 2 || got[0].ID != ids[0] || got[1].ID != ids[1] {
		e.Fatalf("nodes after a day: %+v", got)
	}
}

func nodeLeaves(e *env) {
	e.enqueue(e.job(), e.job(), e.job())
	node, other := e.join(), e.join()
	runs := e.claim(node, 2)
	others := e.claim(other, 1)
	e.end(runs[0], store.Completed)
	e.clock.Advance(time.Second)
	e.leave(node)
	record := e.get(runs[1].Job.ID)
	if record.State != store.Available || record.Attempt != 0 || record.LeaseNumber != 1 || !record.RunAt.Equal(e.clock.Now()) {
		e.Fatalf("record of the job that was given back: %+v", record)
	}
	e.equal("attempts", record.Attempts, []store.Attempt{{
		Number: 1, LeaseNumber: 1, Node: node, ClaimedAt: runs[1].ClaimedAt, EndedAt: e.clock.Now(),
		Outcome: store.Available, Reason: store.ReasonReleased,
	}})
	e.wantState(runs[0].Job.ID, store.Completed)
	_, err := e.store.Beat(e.ctx, store.BeatParams{Node: node})
	e.wantErr("Beat after Leave", err, store.ErrNodeDead)
	if again := e.claimOne(other, runs[1].Job.ID); again.Job.Attempt != 1 || again.Lease.Number != 2 {
		e.Fatalf("second run: attempt %d, lease %d", again.Job.Attempt, again.Lease.Number)
	}
	e.end(others[0], store.Completed)
}

func nodeLeavesTwice(e *env) {
	left, dead := e.join(), e.join()
	e.leave(left)
	e.clock.Advance(deadAfter + time.Second)
	other := e.join()
	e.rescue()
	id := e.add()
	run := e.claimOne(other, id)
	for _, node := range []int64{left, left, dead, dead} {
		e.leave(node)
	}
	e.wantState(id, store.Running)
	e.end(run, store.Completed)
}
