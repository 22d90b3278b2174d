package jobs

import (
	"cmp"
	"slices"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

var promoteTests = env.Tests{
	"EveryDueThingHappens_in_steps_as_large_as_the_limit":            promoteSteps,
	"promote_tells_which_queues_have_something_and_when_more_is_due": promoteQueues,
	"promote_hands_on_free_ordering_keys":                            promoteKeys,
}

func promoteSteps(e *env.Env) {
	var want []store.ID
	for i := range 25 {
		want = append(want, e.Add(env.Delay(time.Duration(i+1)*time.Second), env.Queue([]string{"a", "b"}[i%2])))
	}
	e.Clock.Advance(time.Minute)
	jobs := 0
	for calls := 1; ; calls++ {
		promoted, err := e.Store.Promote(e.Ctx, 10)
		if err != nil || promoted.Jobs > 10 {
			e.Fatalf("promoted %+v, %v", promoted, err)
		}
		jobs += promoted.Jobs
		if !promoted.More {
			break
		}
		// What was due first comes first, so that nothing starves behind a flood.
		if calls == 1 {
			e.WantState(want[0], store.Available)
			e.WantState(want[24], store.Scheduled)
		}
		if calls > 10 {
			e.Fatal("Promote says More for ever")
		}
	}
	if jobs != 25 {
		e.Fatalf("promoted %d jobs, want 25", jobs)
	}
	e.WantIDs("claimed", env.ClaimedIDs(e.Claim(e.Join(), 100)), want...)
}

func promoteQueues(e *env.Env) {
	e.Add(env.Queue("a"), env.Delay(time.Second))
	e.Add(env.Queue("b"), env.Delay(time.Second))
	e.Add(env.Queue("b"), env.Delay(time.Second))
	e.Add(env.Queue("c"), env.Delay(2*time.Hour))
	soon := e.InOtherSpace().Add(env.Queue("c"), env.Delay(time.Hour))
	start := e.Clock.Now()
	e.InOtherSpace().Add(env.Queue("b"), env.Delay(time.Second))
	e.InOtherSpace().Add(env.Queue("d"), env.Delay(time.Second))
	e.Clock.Advance(time.Minute)
	promoted, err := e.Store.Promote(e.Ctx, 100)
	e.NoError("Promote", err)
	slices.SortFunc(promoted.Wakes, func(a, b store.Wake) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Queue, b.Queue))
	})
	e.Equal("wake-ups", promoted.Wakes, []store.Wake{
		env.Ready(env.Namespace, "a"), env.Ready(env.Namespace, "b"), env.Ready(env.OtherSpace, "b"), env.Ready(env.OtherSpace, "d"),
	})
	// It tells too when the next job is due, of whatever namespace.
	due := promoted.NextDue
	e.Cancel(soon)
	promoted, err = e.Store.Promote(e.Ctx, 100)
	if err != nil || !due.Equal(start.Add(time.Hour)) || !promoted.NextDue.Equal(start.Add(2*time.Hour)) {
		e.Fatalf("the next jobs are due at %v and %v (%v)", due, promoted.NextDue, err)
	}
}

// promoteKeys: small promotions hand on every free key after some calls.
func promoteKeys(e *env.Env) {
	node := e.Join()
	var first, second []store.ID
	for i := range 10 {
		key := env.Ordered(string(rune('a' + i)))
		first, second = append(first, e.Add(key)), append(second, e.Add(key))
	}
	for _, want := range [][]store.ID{first, second} {
		for range 50 {
			if promoted, err := e.Store.Promote(e.Ctx, 3); err != nil {
				e.Fatalf("Promote: %v", err)
			} else if !promoted.More {
				break
			}
		}
		runs := e.ClaimWith(e.Demand(node, 100))
		e.WantIDs("claimed", env.ClaimedIDs(runs), want...)
		for _, run := range runs {
			e.End(run, store.Completed)
		}
	}
}
