package fair

import (
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

var placeTests = env.Tests{
	"the_key_is_read_back_and_the_shard_is_not":            placeRead,
	"Order_a_job_that_is_moved_keeps_its_key":              placeMoved,
	"Order_a_job_that_comes_back_keeps_its_key":            placeBack,
	"Order_a_job_that_is_bound_to_a_version_keeps_its_key": placeBound,
	"Order_a_job_that_waits_for_a_time_takes_turns_then":   placeLater,
	"LimitsHold_with_a_limit_per_key_both_hold":            placeGated,
	"LimitsHold_a_heavy_key_leaves_its_shard_to_others":    placeTamed,
	"what_no_node_serves_is_told_without_the_shard":        placeUnserved,
	"a_queue_that_is_paused_is_passed_over":                placePaused,
	"keys_of_other_namespaces_are_others":                  placeSpaces,
	"what_is_before_a_job_of_its_key_is_told":              placeAhead,
}

func placeRead(e *env.Env) {
	id := e.Add(env.FairKey("acme"), env.Kind("push"), env.Version("v1"))
	e.Add(env.FairKey("other"), env.Kind("push"))
	r := e.Get(id)
	e.Equal("the kind, the version and the key", [...]string{r.Kind, r.Version, r.Options.FairKey}, [...]string{"push", "v1", "acme"})
	e.Equal("of its kind", len(e.ListIDs(store.Filter{Kinds: []string{"push"}})), 2)
	e.Equal("counted", e.Count(store.Filter{Kinds: []string{"push"}}), 2)
	e.Equal("the queue", e.Queue("mail").Counts, map[store.State]store.Count{store.Available: {N: 2}})
	runs := e.ClaimKinds(e.Join(), "push@v1")
	e.WantIDs("claimed", env.ClaimedIDs(runs), id)
	e.Equal("its kind", runs[0].Job.Kind, "push")
	e.Equal("its options", runs[0].Job.Options, store.Options{FairKey: "acme"})
}

func placeMoved(e *env.Env) {
	node, of := e.Join(), keys(2)
	ids := env.IDsOf(e.Many(3, env.FairKey(of[0])))
	e.Many(50, env.FairKey(of[1]), env.Queue("other"), env.Priority(1))
	e.Clock.Advance(time.Minute)
	queue, priority := "other", 1
	for _, id := range ids {
		e.Edit(id, store.Edit{Queue: &queue, Priority: &priority, RunAt: new(e.Clock.Now())}, store.Available)
		e.Equal("the key", e.Get(id).Options.FairKey, of[0])
	}
	params := e.Demand(node, 6)
	e.Equal("claimed", count(e.ClaimWith(params)), map[string]int{of[0]: 3, of[1]: 3})
}

func placeBack(e *env.Env) {
	node, of := e.Join(), keys(2)
	e.Many(3, env.FairKey(of[0]))
	runs := e.Claim(node, 3)
	e.Many(50, env.FairKey(of[1]))
	e.EndAs(store.Available, runs[0], store.Available) // it was never started
	e.End(runs[1], store.Failed)
	e.Retry(runs[1].Job.ID)
	e.GiveUp(runs[2])
	back := []string{runs[0].Job.ID.String(), runs[1].Job.ID.String(), runs[2].Job.ID.String()}
	for _, run := range e.Claim(e.Join(), 6) {
		for i, id := range back {
			if run.Job.ID.String() == id {
				back[i] = ""
			}
		}
	}
	e.Equal("those that were not claimed", back, []string{"", "", ""})
}

func placeBound(e *env.Env) {
	node, of := e.Join(), keys(2)
	run := e.Durable(node, env.FairKey(of[0]))
	e.Many(50, env.FairKey(of[1]))
	e.EndAs(store.Available, run, store.Available, func(o *store.Outcome) { o.Version = "v2" })
	e.Clock.Advance(time.Minute)
	id := e.Add(env.FairKey(of[0]))
	params := e.Demand(node, 4)
	params.Kinds = append(params.Kinds, "send@v2")
	runs := e.ClaimWith(params)
	e.Equal("claimed", count(runs), map[string]int{of[0]: 2, of[1]: 2})
	found := map[store.ID]bool{}
	for i := range runs {
		found[runs[i].Job.ID] = true
	}
	e.Equal("both of the key", found[id] && found[run.Job.ID], true)
}

func placeLater(e *env.Env) {
	node, of := e.Join(), keys(2)
	e.Many(50, env.FairKey(of[0]))
	e.Many(3, env.FairKey(of[1]), env.Delay(time.Hour))
	e.Equal("claimed", count(e.Claim(node, 10)), map[string]int{of[0]: 10})
	e.Clock.Advance(2 * time.Hour)
	e.Equal("claimed", count(e.Claim(node, 10)), map[string]int{of[0]: 7, of[1]: 3})
}

func placeGated(e *env.Env) {
	e.SaveLimit(env.Limit("tenant", 2, func(l *store.Limit) { l.PerKey = true }))
	node, of := e.Join(), keys(3)
	for _, key := range of[:2] {
		e.Many(30, env.FairKey(key), env.LimitKey("tenant", key))
	}
	e.Clock.Advance(time.Minute)
	e.Many(5, env.FairKey(of[2])) // in no limit
	runs := e.Claim(node, 20)
	e.Equal("claimed", count(runs), map[string]int{of[0]: 2, of[1]: 2, of[2]: 5})
	e.WantNothing(node)
	for _, key := range of[:2] {
		running, err := e.Store.RunningOf(e.Ctx, env.Namespace, "tenant", key, 0)
		e.NoError("RunningOf", err)
		e.Equal("running of "+key, len(running), 2)
	}
	for _, run := range runs {
		e.End(run, store.Completed)
	}
	e.Equal("claimed", count(e.Claim(node, 20)), map[string]int{of[0]: 2, of[1]: 2})
	o := e.Get(e.ListIDs(store.Filter{States: []store.State{store.Available}})[0]).Options
	e.Equal("the options of one that waits", o, store.Options{FairKey: o.LimitKey, Limit: "tenant", LimitKey: o.FairKey})
}

// placeTamed: who shares a shard with a heavy key has a limit per key to help.
func placeTamed(e *env.Env) {
	e.SaveLimit(env.Limit("tenant", 1, func(l *store.Limit) { l.PerKey = true }))
	node := e.Join()
	e.Many(100, env.FairKey("acme"), env.LimitKey("tenant", "acme"))
	e.Clock.Advance(time.Minute)
	id := e.Add(env.FairKey("acme"), env.LimitKey("tenant", "other")) // the same shard in any case
	runs := e.Claim(node, 4)
	e.Equal("claimed", len(runs), 2)
	e.WantIDs("the second", env.ClaimedIDs(runs[1:]), id)
}

func placeUnserved(e *env.Env) {
	e.Add(env.FairKey("acme"), env.Kind("nobody"))
	found, err := e.Store.Unserved(e.Ctx, 10)
	e.NoError("Unserved", err)
	if len(found) != 1 || found[0].Kind != "nobody" || found[0].Queue != "mail" {
		e.Errorf("unserved: %+v", found)
	}
}

func placePaused(e *env.Env) {
	node, of := e.Join(), keys(2)
	e.Many(5, env.FairKey(of[0]))
	e.Many(5, env.FairKey(of[1]), env.Queue("other"))
	e.Pause("mail", true)
	e.Equal("claimed", count(e.Claim(node, 20)), map[string]int{of[1]: 5})
	e.Pause("mail", false)
	e.Equal("claimed", count(e.Claim(node, 20)), map[string]int{of[0]: 5})
}

func placeSpaces(e *env.Env) {
	there, node := e.InOtherSpace(), e.Join()
	e.Many(2, env.FairKey("acme"))
	there.Many(3, env.FairKey("acme"))
	e.Equal("claimed", len(e.Claim(node, 10)), 2)
	e.Equal("claimed there", len(there.Claim(node, 10)), 3)
}

func placeAhead(e *env.Env) {
	of := keys(2)
	want := func(id store.ID, n int) {
		e.Helper()
		o, err := e.Store.Obstacles(e.Ctx, env.Namespace, id)
		e.NoError("Obstacles", err)
		e.Equal("ahead", o, store.Obstacles{FairAhead: n})
	}
	ids := env.IDsOf(e.Many(5, env.FairKey(of[0])))
	other := e.Add(env.FairKey(of[1]))
	plain := e.Many(2)
	later := e.Add(env.FairKey(of[0]), env.Delay(time.Hour))
	e.Many(store.MostFairAhead, env.FairKey(of[1]))
	last := e.Add(env.FairKey(of[1]))
	want(ids[0], 0)
	want(ids[4], 4)
	want(other, 0)
	want(plain[1].Job.ID, 0)
	want(later, 0)
	want(last, store.MostFairAhead)
	e.Claim(e.Join(), 2)
	want(ids[0], 0) // it runs
	want(ids[4], 3)
}
