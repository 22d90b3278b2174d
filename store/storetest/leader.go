package storetest

import (
	"cmp"
	"slices"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

var leaderTests = []test{
	{"one_node_leads_until_its_lease_ends", leaderOne},
	{"the_epoch_grows_with_each_holder", leaderEpoch},
	{"a_leader_that_leaves_is_succeeded_at_once", leaderLeaves},
	{"a_node_that_does_not_want_to_lead_does_not", leaderUnwilling},
	{"EveryDueThingHappens_a_leader_is_told_what_there_is_to_do", leaderWork},
	{"a_leader_is_told_when_the_others_have_beaten", leaderNodes},
}

const leaderTTL = 15 * time.Second

// stand beats with the ambition to lead.
func (e *env) stand(node int64) store.Beat {
	e.Helper()
	beat, err := e.store.Beat(e.ctx, store.BeatParams{Node: node, LeaderTTL: leaderTTL})
	if err != nil {
		e.Fatalf("Beat: %v", err)
	}
	return beat
}

func leaderOne(e *env) {
	a, b := e.join(), e.join()
	if !e.stand(a).Leader {
		e.Fatal("the first node that stands does not lead")
	}
	for range 4 {
		e.clock.Advance(10 * time.Second)
		if e.stand(b).Leader {
			e.Fatal("two nodes lead")
		}
		if !e.stand(a).Leader {
			e.Fatal("a leader that beats in time lost its lease")
		}
	}
	e.clock.Advance(leaderTTL - time.Second)
	if e.stand(b).Leader {
		e.Fatal("the lease ended early")
	}
	e.clock.Advance(2 * time.Second)
	if !e.stand(b).Leader {
		e.Fatal("the lease did not end")
	}
	if e.stand(a).Leader {
		e.Fatal("two nodes lead")
	}
}

func leaderEpoch(e *env) {
	nodes := []int64{e.join(), e.join()}
	var last int64
	for i := range 5 {
		first := e.stand(nodes[i%2])
		if !first.Leader || first.Epoch <= last {
			e.Fatalf("beat %+v after epoch %d", first, last)
		}
		e.clock.Advance(time.Second)
		if again := e.stand(nodes[i%2]); !again.Leader || again.Epoch != first.Epoch {
			e.Fatalf("the epoch of one holder changed from %d to %d", first.Epoch, again.Epoch)
		}
		last = first.Epoch
		e.clock.Advance(leaderTTL + time.Second)
	}
}

func leaderLeaves(e *env) {
	a, b := e.join(), e.join()
	before := e.stand(a)
	e.stand(b)
	e.leave(a)
	if after := e.stand(b); !after.Leader || after.Epoch <= before.Epoch {
		e.Fatalf("beat after the leader left: %+v", after)
	}
}

func leaderUnwilling(e *env) {
	a, b := e.join(), e.join()
	if e.beat(a).Leader {
		e.Fatal("a node leads that did not stand")
	}
	if !e.stand(b).Leader {
		e.Fatal("nobody leads")
	}
	if e.beat(a).Leader {
		e.Fatal("two nodes lead")
	}
}

// lead beats with the ambition to lead and to be told what there is to do.
func (e *env) lead(node int64) store.Beat {
	e.Helper()
	beat, err := e.store.Beat(e.ctx, store.BeatParams{Node: node, LeaderTTL: leaderTTL, Lead: true})
	if err != nil {
		e.Fatalf("Beat: %v", err)
	}
	return beat
}

// leaderWork: that a dead node holds something is in rescue.go.
func leaderWork(e *env) {
	leader := e.join()
	e.lead(leader)
	parent := e.claimOne(leader, e.add())
	e.bear(&parent, 1, delay(100*time.Hour))
	e.end(parent, store.Completed, withChildren)
	if !e.lead(leader).Work.CloseChildren {
		e.Error("a job has left a child, and the leader is not told")
	}
	if told := e.stand(leader).Work; told != (store.Work{}) {
		e.Errorf("a leader that does not ask is told of %+v", told)
	}
	if told := e.lead(e.join()).Work; told != (store.Work{}) {
		e.Errorf("a node that does not lead is told of %+v", told)
	}
}

// leaderNodes: the times are those that a list of the nodes tells.
func leaderNodes(e *env) {
	leader, left, dead, silent, other := e.join(), e.join(), e.join(), e.join(), e.join()
	e.leave(left)
	e.rescueWith(store.RescueParams{Dead: []store.NodeBeat{e.lastBeat(dead)}})
	e.clock.Advance(time.Hour)
	e.beat(other)
	want := []store.NodeBeat{{Node: silent, At: Start}, {Node: other, At: e.clock.Now()}}
	e.clock.Advance(time.Second)
	wantTold := func(beat store.Beat) {
		e.Helper()
		if !beat.Leader || !beat.At.Equal(e.clock.Now()) {
			e.Fatalf("the beat of %v: %+v", e.clock.Now(), beat)
		}
		slices.SortFunc(beat.Nodes, func(a, b store.NodeBeat) int { return cmp.Compare(a.Node, b.Node) })
		e.equal("nodes", beat.Nodes, want)
		for _, n := range beat.Nodes {
			e.equal("beat in the list", e.lastBeat(n.Node), n)
		}
	}
	wantTold(e.lead(leader))
	// It is as it was until somebody beats, and then it is that beat.
	e.clock.Advance(time.Second)
	wantTold(e.lead(leader))
	e.beat(silent)
	want[0].At = e.clock.Now()
	e.clock.Advance(time.Second)
	last := e.lead(leader)
	wantTold(last)
	joined := e.join()
	want = append(want, store.NodeBeat{Node: joined, At: e.clock.Now()})
	last = e.lead(leader)
	wantTold(last)
	if beat := e.stand(leader); !beat.Leader || len(beat.Nodes) != 0 {
		e.Fatalf("a leader that does not ask: %+v", beat)
	}
	if beat := e.lead(other); beat.Leader || len(beat.Nodes) != 0 {
		e.Fatalf("a node that does not lead: %+v", beat)
	}
	// The next leader is told of this one.
	e.clock.Advance(leaderTTL + time.Second)
	want = []store.NodeBeat{{Node: leader, At: last.At}, {Node: silent, At: want[0].At}, {Node: joined, At: want[2].At}}
	wantTold(e.lead(other))
}
