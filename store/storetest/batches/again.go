package batches

import (
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

// Members that were counted, and that people let run again before the batch is called back.
var againTests = env.Tests{
	"a_member_that_is_retried_between_two_portions_is_waited_for":     againBetween,
	"AtomicTransitions_a_member_that_is_retried_before_the_call":      againBeforeCall,
	"a_member_that_has_ended_again_counts_once_by_its_last_end":       againEnded,
	"a_member_that_is_retried_again_and_again_counts_once":            againOften,
	"a_member_that_is_resumed_or_continued_as_new_is_waited_for":      againResumed,
	"many_members_of_several_batches_are_retried_at_once":             againMany,
	"a_member_that_is_retried_before_its_turn_counts_once":            againEarly,
	"a_member_that_cannot_be_retried_stays_counted":                   againRefused,
	"a_member_that_is_deleted_when_it_has_ended_again_does_not_count": againDeleted,
	"a_batch_that_waits_for_a_retried_member_does_not_change":         againWaits,
}

// ended is a closed batch of members that have ended so.
func ended(e *env.Env, node int64, ends ...store.State) (b store.JobBatch, ids []store.ID) {
	e.Helper()
	b = e.NewBatch(e.Calls(store.BatchEnded))
	for range ends {
		ids = append(ids, e.Add(env.Member(b.ID), env.Attempts(1)))
	}
	runs := e.ClaimRuns(node)
	for i, end := range ends {
		e.End(runs[ids[i]], end)
	}
	e.CloseBatch(b.ID)
	return b, ids
}

// portion counts once, so many members.
func portion(e *env.Env, members int) store.CountedBatches {
	e.Helper()
	c, err := e.Store.CountBatches(e.Ctx, store.CountBatchesParams{Limit: 10, Members: members})
	e.NoError("CountBatches", err)
	return c
}

// wantWaits checks that a batch is not called back, however often it is counted.
func wantWaits(e *env.Env, b store.JobBatch) {
	e.Helper()
	e.WantIDs("called while a member runs again", e.CallBack())
	if got := e.BatchOf(b.ID); got.Through || !got.DoneAt.IsZero() {
		e.Fatalf("the batch is %+v", got)
	}
}

// wantCalled checks that a batch is called back with these counts, and knows them.
func wantCalled(e *env.Env, b store.JobBatch, want store.BatchCounts) {
	e.Helper()
	e.WantIDs("called", e.CallBack(), b.Calls[0].ID)
	e.Equal("counts", e.BatchOf(b.ID).Counts, want)
	e.Equal("what the job is told", e.Get(b.Calls[0].ID).Options.Called.BatchCounts, want)
}

func againBetween(e *env.Env) {
	node := e.Join()
	b, ids := ended(e, node, store.Failed, store.Completed, store.Completed)
	if c := portion(e, 2); len(c.Through) > 0 || !c.Again {
		e.Fatalf("the first portion: %+v", c)
	}
	e.Retry(ids[0])
	wantWaits(e, b)
	e.End(e.ClaimOne(node, ids[0]), store.Completed)
	wantCalled(e, b, store.BatchCounts{Completed: 3})
}

// againBeforeCall: who has counted is slow, or has died, and another one counts and calls.
func againBeforeCall(e *env.Env) {
	node := e.Join()
	b, ids := ended(e, node, store.Failed, store.Completed)
	through := e.CountBatches(10, 10)
	if len(through) != 1 {
		e.Fatalf("%d batches are through", len(through))
	}
	refused := func(when string) {
		e.WantNoCall(when, through[0])
	}
	e.Retry(ids[0])
	refused("while a member runs again")
	wantWaits(e, b)
	e.End(e.ClaimOne(node, ids[0]), store.Completed)
	refused("of what was counted before")
	if got := e.CountBatches(10, 10); len(got) != 1 || got[0].Version == through[0].Version {
		e.Fatalf("counted again: %+v", got)
	}
	refused("with the version of before")
	wantCalled(e, b, store.BatchCounts{Completed: 2})
}

func againEnded(e *env.Env) {
	node := e.Join()
	for first, seconds := range map[store.State][]store.State{
		store.Failed:    {store.Completed, store.Failed, store.Cancelled},
		store.Cancelled: {store.Completed, store.Failed, store.Cancelled},
	} {
		for _, second := range seconds {
			for _, members := range []int{1, 2, 10} { // counted before the retry
				b, ids := ended(e, node, first, store.Completed, store.Completed)
				portion(e, members)
				e.Retry(ids[0])
				e.End(e.ClaimOne(node, ids[0]), second)
				want := store.BatchCounts{Completed: 2}
				switch second {
				case store.Completed:
					want.Completed++
				case store.Failed:
					want.Failed++
				default:
					want.Cancelled++
				}
				wantCalled(e, b, want)
				e.EndAll(e.Claim(node, 10), store.Completed)
			}
		}
	}
}

func againOften(e *env.Env) {
	node := e.Join()
	b, ids := ended(e, node, store.Failed, store.Failed, store.Completed)
	for i := range 12 {
		portion(e, 1+i%4)
		id := ids[i%2]
		e.Retry(id)
		portion(e, 1+i%3)
		e.End(e.ClaimOne(node, id), []store.State{store.Failed, store.Cancelled}[i%3/2])
	}
	want := store.BatchCounts{Completed: 1}
	for _, id := range ids[:2] {
		if e.Get(id).State == store.Failed {
			want.Failed++
		} else {
			want.Cancelled++
		}
	}
	wantCalled(e, b, want)
}

func againResumed(e *env.Env) {
	for what, resume := range map[string]func(id store.ID) store.ResumeParams{
		"resumed": func(id store.ID) store.ResumeParams { return store.ResumeParams{Job: id, Keep: -1, Expect: -1} },
		"continued": func(id store.ID) store.ResumeParams {
			return store.ResumeParams{Job: id, Keep: -1, Expect: -1, Continue: &store.Continue{Args: []byte("1")}}
		},
	} {
		b := e.NewBatch(e.Calls(store.BatchEnded))
		node, id := e.Join(), e.Add(env.Member(b.ID), env.Attempts(1))
		run := e.ClaimOne(node, id)
		e.Write(&run, env.Steps(1, 2)...)
		e.EndAs(store.Failed, run, store.Failed, func(o *store.Outcome) { o.Durable = true })
		e.CloseBatch(b.ID)
		if len(e.CountBatches(10, 10)) != 1 {
			e.Fatalf("%s: it is not through", what)
		}
		e.Resume(resume(id), store.Available)
		wantWaits(e, b)
		e.End(e.ClaimOne(node, id), store.Completed)
		wantCalled(e, b, store.BatchCounts{Completed: 1})
		e.EndAll(e.Claim(node, 10), store.Completed)
	}
}

func againMany(e *env.Env) {
	const members = 7
	node := e.Join()
	ends := make([]store.State, members)
	for i := range ends {
		ends[i] = store.Failed
	}
	var all []store.JobBatch
	var ids []store.ID
	for range 3 {
		b, of := ended(e, node, ends...)
		all, ids = append(all, b), append(ids, of[1:]...)
	}
	if n := len(e.CountBatches(2, 3)); n != len(all) {
		e.Fatalf("%d batches are through", n)
	}
	results, _, err := e.Store.Retry(e.Ctx, store.RetryParams{Jobs: ids, Actor: "ada"})
	e.NoError("Retry", err)
	for _, r := range results {
		e.NoError("the retry of one", r.Err)
	}
	for _, b := range all {
		wantWaits(e, b)
	}
	e.EndAll(e.Claim(node, 100), store.Completed)
	through := e.CountBatches(2, 3)
	if len(through) != len(all) {
		e.Fatalf("%d batches are through when all have ended", len(through))
	}
	for i, b := range through {
		e.Equal("the batch", b, e.BatchOf(all[i].ID))
		e.Equal("counts", b.Counts, store.BatchCounts{Completed: members - 1, Failed: 1})
	}
}

func againEarly(e *env.Env) {
	node := e.Join()
	b, ids := ended(e, node, store.Completed, store.Failed)
	open, of := ended(e, node, store.Failed)
	e.Retry(of[0])
	portion(e, 1)
	e.Retry(ids[1])
	wantWaits(e, b)
	wantWaits(e, open)
	runs := e.ClaimRuns(node)
	e.End(runs[ids[1]], store.Completed)
	wantCalled(e, b, store.BatchCounts{Completed: 2})
	e.End(runs[of[0]], store.Cancelled)
	wantCalled(e, open, store.BatchCounts{Cancelled: 1})
}

func againRefused(e *env.Env) {
	node, b := e.Join(), e.NewBatch(e.Calls(store.BatchEnded))
	first := e.Add(env.Member(b.ID), env.Attempts(1), env.Unique("u"))
	e.End(e.ClaimOne(node, first), store.Failed)
	e.CloseBatch(b.ID)
	if len(e.CountBatches(10, 10)) != 1 {
		e.Fatal("it is not through")
	}
	e.Add(env.Unique("u"))
	if r := e.TryRetry(first); !errors.Is(r.Err, store.ErrConflict) {
		e.Fatalf("Retry: %+v", r)
	}
	wantCalled(e, b, store.BatchCounts{Failed: 1})
}

func againDeleted(e *env.Env) {
	node := e.Join()
	b, ids := ended(e, node, store.Failed, store.Failed, store.Completed)
	if len(e.CountBatches(10, 10)) != 1 {
		e.Fatal("it is not through")
	}
	for _, id := range ids[:2] {
		e.Retry(id)
		e.End(e.ClaimOne(node, id), store.Failed)
	}
	e.Delete(ids[0])
	wantCalled(e, b, store.BatchCounts{Completed: 1, Failed: 1})
}

func againWaits(e *env.Env) {
	node := e.Join()
	b, ids := ended(e, node, store.Failed, store.Failed, store.Completed)
	e.CountBatches(10, 10)
	e.Retry(ids[0])
	e.Retry(ids[1])
	before := e.BatchOf(b.ID)
	for range 3 {
		if c := portion(e, 10); len(c.Through) > 0 || c.Again || !c.Open {
			e.Fatalf("counted: %+v", c)
		}
	}
	e.Equal("the batch", e.BatchOf(b.ID), before)
	e.EndAll(e.Claim(node, 10), store.Completed)
	wantCalled(e, b, store.BatchCounts{Completed: 3})
}

// moment orders what is done at once by when it began and when it was answered.
type moment = int64

// again is a member from the answer of its retry to the beginning of its next end.
type again struct{ from, to moment }

// race is a batch whose members are retried while others count, call and end them.
type race struct {
	*env.Env

	ids     []store.ID
	clock   atomic.Int64
	stopped atomic.Bool // it was called back

	mu    sync.Mutex
	since map[store.ID]moment // members that run again
	over  []again

	began, answered moment // the call
	counts          store.BatchCounts
}

// againRace: people retry members while others count, call and end them. In the time of the call
// no member was running again, and what it counts had been so.
func againRace(e *env.Env) {
	e.Competes()
	for range 15 {
		r, node := &race{Env: e, since: map[store.ID]moment{}}, e.Join()
		_, r.ids = ended(e, node, store.Failed, store.Failed, store.Completed, store.Failed)
		var all sync.WaitGroup
		all.Go(r.lead)
		all.Go(r.retry)
		for !r.stopped.Load() {
			r.end(node)
		}
		all.Wait()
		for _, from := range r.since {
			r.over = append(r.over, again{from, r.clock.Add(1)})
		}
		for _, a := range r.over {
			if a.from < r.began && a.to > r.answered {
				e.Fatalf("it was called while a member ran again: %+v", r.counts)
			}
		}
		if r.counts.Total() != int64(len(r.ids)) || r.counts.Completed != 1 {
			e.Fatalf("counted %+v of %d", r.counts, len(r.ids))
		}
		for runs := e.ClaimKinds(node, "send"); len(runs) > 0; runs = e.ClaimKinds(node, "send") {
			e.EndAll(runs, store.Completed)
		}
	}
}

// lead counts until the batch was called back.
func (r *race) lead() {
	defer r.stopped.Store(true)
	for {
		c, err := r.Store.CountBatches(r.Ctx, store.CountBatchesParams{Limit: 10, Members: 2})
		if err != nil {
			r.Errorf("CountBatches: %v", err)
			return
		}
		for i := range c.Through {
			at, u := r.clock.Add(1), c.Through[i].Call()
			if err := r.Store.Apply(r.Ctx, env.Batched(u)); err == nil && u.Err() == nil {
				r.began, r.answered, r.counts = at, r.clock.Add(1), c.Through[i].Counts
				return
			}
		}
	}
}

// retry retries members, many times.
func (r *race) retry() {
	for i := 0; !r.stopped.Load() && i < 200; i++ {
		id := r.ids[rand.IntN(len(r.ids))]
		r.mu.Lock() // so that it does not end before it is noted
		results, _, err := r.Store.Retry(r.Ctx, store.RetryParams{Jobs: []store.ID{id}})
		if err == nil && results[0].Err == nil && r.since[id] == 0 {
			r.since[id] = r.clock.Add(1)
		}
		r.mu.Unlock()
		if err != nil {
			r.Errorf("Retry: %v", err)
			return
		}
	}
}

// end ends members that run again.
func (r *race) end(node int64) {
	for _, run := range r.ClaimKinds(node, "send") {
		r.mu.Lock()
		if from := r.since[run.Job.ID]; from != 0 {
			r.over = append(r.over, again{from, r.clock.Add(1)})
		}
		delete(r.since, run.Job.ID)
		r.mu.Unlock()
		r.End(run, []store.State{store.Failed, store.Cancelled}[rand.IntN(2)])
	}
}
