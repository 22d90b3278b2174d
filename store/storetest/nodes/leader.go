package nodes

import (
	"cmp"
	"slices"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

var leaderTests = env.Tests{
	"one_node_leads_until_its_lease_ends":                       leaderOne,
	"a_leader_that_leaves_is_succeeded_at_once":                 leaderLeaves,
	"EveryDueThingHappens_a_leader_is_told_what_there_is_to_do": leaderWork,
	"a_leader_is_told_when_the_others_have_beaten":              leaderNodes,
}

// stand beats with the ambition to lead.
func stand(e *env.Env, node int64) store.Beat {
	e.Helper()
	beat, err := e.Store.Beat(e.Ctx, store.BeatParams{Node: node, LeaderTTL: env.LeaderTTL})
	e.NoError("Beat", err)
	return beat
}

// leaderOne: the epoch stays as long as one node holds the lease, and grows with each holder.
func leaderOne(e *env.Env) {
	a, b := e.Join(), e.Join()
	if e.Beat(a).Leader {
		e.Fatal("a node leads that did not stand")
	}
	first := stand(e, a)
	if !first.Leader {
		e.Fatal("the first node that stands does not lead")
	}
	for range 4 {
		e.Clock.Advance(10 * time.Second)
		if stand(e, b).Leader || e.Beat(b).Leader {
			e.Fatal("two nodes lead")
		}
		if again := stand(e, a); !again.Leader || again.Epoch != first.Epoch {
			e.Fatalf("a leader that beats in time: %+v after %+v", again, first)
		}
	}
	e.Clock.Advance(env.LeaderTTL - time.Second)
	if stand(e, b).Leader {
		e.Fatal("the lease ended early")
	}
	e.Clock.Advance(2 * time.Second)
	second := stand(e, b)
	if !second.Leader || second.Epoch <= first.Epoch {
		e.Fatalf("the lease did not end: %+v after %+v", second, first)
	}
	if stand(e, a).Leader {
		e.Fatal("two nodes lead")
	}
	// The epoch also grows if the same node takes an ended lease again.
	e.Clock.Advance(env.LeaderTTL + time.Second)
	if third := stand(e, b); !third.Leader || third.Epoch <= second.Epoch {
		e.Fatalf("the lease of before is over: %+v after %+v", third, second)
	}
}

func leaderLeaves(e *env.Env) {
	a, b := e.Join(), e.Join()
	before := stand(e, a)
	stand(e, b)
	e.Leave(a)
	if after := stand(e, b); !after.Leader || after.Epoch <= before.Epoch {
		e.Fatalf("beat after the leader left: %+v", after)
	}
}

// leaderWork: that a dead node holds something is in rescue.go.
func leaderWork(e *env.Env) {
	leader := e.Join()
	e.Lead(leader)
	parent := e.ClaimOne(leader, e.Add())
	e.Bear(&parent, 1, env.Delay(100*time.Hour))
	e.End(parent, store.Completed, env.WithChildren)
	if !e.Lead(leader).Work.CloseChildren {
		e.Error("a job has left a child, and the leader is not told")
	}
	if told := stand(e, leader).Work; told != (store.Work{}) {
		e.Errorf("a leader that does not ask is told of %+v", told)
	}
	if told := e.Lead(e.Join()).Work; told != (store.Work{}) {
		e.Errorf("a node that does not lead is told of %+v", told)
	}
}

// leaderNodes: the times are those that a list of the nodes tells.
func leaderNodes(e *env.Env) {
	leader, left, dead, silent, other := e.Join(), e.Join(), e.Join(), e.Join(), e.Join()
	e.Leave(left)
	e.RescueWith(store.RescueParams{Dead: []store.NodeBeat{e.LastBeat(dead)}})
	e.Clock.Advance(time.Hour)
	e.Beat(other)
	want := []store.NodeBeat{{Node: silent, At: env.Start}, {Node: other, At: e.Clock.Now()}}
	e.Clock.Advance(time.Second)
	wantTold := func(beat store.Beat) {
		e.Helper()
		if !beat.Leader || !beat.At.Equal(e.Clock.Now()) {
			e.Fatalf("the beat of %v: %+v", e.Clock.Now(), beat)
		}
		slices.SortFunc(beat.Nodes, func(a, b store.NodeBeat) int { return cmp.Compare(a.Node, b.Node) })
		e.Equal("nodes", beat.Nodes, want)
		for _, n := range beat.Nodes {
			e.Equal("beat in the list", e.LastBeat(n.Node), n)
		}
	}
	wantTold(e.Lead(leader))
	// The leader is told the same beats until a node beats again.
	e.Clock.Advance(time.Second)
	wantTold(e.Lead(leader))
	e.Beat(silent)
	want[0].At = e.Clock.Now()
	e.Clock.Advance(time.Second)
	last := e.Lead(leader)
	wantTold(last)
	joined := e.Join()
	want = append(want, store.NodeBeat{Node: joined, At: e.Clock.Now()})
	last = e.Lead(leader)
	wantTold(last)
	if beat := stand(e, leader); !beat.Leader || len(beat.Nodes) != 0 {
		e.Fatalf("a leader that does not ask: %+v", beat)
	}
	if beat := e.Lead(other); beat.Leader || len(beat.Nodes) != 0 {
		e.Fatalf("a node that does not lead: %+v", beat)
	}
	// The next leader is told of this one.
	e.Clock.Advance(env.LeaderTTL + time.Second)
	want = []store.NodeBeat{{Node: leader, At: last.At}, {Node: silent, At: want[0].At}, {Node: joined, At: want[2].At}}
	wantTold(e.Lead(other))
}
