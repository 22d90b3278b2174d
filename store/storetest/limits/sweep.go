package limits

import (
	"time"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

var sweepTests = env.Tests{
	"slots_of_a_dead_node_without_jobs_are_free":                 sweepIdle,
	"LimitsHold_slots_of_a_dead_node_are_free_when_its_jobs_are": sweepBusy,
	"slots_of_a_node_whose_jobs_were_ended_late_are_free":        sweepLate,
	"slots_of_a_node_that_leaves_are_free":                       sweepLeft,
	"slots_stay_with_those_who_live":                             sweepAlive,
	"slots_of_a_node_that_nobody_remembers_are_free":             sweepForgotten,
}

// rescue declares dead who is silent, and returns the wake-ups about slots.
func rescue(e *env.Env, params store.RescueParams) (free []store.Wake) {
	e.Helper()
	rescued, err := e.Store.Rescue(e.Ctx, params)
	e.NoError("Rescue", err)
	return about(rescued.Wakes)
}

func about(wakes []store.Wake) (free []store.Wake) {
	for _, w := range wakes {
		if w.Kind == store.WakeSlotsFree {
			free = append(free, w)
		}
	}
	return free
}

func isFree(names ...string) (free []store.Wake) {
	for _, name := range names {
		free = append(free, store.Wake{Kind: store.WakeSlotsFree, Namespace: env.Namespace, Queue: name})
	}
	return free
}

var byName = cmpopts.SortSlices(func(a, b store.Wake) bool { return a.Queue < b.Queue })

// sweepIdle: no wake-up names a limit of which the node holds nothing.
func sweepIdle(e *env.Env) {
	l, other, none := e.SaveLimit(env.Limit("partner", 5)), e.SaveLimit(env.Limit("other", 5)), e.SaveLimit(env.Limit("none", 5))
	dead := e.Join()
	e.Grants(dead, env.Ask(l, 0, 3), env.Ask(other, 0, 5), env.Ask(none, 0, 0))
	e.Clock.Advance(env.DeadAfter)
	alive := e.Join()
	e.Equal("while nobody says that the node is dead", e.Slots(alive, l, 0, 5), 2)
	e.Equal("told", rescue(e, e.RescueParams()), isFree("other", "partner"), byName)
	e.Equal("then", e.Slots(alive, l, 0, 5), 5)
	e.WantHolders("partner", store.Holder{Node: alive, Slots: 5})
	e.WantHolders("other")
	e.Equal("told again", rescue(e, store.RescueParams{}), nil, cmpopts.EquateEmpty())
	if e.Lead(alive).Work.Rescue && e.Store.Traits().Name == "postgres" {
		e.Error("there is something to rescue")
	}
}

// sweepBusy: what its claim records have counts until they are gone.
func sweepBusy(e *env.Env) {
	l := e.SaveLimit(env.Limit("partner", 5))
	dead := e.Join()
	e.Many(2 * store.MaxClaimSlots)
	e.ClaimWith(e.Demand(dead, 2*store.MaxClaimSlots))
	e.Slots(dead, l, 5, 5)
	e.Clock.Advance(env.DeadAfter)
	alive := e.Join()
	params := e.RescueParams()
	params.Limit = 1
	free := rescue(e, params)
	for rounds := 0; len(free) == 0; rounds++ {
		if e.Slots(alive, l, 0, 5) != 0 || rounds > 5 {
			e.Fatal("there are slots before all jobs of the dead node are taken, or never")
		}
		if !e.Lead(alive).Work.Rescue {
			e.Fatal("there is nothing to rescue")
		}
		free = rescue(e, store.RescueParams{Limit: 1})
	}
	e.Equal("told", free, isFree("partner"))
	e.Equal("then", e.Slots(alive, l, 0, 5), 5)
}

// sweepLate: the last run of a dead node ends in time, by its own outcome.
func sweepLate(e *env.Env) {
	l := e.SaveLimit(env.Limit("partner", 5))
	dead := e.Join()
	run := e.ClaimOne(dead, e.Add())
	e.Slots(dead, l, 1, 1)
	e.Clock.Advance(env.DeadAfter)
	alive := e.Join()
	e.SaveLimit(env.Limit("nothing", 5))
	params := e.RescueParams()
	e.End(run, store.Completed)
	e.Equal("told", rescue(e, params), isFree("partner"))
	e.WantHolders("partner")
	e.Equal("then", e.Slots(alive, l, 0, 5), 5)
}

func sweepLeft(e *env.Env) {
	l, other := e.SaveLimit(env.Limit("partner", 5)), e.SaveLimit(env.Limit("other", 5))
	node := e.Join()
	e.ClaimOne(node, e.Add())
	e.Grants(node, env.Ask(l, 1, 3), env.Ask(other, 0, 0))
	wakes, err := e.Store.Leave(e.Ctx, node)
	e.NoError("Leave", err)
	e.Equal("told", about(wakes), isFree("partner"))
	e.WantHolders("partner")
	wakes, err = e.Store.Leave(e.Ctx, node)
	e.NoError("Leave", err)
	e.Equal("told again", about(wakes), nil, cmpopts.EquateEmpty())
}

func sweepAlive(e *env.Env) {
	l := e.SaveLimit(env.Limit("partner", 5))
	node, dead := e.Join(), e.Join()
	e.Slots(node, l, 0, 3)
	e.Clock.Advance(env.DeadAfter)
	e.Beat(node)
	e.Equal("told", rescue(e, e.RescueParams()), nil, cmpopts.EquateEmpty())
	e.Leave(dead)
	e.WantHolders("partner", store.Holder{Node: node, Slots: 3})
}

// sweepForgotten: a node may be removed from the list before anybody takes back what it holds.
func sweepForgotten(e *env.Env) {
	l := e.SaveLimit(env.Limit("partner", 5))
	run := e.Started()
	dead := run.Lease.Node
	e.Slots(dead, l, 1, 2)
	e.Clock.Advance(env.DeadAfter)
	e.Rescue()
	e.WantHolders("partner")

	// Its last run ends after the last rescue.
	run = e.ClaimOne(e.Join(), run.Job.ID)
	dead = run.Lease.Node
	e.Slots(dead, l, 1, 2)
	e.Clock.Advance(env.DeadAfter)
	alive := e.Join()
	e.End(run, store.Completed)
	e.Equal("told", rescue(e, e.RescueParams()), isFree("partner"))
	e.Clock.Advance(48 * time.Hour)
	e.Beat(alive)
	_, err := e.Store.Retain(e.Ctx, store.Retention{Completed: 24 * time.Hour})
	e.NoError("Retain", err)
	e.WantHolders("partner")
	e.Equal("then", e.Slots(alive, l, 0, 5), 5)
}
