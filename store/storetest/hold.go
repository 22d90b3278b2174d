package storetest

import (
	"slices"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/holdfastdev/holdfast/store"
)

var holdTests = []test{
	{"nothing_wakes_a_held_job_but_a_person", holdNothingWakes},
	{"a_job_that_does_not_run_is_held_at_once", holdWaiting},
	{"a_run_that_was_asked_to_pause_is_told_with_every_beat", holdBeat},
	{"a_run_that_was_asked_to_pause_is_held_when_it_is_put_back", holdPutBack},
	{"a_run_that_was_asked_to_pause_may_finish", holdFinished},
	{"a_pause_ends_with_the_run_it_was_for", holdEnds},
	{"a_requested_cancel_goes_before_a_pause", holdCancelFirst},
	{"a_pause_meets_the_job_when_its_node_leaves", holdLeave},
	{"a_pause_meets_the_job_when_its_node_dies", holdRescue},
	{"a_message_that_has_come_does_not_go_before_a_pause", holdBeforeMessage},
	{"a_held_job_is_left_as_it_is", holdTwice},
	{"Order_a_paused_job_keeps_the_turn_of_its_key", holdOrderingKey},
	{"UniqueIsUnique_a_paused_job_holds_its_key_as_if_it_ran", holdUnique},
	{"pause_answers_in_the_order_asked", holdAnswers},
	{"a_text_that_the_database_cannot_hold_fails_no_pause", holdHostileText},
}

// wantHeld checks that a job waits for a person, since somebody paused it now.
func (e *env) wantHeld(id store.ID) store.Record {
	e.Helper()
	record := e.get(id)
	if record.State != store.Waiting || record.PauseRequested || !record.FinishedAt.IsZero() {
		e.Fatalf("the paused job: %+v", record)
	}
	e.wantNotDue(record)
	e.equal("wait", record.Wait,
		&store.WaitInfo{Since: e.clock.Now(), Held: true, Reason: store.ReasonPaused, Error: "look first"},
		cmpopts.IgnoreFields(store.WaitInfo{}, "For"))
	return record
}

// wantNotDue checks that a job which no time wakes has no run time, however it is read.
func (e *env) wantNotDue(record store.Record) {
	e.Helper()
	listed := e.list(store.Filter{States: []store.State{store.Waiting}}, 100)
	at := slices.IndexFunc(listed, func(r store.Record) bool { return r.ID == record.ID })
	if at < 0 || !listed[at].RunAt.IsZero() || !record.RunAt.IsZero() {
		e.Fatalf("a job that waits for a person is due at %v, or in the list, where it is at %d", record.RunAt, at)
	}
}

// wantStuck checks that neither a message nor time wakes a job.
func (e *env) wantStuck(id store.ID, node int64) {
	e.Helper()
	if result := e.send(id, signal("s")); result.Woken {
		e.Fatalf("a message woke a held job: %+v", result)
	}
	e.later(node, 100*24*time.Hour)
	e.wantNothing(node)
	e.wantState(id, store.Waiting)
}

func holdNothingWakes(e *env) {
	run := e.durable(1, func(q *store.Enqueue) { q.Job.Options.Deadline = e.clock.Now().Add(time.Hour) })
	wait := &store.Wait{
		Held: true, Until: e.clock.Now().Add(time.Minute), Kinds: store.MessagesOf(store.MessageSignal), Count: 1, Failures: true,
		For: []byte(`{"path":"2.1"}`),
	}
	e.send(run.Job.ID, signal("before"))
	o := e.park(run, wait, func(o *store.Outcome) { o.Reason, o.Error = store.ReasonNondeterminism, "step 2 is another one" })
	if o.Final != store.Waiting {
		e.Fatalf("final state is %v", o.Final)
	}
	record := e.get(run.Job.ID)
	e.wantNotDue(record)
	e.equal("wait", record.Wait, &store.WaitInfo{
		Since: e.clock.Now(), Held: true, For: wait.For, Reason: store.ReasonNondeterminism, Error: "step 2 is another one",
	})
	if record.Error != "" || len(record.Attempts) != 0 || record.Attempt != 0 {
		e.Fatalf("the held job: %+v", record)
	}
	promoted, err := e.store.Promote(e.ctx, 100)
	if err != nil || !promoted.NextDue.IsZero() {
		e.Fatalf("Promote: %+v, %v", promoted, err)
	}
	e.wantStuck(run.Job.ID, run.Lease.Node)
	e.resume(resumption(run.Job.ID), store.Available)
	next := e.claimOne(run.Lease.Node, run.Job.ID)
	if next.Job.Attempt != 1 || len(e.messages(run.Job.ID)) != 2 {
		e.Fatalf("the next run: %+v", next)
	}
}

func holdWaiting(e *env) {
	node := e.join()
	retryable := e.claimOne(node, e.add())
	e.end(retryable, store.Retryable)
	wait := forSignals()
	wait.Until = e.clock.Now().Add(time.Minute)
	parked := e.parked(wait)
	scheduled, available := e.add(delay(time.Minute)), e.add()
	for _, id := range []store.ID{scheduled, available, retryable.Job.ID, parked.Job.ID} {
		attempts := e.get(id).Attempts
		e.clock.Advance(time.Second)
		e.pauseJob(id, store.Waiting)
		record := e.wantHeld(id)
		e.equal("attempts", record.Attempts, attempts)
	}
	e.beat(node)
	e.wantNothing(node)
	for _, id := range []store.ID{scheduled, available, retryable.Job.ID, parked.Job.ID} {
		e.wantStuck(id, node)
	}
}

func holdBeat(e *env) {
	node, other := e.join(), e.join()
	e.enqueue(e.job(), e.job(), e.job())
	runs := e.claim(node, 3)
	want := func(ids ...store.ID) {
		e.Helper()
		e.clock.Advance(time.Second)
		beat := e.beat(node)
		e.wantSameIDs("pauses", beat.Pauses, ids...)
		if len(beat.Cancels) != 0 {
			e.Fatalf("the beat brings cancels: %+v", beat.Cancels)
		}
		if beat := e.beat(other); len(beat.Pauses) != 0 {
			e.Fatalf("another node is told: %+v", beat.Pauses)
		}
	}
	want()
	e.pauseJob(runs[0].Job.ID, store.Running)
	e.pauseJob(runs[2].Job.ID, store.Running)
	e.pauseJob(runs[2].Job.ID, store.Running)
	if record := e.get(runs[0].Job.ID); record.State != store.Running || !record.PauseRequested || record.Wait != nil {
		e.Fatalf("record: %+v", record)
	}
	if e.get(runs[1].Job.ID).PauseRequested {
		e.Fatal("a job that nobody asked to pause says so")
	}
	want(runs[0].Job.ID, runs[2].Job.ID)
	want(runs[0].Job.ID, runs[2].Job.ID)
	e.end(runs[0], store.Available)
	want(runs[2].Job.ID)
	e.end(runs[2], store.Completed)
	want()
}

// holdPutBack: Reading: what the run did is counted and recorded as its outcome says; where the job goes is another matter. And a
// job that was put back as retryable or scheduled is that again when it is resumed before its time.
func holdPutBack(e *env) {
	for _, state := range []store.State{store.Retryable, store.Scheduled, store.Available, store.Waiting} {
		run := e.durable(1, attempts(10))
		e.pauseJob(run.Job.ID, store.Running)
		o := e.end(run, state, func(o *store.Outcome) {
			if state == store.Waiting {
				o.Wait = &store.Wait{Until: e.clock.Now().Add(time.Minute)}
			}
		})
		if o.Final != store.Waiting {
			e.Fatalf("%v became %v", state, o.Final)
		}
		record := e.wantHeld(run.Job.ID)
		counted := 0
		if state == store.Retryable {
			counted = 1
		}
		if record.Attempt != counted {
			e.Fatalf("%v: attempt %d", state, record.Attempt)
		}
		var want []store.Attempt
		if state != store.Waiting {
			want = []store.Attempt{attemptOf(run, o, e.clock.Now())}
		}
		e.equal("attempts", record.Attempts, want)
		e.wantLost(run)
		again := repeated(o)
		e.apply(&store.Batch{Outcomes: []*store.Outcome{again}})
		if again.Err != nil || again.Final != store.Waiting {
			e.Fatalf("%v, repeated: %v, %v", state, again.Final, again.Err)
		}
		due := e.clock.Now().Add(time.Minute)
		e.clock.Advance(time.Second)
		resumed := store.Available
		if state == store.Retryable || state == store.Scheduled {
			resumed = state
		}
		e.resume(resumption(run.Job.ID), resumed)
		if record := e.get(run.Job.ID); resumed != store.Available && !record.RunAt.Equal(due) {
			e.Fatalf("the resumed job is due at %v, want %v", record.RunAt, due)
		}
		e.later(run.Lease.Node, time.Minute)
		next := e.claimOne(run.Lease.Node, run.Job.ID)
		if next.Job.Attempt != counted+1 {
			e.Fatalf("the next run is attempt %d", next.Job.Attempt)
		}
		e.end(next, store.Completed)
	}
}

func holdFinished(e *env) {
	for _, state := range []store.State{store.Completed, store.Failed, store.Cancelled} {
		run := e.durable(1)
		e.pauseJob(run.Job.ID, store.Running)
		if o := e.end(run, state); o.Final != state {
			e.Fatalf("%v became %v", state, o.Final)
		}
		record := e.get(run.Job.ID)
		if record.State != state || record.PauseRequested || record.Wait != nil {
			e.Fatalf("record: %+v", record)
		}
	}
	// Nor does it hold up a deadline.
	run := e.started(func(q *store.Enqueue) { q.Job.Options.Deadline = e.clock.Now().Add(time.Minute) })
	e.pauseJob(run.Job.ID, store.Running)
	if o := e.end(run, store.Retryable, func(o *store.Outcome) { o.Delay = time.Hour }); o.Final != store.Failed {
		e.Fatalf("retryable became %v", o.Final)
	}
}

func holdEnds(e *env) {
	// A person takes it back while the job runs.
	run := e.durable(1)
	e.pauseJob(run.Job.ID, store.Running)
	e.resume(resumption(run.Job.ID), store.Running)
	if e.get(run.Job.ID).PauseRequested || len(e.beat(run.Lease.Node).Pauses) != 0 {
		e.Fatal("a resumed job is asked to pause")
	}
	_, err := e.store.Resume(e.ctx, resumption(run.Job.ID))
	e.wantErr("Resume of a running job that nobody asked to pause", err, store.ErrConflict)
	if o := e.end(run, store.Retryable); o.Final != store.Retryable {
		e.Fatalf("retryable became %v", o.Final)
	}
	// A person lets it run again after it failed: what was asked before is over.
	run = e.durable(1)
	e.pauseJob(run.Job.ID, store.Running)
	e.end(run, store.Failed)
	e.retry(run.Job.ID)
	again := e.claimOne(run.Lease.Node, run.Job.ID)
	if e.get(run.Job.ID).PauseRequested || len(e.beat(run.Lease.Node).Pauses) != 0 {
		e.Fatal("a retried job is asked to pause")
	}
	e.end(again, store.Completed)
	// It was held, and resumed: the next run is not asked.
	run = e.durable(1)
	e.pauseJob(run.Job.ID, store.Running)
	e.end(run, store.Available)
	e.resume(resumption(run.Job.ID), store.Available)
	again = e.claimOne(run.Lease.Node, run.Job.ID)
	if o := e.end(again, store.Retryable); o.Final != store.Retryable {
		e.Fatalf("the run after the pause became %v", o.Final)
	}
}

func holdCancelFirst(e *env) {
	for _, state := range []store.State{store.Retryable, store.Scheduled, store.Available, store.Waiting} {
		run := e.durable(1)
		e.pauseJob(run.Job.ID, store.Running)
		e.cancel(run.Job.ID)
		if o := e.end(run, state); o.Final != store.Available {
			e.Fatalf("%v became %v", state, o.Final)
		}
		next := e.claimOne(run.Lease.Node, run.Job.ID)
		if !next.CancelRequested || next.CancelReason != "not needed" {
			e.Fatalf("the next run: %+v", next)
		}
		// What is left of the job is its end, and nobody paused that.
		if beat := e.beat(run.Lease.Node); len(beat.Pauses) != 0 {
			e.Fatalf("the next run is asked to pause: %+v", beat)
		}
		e.end(next, store.Cancelled)
	}
	run := e.started()
	e.pauseJob(run.Job.ID, store.Running)
	e.cancel(run.Job.ID)
	if o := e.end(run, store.Retryable); o.Final != store.Cancelled {
		e.Fatalf("a job without a journal became %v", o.Final)
	}
}

func holdLeave(e *env) {
	run := e.durable(1)
	e.pauseJob(run.Job.ID, store.Running)
	e.leave(run.Lease.Node)
	record := e.wantHeld(run.Job.ID)
	if record.Attempt != 0 || len(record.Attempts) != 1 || record.Attempts[0].Reason != store.ReasonReleased {
		e.Fatalf("record: %+v", record)
	}
	node := e.join()
	e.wantNothing(node)
	e.resume(resumption(run.Job.ID), store.Available)
	e.claimOne(node, run.Job.ID)
}

func holdRescue(e *env) {
	run := e.started(attempts(3))
	e.pauseJob(run.Job.ID, store.Running)
	e.clock.Advance(deadAfter + time.Second)
	rescued := e.rescue()
	if len(rescued) != 1 || rescued[0].State != store.Waiting || rescued[0].Job != run.Job.ID {
		e.Fatalf("rescued: %+v", rescued)
	}
	record := e.wantHeld(run.Job.ID)
	if record.Attempt != 1 || len(record.Attempts) != 1 || record.Attempts[0].Reason != store.ReasonNodeLost {
		e.Fatalf("record: %+v", record)
	}
	node := e.join()
	e.wantStuck(run.Job.ID, node)
	e.resume(resumption(run.Job.ID), store.Available)
	if next := e.claimOne(node, run.Job.ID); next.Job.Attempt != 2 {
		e.Fatalf("the next run: %+v", next)
	}
	// The last attempt is lost, and there is nothing to hold.
	run = e.started(attempts(1))
	e.pauseJob(run.Job.ID, store.Running)
	e.clock.Advance(deadAfter + time.Second)
	e.rescue()
	if record := e.get(run.Job.ID); record.State != store.Failed || record.Reason != store.ReasonCrashLoop || record.PauseRequested {
		e.Fatalf("record: %+v", record)
	}
}

func holdBeforeMessage(e *env) {
	run := e.durable(1)
	e.send(run.Job.ID, signal("s"))
	e.pauseJob(run.Job.ID, store.Running)
	if o := e.park(run, forSignals()); o.Final != store.Waiting {
		e.Fatalf("park: %v", o.Final)
	}
	e.wantHeld(run.Job.ID)
	e.wantStuck(run.Job.ID, run.Lease.Node)
}

func holdTwice(e *env) {
	run := e.durable(1)
	e.park(run, &store.Wait{Held: true, For: []byte(`{"a":1}`)}, func(o *store.Outcome) {
		o.Reason, o.Error = store.ReasonNondeterminism, "words"
	})
	id := e.add()
	e.pauseJob(id, store.Waiting)
	for _, id := range []store.ID{run.Job.ID, id} {
		before := e.get(id)
		e.clock.Advance(time.Second)
		e.pauseJob(id, store.Waiting)
		e.equal("record", e.get(id), before)
		if r := e.tryRetry(id); r.Err == nil {
			e.Fatalf("a held job was retried: %+v", r)
		}
		e.equal("record", e.get(id), before)
	}
	// A job that only waits is no job for a retry either.
	run = e.parked(forSignals())
	e.wantErr("retry of a waiting job", e.tryRetry(run.Job.ID).Err, store.ErrConflict)
}

func holdOrderingKey(e *env) {
	node := e.join()
	// Paused while it has the turn.
	run := e.claimOne(node, e.add(ordered("k")))
	second := e.add(ordered("k"))
	third := e.add(ordered("k"))
	e.end(run, store.Available)
	e.pauseJob(run.Job.ID, store.Waiting)
	e.wantNothing(node)
	// Paused while it waits for the turn: it is out of the line, and gets back into it.
	e.pauseJob(second, store.Waiting)
	e.resume(resumption(run.Job.ID), store.Available)
	run = e.claimOne(node, run.Job.ID)
	e.end(run, store.Completed)
	run = e.claimOne(node, third)
	e.clock.Advance(time.Second)
	e.resume(resumption(second), store.Available)
	e.promote()
	if !e.get(second).Blocked {
		e.Fatal("the resumed job does not wait for its turn")
	}
	e.wantNothing(node)
	e.end(run, store.Completed)
	e.claimOne(node, second)
}

func holdUnique(e *env) {
	held := func(change ...func(*store.Enqueue)) store.ID {
		e.Helper()
		id := e.add(change...)
		e.pauseJob(id, store.Waiting)
		return id
	}
	id := held(unique("a"))
	for range 2 {
		if q := e.try(unique("a"), onConflict(store.Replace), delay(time.Hour)); q.Err != nil || q.Result.ID != id || q.Result.Replaced {
			e.Fatalf("enqueue with the key of a paused job: %+v, %v", q.Result, q.Err)
		}
		if e.get(id).State == store.Waiting {
			e.resume(resumption(id), store.Available)
			e.pauseJob(id, store.Waiting)
		}
	}
	// Reading: one that would not hold its key while it runs does not hold it while it is paused, and gets it back by nothing.
	id = held(unique("b", store.Scheduled, store.Available))
	taken := e.add(unique("b", store.Scheduled, store.Available))
	e.resume(resumption(id), store.Available)
	e.wantState(taken, store.Available)
}

func holdAnswers(e *env) {
	running, done := e.started(), e.started()
	e.end(done, store.Completed)
	waiting, unknown := e.add(), e.ids.next()
	results := e.tryPause(unknown, waiting, running.Job.ID, done.Job.ID, waiting)
	e.wantErr("pause of an unknown job", results[0].Err, store.ErrNotFound)
	e.wantErr("pause of a finished job", results[3].Err, store.ErrConflict)
	if got := results[3].State; got != store.Completed {
		e.Fatalf("pause of a finished job: it is %v, want completed", got)
	}
	for i, want := range map[int]store.State{1: store.Waiting, 2: store.Running, 4: store.Waiting} {
		if r := results[i]; r.Err != nil || r.State != want {
			e.Fatalf("answer %d is %+v, want %v", i, r, want)
		}
	}
	if results := e.tryPause(); len(results) != 0 {
		e.Fatalf("pause of nothing: %+v", results)
	}
}

func holdHostileText(e *env) {
	hostile := "words\x00 and \xff\xfe" + strings.Repeat("é", 100)
	run, other := e.durable(1), e.durable(1)
	id := e.add()
	params := store.PauseJobsParams{Jobs: []store.ID{id, run.Job.ID}, Reason: hostile, Actor: hostile}
	if _, err := e.store.PauseJobs(e.ctx, params); err != nil {
		e.Fatalf("PauseJobs: %v", err)
	}
	o := outcome(run, store.Available)
	p := outcome(other, store.Waiting, func(o *store.Outcome) {
		o.Wait, o.Durable, o.Reason, o.Error = &store.Wait{Held: true}, true, store.ReasonNondeterminism, hostile
	})
	e.apply(&store.Batch{Outcomes: []*store.Outcome{o, p}})
	if o.Err != nil || p.Err != nil {
		e.Fatalf("errors: %v, %v", o.Err, p.Err)
	}
	for _, id := range []store.ID{id, run.Job.ID, other.Job.ID} {
		if w := e.get(id).Wait; w == nil || !strings.HasPrefix(w.Error, "words") || !strings.HasSuffix(w.Error, "é") {
			e.Fatalf("wait: %+v", w)
		}
		resumed := resumption(id)
		resumed.Reason, resumed.Actor = hostile, hostile
		e.resume(resumed, store.Available)
	}
}
