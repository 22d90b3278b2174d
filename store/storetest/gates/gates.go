package gates

import (
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

var gateTests = env.Tests{
	"LimitsHold_of_each_key_as_many_run_as_there_are_slots":        gateEach,
	"LimitsHold_jobs_that_are_claimed_ahead_count":                 gateAhead,
	"LimitsHold_over_queues_kinds_priorities_and_versions":         gateAcross,
	"LimitsHold_every_end_of_a_run_lets_the_next_one_go":           gateEnds,
	"LimitsHold_a_rescue_and_a_leave_let_the_next_one_go":          gateLost,
	"LimitsHold_a_parked_job_does_not_count_and_wakes_to_wait":     gateParked,
	"LimitsHold_a_capacity_that_falls_lets_none_run_until_few":     gateLowered,
	"NoLoss_a_capacity_that_rises_lets_those_that_wait_go":         gateRaised,
	"NoLoss_a_limit_that_is_deleted_lets_all_go":                   gateDeleted,
	"LimitsHold_a_limit_that_is_made_counts_what_runs":             gateMade,
	"a_limit_that_is_not_per_key_bounds_no_key":                    gateOther,
	"Order_is_kept_within_a_key":                                   gateOrder,
	"Order_one_that_is_new_does_not_overtake_those_that_wait":      gateOvertake,
	"NoLoss_one_that_no_node_takes_keeps_no_other_from_running":    gateUntaken,
	"what_waits_costs_claims_nothing_and_they_say_if_they_gave_up": gateMany,
	"a_claim_fills_up_with_jobs_of_other_keys":                     gateFill,
	"a_claim_keeps_to_its_demands":                                 gateDemands,
	"a_claim_that_is_repeated_returns_the_same":                    gateRepeated,
	"a_job_does_not_start_with_its_enqueue":                        gateStart,
	"a_unique_key_that_is_free_while_a_job_runs":                   gateUnique,
	"keys_of_other_namespaces_and_limits_are_others":               gateSpaces,
	"what_is_invalid_is_refused":                                   gateInvalid,
	"NoLoss_a_sweep_finds_what_waits_at_a_gate_that_is_free":       gateSweep,
}

func gateEach(e *env.Env) {
	perKey(e, 2)
	node := e.Join()
	acme, other, free := env.IDsOf(e.Many(4, by("acme"))), env.IDsOf(e.Many(1, by("other"))), env.IDsOf(e.Many(1))
	runs := e.Claim(node, 100)
	e.WantIDs("claimed", env.ClaimedIDs(runs), acme[0], acme[1], other[0], free[0])
	e.WantNothing(node)
	e.WantNothing(e.Join())
	wantRunning(e, "acme", acme[:2]...)
	wantRunning(e, "other", other...)
	e.End(runs[0], store.Completed)
	second := e.ClaimOne(node, acme[2])
	e.WantNothing(node)
	e.End(second, store.Completed)
	e.End(runs[1], store.Completed)
	e.End(e.ClaimOne(node, acme[3]), store.Completed)
	e.WantNothing(node)
	wantRunning(e, "acme")
}

func gateAhead(e *env.Env) {
	perKey(e, 3)
	first, second := e.Join(), e.Join()
	ids := env.IDsOf(e.Many(5, by("acme")))
	ahead := e.Claim(first, 2)
	e.WantIDs("claimed", env.ClaimedIDs(ahead), ids[0], ids[1])
	e.ClaimOne(second, ids[2])
	e.WantNothing(second)
	e.EndAs(store.Available, ahead[1], store.Available) // it was never started
	e.WantIDs("claimed", env.ClaimedIDs(e.Claim(second, 10)), ids[1])
}

func gateAcross(e *env.Env) {
	perKey(e, 1)
	node := e.Join()
	ids := []store.ID{
		e.Add(by("acme"), env.Priority(1)), e.Add(by("acme"), env.Queue("other"), env.Priority(2)),
		e.Add(by("acme"), env.Kind("push"), env.Priority(3)), e.Add(by("acme"), env.Version("v1"), env.Priority(4)),
	}
	for _, id := range ids {
		e.Promote()
		params := e.Demand(node, 10)
		params.Kinds = append(params.Kinds, "send@v1")
		runs := e.ClaimWith(params)
		e.WantIDs("claimed", env.ClaimedIDs(runs), id)
		e.Equal("the options", runs[0].Job.Options, store.Options{Limit: tenant, LimitKey: "acme"})
		e.End(runs[0], store.Completed)
	}
}

func gateEnds(e *env.Env) {
	perKey(e, 1)
	node := e.Join()
	for _, state := range []store.State{store.Completed, store.Failed, store.Cancelled, store.Retryable, store.Scheduled} {
		first := e.Add(by("acme"), env.Priority(1))
		second := e.Add(by("acme"))
		run := e.ClaimOne(node, first)
		e.WantNothing(node)
		e.End(run, state, func(o *store.Outcome) { o.RunAt = e.Clock.Now().Add(1000 * time.Hour) })
		e.End(e.ClaimOne(node, second), store.Completed)
	}
	first, second := e.Add(by("acme"), env.Priority(1)), e.Add(by("acme"))
	e.ClaimOne(node, first)
	e.WantNothing(node)
	e.Terminate(first)
	e.End(e.ClaimOne(node, second), store.Completed)
}

func gateLost(e *env.Env) {
	perKey(e, 1)
	first, second := e.Add(by("acme"), env.Priority(1)), e.Add(by("acme"))
	run := e.ClaimOne(e.Join(), first)
	e.WantNothing(e.Join())
	e.Lose(run)
	node := e.Join()
	// The one that was lost is repeated at once, and comes first.
	e.ClaimOne(node, first)
	e.WantNothing(node)
	e.Leave(node)
	node = e.Join()
	again := e.ClaimOne(node, first)
	e.WantNothing(node)
	e.GiveUp(again)
	e.Later(node, time.Hour)
	e.End(e.ClaimRuns(node)[first], store.Completed)
	e.End(e.ClaimOne(node, second), store.Completed)
}

func gateParked(e *env.Env) {
	perKey(e, 1)
	node := e.Join()
	first := e.Add(by("acme"), env.Priority(1))
	second := e.Add(by("acme"))
	run := e.ClaimOne(node, first)
	e.Write(&run, env.Steps(1, 1)...)
	e.WantNothing(node)
	e.Park(run, &store.Wait{Kinds: store.MessagesOf(store.MessageSignal)})
	other := e.ClaimOne(node, second)
	e.Send(first, env.Signal("go"))
	e.WantState(first, store.Available)
	e.WantNothing(node)
	e.End(other, store.Completed)
	e.End(e.ClaimOne(node, first), store.Completed)
}

func gateLowered(e *env.Env) {
	l := perKey(e, 3)
	node := e.Join()
	ids := env.IDsOf(e.Many(6, by("acme")))
	runs := e.Claim(node, 10)
	l = e.ChangeLimit(limit(1), l.Version)
	e.End(runs[0], store.Completed)
	e.WantNothing(node)
	e.End(runs[1], store.Completed)
	e.WantNothing(node)
	wantRunning(e, "acme", ids[2])
	l = e.ChangeLimit(limit(0), l.Version)
	e.End(runs[2], store.Completed)
	e.WantNothing(node)
	e.Many(1, by("other"))
	e.WantNothing(node)
	e.ChangeLimit(limit(2), l.Version)
	e.Equal("those that go on", len(e.Claim(node, 10)), 3)
	wantRunning(e, "acme", ids[3], ids[4])
}

func gateRaised(e *env.Env) {
	l := perKey(e, 1)
	node := e.Join()
	ids := env.IDsOf(e.Many(5, by("acme")))
	e.Claim(node, 10)
	l = e.ChangeLimit(limit(3), l.Version)
	e.WantIDs("claimed", env.ClaimedIDs(e.Claim(node, 10)), ids[1], ids[2])
	e.ChangeLimit(limit(100), l.Version)
	e.WantIDs("claimed", env.ClaimedIDs(e.Claim(node, 10)), ids[3], ids[4])
}

func gateDeleted(e *env.Env) {
	perKey(e, 1)
	node := e.Join()
	e.Many(30, by("acme"))
	e.Many(30, by("other"))
	e.Equal("claimed", len(e.Claim(node, 100)), 2)
	e.NoError("DeleteLimit", e.Store.DeleteLimit(e.Ctx, env.Namespace, tenant, false, ""))
	e.Equal("claimed without the limit", len(e.Claim(node, 100)), 58)
}

func gateMade(e *env.Env) {
	node := e.Join()
	ids := env.IDsOf(e.Many(3, by("acme")))
	runs := e.Claim(node, 2)
	perKey(e, 2)
	e.WantNothing(node)
	e.End(runs[0], store.Completed)
	e.ClaimOne(node, ids[2])
}

func gateOther(e *env.Env) {
	e.SaveLimit(env.Limit(tenant, 1))
	e.Many(5, by("acme"))
	e.Equal("claimed", len(e.Claim(e.Join(), 10)), 5)
}

func gateOrder(e *env.Env) {
	perKey(e, 2)
	node := e.Join()
	ids := env.IDsOf(e.Many(20, by("acme")))
	var got []store.ID
	for len(got) < len(ids) {
		runs := e.Claim(node, 7)
		if len(runs) == 0 {
			e.Fatalf("nothing is claimed after %d jobs", len(got))
		}
		for _, run := range runs {
			got = append(got, run.Job.ID)
			e.End(run, store.Completed)
		}
	}
	e.WantIDs("claimed", got, ids...)
}

func gateOvertake(e *env.Env) {
	l := perKey(e, 1)
	node := e.Join()
	ids := env.IDsOf(e.Many(3, by("acme")))
	run := e.ClaimOne(node, ids[0])
	e.WantNothing(node)
	e.Clock.Advance(time.Second)
	late := e.Add(by("acme"))
	e.ChangeLimit(limit(2), l.Version)
	// Whether or not those that wait were put into ready: the first of them is the next.
	claimed := e.ClaimWith(e.Demand(node, 1))
	if len(claimed) == 0 {
		claimed = e.Claim(node, 1)
	}
	e.WantIDs("claimed", env.ClaimedIDs(claimed), ids[1])
	e.End(run, store.Completed)
	e.End(e.ClaimOne(node, ids[2]), store.Completed)
	e.ClaimOne(node, late)
}

// gateUntaken: jobs of the key of which no node takes the first.
func gateUntaken(e *env.Env) {
	perKey(e, 1)
	node := e.Join()
	run := e.ClaimOne(node, e.Add(by("acme"), env.Priority(1)))
	e.Many(3, by("acme"), env.Queue("paused"), env.Priority(1))
	e.Many(3, by("acme"), env.Kind("push"), env.Priority(1))
	e.WantNothing(node)
	e.Pause("paused", true)
	e.End(run, store.Completed)
	sent := e.Add(by("acme"))
	var claimed []store.Claimed
	for range 20 {
		if claimed = e.ClaimKinds(node, "send"); len(claimed) > 0 {
			break
		}
		e.Clock.Advance(10 * time.Second)
		e.Beat(node)
	}
	e.WantIDs("claimed", env.ClaimedIDs(claimed), sent)
	e.End(claimed[0], store.Completed)
	e.Pause("paused", false)
	seen := 0
	for range 6 {
		for _, run := range e.Claim(node, 10) {
			e.End(run, store.Completed)
			seen++
		}
	}
	e.Equal("the others", seen, 6)
}

func gateMany(e *env.Env) {
	perKey(e, 1)
	node := e.Join()
	for range 3 {
		e.Many(1000, by("acme"))
	}
	e.Clock.Advance(time.Second)
	late := e.Add()
	e.Promote()
	var passed store.Passed
	params := e.Demand(node, 10)
	params.Passed = &passed
	claimed := e.ClaimWith(params)
	isModel := e.Store.Traits().Name == "model" // which looks at all jobs each time
	if len(claimed) < 2 && !passed.More || passed.Jobs < 999 && !isModel {
		e.Fatalf("a claim that has passed over what is to wait returns %v, and says %+v", env.ClaimedIDs(claimed), passed)
	}
	for range 3 {
		claimed = append(claimed, e.Claim(node, 10)...)
	}
	if len(claimed) != 2 || claimed[1].Job.ID != late {
		e.Fatalf("%d jobs were claimed", len(claimed))
	}
	if q := e.Queue("mail"); q.Counts[store.Available].N != store.CountBound && q.Counts[store.Available].N != 2999 {
		e.Fatalf("the queue has %+v", q.Counts)
	}
}

func gateFill(e *env.Env) {
	perKey(e, 1)
	node := e.Join()
	e.Many(50, by("acme"))
	var want []store.ID
	for i := range 8 {
		want = append(want, e.Add(by(strconv.Itoa(i))))
	}
	got := env.ClaimedIDs(e.Claim(node, 9))
	e.WantIDs("claimed", got[1:], want...)
}

func gateDemands(e *env.Env) {
	perKey(e, 2)
	node := e.Join()
	e.Many(10, by("acme"), env.Queue("a"))
	e.Many(3, by("acme"), env.Queue("b"))
	e.Many(5, by("other"), env.Queue("b"))
	e.Many(5, env.Queue("b"))
	params := e.Demand(node, 10)
	params.Queues = []store.QueueDemand{{Name: "a", Limit: 1}, {Name: "b", Limit: 5}}
	counts := map[string]int{}
	for _, run := range e.ClaimWith(params) {
		counts[run.Job.Queue+" "+run.Job.Options.LimitKey]++
	}
	e.Equal("claimed", counts, map[string]int{"a acme": 1, "b acme": 1, "b other": 2, "b ": 2})
}

func gateRepeated(e *env.Env) {
	perKey(e, 2)
	node := e.Join()
	ids := env.IDsOf(e.Many(70, by("acme")))
	plain := e.Add()
	params := e.Demand(node, 100)
	first := e.ClaimWith(params)
	e.WantIDs("claimed", env.ClaimedIDs(first), ids[0], ids[1], plain)
	params.Repeat = true
	e.Equal("the same again", env.LeasesOf(e.ClaimWith(params)), env.LeasesOf(first))
	e.End(first[0], store.Completed)
	again := e.Demand(node, 100)
	again.Repeat = true // it never arrived
	e.Promote()
	e.WantIDs("claimed", env.ClaimedIDs(e.ClaimWith(again)), ids[2])
}

func gateStart(e *env.Env) {
	perKey(e, 1)
	node := e.Join()
	batch := &store.Batch{Enqueues: []*store.Enqueue{e.Job(by("acme")), e.Job(by("acme"))}}
	for _, q := range batch.Enqueues {
		q.Start = true
	}
	batch.Start = &store.Start{Node: node, Seq: e.Demand(node, 10).Seq}
	e.Apply(batch)
	e.Equal("started", len(batch.Start.Claimed), 0)
	e.ClaimOne(node, batch.Enqueues[0].Job.ID)
	e.WantNothing(node)
}

// gateUnique: a job that waits at its gate holds the key, as it has not run.
func gateUnique(e *env.Env) {
	perKey(e, 1)
	node := e.Join()
	unique := env.Unique("k", store.Scheduled, store.Available)
	run := e.ClaimOne(node, e.Add(by("acme")))
	waits := e.Add(by("acme"), unique)
	e.WantNothing(node)
	q := e.Try(by("acme"), unique, env.OnConflict(store.Replace), env.Args(`{"to":"bob"}`))
	if q.Err != nil || !q.Result.Replaced || q.Result.ID != waits {
		e.Fatalf("the enqueue with its key: %+v, %v", q.Result, q.Err)
	}
	e.WantNothing(node)
	e.End(run, store.Completed)
	run = e.ClaimOne(node, waits)
	e.Equal("its args", string(run.Job.Args), `{"to":"bob"}`)
	if q := e.Try(by("acme"), unique); q.Result.Existing || q.Err != nil {
		e.Fatalf("the key of a job that runs is held: %+v, %v", q.Result, q.Err)
	}
}

func gateSpaces(e *env.Env) {
	perKey(e, 1)
	e.SaveLimit(env.Limit("other", 1, func(l *store.Limit) { l.PerKey = true }))
	e.SaveLimit(env.Limit(tenant, 1, func(l *store.Limit) { l.PerKey, l.Namespace = true, env.OtherSpace }))
	node := e.Join()
	there := e.InOtherSpace()
	e.Many(2, by("acme"))
	e.Many(2, env.LimitKey("other", "acme"))
	there.Many(2, by("acme"))
	e.Equal("claimed", len(e.Claim(node, 10)), 2)
	e.Equal("claimed there", len(there.Claim(node, 10)), 1)
	wantRunning(e, "acme", e.ListIDs(store.Filter{Namespace: env.Namespace, States: []store.State{store.Running}})[1])
}

func gateInvalid(e *env.Env) {
	for name, change := range map[string]func(*store.Enqueue){
		"no key": by(""), "no limit": env.LimitKey("", "acme"), "a name with @": env.LimitKey("a@b", "acme"),
		"a long key": by(strings.Repeat("k", store.MaxLimitKey+1)), "a key that is no text": by("a\x00"),
		"a kind that looks like a lane": env.Kind("send\x1ftenant"),
	} {
		if q := e.Try(change); !errors.Is(q.Err, store.ErrInvalid) {
			e.Errorf("%s: %v", name, q.Err)
		}
	}
	for name, change := range map[string]func(*store.Limit){
		"queues": func(l *store.Limit) { l.Queues = []string{"mail"} },
		"kinds":  func(l *store.Limit) { l.Kinds = map[string]int{"send": 1} },
		"a name": func(l *store.Limit) { l.Name = "a@b" },
	} {
		l := limit(1)
		change(&l)
		if _, err := e.Store.SaveLimit(e.Ctx, l, 0, ""); !errors.Is(err, store.ErrInvalid) {
			e.Errorf("a limit per key with %s: %v", name, err)
		}
	}
}

// gateSweep: what a store puts behind a gate just as that becomes free, or has to leave there, a
// later promotion finds.
func gateSweep(e *env.Env) {
	perKey(e, 1)
	node := e.Join()
	e.Many(2500, by("acme"))
	e.Claim(node, 10)
	e.Claim(node, 10)
	e.NoError("DeleteLimit", e.Store.DeleteLimit(e.Ctx, env.Namespace, tenant, false, ""))
	claimed := 1
	for range 10 {
		e.Clock.Advance(10 * time.Second)
		e.Beat(node)
		for range 3 {
			claimed += len(e.Claim(node, 1000))
		}
	}
	e.Equal("all", claimed, 2500)
}
