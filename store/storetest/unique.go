package storetest

import (
	"errors"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

var uniqueTests = []test{
	{"UniqueIsUnique_a_taken_key_returns_its_holder", uniqueReturnsExisting},
	{"UniqueIsUnique_a_taken_key_is_rejected", uniqueRejects},
	{"UniqueIsUnique_within_a_batch_the_first_wins", uniqueWithinBatch},
	{"UniqueIsUnique_a_key_is_held_in_its_states_and_released_after_them", uniqueStates},
	{"UniqueIsUnique_a_released_key_is_not_taken_back", uniqueNotTakenBack},
	{"UniqueIsUnique_a_repeated_enqueue_does_not_take_the_key_back", uniqueRepeatedEnqueue},
	{"a_conflict_fails_alone_in_its_batch", uniqueConflictAlone},
	{"replace_changes_what_has_not_started", replaceChanges},
	{"replace_moves_the_run_time_both_ways", replaceMoves},
	{"replace_leaves_what_has_started", replaceLeavesStarted},
	{"replace_within_a_batch_changes_the_job_before_it", replaceWithinBatch},
	{"a_key_of_one_job_does_not_bother_jobs_without_a_key", uniqueEmptyKeys},
}

// try enqueues one job and returns it with its result or error.
func (e *env) try(change ...func(*store.Enqueue)) *store.Enqueue {
	e.Helper()
	q := e.job(change...)
	e.apply(&store.Batch{Enqueues: []*store.Enqueue{q}})
	return q
}

// wantTaken checks that the key is held by the given job, and that asking did not insert anything.
func (e *env) wantTaken(key string, holder store.ID) {
	e.Helper()
	q := e.try(unique(key))
	if q.Err != nil || q.Result.ID != holder || !q.Result.Existing || q.Result.Replaced || q.Result.State != 0 {
		e.Fatalf("enqueue with the key of %v returned %+v, %v", holder, q.Result, q.Err)
	}
	_, err := e.store.Get(e.ctx, q.Job.ID)
	e.wantErr("Get of the job that was not inserted", err, store.ErrNotFound)
}

// wantFree checks that the key is free: a job that asks for it is inserted, and cancelled to free it again.
func (e *env) wantFree(key string) {
	e.Helper()
	q := e.try(unique(key), delay(1000*time.Hour))
	if q.Err != nil || q.Result.Existing || q.Result.ID != q.Job.ID {
		e.Fatalf("the key is not free: %+v, %v", q.Result, q.Err)
	}
	e.cancel(q.Job.ID)
}

func uniqueReturnsExisting(e *env) {
	id := e.add(unique("k"))
	e.wantTaken("k", id)
	e.wantFree("other")
	e.wantIDs("listed", e.listIDs(store.Filter{States: []store.State{store.Available}}), id)
}

func uniqueRejects(e *env) {
	id := e.add(unique("k"))
	q := e.try(unique("k"), onConflict(store.Reject))
	var taken *store.UniqueError
	if !errors.As(q.Err, &taken) || taken.Holder != id || !errors.Is(q.Err, store.ErrConflict) {
		e.Fatalf("error is %v, want that %v holds the key", q.Err, id)
	}
	_, err := e.store.Get(e.ctx, q.Job.ID)
	e.wantErr("Get of the rejected job", err, store.ErrNotFound)
}

func uniqueWithinBatch(e *env) {
	first, second, third := e.job(unique("k")), e.job(unique("k")), e.job(unique("k"), onConflict(store.Reject))
	e.apply(&store.Batch{Enqueues: []*store.Enqueue{e.job(), first, second, e.job(), third}})
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
	if claimed := e.claim(e.join(), 10); len(claimed) != 3 {
		e.Fatalf("claimed %d jobs, want 3", len(claimed))
	}
}

// uniqueStates walks a job through its life and looks, in each state, who has the key.
func uniqueStates(e *env) {
	node := e.join()
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
		id := e.add(unique(c.key, c.states...), delay(time.Minute))
		e.wantTaken(c.key, id)
		e.clock.Advance(time.Minute)
		e.promote()
		e.wantTaken(c.key, id)
		run := e.claimOne(node, id)
		check := func(held bool) {
			e.Helper()
			if held {
				e.wantTaken(c.key, id)
			} else {
				e.wantFree(c.key)
			}
		}
		check(c.running)
		e.end(run, c.ends)
		check(c.after)
	}
}

// uniqueNotTakenBack: a key that is held until the job starts is free for good, even if the job waits again.
func uniqueNotTakenBack(e *env) {
	node := e.join()
	first := e.add(unique("k", store.Scheduled, store.Available))
	run := e.claimOne(node, first)
	e.end(run, store.Scheduled)
	second := e.add(unique("k"))
	e.wantTaken("k", second)
	e.clock.Advance(time.Hour)
	e.promote()
	e.wantState(first, store.Available)
	e.wantTaken("k", second)
	for _, c := range e.claim(node, 2) {
		e.end(c, store.Completed)
	}
	e.wantFree("k")
}

// uniqueRepeatedEnqueue: an id that is known is answered without a look at the key. Were the key taken first, the repeat
// would give a key to a job that has already released it, and nothing would ever release it again.
func uniqueRepeatedEnqueue(e *env) {
	q := e.job(unique("k"), onConflict(store.Reject))
	e.enqueue(q)
	again := func() {
		e.Helper()
		repeated := *q
		e.enqueue(&repeated)
		if repeated.Result.ID != q.Job.ID || !repeated.Result.Existing {
			e.Fatalf("repeated enqueue: %+v", repeated.Result)
		}
	}
	again()
	e.wantTaken("k", q.Job.ID)
	e.end(e.claimOne(e.join(), q.Job.ID), store.Completed)
	again()
	e.wantFree("k")
	other := e.add(unique("k"))
	again()
	e.wantTaken("k", other)
}

func uniqueConflictAlone(e *env) {
	e.add(unique("k"))
	run := e.claim(e.join(), 1)[0]
	before, rejected, after := e.job(), e.job(unique("k"), onConflict(store.Reject)), e.job(unique("free"))
	done := outcome(run, store.Retryable)
	e.apply(&store.Batch{Outcomes: []*store.Outcome{done}, Enqueues: []*store.Enqueue{before, rejected, after}})
	if before.Err != nil || after.Err != nil || done.Err != nil || rejected.Err == nil {
		e.Fatalf("errors are %v, %v, %v, %v; want only the third", before.Err, after.Err, rejected.Err, done.Err)
	}
	e.wantState(before.Job.ID, store.Available)
	e.wantState(after.Job.ID, store.Available)
	e.wantState(run.Job.ID, store.Retryable)
}

func replaceChanges(e *env) {
	holder := e.enqueue(e.job(unique("k"), priority(3), func(q *store.Enqueue) { q.Job.Tags = []string{"old"} }))[0]
	created := e.clock.Now()
	e.clock.Advance(time.Second)
	q := e.try(unique("k"), onConflict(store.Replace), priority(1), queue("other"), kind("push"), func(q *store.Enqueue) {
		q.Job.Args, q.Job.Codec, q.Job.Metadata = []byte("new"), 2, []byte(`{"v":2}`)
		q.Job.Tags = []string{"new"}
	})
	e.equal("result", q.Result, store.EnqueueResult{ID: holder.Job.ID, Existing: true, Replaced: true, RunAt: e.clock.Now()})
	want := holder.Job
	want.CreatedAt, want.RunAt = created, e.clock.Now()
	want.Args, want.Codec, want.Metadata = []byte("new"), 2, []byte(`{"v":2}`)
	e.equal("replaced body", e.get(holder.Job.ID).Job, want)
	_, err := e.store.Get(e.ctx, q.Job.ID)
	e.wantErr("Get of the replacing job", err, store.ErrNotFound)
	run := e.claimOne(e.join(), holder.Job.ID)
	want.Attempt, want.LeaseNumber = 1, 1
	e.equal("claimed body", run.Job, want)
}

// replaceMoves: the pointer moves with the run time, so that the job is neither doubled nor lost.
func replaceMoves(e *env) {
	id := e.add(unique("k"))
	move := func(change func(*store.Enqueue), state store.State) {
		e.Helper()
		if q := e.try(unique("k"), onConflict(store.Replace), change); !q.Result.Replaced || q.Result.ID != id {
			e.Fatalf("replace: %+v, %v", q.Result, q.Err)
		}
		e.wantState(id, state)
	}
	node := e.join()
	move(delay(time.Hour), store.Scheduled)
	e.wantNothing(node)
	move(delay(time.Minute), store.Scheduled)
	e.clock.Advance(time.Minute)
	e.promote()
	e.wantState(id, store.Available)
	move(delay(time.Minute), store.Scheduled)
	move(delay(0), store.Available)
	move(runAt(e.clock.Now().Add(-time.Hour)), store.Available)
	run := e.claimOne(node, id)
	if !run.Job.RunAt.Equal(e.clock.Now().Add(-time.Hour)) {
		e.Fatalf("run time is %v", run.Job.RunAt)
	}
	e.clock.Advance(2 * time.Hour)
	e.wantNothing(node)
	if counts := e.queue("mail").Counts; counts[store.Running].N != 1 || counts[store.Available].N != 0 || counts[store.Scheduled].N != 0 {
		e.Fatalf("counts: %v", counts)
	}
}

// replaceLeavesStarted: Reading: a job has started once it was claimed, also if the claim was not counted (snooze,
// release): its handler has seen the old args, and may have left a checkpoint that belongs to them.
func replaceLeavesStarted(e *env) {
	node := e.join()
	id := e.add(unique("k"))
	try := func() {
		e.Helper()
		q := e.try(unique("k"), onConflict(store.Replace), func(q *store.Enqueue) { q.Job.Args = []byte("new") })
		if q.Err != nil || q.Result.ID != id || !q.Result.Existing || q.Result.Replaced {
			e.Fatalf("replace of a started job: %+v, %v", q.Result, q.Err)
		}
		e.equal("args", string(e.get(id).Args), `{"to":"ada"}`)
	}
	run := e.claimOne(node, id)
	try()
	e.end(run, store.Scheduled)
	try()
	e.clock.Advance(time.Minute)
	run = e.claimOne(node, id)
	e.end(run, store.Available)
	try()
	run = e.claimOne(node, id)
	e.end(run, store.Retryable)
	try()
	e.clock.Advance(time.Minute)
	e.promote()
	try()
}

func replaceWithinBatch(e *env) {
	first := e.job(unique("k"))
	second := e.job(unique("k"), onConflict(store.Replace), delay(time.Hour), func(q *store.Enqueue) { q.Job.Args = []byte("new") })
	e.enqueue(first, second)
	if first.Result.ID != first.Job.ID || second.Result.ID != first.Job.ID || !second.Result.Replaced {
		e.Fatalf("results: %+v, %+v", first.Result, second.Result)
	}
	record := e.get(first.Job.ID)
	if record.State != store.Scheduled || string(record.Args) != "new" {
		e.Fatalf("job is %v with args %s", record.State, record.Args)
	}
	e.wantNothing(e.join())
}

func uniqueEmptyKeys(e *env) {
	e.enqueue(e.job(), e.job(), e.job(unique("k")), e.job(onConflict(store.Reject)), e.job(onConflict(store.Replace)))
	if claimed := e.claim(e.join(), 10); len(claimed) != 5 {
		e.Fatalf("claimed %d jobs, want 5", len(claimed))
	}
}
