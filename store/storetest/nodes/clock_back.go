package nodes

import (
	"fmt"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

// The clock of a database goes back when it is set, or when another server takes over whose
// clock is behind. No node may then be thought dead that lives, or the other way round, and nothing
// that could be claimed may wait for the time to come again.
var clockBackTests = env.Tests{
	"a_dead_node_can_be_declared_dead_after_the_clock_went_back":               backDeadNode,
	"a_node_that_has_beaten_since_the_clock_went_back_lives":                   backLivingNode,
	"a_dead_leader_is_replaced_after_the_clock_went_back":                      backDeadLeader,
	"a_living_leader_stays_when_the_clock_goes_back":                           backLivingLeader,
	"a_leader_that_has_left_does_not_lead_again_when_the_clock_goes_back":      backLeftLeader,
	"NoLoss_what_is_in_line_is_claimed_though_the_clock_went_back":             backClaim,
	"NoLoss_a_line_of_an_ordering_key_goes_on_though_the_clock_went_back":      backOrderingKey,
	"Order_a_job_that_was_in_line_when_the_clock_went_back_has_not_waited_yet": backAging,
	"a_job_that_is_put_back_after_the_clock_went_back_is_due_by_the_new_time":  backDue,
	"NoLoss_what_has_finished_in_the_future_is_kept":                           backRetain,
}

// backs are how far the clock goes back: less than a leader lease, and far more.
var backs = []time.Duration{time.Second, time.Hour, 100 * 24 * time.Hour}

func backDeadNode(e *env.Env) {
	for _, back := range backs {
		leader := e.Join()
		run := e.Started(env.Queue(fmt.Sprint(back)))
		e.Clock.Advance(time.Minute)
		e.Beat(run.Lease.Node)
		e.Clock.Advance(time.Second)
		e.Lead(leader)
		e.Clock.Advance(-back)
		// A watcher has seen this beat, again and again, by a clock of its own.
		var seen []store.NodeBeat
		for range 3 {
			e.Clock.Advance(5 * time.Second)
			for _, beat := range e.Lead(leader).Nodes {
				if beat.Node == run.Lease.Node {
					seen = append(seen, beat)
				}
			}
		}
		if len(seen) != 3 || seen[0] != seen[2] {
			e.Fatalf("the leader was told of %+v", seen)
		}
		rescued := e.RescueWith(store.RescueParams{Dead: seen[2:]})
		if len(rescued) != 1 || rescued[0].Job != run.Job.ID || !rescued[0].RunAt.Equal(e.Clock.Now()) {
			e.Fatalf("rescued: %+v", rescued)
		}
		_, err := e.Store.Beat(e.Ctx, store.BeatParams{Node: run.Lease.Node})
		e.WantErr("Beat of a dead node", err, store.ErrNodeDead)
		e.WantLost(run)
		e.End(e.ClaimOne(leader, run.Job.ID), store.Completed)
		e.Leave(leader)
	}
}

// backLivingNode: its last beat is told as it is, though an earlier one was later.
func backLivingNode(e *env.Env) {
	for _, back := range backs {
		leader := e.Join()
		run := e.Started(env.Queue(fmt.Sprint(back)))
		e.Clock.Advance(time.Minute)
		e.Beat(run.Lease.Node)
		before := e.LastBeat(run.Lease.Node)
		e.Clock.Advance(-back)
		e.Beat(run.Lease.Node)
		last := store.NodeBeat{Node: run.Lease.Node, At: e.Clock.Now()}
		e.Equal("beat in the list", e.LastBeat(run.Lease.Node), last)
		e.Clock.Advance(time.Second)
		e.Equal("beats that the leader is told of", e.Lead(leader).Nodes, []store.NodeBeat{last})
		if rescued := e.RescueWith(store.RescueParams{Dead: []store.NodeBeat{before}}); len(rescued) != 0 {
			e.Fatalf("rescued from a node that beats: %+v", rescued)
		}
		e.End(run, store.Completed)
		e.Leave(run.Lease.Node)
		e.Leave(leader)
	}
}

func backDeadLeader(e *env.Env) {
	for _, back := range backs {
		dead, other := e.Join(), e.Join()
		before := stand(e, dead)
		if !before.Leader || stand(e, other).Leader {
			e.Fatal("it is not the first node that leads")
		}
		e.Clock.Advance(-back)
		// A lease that would last longer than its TTL is over.
		after := stand(e, other)
		if !after.Leader || after.Epoch <= before.Epoch {
			e.Fatalf("the clock went back by %v, and the beat is %+v after %+v", back, after, before)
		}
		if stand(e, dead).Leader {
			e.Fatal("two nodes lead")
		}
		e.Clock.Advance(env.LeaderTTL - time.Second)
		if !stand(e, other).Leader || stand(e, dead).Leader {
			e.Fatal("the new leader has lost its lease")
		}
		e.Leave(other)
		e.Leave(dead)
	}
}

func backLivingLeader(e *env.Env) {
	for _, back := range backs {
		leader, other := e.Join(), e.Join()
		before := stand(e, leader)
		for range 3 {
			e.Clock.Advance(time.Minute)
			if now := stand(e, leader); !now.Leader || now.Epoch < before.Epoch {
				e.Fatalf("the only one that stands: %+v", now)
			}
			e.Clock.Advance(-back)
			if now := stand(e, leader); !now.Leader || now.Epoch < before.Epoch {
				e.Fatalf("the clock went back by %v, and the leader's beat is %+v", back, now)
			}
			if stand(e, other).Leader {
				e.Fatal("two nodes lead")
			}
			e.Clock.Advance(env.LeaderTTL - time.Microsecond)
			if stand(e, other).Leader || !stand(e, leader).Leader {
				e.Fatal("the lease that was kept after the clock went back has ended early")
			}
		}
		e.Leave(leader)
		e.Leave(other)
	}
}

func backLeftLeader(e *env.Env) {
	a, b := e.Join(), e.Join()
	stand(e, a)
	e.Clock.Advance(10 * time.Second)
	stand(e, a)
	e.Leave(a)
	e.Clock.Advance(-time.Second)
	if !stand(e, b).Leader {
		e.Fatal("a node that has left leads")
	}
}

// backClaim: jobs in every place in which one can be claimed, of which each was due when the clock
// went back.
func backClaim(e *env.Env) {
	for _, back := range backs {
		for _, aging := range []time.Duration{0, time.Minute} {
			node := e.Join()
			released, woken := e.Started(), e.Parked(env.ForSignals(), env.Queue("second"))
			plain, other, keyed := e.Add(), e.Add(env.Queue("third"), env.Kind("push"), env.Priority(4)), e.Add(env.Ordered("k"))
			promoted, retried := e.Add(env.Delay(time.Second)), e.Add(env.Delay(time.Hour))
			e.Clock.Advance(time.Minute)
			e.End(released, store.Available)
			e.Send(woken.Job.ID, env.Signal("s"))
			e.Promote()
			e.Retry(retried)
			e.Clock.Advance(-back)
			after := e.Add(env.Queue("fourth"), env.Priority(3))
			params := e.Demand(node, 100)
			params.Aging = aging
			claimed := e.ClaimWith(params)
			e.WantSameIDs(fmt.Sprintf("claimed after the clock went back by %v, with aging %v", back, aging), env.ClaimedIDs(claimed),
				released.Job.ID, woken.Job.ID, plain, other, keyed, promoted, retried, after)
			for _, c := range claimed {
				if !c.ClaimedAt.Equal(e.Clock.Now()) {
					e.Fatalf("it was claimed at %v: %+v", e.Clock.Now(), c)
				}
				e.End(c, store.Completed)
			}
		}
	}
}

// backOrderingKey: whose turn comes after the clock went back need not wait for its run time again.
func backOrderingKey(e *env.Env) {
	node := e.Join()
	first, second, third := e.Add(env.Ordered("k")), e.Add(env.Ordered("k")), e.Add(env.Ordered("k"))
	run := e.ClaimOne(node, first)
	e.Clock.Advance(-time.Hour)
	e.End(run, store.Completed)
	e.End(e.ClaimOne(node, second), store.Completed)
	e.ClaimOne(node, third)
}

func backAging(e *env.Env) {
	const aging = time.Minute
	before := e.Add(env.Priority(2))
	e.Clock.Advance(-time.Hour)
	urgent, after, older := e.Add(env.Priority(1)), e.Add(env.Priority(2)), e.Add(env.Priority(4))
	node := e.Join()
	next := func(want store.ID) {
		e.Helper()
		params := e.Demand(node, 1)
		params.Aging = aging
		e.WantIDs("claimed", env.ClaimedIDs(e.ClaimWith(params)), want)
	}
	next(urgent)
	e.Clock.Advance(2*aging + time.Second)
	// By now the older one is as urgent as the first, and goes before it because of its run time.
	last := e.Add(env.Priority(3))
	next(after)
	next(older)
	next(before)
	next(last)
}

func backDue(e *env.Env) {
	for _, state := range []store.State{store.Retryable, store.Scheduled} {
		run := e.Started()
		e.Clock.Advance(-time.Hour)
		due := e.Clock.Now().Add(time.Minute)
		if o := e.End(run, state); !o.Due.Equal(due) || !e.Get(run.Job.ID).RunAt.Equal(due) {
			e.Fatalf("%v: due at %v, want %v", state, o.Due, due)
		}
		e.Clock.Advance(time.Minute)
		e.End(e.ClaimOne(run.Lease.Node, run.Job.ID), store.Completed)
	}
}

func backRetain(e *env.Env) {
	run := e.Started()
	e.End(run, store.Completed)
	params := store.Retention{Completed: time.Hour, Failed: time.Hour, Cancelled: time.Hour, Audit: time.Hour, Limit: 100}
	e.Clock.Advance(-30 * 24 * time.Hour)
	if n := e.Retain(params); n != 0 {
		e.Fatalf("removed %d jobs", n)
	}
	e.WantState(run.Job.ID, store.Completed)
	e.Clock.Advance(30*24*time.Hour + time.Hour + env.Slack)
	if n := e.Retain(params); n != 1 {
		e.Fatalf("removed %d jobs", n)
	}
}
