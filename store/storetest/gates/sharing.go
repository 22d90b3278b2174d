package gates

import (
	"strconv"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

// A limit of which very many jobs go on at once holds up no gate of another limit.
var sharingTests = env.Tests{
	"NoLoss_a_deleted_limit_with_a_long_backlog_does_not_hold_up_another_limits_gate":     sharingEnds,
	"NoLoss_a_deleted_limit_with_a_long_backlog_does_not_hold_up_the_keys_of_a_rate":      sharingRate,
	"NoLoss_a_deleted_limit_with_a_long_backlog_does_not_hold_up_a_limit_that_is_widened": sharingWider,
	"NoLoss_a_limit_that_lets_more_run_does_not_hold_up_another_limits_gate":              sharingBounded,
}

// region is another limit than tenant. Its jobs have a queue of their own.
const region = "region"

// sharingKeys is how many keys each of the two limits has: their gates lie in any order.
const sharingKeys = 8

func inRegion(key int) []func(*store.Enqueue) {
	return []func(*store.Enqueue){env.LimitKey(region, "r"+strconv.Itoa(key)), env.Queue("regions")}
}

// regions makes two jobs of each key of a limit, and returns those that run.
func regions(e *env.Env, node int64, l store.Limit) []store.Claimed {
	e.Helper()
	l.Name = region
	e.SaveLimit(l)
	for range 2 {
		for key := range sharingKeys {
			e.Add(inRegion(key)...)
		}
	}
	runs := claimRegions(e, node)
	e.Equal("those that run", len(runs), sharingKeys)
	return runs
}

// claimRegions claims what there is of the other limit.
func claimRegions(e *env.Env, node int64) []store.Claimed {
	e.Helper()
	params := e.Demand(node, 100)
	params.Queues = []store.QueueDemand{{Name: "regions", Limit: 100}}
	return e.ClaimWith(params)
}

// backlog makes a limit of which each key has more jobs waiting than one call lets go on, and
// returns those of its that run.
func backlog(e *env.Env, node int64) []store.Claimed {
	e.Helper()
	perKey(e, 1)
	runs := keysWait(e, node, sharingKeys, atOnce/2)
	portions(e)
	return runs
}

// dropTenant deletes the limit, of which some go on then.
func dropTenant(e *env.Env) {
	e.Helper()
	e.NoError("DeleteLimit", e.Store.DeleteLimit(e.Ctx, env.Namespace, tenant, false, ""))
	promote(e)
}

func promote(e *env.Env) store.Promoted {
	e.Helper()
	p, err := e.Store.Promote(e.Ctx, 1000)
	e.NoError("Promote", err)
	return p
}

// wantRest checks that all that wait of the limit go on in the end, and none is lost.
func wantRest(e *env.Env, node int64) {
	e.Helper()
	portions(e)
	e.Equal("claimed in the end", claimAll(e, node), sharingKeys*(atOnce/2-1))
}

func sharingEnds(e *env.Env) {
	node := e.Join()
	runs := backlog(e, node)
	others := regions(e, node, limit(1))
	dropTenant(e)
	e.EndAll(append(runs, others...), store.Completed)
	e.Equal("those of the other limit that go on", len(claimRegions(e, node)), sharingKeys)
	wantRest(e, node)
}

func sharingRate(e *env.Env) {
	node := e.Join()
	runs := backlog(e, node)
	regions(e, node, rated(1))
	dropTenant(e)
	e.EndAll(runs, store.Completed)
	e.Clock.Advance(period)
	e.Beat(node)
	promote(e)
	e.Equal("those of the other limit that go on", len(claimRegions(e, node)), sharingKeys)
	wantRest(e, node)
}

// sharingWider: a limit that lets more run is looked at in the order of all gates, but waits for
// none of them to be empty.
func sharingWider(e *env.Env) {
	node := e.Join()
	backlog(e, node)
	regions(e, node, limit(1))
	portions(e)
	e.NoError("DeleteLimit", e.Store.DeleteLimit(e.Ctx, env.Namespace, tenant, false, ""))
	two := limit(2)
	two.Name = region
	e.ChangeLimit(two, e.LimitOf(region).Version)
	got, moved := 0, 0
	for range 100 {
		p := promote(e)
		moved += p.Jobs
		if got += len(claimRegions(e, node)); got == sharingKeys || !p.More {
			break
		}
	}
	e.Equal("those of the other limit that go on", got, sharingKeys)
	if most := sharingKeys * atOnce / 4; moved > most {
		e.Fatalf("%d jobs have gone on by then, more than %d", moved, most)
	}
	wantRest(e, node)
}

// sharingBounded: there is a limit, but it lets very many more run.
func sharingBounded(e *env.Env) {
	node := e.Join()
	runs := backlog(e, node)
	others := regions(e, node, limit(1))
	e.ChangeLimit(limit(atOnce), e.LimitOf(tenant).Version)
	promote(e)
	e.EndAll(append(runs, others...), store.Completed)
	e.Equal("those of the other limit that go on", len(claimRegions(e, node)), sharingKeys)
	e.Clock.Advance(5 * time.Second)
	e.Beat(node)
	wantRest(e, node)
}
