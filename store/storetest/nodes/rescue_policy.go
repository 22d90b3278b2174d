package nodes

import (
	"fmt"
	"slices"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

// The node's promise decides what becomes of a lost job, because the rescuer may not know its kind.
var rescuePolicyTests = env.Tests{
	"the_policy_of_the_node_that_ran_a_job_decides":       policyOfNode,
	"the_policy_of_a_kind_holds_for_all_its_versions":     policyOfVersions,
	"a_kind_without_a_policy_has_the_defaults":            policyDefaults,
	"what_an_enqueue_says_goes_before_the_policy":         policyOfJob,
	"the_waits_of_a_policy_are_kept_to_the_microsecond":   policyWaits,
	"AtMostOnce_one_attempt_is_one_even_if_its_node_dies": policyOnce,
}

// losses lets the node of each run of a job die, and returns the waits before the next ones. It
// must end as a crash loop, after at most 100 of them. The nodes claim the kinds given, or the
// usual ones.
func losses(e *env.Env, id store.ID, policies map[string]store.Policy, kinds ...string) []time.Duration {
	e.Helper()
	var waits []time.Duration
	for i := range 100 {
		e.Promote()
		params := e.Demand(e.JoinWith(policies), 1)
		if len(kinds) > 0 {
			params.Kinds = kinds
		}
		claimed := e.ClaimWith(params)
		e.WantIDs("claimed", env.ClaimedIDs(claimed), id)
		if attempt := claimed[0].Job.Attempt; attempt != i+1 {
			e.Fatalf("run %d is attempt %d", i+1, attempt)
		}
		rescued := e.Lose(claimed[0])
		if rescued.State == store.Failed {
			if record := e.Get(id); record.Reason != store.ReasonCrashLoop || rescued.Reason != store.ReasonCrashLoop {
				e.Fatalf("rescued: %+v, the record: %+v", rescued, record)
			}
			return waits
		}
		record := e.Get(id)
		if rescued.State != store.Retryable || record.State != store.Retryable || !record.RunAt.Equal(rescued.RunAt) {
			e.Fatalf("rescued: %+v, the record: %+v", rescued, record)
		}
		waits = append(waits, rescued.RunAt.Sub(e.Clock.Now()))
		e.Clock.Set(rescued.RunAt)
	}
	e.Fatal("it is repeated for ever")
	return nil
}

func policyOfNode(e *env.Env) {
	once, slow := store.Policy{MaxAttempts: 2}, store.Policy{Delays: []time.Duration{time.Hour}}
	quick := store.Policy{Delays: []time.Duration{time.Second}}
	a := e.JoinWith(map[string]store.Policy{"send": quick, "push": slow})
	b := e.JoinWith(map[string]store.Policy{"send": slow, "push": once})
	leader := e.JoinWith(map[string]store.Policy{"send": once, "push": quick})
	run := func(node int64, name string) store.Claimed {
		e.Helper()
		id := e.Add(env.Kind(name), env.Queue(name), env.Attempts(0))
		first := e.ClaimOne(node, id)
		e.End(first, store.Retryable, func(o *store.Outcome) { o.Delay = time.Microsecond })
		e.Clock.Advance(time.Microsecond)
		return e.ClaimOne(node, id)
	}
	want := map[store.ID]store.RescuedJob{}
	expect := func(run store.Claimed, wait time.Duration) {
		w := store.RescuedJob{
			Job: run.Job.ID, Namespace: env.Namespace, Kind: run.Job.Kind, Node: run.Lease.Node, State: store.Failed,
			Reason: store.ReasonCrashLoop, Queue: run.Job.Queue,
		}
		if wait > 0 {
			w.State, w.Reason, w.RunAt = store.Retryable, store.ReasonNodeLost, e.Clock.Now().Add(wait)
		}
		want[run.Job.ID] = w
	}
	sendA, pushA, sendB, pushB := run(a, "send"), run(a, "push"), run(b, "send"), run(b, "push")
	expect(sendA, time.Second)
	expect(pushA, time.Hour)
	expect(sendB, time.Hour)
	expect(pushB, 0)
	rescued := e.RescueWith(store.RescueParams{Dead: []store.NodeBeat{e.LastBeat(a), e.LastBeat(b)}})
	if len(rescued) != len(want) {
		e.Fatalf("rescued: %+v", rescued)
	}
	for _, r := range rescued {
		if r.State == store.Failed {
			r.RunAt = time.Time{}
		}
		e.Equal("rescued", r, want[r.Job])
		e.WantState(r.Job, r.State)
	}
	e.Beat(leader)
}

func policyOfVersions(e *env.Env) {
	policies := map[string]store.Policy{
		"send":    {MaxAttempts: 3, Delays: []time.Duration{time.Minute}},
		"send@v1": {MaxAttempts: 9, Delays: []time.Duration{time.Hour}},
	}
	id := e.Add(env.Attempts(0), env.Version("v1"))
	e.Equal("waits", losses(e, id, policies, "send@v1"), []time.Duration{0, time.Minute})
}

// policyDefaults: the node has no policies, or policies of other kinds, or an empty policy.
func policyDefaults(e *env.Env) {
	for i, policies := range []map[string]store.Policy{
		nil, {"push": {MaxAttempts: 1, Delays: []time.Duration{time.Nanosecond}}}, {"send": {}},
	} {
		waits := losses(e, e.Add(env.Attempts(0), env.Queue(fmt.Sprint("q", i))), policies)
		if len(waits) != store.DefaultMaxAttempts-1 {
			e.Fatalf("%d attempts were repeated, want %d", len(waits), store.DefaultMaxAttempts-1)
		}
		for n, wait := range waits {
			least := time.Duration(0)
			if n > 0 {
				least = min(time.Second<<min(n-1, 20), time.Hour)
			}
			if most := least + least/4; wait < least || wait > most {
				e.Fatalf("the wait after attempt %d is %v, want %v to %v", n+1, wait, least, most)
			}
		}
	}
}

func policyOfJob(e *env.Env) {
	policies := map[string]store.Policy{"send": {
		MaxAttempts: 2, Delays: []time.Duration{time.Hour}, Backoff: store.Backoff{Base: time.Hour},
	}}
	id := e.Add(env.Attempts(5), func(q *store.Enqueue) {
		q.Job.Options.Backoff = store.Backoff{Base: 3 * time.Second, Cap: 9 * time.Second}
	})
	e.Equal("waits", losses(e, id, policies), []time.Duration{0, 3 * time.Second, 6 * time.Second, 9 * time.Second})
	// This enqueue says only how many attempts there are.
	id = e.Add(env.Attempts(3))
	e.Equal("waits", losses(e, id, policies), []time.Duration{0, time.Hour})
}

func policyWaits(e *env.Env) {
	for i, c := range []struct {
		policy store.Policy
		want   []time.Duration
	}{
		{
			store.Policy{MaxAttempts: 6, Delays: []time.Duration{time.Second, 0, 1500*time.Nanosecond + time.Hour}},
			[]time.Duration{0, time.Second, 0, time.Hour + time.Microsecond, time.Hour + time.Microsecond},
		},
		{store.Policy{MaxAttempts: 3, Delays: []time.Duration{-time.Second}}, []time.Duration{0, 0}},
		{
			store.Policy{MaxAttempts: 6, Backoff: store.Backoff{Base: time.Second, Cap: 5 * time.Second}},
			[]time.Duration{0, time.Second, 2 * time.Second, 4 * time.Second, 5 * time.Second},
		},
		{store.Policy{MaxAttempts: 4, Backoff: store.Backoff{Base: time.Minute}}, []time.Duration{0, time.Minute, 2 * time.Minute}},
		{store.Policy{MaxAttempts: 2, Delays: slices.Repeat([]time.Duration{time.Second}, 1000)}, []time.Duration{0}},
	} {
		id := e.Add(env.Attempts(0), env.Queue(fmt.Sprint("q", i)))
		e.Equal(fmt.Sprint("waits of policy ", i), losses(e, id, map[string]store.Policy{"send": c.policy}), c.want)
	}
}

// policyOnce: the handler or the enqueue may say so.
func policyOnce(e *env.Env) {
	once := map[string]store.Policy{"send": {MaxAttempts: 1}}
	e.Equal("waits", losses(e, e.Add(env.Attempts(0)), once), nil)
	e.Equal("waits", losses(e, e.Add(env.Attempts(1)), nil), nil)
}
