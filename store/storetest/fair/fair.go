package fair

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

var fairTests = env.Tests{
	"Order_a_key_with_many_jobs_does_not_delay_one_with_three": fairHeavy,
	"Order_keys_take_turns_and_each_is_in_the_order_of_time":   fairTurns,
	"Order_claims_of_one_come_to_all_keys_alike":               fairAlike,
	"Order_a_key_has_one_turn_for_all_kinds_and_versions":      fairKinds,
	"Order_keys_that_share_a_shard_are_in_one_line":            fairShared,
	"Order_a_demand_of_few_takes_turns_too":                    fairDemand,
	"a_claim_takes_all_there_is_however_the_keys_have_it":      fairUneven,
	"a_claim_that_is_repeated_returns_the_same":                fairRepeated,
	"a_job_does_not_start_with_its_enqueue":                    fairStart,
	"what_is_invalid_is_refused":                               fairInvalid,
}

// keys returns n keys of which each has a shard of its own, in the order of these.
func keys(n int) []string {
	byShard := map[int]string{}
	var shards []int
	for i := 0; len(shards) < n; i++ {
		key := "tenant-" + strconv.Itoa(i)
		if shard := store.FairShard(key); byShard[shard] == "" {
			byShard[shard] = key
			shards = append(shards, shard)
		}
	}
	slices.Sort(shards)
	var list []string
	for _, shard := range shards {
		list = append(list, byShard[shard])
	}
	return list
}

// count is how many of the runs are of each key.
func count(runs []store.Claimed) map[string]int {
	counts := map[string]int{}
	for i := range runs {
		counts[runs[i].Job.Options.FairKey]++
	}
	return counts
}

// claims takes jobs n times, up to limit each, and returns all of them.
func claims(e *env.Env, node int64, n, limit int) (runs []store.Claimed) {
	e.Helper()
	for range n {
		runs = append(runs, e.Claim(node, limit)...)
	}
	return runs
}

func fairHeavy(e *env.Env) {
	node, of := e.Join(), keys(2)
	for range 10 {
		e.Many(1000, env.FairKey(of[0]))
	}
	for _, c := range []struct{ limit, claims int }{{1, 8}, {10, 1}, {500, 1}, {7, 1}} {
		e.Clock.Advance(time.Hour)
		want := env.IDsOf(e.Many(3, env.FairKey(of[1])))
		runs := claims(e, node, c.claims, c.limit)
		if len(runs) != c.claims*c.limit {
			e.Fatalf("%d claims of %d took %d", c.claims, c.limit, len(runs))
		}
		runs = slices.DeleteFunc(runs, func(run store.Claimed) bool { return run.Job.Options.FairKey == of[0] })
		e.WantIDs("claimed by "+strconv.Itoa(c.limit)+" of the key with few", env.ClaimedIDs(runs), want...)
	}
}

func fairTurns(e *env.Env) {
	node, of := e.Join(), keys(3)
	var ids [3][]store.ID
	for k, n := range []int{5, 2, 1} {
		for range n {
			e.Clock.Advance(time.Second)
			ids[k] = append(ids[k], e.Add(env.FairKey(of[k])))
		}
	}
	params := e.Demand(node, 10)
	first := int(params.Turn() * 3 >> 32)
	var want []store.ID
	for place := range 5 {
		for i := range 3 {
			if line := ids[(first+i)%3]; place < len(line) {
				want = append(want, line[place])
			}
		}
	}
	runs := e.ClaimWith(params)
	e.WantIDs("claimed", env.ClaimedIDs(runs), want...)
	for i, run := range runs {
		e.Equal("the slot", run.Lease.Slot, i)
	}
	e.WantNothing(node)
}

func fairAlike(e *env.Env) {
	node, of := e.Join(), keys(5)
	for k, key := range of {
		e.Many(100*(k+1), env.FairKey(key))
		e.Clock.Advance(time.Minute)
	}
	for key, n := range count(claims(e, node, 100, 1)) {
		if n < 15 || n > 25 {
			e.Errorf("of 100 claims of one %d took of %s, which is one of five keys", n, key)
		}
	}
	// As a node does whose claims ask for many and get one: their numbers grow in other steps.
	counts := map[string]int{}
	for range 100 {
		params := e.Demand(node, 540)
		params.Queues = []store.QueueDemand{{Name: "mail", Limit: 1}}
		for key, n := range count(e.ClaimWith(params)) {
			counts[key] += n
		}
	}
	for _, key := range of {
		if n := counts[key]; n < 15 || n > 25 {
			e.Errorf("of 100 claims of few %d took of %s, which is one of five keys", n, key)
		}
	}
}

func fairKinds(e *env.Env) {
	node, of := e.Join(), keys(2)
	e.Many(50, env.FairKey(of[0]))
	e.Many(50, env.FairKey(of[0]), env.Kind("push"))
	e.Many(50, env.FairKey(of[0]), env.Version("v1"))
	e.Clock.Advance(time.Minute)
	e.Many(3, env.FairKey(of[1]), env.Kind("bill"))
	e.Clock.Advance(time.Minute)
	e.Many(3, env.FairKey(of[1]))
	params := e.Demand(node, 12)
	params.Kinds = append(params.Kinds, "send@v1")
	e.Equal("claimed", count(e.ClaimWith(params)), map[string]int{of[0]: 6, of[1]: 6})
}

func fairShared(e *env.Env) {
	node, first := e.Join(), keys(1)[0]
	second := "x"
	for i := 0; store.FairShard(second) != store.FairShard(first); i++ {
		second = "other-" + strconv.Itoa(i)
	}
	ids := env.IDsOf(e.Many(3, env.FairKey(first)))
	e.Clock.Advance(time.Second)
	ids = append(ids, e.Add(env.FairKey(second)))
	e.Clock.Advance(time.Second)
	ids = append(ids, e.Add(env.FairKey(first)))
	e.WantIDs("claimed", env.ClaimedIDs(e.Claim(node, 10)), ids...)
}

// fairDemand: the queue is at its limit but for one, and a claim takes many others.
func fairDemand(e *env.Env) {
	node, of := e.Join(), keys(2)
	e.Many(500, env.Queue("other"))
	e.Many(100, env.FairKey(of[0]))
	e.Clock.Advance(time.Minute)
	e.Many(3, env.FairKey(of[1]))
	counts := map[string]int{}
	for range 8 {
		params := e.Demand(node, 60)
		params.Queues = []store.QueueDemand{{Name: "mail", Limit: 1}, {Name: "other", Limit: 50}}
		for key, n := range count(e.ClaimWith(params)) {
			counts[key] += n
		}
	}
	e.Equal("claimed", counts, map[string]int{"": 400, of[0]: 5, of[1]: 3})
}

// fairUneven: it reads a few of each first, and more of those that have them.
func fairUneven(e *env.Env) {
	node, of := e.Join(), keys(40)
	for k, key := range of {
		e.Many(1+k%3*7, env.FairKey(key))
	}
	e.Many(300, env.FairKey(of[7]))
	e.Many(200, env.FairKey(of[7]), env.Kind("push"))
	total := 500 + 14*1 + 13*8 + 13*15
	runs := e.Claim(node, total-1)
	e.Equal("claimed", len(runs), total-1)
	last := e.Claim(node, 10)
	e.Equal("the last one", count(last), map[string]int{of[7]: 1})
	var seen []store.ID
	for _, run := range append(runs, last...) {
		seen = append(seen, run.Job.ID)
	}
	slices.SortFunc(seen, env.CompareIDs)
	e.Equal("each once", len(slices.Compact(seen)), total)
}

func fairRepeated(e *env.Env) {
	node, of := e.Join(), keys(3)
	for _, key := range of {
		e.Many(40, env.FairKey(key))
	}
	params := e.Demand(node, 100)
	first := e.ClaimWith(params)
	e.Equal("claimed", len(first), 100)
	params.Repeat = true
	e.Equal("the same again", env.LeasesOf(e.ClaimWith(params)), env.LeasesOf(first))
	again := e.Demand(node, 100)
	again.Repeat = true // it never arrived
	e.Equal("claimed", len(e.ClaimWith(again)), 20)
}

func fairStart(e *env.Env) {
	node := e.Join()
	batch := &store.Batch{Enqueues: []*store.Enqueue{e.Job(env.FairKey("acme")), e.Job()}}
	for _, q := range batch.Enqueues {
		q.Start = true
	}
	batch.Start = &store.Start{Node: node, Seq: e.Demand(node, 10).Seq}
	e.Apply(batch)
	for i := range batch.Start.Claimed {
		e.Equal("a job that starts", batch.Start.Claimed[i].Job.Options.FairKey, "")
	}
	e.WantState(batch.Enqueues[0].Job.ID, store.Available)
}

func fairInvalid(e *env.Env) {
	for name, key := range map[string]string{"long": strings.Repeat("k", store.MaxFairKey+1), "no text": "a\x00"} {
		if q := e.Try(env.FairKey(key)); !errors.Is(q.Err, store.ErrInvalid) {
			e.Errorf("a fair key that is %s: %v", name, q.Err)
		}
	}
	e.Add(env.FairKey(strings.Repeat("k", store.MaxFairKey)))
	e.Add(env.FairKey("a\x1fb@c"))
}
