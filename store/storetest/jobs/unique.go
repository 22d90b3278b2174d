package jobs

import (
	"errors"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

var uniqueTests = env.Tests{
	"UniqueIsUnique_a_taken_key_returns_its_holder":                      uniqueReturnsExisting,
	"UniqueIsUnique_a_taken_key_is_rejected":                             uniqueRejects,
	"UniqueIsUnique_within_a_batch_the_first_wins":                       uniqueWithinBatch,
	"UniqueIsUnique_a_key_is_held_in_its_states_and_released_after_them": uniqueStates,
	"UniqueIsUnique_a_released_key_is_not_taken_back":                    uniqueNotTakenBack,
	"UniqueIsUnique_a_repeated_enqueue_does_not_take_the_key_back":       uniqueRepeatedEnqueue,
	"a_conflict_fails_alone_in_its_batch":                                uniqueConflictAlone,
	"replace_changes_what_has_not_started":                               replaceChanges,
	"replace_moves_the_run_time_both_ways":                               replaceMoves,
	"replace_leaves_what_has_started":                                    replaceLeavesStarted,
	"replace_within_a_batch_changes_the_job_before_it":                   replaceWithinBatch,
	"a_key_of_one_job_does_not_bother_jobs_without_a_key":                uniqueEmptyKeys,
}

func uniqueReturnsExisting(e *env.Env) {
	id := e.Add(env.Unique("k"))
	e.WantTaken("k", id)
	e.WantFree("other")
	e.WantIDs("listed", e.ListIDs(store.Filter{States: []store.State{store.Available}}), id)
}

func uniqueRejects(e *env.Env) {
	id := e.Add(env.Unique("k"))
	q := e.Try(env.Unique("k"), env.OnConflict(store.Reject))
	var taken *store.UniqueError
	if !errors.As(q.Err, &taken) || taken.Holder != id || !errors.Is(q.Err, store.ErrConflict) {
		e.Fatalf("error is %v, want that %v holds the key", q.Err, id)
	}
	_, err := e.Store.Get(e.Ctx, "", q.Job.ID)
	e.WantErr("Get of the rejected job", err, store.ErrNotFound)
}

func uniqueWithinBatch(e *env.Env) {
	first, second, third := e.Job(env.Unique("k")), e.Job(env.Unique("k")), e.Job(env.Unique("k"), env.OnConflict(store.Reject))
	e.Apply(&store.Batch{Enqueues: []*store.Enqueue{e.Job(), first, second, e.Job(), third}})
	if first.Err != nil || first.Result.ID != first.Job.ID || first.Result.Existing {
		e.Fatalf("first: %+v, %v", first.Result, first.Err)
	}
	if second.Err != nil || second.Result.ID != first.Job.ID || !second.Result.Existing {
		e.Fatalf("second: %+v, %v", second.Result, second.Err)
	}
	var taken *store.UniqueError
	if !errors.As(third.Err, &taken) || taken.Holder != first.Job.ID {
		e.Fatalf("third: %v", third.Err)
	}
	if claimed := e.Claim(e.Join(), 10); len(claimed) != 3 {
		e.Fatalf("claimed %d jobs, want 3", len(claimed))
	}
}

// uniqueStates walks a job through its life and looks, in each state, who has the key.
func uniqueStates(e *env.Env) {
	node := e.Join()
	unfinished := []store.State{store.Scheduled, store.Available, store.Running, store.Retryable, store.Waiting}
	for _, c := range []struct {
		key     string
		states  []store.State
		ends    store.State
		running bool // the key is held while the job runs
		after   bool // the key is held once it is finished
	}{
		{"until started", []store.State{store.Scheduled, store.Available}, store.Completed, false, false},
		{"until finished", unfinished, store.Completed, true, false},
		{"until failed", unfinished, store.Failed, true, false},
		{"until cancelled", unfinished, store.Cancelled, true, false},
		{"for ever", store.States, store.Completed, true, true},
		{"but for failures", append(unfinished, store.Completed), store.Failed, true, false},
		{"with success", append(unfinished, store.Completed), store.Completed, true, true},
		{"with failures", append(unfinished, store.Failed), store.Failed, true, true},
	} {
		id := e.Add(env.Unique(c.key, c.states...), env.Delay(time.Minute))
		e.WantTaken(c.key, id)
		e.Clock.Advance(time.Minute)
		e.Promote()
		e.WantTaken(c.key, id)
		run := e.ClaimOne(node, id)
		check := func(held bool) {
			e.Helper()
			if held {
				e.WantTaken(c.key, id)
			} else {
				e.WantFree(c.key)
			}
		}
		check(c.running)
		e.End(run, c.ends)
		check(c.after)
	}
}

// uniqueNotTakenBack: a key that is held until the job starts is free for good, even if the job waits again.
func uniqueNotTakenBack(e *env.Env) {
	node := e.Join()
	first := e.Add(env.Unique("k", store.Scheduled, store.Available))
	run := e.ClaimOne(node, first)
	e.End(run, store.Scheduled)
	second := e.Add(env.Unique("k"))
	e.WantTaken("k", second)
	e.Clock.Advance(time.Hour)
	e.Promote()
	e.WantState(first, store.Available)
	e.WantTaken("k", second)
	for _, c := range e.Claim(node, 2) {
		e.End(c, store.Completed)
	}
	e.WantFree("k")
}

// uniqueRepeatedEnqueue: an id that is known is answered without a look at the key. Were the key taken first, the repeat
// would give a key to a job that has already released it, and nothing would ever release it again.
func uniqueRepeatedEnqueue(e *env.Env) {
	q := e.Job(env.Unique("k"), env.OnConflict(store.Reject))
	e.Enqueue(q)
	again := func() {
		e.Helper()
		repeated := *q
		e.Enqueue(&repeated)
		if repeated.Result.ID != q.Job.ID || !repeated.Result.Existing {
			e.Fatalf("repeated enqueue: %+v", repeated.Result)
		}
	}
	again()
	e.WantTaken("k", q.Job.ID)
	e.End(e.ClaimOne(e.Join(), q.Job.ID), store.Completed)
	again()
	e.WantFree("k")
	other := e.Add(env.Unique("k"))
	again()
	e.WantTaken("k", other)
}

func uniqueConflictAlone(e *env.Env) {
	e.Add(env.Unique("k"))
	run := e.Claim(e.Join(), 1)[0]
	before, rejected, after := e.Job(), e.Job(env.Unique("k"), env.OnConflict(store.Reject)), e.Job(env.Unique("free"))
	done := env.Outcome(run, store.Retryable)
	e.Apply(&store.Batch{Outcomes: []*store.Outcome{done}, Enqueues: []*store.Enqueue{before, rejected, after}})
	if before.Err != nil || after.Err != nil || done.Err != nil || rejected.Err == nil {
		e.Fatalf("errors are %v, %v, %v, %v; want only the third", before.Err, after.Err, rejected.Err, done.Err)
	}
	e.WantState(before.Job.ID, store.Available)
	e.WantState(after.Job.ID, store.Available)
	e.WantState(run.Job.ID, store.Retryable)
}

func replaceChanges(e *env.Env) {
	holder := e.Enqueue(e.Job(env.Unique("k"), env.Priority(3), func(q *store.Enqueue) { q.Job.Tags = []string{"old"} }))[0]
	created := e.Clock.Now()
	e.Clock.Advance(time.Second)
	q := e.Try(env.Unique("k"), env.OnConflict(store.Replace), env.Priority(1), env.Queue("other"), env.Kind("push"), func(q *store.Enqueue) {
		q.Job.Args, q.Job.Codec, q.Job.Metadata = []byte("new"), 2, []byte(`{"v":2}`)
		q.Job.Tags = []string{"new"}
	})
	e.Equal("result", q.Result, store.EnqueueResult{ID: holder.Job.ID, Existing: true, Replaced: true, RunAt: e.Clock.Now()})
	want := holder.Job
	want.CreatedAt, want.RunAt = created, e.Clock.Now()
	want.Args, want.Codec, want.Metadata = []byte("new"), 2, []byte(`{"v":2}`)
	e.Equal("replaced body", e.Get(holder.Job.ID).Job, want)
	_, err := e.Store.Get(e.Ctx, "", q.Job.ID)
	e.WantErr("Get of the replacing job", err, store.ErrNotFound)
	run := e.ClaimOne(e.Join(), holder.Job.ID)
	want.Attempt, want.LeaseNumber = 1, 1
	e.Equal("claimed body", run.Job, want)
}

// replaceMoves: the pointer moves with the run time, so that the job is neither doubled nor lost.
func replaceMoves(e *env.Env) {
	id := e.Add(env.Unique("k"))
	move := func(change func(*store.Enqueue), state store.State) {
		e.Helper()
		if q := e.Try(env.Unique("k"), env.OnConflict(store.Replace), change); !q.Result.Replaced || q.Result.ID != id {
			e.Fatalf("replace: %+v, %v", q.Result, q.Err)
		}
		e.WantState(id, state)
	}
	node := e.Join()
	move(env.Delay(time.Hour), store.Scheduled)
	e.WantNothing(node)
	move(env.Delay(time.Minute), store.Scheduled)
	e.Clock.Advance(time.Minute)
	e.Promote()
	e.WantState(id, store.Available)
	move(env.Delay(time.Minute), store.Scheduled)
	move(env.Delay(0), store.Available)
	move(env.RunAt(e.Clock.Now().Add(-time.Hour)), store.Available)
	run := e.ClaimOne(node, id)
	if !run.Job.RunAt.Equal(e.Clock.Now().Add(-time.Hour)) {
		e.Fatalf("run time is %v", run.Job.RunAt)
	}
	e.Clock.Advance(2 * time.Hour)
	e.WantNothing(node)
	if counts := e.Queue("mail").Counts; counts[store.Running].N != 1 || counts[store.Available].N != 0 || counts[store.Scheduled].N != 0 {
		e.Fatalf("counts: %v", counts)
	}
}

// replaceLeavesStarted: Reading: a job has started once it was claimed, also if the claim was not counted (snooze,
// release): its handler has seen the old args, and may have left a checkpoint that belongs to them.
func replaceLeavesStarted(e *env.Env) {
	node := e.Join()
	id := e.Add(env.Unique("k"))
	try := func() {
		e.Helper()
		q := e.Try(env.Unique("k"), env.OnConflict(store.Replace), func(q *store.Enqueue) { q.Job.Args = []byte("new") })
		if q.Err != nil || q.Result.ID != id || !q.Result.Existing || q.Result.Replaced {
			e.Fatalf("replace of a started job: %+v, %v", q.Result, q.Err)
		}
		e.Equal("args", string(e.Get(id).Args), `{"to":"ada"}`)
	}
	run := e.ClaimOne(node, id)
	try()
	e.End(run, store.Scheduled)
	try()
	e.Clock.Advance(time.Minute)
	run = e.ClaimOne(node, id)
	e.End(run, store.Available)
	try()
	run = e.ClaimOne(node, id)
	e.End(run, store.Retryable)
	try()
	e.Clock.Advance(time.Minute)
	e.Promote()
	try()
}

func replaceWithinBatch(e *env.Env) {
	first := e.Job(env.Unique("k"))
	second := e.Job(env.Unique("k"), env.OnConflict(store.Replace), env.Delay(time.Hour),
		func(q *store.Enqueue) { q.Job.Args = []byte("new") })
	e.Enqueue(first, second)
	if first.Result.ID != first.Job.ID || second.Result.ID != first.Job.ID || !second.Result.Replaced {
		e.Fatalf("results: %+v, %+v", first.Result, second.Result)
	}
	record := e.Get(first.Job.ID)
	if record.State != store.Scheduled || string(record.Args) != "new" {
		e.Fatalf("job is %v with args %s", record.State, record.Args)
	}
	e.WantNothing(e.Join())
}

func uniqueEmptyKeys(e *env.Env) {
	e.Enqueue(e.Job(), e.Job(), e.Job(env.Unique("k")), e.Job(env.OnConflict(store.Reject)), e.Job(env.OnConflict(store.Replace)))
	if claimed := e.Claim(e.Join(), 10); len(claimed) != 5 {
		e.Fatalf("claimed %d jobs, want 5", len(claimed))
	}
}
