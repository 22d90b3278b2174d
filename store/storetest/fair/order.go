package fair

import (
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

var orderTests = env.Tests{
	"Order_no_plain_job_waits_for_a_fair_one_that_is_newer":     orderPlain,
	"Order_plain_jobs_do_not_starve_beside_many_fair_ones":      orderShare,
	"Order_fair_jobs_do_not_starve_beside_many_plain_ones":      orderFair,
	"Order_the_more_urgent_come_first":                          orderPriority,
	"Order_waiting_makes_jobs_more_urgent":                      orderAging,
	"Order_waiting_does_not_take_the_turn_from_other_keys":      orderAged,
	"Order_queues_are_in_the_order_of_time":                     orderQueues,
	"Order_a_lone_key_is_in_the_order_of_time_among_all_others": orderLone,
}

func orderPlain(e *env.Env) {
	node, of := e.Join(), keys(2)
	plain := env.IDsOf(e.Many(5, env.Queue("other")))
	e.Clock.Advance(time.Second)
	for _, key := range of {
		e.Many(100, env.FairKey(key))
	}
	for _, id := range plain[:2] {
		e.ClaimOne(node, id)
	}
	runs := e.Claim(node, 7)
	e.WantIDs("the first", env.ClaimedIDs(runs[:3]), plain[2:]...)
	e.Equal("the others", count(runs[3:]), map[string]int{of[0]: 2, of[1]: 2})
}

// orderShare: they are older than the jobs of one key, and newer than those of the other, of which
// there are always more.
func orderShare(e *env.Env) {
	node, of := e.Join(), keys(2)
	e.Many(1000, env.FairKey(of[0]))
	e.Clock.Advance(time.Minute)
	plain := map[store.ID]bool{}
	for _, id := range env.IDsOf(e.Many(20, env.Queue("other"))) {
		plain[id] = true
	}
	e.Clock.Advance(time.Minute)
	e.Many(1000, env.FairKey(of[1]))
	for _, limit := range []int{1, 10} {
		taken := 0
		for _, run := range claims(e, node, 22/limit, limit) {
			if plain[run.Job.ID] {
				taken++
			}
		}
		if taken < 8 || taken > 14 {
			e.Errorf("by claims of %d %d of 20 plain jobs were taken, which is not about a half", limit, taken)
		}
	}
}

func orderFair(e *env.Env) {
	node, of := e.Join(), keys(3)
	for _, key := range of {
		e.Many(30, env.FairKey(key))
		e.Clock.Advance(time.Minute)
	}
	e.Many(500, env.Queue("other"))
	e.Equal("the older ones come first", count(e.Claim(node, 100)), map[string]int{of[0]: 30, of[1]: 30, of[2]: 30, "": 10})
	old := e.Add(env.FairKey(of[0]), env.RunAt(e.Clock.Now().Add(-time.Hour)))
	e.Many(500, env.FairKey(of[1]))
	for range 8 { // it has one half of the turns of its queue
		for _, run := range e.Claim(node, 1) {
			if run.Job.ID == old {
				return
			}
		}
	}
	e.Error("a job that is older than all others is not claimed")
}

func orderPriority(e *env.Env) {
	node, of := e.Join(), keys(2)
	e.Many(20, env.FairKey(of[0]))
	e.Many(3, env.FairKey(of[0]), env.Priority(1))
	e.Clock.Advance(time.Second)
	e.Many(20, env.FairKey(of[1]))
	e.Many(2, env.FairKey(of[1]), env.Priority(1))
	urgent := e.Claim(node, 5)
	for i := range urgent {
		e.Equal("the priority", urgent[i].Job.Priority, 1)
	}
	e.Equal("claimed", count(urgent), map[string]int{of[0]: 3, of[1]: 2})
	e.Equal("claimed", count(e.Claim(node, 10)), map[string]int{of[0]: 5, of[1]: 5})
}

func orderAging(e *env.Env) {
	node, of := e.Join(), keys(2)
	old := e.Add(env.FairKey(of[0]), env.Priority(3))
	e.Clock.Advance(time.Hour)
	e.Many(10, env.FairKey(of[1]), env.Priority(2))
	e.Many(10)
	params := e.Demand(node, 1)
	params.Aging = time.Minute
	e.WantIDs("claimed", env.ClaimedIDs(e.ClaimWith(params)), old)
}

func orderAged(e *env.Env) {
	node, of := e.Join(), keys(2)
	e.Many(100, env.FairKey(of[0]))
	e.Clock.Advance(time.Hour)
	e.Many(3, env.FairKey(of[1]))
	params := e.Demand(node, 6)
	params.Aging = time.Minute
	e.Equal("claimed", count(e.ClaimWith(params)), map[string]int{of[0]: 3, of[1]: 3})
}

func orderQueues(e *env.Env) {
	node, of := e.Join(), keys(2)
	for _, key := range of {
		e.Many(5, env.FairKey(key))
	}
	e.Clock.Advance(time.Second)
	for _, key := range of {
		e.Many(5, env.FairKey(key), env.Queue("other"))
	}
	for i, run := range e.Claim(node, 20) {
		want := "mail"
		if i >= 10 {
			want = "other"
		}
		e.Equal("the queue", run.Job.Queue, want)
	}
}

func orderLone(e *env.Env) {
	node := e.Join()
	var ids []store.ID
	for range 10 {
		ids = append(ids, e.Add(env.FairKey("acme")))
		e.Clock.Advance(time.Second)
		ids = append(ids, e.Add(env.Queue("other")))
		e.Clock.Advance(time.Second)
	}
	e.WantIDs("claimed", env.ClaimedIDs(e.Claim(node, 7)), ids[:7]...)
	e.ClaimOne(node, ids[7])
	e.WantIDs("claimed", env.ClaimedIDs(e.Claim(node, 20)), ids[8:]...)
}
