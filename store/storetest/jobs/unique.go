package jobs

import (
	"errors"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

var uniqueTests = env.Tests{
	"UniqueIsUnique_within_a_batch_the_first_wins":                       uniqueWithinBatch,
	"UniqueIsUnique_a_key_is_held_in_its_states_and_released_after_them": uniqueStates,
	"UniqueIsUnique_a_repeated_enqueue_does_not_take_the_key_back":       uniqueRepeatedEnqueue,
	"replace_changes_what_has_not_started":                               replaceChanges,
	"replace_leaves_a_job_of_another_kind":                               replaceLeavesOtherKinds,
	"replace_leaves_what_has_started_or_is_held":                         replaceLeavesStarted,
	"replace_delays_a_job_no_longer_than_it_may":                         replaceAtTheLatest,
	"replace_within_a_batch_changes_the_job_before_it":                   replaceWithinBatch,
}

func uniqueWithinBatch(e *env.Env) {
	first, second, third := e.Job(env.Unique("k")), e.Job(env.Unique("k")), e.Job(env.Unique("k"), env.OnConflict(store.Reject))
	plain, replacing := e.Job(env.OnConflict(store.Reject)), e.Job(env.OnConflict(store.Replace)) // whom no key bothers
	e.Apply(&store.Batch{Enqueues: []*store.Enqueue{plain, first, second, replacing, third}})
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
	e.WantSameIDs("claimed", env.ClaimedIDs(e.Claim(e.Join(), 10)), plain.Job.ID, first.Job.ID, replacing.Job.ID)
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
		e.Write(&run, env.Step(1))
		e.Park(run, env.ForSignals())
		check(c.running) // one that waits holds it as if it ran
		e.Send(id, env.Signal("s"))
		check(c.running) // nor does it take it back
		e.PauseJob(id, store.Waiting)
		check(c.running)
		e.Resume(env.Resumption(id), store.Available)
		check(c.running)
		run = e.ClaimOne(node, id)
		e.End(run, c.ends)
		check(c.after)
	}
}

// uniqueRepeatedEnqueue: a store looks at the id before the key. If it took the key first, a repeat
// would give it to a job that has released it already, and nothing would release it again.
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

func replaceChanges(e *env.Env) {
	holder := e.Enqueue(e.Job(env.Unique("k"), env.Priority(3), func(q *store.Enqueue) { q.Job.Tags = []string{"old"} }))[0]
	created := e.Clock.Now()
	e.Clock.Advance(time.Second)
	q := e.Try(env.Unique("k"), env.OnConflict(store.Replace), env.Priority(1), env.Queue("other"), func(q *store.Enqueue) {
		q.Job.Args, q.Job.Codec, q.Job.Metadata = []byte("new"), 2, []byte(`{"v":2}`)
		q.Job.Tags = []string{"new"}
	})
	e.Equal("result", q.Result, store.EnqueueResult{ID: holder.Job.ID, Existing: true, Replaced: true, RunAt: e.Clock.Now()})
	want := holder.Job
	want.CreatedAt, want.RunAt = created, e.Clock.Now()
	want.Args, want.Codec, want.Metadata = []byte("new"), 2, []byte(`{"v":2}`)
	e.Equal("replaced body", e.Get(holder.Job.ID).Job, want)
	e.WantUnknown(q.Job.ID)
	run := e.ClaimOne(e.Join(), holder.Job.ID)
	want.Attempt, want.LeaseNumber = 1, 1
	e.Equal("claimed body", run.Job, want)
}

// replaceLeavesOtherKinds: the args mean something else to the handler of another kind, so a key
// that two kinds share has no more than kept the other job away.
func replaceLeavesOtherKinds(e *env.Env) {
	holder := e.Enqueue(e.Job(env.Unique("k"), env.Delay(time.Hour)))[0]
	before := e.Get(holder.Job.ID)
	q := e.Try(env.Unique("k"), env.OnConflict(store.Replace), env.Kind("push"), func(q *store.Enqueue) { q.Job.Args = []byte("new") })
	e.NoError("enqueue", q.Err)
	e.Equal("result", q.Result, store.EnqueueResult{ID: holder.Job.ID, Existing: true, RunAt: before.RunAt})
	e.Equal("the job of another kind", e.Get(holder.Job.ID), before)
	e.WantUnknown(q.Job.ID)
	again := e.Try(env.Unique("k"), env.OnConflict(store.Replace))
	e.Equal("the same kind", again.Result, store.EnqueueResult{ID: holder.Job.ID, Existing: true, Replaced: true, RunAt: e.Clock.Now()})
}

// replaceAtTheLatest: each replacement delays the job again, but not beyond the bound, which counts
// from its creation; whether that has come, and the job is available, or not.
func replaceAtTheLatest(e *env.Env) {
	const most = time.Minute
	debounce := func(delay, most time.Duration) *store.Enqueue {
		e.Helper()
		q := e.Try(env.Unique("k"), env.OnConflict(store.Replace), env.Delay(delay), func(q *store.Enqueue) { q.MaxDelay = most })
		e.NoError("enqueue", q.Err)
		return q
	}
	first := debounce(20*time.Second, most)
	latest := e.Clock.Now().Add(most)
	if r := first.Result; r.ID != first.Job.ID || !r.RunAt.Equal(e.Clock.Now().Add(20*time.Second)) {
		e.Fatalf("the first: %+v", r)
	}
	want := func(at time.Time, state store.State, q *store.Enqueue) {
		e.Helper()
		record := e.Get(first.Job.ID)
		if r := q.Result; r.ID != first.Job.ID || !r.Replaced || !r.RunAt.Equal(at) || !record.RunAt.Equal(at) || record.State != state {
			e.Fatalf("%+v, and the job is %v at %v; want %v at %v", r, record.State, record.RunAt, state, at)
		}
	}
	e.Clock.Advance(15 * time.Second)
	want(e.Clock.Now().Add(20*time.Second), store.Scheduled, debounce(20*time.Second, most))
	e.Clock.Advance(15 * time.Second)
	want(e.Clock.Now().Add(20*time.Second), store.Scheduled, debounce(20*time.Second, most))
	e.Clock.Advance(15 * time.Second)
	want(latest, store.Scheduled, debounce(20*time.Second, most))
	e.Clock.Advance(10 * time.Second)
	want(latest, store.Scheduled, debounce(20*time.Second, most))
	want(e.Clock.Now().Add(time.Second), store.Scheduled, debounce(time.Second, most))
	want(latest, store.Scheduled, debounce(20*time.Second, most))
	want(e.Clock.Now().Add(20*time.Second), store.Scheduled, debounce(20*time.Second, 0)) // without a bound
	e.Clock.Advance(6 * time.Second)
	want(latest, store.Available, debounce(20*time.Second, most)) // the time has passed
	e.ClaimOne(e.Join(), first.Job.ID)
}

// replaceLeavesStarted: Reading: a job has started once it was claimed, also if the claim was not
// counted (snooze, release): its handler has seen the old args, and may have left a checkpoint that
// belongs to them. One that a person holds is left to that person.
func replaceLeavesStarted(e *env.Env) {
	node := e.Join()
	try := func(id store.ID, key string) {
		e.Helper()
		q := e.Try(env.Unique(key), env.OnConflict(store.Replace), func(q *store.Enqueue) { q.Job.Args = []byte("new") })
		if q.Err != nil || q.Result.ID != id || !q.Result.Existing || q.Result.Replaced {
			e.Fatalf("replace of a started job: %+v, %v", q.Result, q.Err)
		}
		e.Equal("args", string(e.Get(id).Args), `{"to":"ada"}`)
	}
	held := e.Add(env.Unique("held"))
	e.PauseJob(held, store.Waiting)
	try(held, "held")
	e.WantState(held, store.Waiting)
	id := e.Add(env.Unique("k"))
	run := e.ClaimOne(node, id)
	try(id, "k")
	e.End(run, store.Scheduled)
	try(id, "k")
	e.Clock.Advance(time.Minute)
	run = e.ClaimOne(node, id)
	e.End(run, store.Available)
	try(id, "k")
	run = e.ClaimOne(node, id)
	e.End(run, store.Retryable)
	try(id, "k")
	e.Clock.Advance(time.Minute)
	e.Promote()
	try(id, "k")
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
