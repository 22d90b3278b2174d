package storetest

import (
	"fmt"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// The clock of a database goes back when somebody sets it, or when another server takes over whose
// clock is behind. Nobody may then be thought dead who lives, or the other way round, and nothing
// that could be claimed may wait for the time to come again.
var clockBackTests = []test{
	{"a_dead_node_can_be_declared_dead_after_the_clock_went_back", backDeadNode},
	{"a_node_that_has_beaten_since_the_clock_went_back_lives", backLivingNode},
	{"a_dead_leader_is_replaced_after_the_clock_went_back", backDeadLeader},
	{"a_living_leader_stays_when_the_clock_goes_back", backLivingLeader},
	{"a_leader_that_has_left_does_not_lead_again_when_the_clock_goes_back", backLeftLeader},
	{"NoLoss_what_is_in_line_is_claimed_though_the_clock_went_back", backClaim},
	{"NoLoss_a_line_of_an_ordering_key_goes_on_though_the_clock_went_back", backOrderingKey},
	{"Order_a_job_that_was_in_line_when_the_clock_went_back_has_not_waited_yet", backAging},
	{"a_job_that_is_put_back_after_the_clock_went_back_is_due_by_the_new_time", backDue},
	{"NoLoss_what_has_finished_in_the_future_is_kept", backRetain},
}

// backs are how far the clock goes back: less than a leader lease, and far more.
var backs = []time.Duration{time.Second, time.Hour, 100 * 24 * time.Hour}

func backDeadNode(e *env) {
	for _, back := range backs {
		leader := e.join()
		run := e.started(queue(fmt.Sprint(back)))
		e.clock.Advance(time.Minute)
		e.beat(run.Lease.Node)
		e.clock.Advance(time.Second)
		e.lead(leader)
		e.clock.Advance(-back)
		// Whoever watches has seen this beat, again and again, by a clock of its own.
		var seen []store.NodeBeat
		for range 3 {
			e.clock.Advance(5 * time.Second)
			for _, beat := range e.lead(leader).Nodes {
				if beat.Node == run.Lease.Node {
					seen = append(seen, beat)
				}
			}
		}
		if len(seen) != 3 || seen[0] != seen[2] {
			e.Fatalf("the leader was told of %+v", seen)
		}
		rescued := e.rescueWith(store.RescueParams{Dead: seen[2:]})
		if len(rescued) != 1 || rescued[0].Job != run.Job.ID || !rescued[0].RunAt.Equal(e.clock.Now()) {
			e.Fatalf("rescued: %+v", rescued)
		}
		_, err := e.store.Beat(e.ctx, store.BeatParams{Node: run.Lease.Node})
		e.wantErr("Beat of a dead node", err, store.ErrNodeDead)
		e.wantLost(run)
		e.end(e.claimOne(leader, run.Job.ID), store.Completed)
		e.leave(leader)
	}
}

// backLivingNode: its last beat is told as it is, though an earlier one was later.
func backLivingNode(e *env) {
	for _, back := range backs {
		leader := e.join()
		run := e.started(queue(fmt.Sprint(back)))
		e.clock.Advance(time.Minute)
		e.beat(run.Lease.Node)
		before := e.lastBeat(run.Lease.Node)
		e.clock.Advance(-back)
		e.beat(run.Lease.Node)
		last := store.NodeBeat{Node: run.Lease.Node, At: e.clock.Now()}
		e.equal("beat in the list", e.lastBeat(run.Lease.Node), last)
		e.clock.Advance(time.Second)
		e.equal("beats that the leader is told of", e.lead(leader).Nodes, []store.NodeBeat{last})
		if rescued := e.rescueWith(store.RescueParams{Dead: []store.NodeBeat{before}}); len(rescued) != 0 {
			e.Fatalf("rescued from a node that beats: %+v", rescued)
		}
		e.end(run, store.Completed)
		e.leave(run.Lease.Node)
		e.leave(leader)
	}
}

func backDeadLeader(e *env) {
	for _, back := range backs {
		dead, other := e.join(), e.join()
		before := e.stand(dead)
		if !before.Leader || e.stand(other).Leader {
			e.Fatal("it is not the first node that leads")
		}
		e.clock.Advance(-back)
		// A lease that lasts longer than it was given for is nobody's.
		after := e.stand(other)
		if !after.Leader || after.Epoch <= before.Epoch {
			e.Fatalf("the clock went back by %v, and the beat is %+v after %+v", back, after, before)
		}
		if e.stand(dead).Leader {
			e.Fatal("two nodes lead")
		}
		e.clock.Advance(leaderTTL - time.Second)
		if !e.stand(other).Leader || e.stand(dead).Leader {
			e.Fatal("the new leader has lost its lease")
		}
		e.leave(other)
		e.leave(dead)
	}
}

func backLivingLeader(e *env) {
	for _, back := range backs {
		leader, other := e.join(), e.join()
		before := e.stand(leader)
		for range 3 {
			e.clock.Advance(time.Minute)
			if now := e.stand(leader); !now.Leader || now.Epoch < before.Epoch {
				e.Fatalf("the only one that stands: %+v", now)
			}
			e.clock.Advance(-back)
			if now := e.stand(leader); !now.Leader || now.Epoch < before.Epoch {
				e.Fatalf("the clock went back by %v, and the leader's beat is %+v", back, now)
			}
			if e.stand(other).Leader {
				e.Fatal("two nodes lead")
			}
			e.clock.Advance(leaderTTL - time.Microsecond)
			if e.stand(other).Leader || !e.stand(leader).Leader {
				e.Fatal("the lease that was kept after the clock went back has ended early")
			}
		}
		e.leave(leader)
		e.leave(other)
	}
}

func backLeftLeader(e *env) {
	a, b := e.join(), e.join()
	e.stand(a)
	e.clock.Advance(10 * time.Second)
	e.stand(a)
	e.leave(a)
	e.clock.Advance(-time.Second)
	if !e.stand(b).Leader {
		e.Fatal("a node that has left leads")
	}
}

// backClaim: jobs in every place in which one can be claimed, of which each was due when the clock
// went back.
func backClaim(e *env) {
	for _, back := range backs {
		for _, aging := range []time.Duration{0, time.Minute} {
			node := e.join()
			released, woken := e.started(), e.parked(forSignals(), queue("second"))
			plain, other, keyed := e.add(), e.add(queue("third"), kind("push"), priority(4)), e.add(ordered("k"))
			promoted, retried := e.add(delay(time.Second)), e.add(delay(time.Hour))
			e.clock.Advance(time.Minute)
			e.end(released, store.Available)
			e.send(woken.Job.ID, signal("s"))
			e.promote()
			e.retry(retried)
			e.clock.Advance(-back)
			after := e.add(queue("fourth"), priority(3))
			params := e.demand(node, 100)
			params.Aging = aging
			claimed := e.claimWith(params)
			e.wantSameIDs(fmt.Sprintf("claimed after the clock went back by %v, with aging %v", back, aging), claimedIDs(claimed),
				released.Job.ID, woken.Job.ID, plain, other, keyed, promoted, retried, after)
			for _, c := range claimed {
				if !c.ClaimedAt.Equal(e.clock.Now()) {
					e.Fatalf("it was claimed at %v: %+v", e.clock.Now(), c)
				}
				e.end(c, store.Completed)
			}
		}
	}
}

// backOrderingKey: whose turn comes after the clock went back need not wait for its run time again.
func backOrderingKey(e *env) {
	node := e.join()
	first, second, third := e.add(ordered("k")), e.add(ordered("k")), e.add(ordered("k"))
	run := e.claimOne(node, first)
	e.clock.Advance(-time.Hour)
	e.end(run, store.Completed)
	e.end(e.claimOne(node, second), store.Completed)
	e.claimOne(node, third)
}

func backAging(e *env) {
	const aging = time.Minute
	before := e.add(priority(2))
	e.clock.Advance(-time.Hour)
	urgent, after, older := e.add(priority(1)), e.add(priority(2)), e.add(priority(4))
	node := e.join()
	next := func(want store.ID) {
		e.Helper()
		params := e.demand(node, 1)
		params.Aging = aging
		e.wantIDs("claimed", claimedIDs(e.claimWith(params)), want)
	}
	next(urgent)
	e.clock.Advance(2*aging + time.Second)
	// The older one is as urgent as the first by now, which is behind it by its run time. But for
	// that the first is what it was.
	last := e.add(priority(3))
	next(after)
	next(older)
	next(before)
	next(last)
}

func backDue(e *env) {
	for _, state := range []store.State{store.Retryable, store.Scheduled} {
		run := e.started()
		e.clock.Advance(-time.Hour)
		due := e.clock.Now().Add(time.Minute)
		if o := e.end(run, state); !o.Due.Equal(due) || !e.get(run.Job.ID).RunAt.Equal(due) {
			e.Fatalf("%v: due at %v, want %v", state, o.Due, due)
		}
		e.clock.Advance(time.Minute)
		e.end(e.claimOne(run.Lease.Node, run.Job.ID), store.Completed)
	}
}

func backRetain(e *env) {
	run := e.started()
	e.end(run, store.Completed)
	params := store.RetainParams{Completed: time.Hour, Failed: time.Hour, Cancelled: time.Hour, Audit: time.Hour, Limit: 100}
	e.clock.Advance(-30 * 24 * time.Hour)
	if n := e.retain(params); n != 0 {
		e.Fatalf("removed %d jobs", n)
	}
	e.wantState(run.Job.ID, store.Completed)
	e.clock.Advance(30*24*time.Hour + time.Hour + slack)
	if n := e.retain(params); n != 1 {
		e.Fatalf("removed %d jobs", n)
	}
}
