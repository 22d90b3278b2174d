package storetest

import (
	"time"

	"github.com/holdfastdev/holdfast/store"
)

var leaderTests = []test{
	{"one_node_leads_until_its_lease_ends", leaderOne},
	{"the_epoch_grows_with_each_holder", leaderEpoch},
	{"a_leader_that_leaves_is_succeeded_at_once", leaderLeaves},
	{"a_node_that_does_not_want_to_lead_does_not", leaderUnwilling},
	{"EveryDueThingHappens_a_leader_is_told_what_there_is_to_do", leaderWork},
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

func leaderWork(e *env) {
	leader, silent := e.join(), e.join()
	work := func(node int64, deadAfter time.Duration) store.Work {
		e.Helper()
		beat, err := e.store.Beat(e.ctx, store.BeatParams{Node: node, LeaderTTL: leaderTTL, DeadAfter: deadAfter})
		if err != nil {
			e.Fatalf("Beat: %v", err)
		}
		return beat.Work
	}
	work(leader, deadAfter)
	parent := e.claimOne(leader, e.add())
	e.bear(&parent, 1, delay(100*time.Hour))
	e.end(parent, store.Completed, withChildren)
	if !work(leader, deadAfter).CloseChildren {
		e.Error("a job has left a child, and the leader is not told")
	}
	e.claimOne(silent, e.add())
	e.clock.Advance(deadAfter - time.Second)
	work(leader, deadAfter)
	e.clock.Advance(time.Second)
	if !work(leader, deadAfter).Rescue {
		e.Error("a node is silent for as long as a dead one, and the leader is not told")
	}
	if told := work(leader, 0); told != (store.Work{}) {
		e.Errorf("a leader that does not ask is told of %+v", told)
	}
	if told := work(e.join(), deadAfter); told != (store.Work{}) {
		e.Errorf("a node that does not lead is told of %+v", told)
	}
}
