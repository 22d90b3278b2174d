package batches

import (
	"errors"
	"sync"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

// How members are counted, and that a batch is called back once.
var countTests = env.Tests{
	"an_empty_batch_is_called_back_at_once":                countEmpty,
	"each_end_counts":                                      countEnds,
	"what_is_called_depends_on_the_ends":                   countCalls,
	"counts_in_portions":                                   countPortions,
	"counts_in_portions_after_it_has_waited":               countPortionsLater,
	"a_member_that_has_not_ended_holds_up_its_batch_alone": countWaits,
	"a_member_that_is_retried_meanwhile_is_counted_anew":   countRetried,
	"a_member_that_is_retried_later_does_not_count":        countLate,
	"ids_and_times_of_members_do_not_matter":               countOld,
	"OneFire_of_two_calls_one_happens":                     callOnce,
	"AtomicTransitions_a_refused_call_leaves_nothing":      callRefused,
}

func countEmpty(e *env.Env) {
	b, open := e.NewBatch(e.Calls(store.BatchSucceeded), e.Calls(store.BatchFailed)), e.NewBatch(e.Calls(store.BatchEnded))
	e.CloseBatch(b.ID)
	e.Clock.Advance(time.Minute)
	e.WantIDs("called", e.CallBack(), b.Calls[0].ID)
	record := e.Get(b.Calls[0].ID)
	if record.State != store.Available || record.Options.Called != (store.BatchResult{ID: b.ID}) || record.Batch != (store.ID{}) {
		e.Fatalf("the job: %+v", record)
	}
	if got := e.BatchOf(b.ID); !got.DoneAt.Equal(e.Clock.Now()) {
		e.Fatalf("the batch: %+v", got)
	}
	e.WantIDs("called again", e.CallBack())
	if !e.BatchOf(open.ID).DoneAt.IsZero() {
		e.Fatal("an open batch was called back")
	}
	c, err := e.Store.CountBatches(e.Ctx, store.CountBatchesParams{Limit: 10, Members: 10})
	if err != nil || c.Open || len(c.Through) > 0 {
		e.Fatalf("nothing is to be counted: %+v, %v", c, err)
	}
}

// countEnds: by runs, by people, by the death of a node.
func countEnds(e *env.Env) {
	node, b := e.JoinWith(map[string]store.Policy{"send": {MaxAttempts: 1}}), e.NewBatch(e.Calls(store.BatchEnded))
	var ids []store.ID
	for range 6 {
		ids = append(ids, e.Add(env.Member(b.ID), env.Attempts(1)))
	}
	e.CloseBatch(b.ID)
	e.Cancel(ids[0])
	runs := e.ClaimRuns(node)
	e.End(runs[ids[1]], store.Completed)
	e.End(runs[ids[2]], store.Failed)
	e.Cancel(ids[3])
	e.End(runs[ids[3]], store.Cancelled)
	e.Terminate(ids[4])
	e.WantIDs("called", e.CallBack())
	e.End(runs[ids[5]], store.Completed)
	e.WantIDs("called", e.CallBack(), b.Calls[0].ID)
	want := store.BatchCounts{Completed: 2, Failed: 1, Cancelled: 3}
	e.Equal("counts", e.BatchOf(b.ID).Counts, want)
	e.Equal("what the job is told", e.Get(b.Calls[0].ID).Options.Called, store.BatchResult{ID: b.ID, BatchCounts: want})
	if run := e.ClaimOne(e.Join(), b.Calls[0].ID); run.Job.Options.Called.BatchCounts != want {
		e.Fatalf("what its run is told: %+v", run.Job.Options)
	}
}

func countCalls(e *env.Env) {
	node := e.Join()
	for end, want := range map[store.State][]int{store.Completed: {0, 1}, store.Failed: {0, 2}, store.Cancelled: {0, 2}} {
		b := e.NewBatch(e.Calls(store.BatchEnded), e.Calls(store.BatchSucceeded), e.Calls(store.BatchFailed))
		id, other := e.Add(env.Member(b.ID), env.Kind("push")), e.Add(env.Member(b.ID), env.Kind("push"))
		e.CloseBatch(b.ID)
		runs := e.ClaimRuns(node, "push")
		e.End(runs[id], store.Completed)
		e.End(runs[other], end)
		var ids []store.ID
		for _, i := range want {
			ids = append(ids, b.Calls[i].ID)
		}
		e.WantSameIDs("called after "+end.String(), e.CallBack(), ids...)
	}
}

func countPortions(e *env.Env) {
	node := e.Join()
	var batches []store.JobBatch
	for range 3 {
		b := e.NewBatch(e.Calls(store.BatchEnded))
		for range 7 {
			e.Add(env.Member(b.ID))
		}
		e.CloseBatch(b.ID)
		batches = append(batches, b)
	}
	e.EndAll(e.Claim(node, 100), store.Completed)
	through := e.CountBatches(2, 3)
	if len(through) != 3 {
		e.Fatalf("%d batches are through", len(through))
	}
	for i, b := range through {
		if b.ID != batches[i].ID || b.Counts != (store.BatchCounts{Completed: 7}) {
			e.Fatalf("batch %d: %+v", i, b)
		}
		e.Equal("batch", b, e.BatchOf(b.ID))
	}
}

// countPortionsLater: a count that had to wait goes on without a pause, also from the beginning.
func countPortionsLater(e *env.Env) {
	for _, state := range []store.State{store.Completed, store.Failed} {
		b := e.NewBatch(e.Calls(store.BatchEnded))
		for range 7 {
			e.Add(env.Member(b.ID))
		}
		e.CloseBatch(b.ID)
		if through := e.CountBatches(1, 3); len(through) > 0 {
			e.Fatalf("it is through while its members wait: %+v", through)
		}
		e.EndAll(e.Claim(e.Join(), 100), state)
		if through := e.CountBatches(1, 3); len(through) != 1 || through[0].Counts.Total() != 7 {
			e.Fatalf("members that are %v: %+v", state, through)
		}
		e.CallBack()
		e.EndAll(e.Claim(e.Join(), 100), store.Completed)
	}
}

func countWaits(e *env.Env) {
	node, slow, fast := e.Join(), e.NewBatch(e.Calls(store.BatchEnded)), e.NewBatch(e.Calls(store.BatchEnded))
	last := e.Add(env.Member(slow.ID), env.Delay(time.Hour))
	other := e.Add(env.Member(fast.ID))
	more := e.Add(env.Member(slow.ID))
	e.CloseBatch(slow.ID)
	e.CloseBatch(fast.ID)
	runs := e.ClaimRuns(node)
	e.End(runs[more], store.Completed)
	e.CountBatches(10, 10)
	version := e.BatchOf(slow.ID).Version
	e.CountBatches(10, 10)
	if got := e.BatchOf(slow.ID).Version; got != version {
		e.Fatalf("a batch that waits changes: %d, %d", version, got)
	}
	e.End(runs[other], store.Completed)
	e.WantIDs("called", e.CallBack(), fast.Calls[0].ID)
	e.Cancel(last)
	e.WantIDs("called", e.CallBack(), slow.Calls[0].ID)
	e.Equal("counts", e.BatchOf(slow.ID).Counts, store.BatchCounts{Completed: 1, Cancelled: 1})
}

// countRetried: the first has failed and is counted while the second runs. A person retries it.
func countRetried(e *env.Env) {
	node, b := e.Join(), e.NewBatch(e.Calls(store.BatchSucceeded))
	first, second := e.Add(env.Member(b.ID), env.Attempts(1)), e.Add(env.Member(b.ID))
	e.CloseBatch(b.ID)
	runs := e.ClaimRuns(node)
	e.End(runs[first], store.Failed)
	e.CountBatches(10, 10)
	e.Retry(first)
	e.End(runs[second], store.Completed)
	e.WantIDs("called while the first runs again", e.CallBack())
	e.End(e.ClaimOne(node, first), store.Completed)
	e.WantIDs("called", e.CallBack(), b.Calls[0].ID)
	e.Equal("counts", e.BatchOf(b.ID).Counts, store.BatchCounts{Completed: 2})
}

func countLate(e *env.Env) {
	node, b := e.Join(), e.NewBatch(e.Calls(store.BatchFailed))
	id := e.Add(env.Member(b.ID))
	e.CloseBatch(b.ID)
	e.End(e.ClaimOne(node, id), store.Failed)
	e.WantIDs("called", e.CallBack(), b.Calls[0].ID)
	e.End(e.ClaimOne(node, b.Calls[0].ID), store.Completed)
	e.Retry(id)
	e.End(e.ClaimOne(node, id), store.Failed)
	e.WantIDs("called again", e.CallBack())
	e.Equal("counts", e.BatchOf(b.ID).Counts, store.BatchCounts{Failed: 1})
}

// countOld: a member has an id that is older than those of its batch and of the others.
func countOld(e *env.Env) {
	node, old := e.Join(), e.IDs.Next()
	b := e.NewBatch(e.Calls(store.BatchEnded))
	first := e.Add(env.Member(b.ID))
	e.End(e.ClaimOne(node, first), store.Completed)
	e.CountBatches(10, 10)
	e.Add(env.Member(b.ID), func(q *store.Enqueue) { q.Job.ID, q.KnownID = old, true })
	e.CloseBatch(b.ID)
	e.WantIDs("called before the old one has ended", e.CallBack())
	e.End(e.ClaimOne(node, old), store.Completed)
	e.WantIDs("called", e.CallBack(), b.Calls[0].ID)
}

// ready is a batch that is through.
func ready(e *env.Env, calls ...store.BatchJob) store.JobBatch {
	b := e.NewBatch(calls...)
	e.CloseBatch(b.ID)
	e.CountBatches(10, 10)
	return e.BatchOf(b.ID)
}

func callOnce(e *env.Env) {
	b := ready(e, e.Calls(store.BatchEnded))
	first, second := b.Call(), b.Call()
	second.Enqueues[0].Job.ID = e.IDs.Next() // a job with another id is refused by the call alone
	e.Apply(env.Batched(first))
	err := e.Store.Apply(e.Ctx, env.Batched(second))
	if _, refused := errors.AsType[*store.RefusedError](err); !refused || !errors.Is(second.Call.Err, store.ErrConflict) {
		e.Fatalf("the second: %v, %v", err, second.Err())
	}
	e.WantUnknown(second.Enqueues[0].Job.ID)
	e.WantIDs("claimed", env.ClaimedIDs(e.Claim(e.Join(), 10)), b.Calls[0].ID)
}

func callRace(e *env.Env) {
	e.Competes()
	b := ready(e, e.Calls(store.BatchEnded))
	units := make([]*store.Unit, 8)
	var all sync.WaitGroup
	for i := range units {
		units[i] = b.Call()
		units[i].Enqueues[0].Job.ID = e.IDs.Next()
		all.Go(func() {
			_ = e.Store.Apply(e.Ctx, env.Batched(units[i])) // its units tell
		})
	}
	all.Wait()
	var happened []store.ID
	for _, u := range units {
		if u.Err() == nil {
			happened = append(happened, u.Enqueues[0].Job.ID)
		}
	}
	if len(happened) != 1 {
		e.Fatalf("%d calls have happened", len(happened))
	}
	e.WantIDs("claimed", env.ClaimedIDs(e.Claim(e.Join(), 10)), happened...)
}

func callRefused(e *env.Env) {
	taken := e.InOtherSpace().Add()
	b := ready(e, e.Calls(store.BatchEnded))
	open := e.NewBatch(e.Calls(store.BatchEnded))
	for what, c := range map[string]struct {
		spoil func(*store.Unit)
		class error
	}{
		"another version":            {func(u *store.Unit) { u.Call.Version++ }, store.ErrConflict},
		"another batch":              {func(u *store.Unit) { u.Call.Batch = e.IDs.Next() }, store.ErrNotFound},
		"another namespace":          {func(u *store.Unit) { u.Call.Namespace = "elsewhere" }, store.ErrNotFound},
		"a job whose id is taken":    {func(u *store.Unit) { u.Enqueues[0].Job.ID = taken }, store.ErrConflict},
		"a batch that is open":       {func(u *store.Unit) { u.Call.Batch, u.Call.Version = open.ID, open.Version }, store.ErrConflict},
		"a job that cannot be taken": {func(u *store.Unit) { u.Enqueues[0].Job.Priority = 9 }, store.ErrInvalid},
	} {
		u := b.Call()
		c.spoil(u)
		other := e.Job()
		batch := env.Batched(u)
		batch.Enqueues = append(batch.Enqueues, other)
		err := e.Store.Apply(e.Ctx, batch)
		if _, refused := errors.AsType[*store.RefusedError](err); !refused || !errors.Is(u.Err(), c.class) {
			e.Fatalf("%s: %v, %v", what, err, u.Err())
		}
		e.Equal(what+": the batch", e.BatchOf(b.ID), b)
		e.WantUnknown(other.Job.ID)
		e.WantUnknown(b.Calls[0].ID)
	}
	e.WantIDs("called", e.CallBack(), b.Calls[0].ID)
}

// addRace: some add while others close and count. Who was admitted is counted.
func addRace(e *env.Env) {
	e.Competes()
	for range 10 {
		b := e.NewBatch(e.Calls(store.BatchEnded))
		admitted := make([]int64, 4)
		var all sync.WaitGroup
		for i := range admitted {
			all.Go(func() {
				for range 50 {
					q := e.Job(env.Member(b.ID), env.Kind("push"))
					if err := e.Store.Apply(e.Ctx, &store.Batch{Enqueues: []*store.Enqueue{q}}); err != nil || q.Err != nil {
						return
					}
					admitted[i]++
				}
			})
		}
		all.Go(func() {
			if err := e.Store.CloseBatch(e.Ctx, nil, env.Namespace, b.ID); err != nil {
				e.Errorf("CloseBatch: %v", err)
			}
			for range 3 {
				if _, err := e.Store.CountBatches(e.Ctx, store.CountBatchesParams{Limit: 10, Members: 10}); err != nil {
					e.Errorf("CountBatches: %v", err)
				}
			}
		})
		all.Wait()
		node := e.Join()
		for runs := e.ClaimKinds(node, "push"); len(runs) > 0; runs = e.ClaimKinds(node, "push") {
			e.EndAll(runs, store.Completed)
		}
		e.WantIDs("called", e.CallBack(), b.Calls[0].ID)
		want := int64(0)
		for _, n := range admitted {
			want += n
		}
		if got := e.BatchOf(b.ID).Counts; got != (store.BatchCounts{Completed: want}) {
			e.Fatalf("counted %+v of %d", got, want)
		}
	}
}
