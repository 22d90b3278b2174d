package storetest

import (
	"cmp"
	"slices"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

var promoteTests = []test{
	{"EveryDueThingHappens_what_is_due_becomes_available", promoteDue},
	{"EveryDueThingHappens_in_steps_as_large_as_the_limit", promoteSteps},
	{"promote_tells_when_the_next_job_is_due", promoteNextDue},
	{"promote_tells_which_queues_have_something", promoteQueues},
	{"NoLoss_promoting_a_job_of_a_paused_queue_keeps_it", promotePaused},
	{"promote_hands_on_free_ordering_keys", promoteKeys},
}

func promoteDue(e *env) {
	node := e.join()
	scheduled, later := e.add(delay(time.Minute)), e.add(delay(time.Minute+time.Microsecond))
	run := e.started()
	e.end(run, store.Retryable, func(o *store.Outcome) { o.RunAt = e.clock.Now().Add(30 * time.Second) })
	promoted, err := e.store.Promote(e.ctx, 100)
	if err != nil || promoted.Jobs != 0 || promoted.More || len(promoted.Wakes) != 0 {
		e.Fatalf("promoted %+v, %v", promoted, err)
	}
	e.clock.Advance(59 * time.Second)
	if promoted, err = e.store.Promote(e.ctx, 100); err != nil || promoted.Jobs != 2 || promoted.More {
		e.Fatalf("promoted %+v, %v", promoted, err)
	}
	for _, id := range []store.ID{scheduled, run.Job.ID} {
		if record := e.get(id); record.State != store.Available || record.Blocked {
			e.Fatalf("record: %+v", record)
		}
	}
	// The run time stays what it was: it says since when the job could have run.
	if got, want := e.get(scheduled).RunAt, Start.Add(time.Minute); !got.Equal(want) {
		e.Fatalf("run time is %v, want %v", got, want)
	}
	e.wantState(later, store.Scheduled)
	e.clock.Advance(time.Microsecond)
	e.wantIDs("claimed", claimedIDs(e.claim(node, 10)), run.Job.ID, scheduled, later)
}

func promoteSteps(e *env) {
	var want []store.ID
	for i := range 25 {
		want = append(want, e.add(delay(time.Duration(i+1)*time.Second), queue([]string{"a", "b"}[i%2])))
	}
	e.clock.Advance(time.Minute)
	jobs := 0
	for calls := 1; ; calls++ {
		promoted, err := e.store.Promote(e.ctx, 10)
		if err != nil || promoted.Jobs > 10 {
			e.Fatalf("promoted %+v, %v", promoted, err)
		}
		jobs += promoted.Jobs
		if !promoted.More {
			break
		}
		// What was due first comes first, so that nothing starves behind a flood.
		if calls == 1 {
			e.wantState(want[0], store.Available)
			e.wantState(want[24], store.Scheduled)
		}
		if calls > 10 {
			e.Fatal("Promote says More for ever")
		}
	}
	if jobs != 25 {
		e.Fatalf("promoted %d jobs, want 25", jobs)
	}
	e.wantIDs("claimed", claimedIDs(e.claim(e.join(), 100)), want...)
}

func promoteNextDue(e *env) {
	next := func(want time.Time) {
		e.Helper()
		promoted, err := e.store.Promote(e.ctx, 100)
		if err != nil || !promoted.NextDue.Equal(want) {
			e.Fatalf("the next job is due at %v, want %v (%v)", promoted.NextDue, want, err)
		}
	}
	next(time.Time{})
	e.add()
	next(time.Time{})
	later := e.add(delay(time.Hour))
	next(Start.Add(time.Hour).Truncate(time.Microsecond))
	sooner := e.add(delay(time.Minute), func(q *store.Enqueue) { q.Job.Namespace = "other" })
	next(Start.Add(time.Minute))
	e.clock.Advance(2 * time.Minute)
	next(Start.Add(time.Hour))
	e.wantState(sooner, store.Available)
	e.cancel(later)
	next(time.Time{})
}

func promoteQueues(e *env) {
	e.add(queue("a"), delay(time.Second))
	e.add(queue("b"), delay(time.Second))
	e.add(queue("b"), delay(time.Second))
	e.add(queue("c"), delay(time.Hour))
	e.inOtherSpace().add(queue("b"), delay(time.Second))
	e.inOtherSpace().add(queue("d"), delay(time.Second))
	e.clock.Advance(time.Minute)
	promoted, err := e.store.Promote(e.ctx, 100)
	if err != nil {
		e.Fatalf("Promote: %v", err)
	}
	slices.SortFunc(promoted.Wakes, func(a, b store.Wake) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Queue, b.Queue))
	})
	e.equal("wake-ups", promoted.Wakes, []store.Wake{
		ready(namespace, "a"), ready(namespace, "b"), ready(otherSpace, "b"), ready(otherSpace, "d"),
	})
}

func promotePaused(e *env) {
	id := e.add(delay(time.Second))
	e.pause("mail", true)
	e.clock.Advance(time.Minute)
	node := e.join()
	e.wantNothing(node)
	e.wantState(id, store.Available)
	e.pause("mail", false)
	e.claimOne(node, id)
}

// promoteKeys: whoever waits for a key gets it after some promotions, however small their limit is.
func promoteKeys(e *env) {
	node := e.join()
	var first, second []store.ID
	for i := range 10 {
		key := ordered(string(rune('a' + i)))
		first, second = append(first, e.add(key)), append(second, e.add(key))
	}
	for _, want := range [][]store.ID{first, second} {
		for range 50 {
			if promoted, err := e.store.Promote(e.ctx, 3); err != nil {
				e.Fatalf("Promote: %v", err)
			} else if !promoted.More {
				break
			}
		}
		runs := e.claimWith(e.demand(node, 100))
		e.wantIDs("claimed", claimedIDs(runs), want...)
		for _, run := range runs {
			e.end(run, store.Completed)
		}
	}
}
