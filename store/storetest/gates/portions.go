package gates

import (
	"slices"
	"strconv"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

// How many of those that wait go on at once, and that those of a queue that hands out nothing cost
// nothing.
var portionTests = env.Tests{
	"NoLoss_all_that_wait_go_on_in_portions_without_a_limit":           portionDeleted,
	"NoLoss_all_of_one_key_go_on_in_portions_and_in_order":             portionOne,
	"LimitsHold_a_limit_that_is_made_again_while_they_go_on_binds":     portionAgain,
	"NoLoss_what_a_paused_queue_has_stays_and_goes_on_with_the_resume": portionPaused,
	"NoLoss_what_a_resting_queue_has_goes_on_when_the_rest_is_over":    portionRests,
	"NoLoss_one_behind_thousands_of_a_paused_queue_goes_on":            portionBehind,
}

// atOnce is how many jobs that wait at gates one call lets go on at most.
const atOnce = 1000

// portions promotes until there is no more, and returns how many went on in each call.
func portions(e *env.Env) (sizes []int) {
	e.Helper()
	for range 100 {
		p, err := e.Store.Promote(e.Ctx, 1000)
		e.NoError("Promote", err)
		if p.Jobs > 0 {
			sizes = append(sizes, p.Jobs)
		}
		if !p.More {
			return sizes
		}
	}
	e.Fatal("Promote says More for ever")
	return nil
}

func sum(sizes []int) (n int) {
	for _, s := range sizes {
		n += s
	}
	return n
}

// wantPortions checks that so many went on, no more than a portion at once.
func wantPortions(e *env.Env, want int) {
	e.Helper()
	if e.Store.Traits().Name == "model" { // where nothing waits apart
		return
	}
	sizes := portions(e)
	if n := sum(sizes); n != want || n > 0 && slices.Max(sizes) > atOnce {
		e.Fatalf("%d jobs go on in portions of %v, of %d", n, sizes, want)
	}
}

// keysWait makes so many jobs of each of so many keys, of which one runs, and the others wait.
func keysWait(e *env.Env, node int64, keys, each int) (runs []store.Claimed) {
	e.Helper()
	var jobs []*store.Enqueue
	for range each {
		for k := range keys {
			jobs = append(jobs, e.Job(by("k"+strconv.Itoa(k))))
		}
	}
	for part := range slices.Chunk(jobs, 1000) {
		e.Enqueue(part...)
	}
	for range 50 {
		claimed := e.Claim(node, 1000)
		if runs = append(runs, claimed...); len(claimed) == 0 {
			break
		}
	}
	e.Equal("those that run", len(runs), keys)
	return runs
}

// claimAll claims until there is nothing, and returns how many there were.
func claimAll(e *env.Env, node int64) (n int) {
	for range 50 {
		claimed := len(e.Claim(node, 1000))
		if n += claimed; claimed == 0 {
			break
		}
	}
	return n
}

func portionDeleted(e *env.Env) {
	perKey(e, 1)
	node := e.Join()
	keysWait(e, node, 500, 6)
	portions(e)
	e.NoError("DeleteLimit", e.Store.DeleteLimit(e.Ctx, env.Namespace, tenant, false, ""))
	wantPortions(e, 2500)
	e.Equal("claimed", claimAll(e, node), 2500)
}

// portionOne: while those that wait go on a new one does not overtake them.
func portionOne(e *env.Env) {
	perKey(e, 1)
	node := e.Join()
	run := e.ClaimOne(node, e.Add(by("acme"), env.Priority(1)))
	var ids []store.ID
	for range 3 {
		ids = append(ids, env.IDsOf(e.Many(800, by("acme")))...)
	}
	e.WantNothing(node)
	e.WantNothing(node)
	e.NoError("DeleteLimit", e.Store.DeleteLimit(e.Ctx, env.Namespace, tenant, false, ""))
	_, err := e.Store.Promote(e.Ctx, 1000) // the process that goes on with it ends
	e.NoError("Promote", err)
	e.Clock.Advance(time.Second)
	ids = append(ids, e.Add(by("acme")))
	e.End(run, store.Completed)
	var got []store.ID
	for range 5 { // before promotion goes on with it
		got = append(got, env.ClaimedIDs(e.ClaimWith(e.Demand(node, 700)))...)
	}
	for range 5 {
		got = append(got, env.ClaimedIDs(e.Claim(node, 700))...)
	}
	e.WantIDs("claimed", got, ids...)
}

func portionAgain(e *env.Env) {
	perKey(e, 1)
	node := e.Join()
	runs := keysWait(e, node, 400, 6)
	e.NoError("DeleteLimit", e.Store.DeleteLimit(e.Ctx, env.Namespace, tenant, false, ""))
	_, err := e.Store.Promote(e.Ctx, 1000)
	e.NoError("Promote", err)
	perKey(e, 1)
	e.Equal("claimed while the first ones run", claimAll(e, node), 0)
	n := len(runs)
	for range 10 {
		for _, run := range runs {
			e.End(run, store.Completed)
		}
		runs = runs[:0]
		for range 20 {
			claimed := e.Claim(node, 1000)
			if runs = append(runs, claimed...); len(claimed) == 0 {
				break
			}
		}
		if n += len(runs); len(runs) > 400 {
			e.Fatalf("%d jobs of 400 keys run", len(runs))
		}
	}
	e.Equal("all", n, 2400)
}

// idle lets much time pass, and checks that nothing goes on.
func idle(e *env.Env, node int64) {
	e.Helper()
	for range 20 {
		e.Clock.Advance(5 * time.Second)
		e.Beat(node)
		wantPortions(e, 0)
	}
}

func portionPaused(e *env.Env) {
	perKey(e, 1)
	node := e.Join()
	runs := keysWait(e, node, 100, 3)
	e.Pause("mail", true)
	for _, run := range runs {
		e.End(run, store.Completed)
	}
	idle(e, node)
	other := e.Add(by("k1"), env.Queue("other"))
	e.End(e.ClaimOne(node, other), store.Completed)
	idle(e, node)
	e.Pause("mail", false)
	e.Equal("claimed at once", len(e.Claim(node, 1000)), 100)
}

func portionRests(e *env.Env) {
	perKey(e, 1)
	node := e.Join()
	runs := keysWait(e, node, 100, 3)
	e.Rest("mail", 10*time.Minute, store.Backoff{})
	for _, run := range runs {
		e.End(run, store.Completed)
	}
	idle(e, node)
	e.Clock.Advance(10*time.Minute - 100*time.Second - time.Millisecond)
	e.Beat(node)
	wantPortions(e, 0)
	e.Clock.Advance(time.Millisecond)
	e.Equal("claimed when it is over", len(e.Claim(node, 1000)), 100)
}

func portionBehind(e *env.Env) {
	perKey(e, 1)
	node := e.Join()
	run := e.ClaimOne(node, e.Add(by("acme"), env.Priority(1)))
	e.Many(1000, by("acme"), env.Queue("slow"), env.Priority(2))
	e.Many(500, by("acme"), env.Queue("slow"), env.Priority(2))
	last := e.Add(by("acme"))
	e.WantNothing(node)
	e.WantNothing(node)
	e.Pause("slow", true)
	e.End(run, store.Completed)
	e.End(e.ClaimOne(node, last), store.Completed)
}
