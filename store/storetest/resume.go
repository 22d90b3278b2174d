package storetest

import (
	"errors"
	"time"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/holdfastdev/holdfast/store"
)

var resumeTests = []test{
	{"a_paused_job_goes_back_to_where_it_was", resumeWhere},
	{"a_finished_job_begins_again_with_what_it_remembers", resumeFinished},
	{"Remembered_but_for_what_a_person_takes_away", resumeKeep},
	{"a_callback_that_was_taken_away_is_not_known", resumeForgetsCallback},
	{"a_person_who_knows_another_journal_is_refused", resumeExpect},
	{"UniqueIsUnique_a_finished_job_needs_its_key", resumeUnique},
	{"a_job_that_nothing_holds_is_a_conflict", resumeConflict},
	{"OneOwner_the_leases_from_before_are_lost", resumeFenced},
	{"a_resumed_job_parks_again", resumeParks},
}

// resumeWhere: the time of a scheduled or retryable job is kept while it is held.
func resumeWhere(e *env) {
	node := e.join()
	for _, state := range []store.State{store.Scheduled, store.Retryable} {
		for _, early := range []bool{true, false} {
			id := e.add(delay(map[store.State]time.Duration{store.Scheduled: time.Minute}[state]))
			if state == store.Retryable {
				e.end(e.claimOne(node, id), store.Retryable)
			}
			before := e.get(id)
			e.pauseJob(id, store.Waiting)
			if early {
				e.later(node, 30*time.Second)
				e.resume(resumption(id), state)
				e.equal("the resumed job", e.get(id), before, cmpopts.IgnoreFields(store.Record{}, "Actions"))
				e.later(node, 30*time.Second)
			} else {
				e.later(node, time.Minute)
				e.resume(resumption(id), store.Available)
			}
			run := e.claimOne(node, id)
			if run.Job.Attempt != before.Attempt+1 {
				e.Fatalf("the run after the pause is attempt %d", run.Job.Attempt)
			}
			e.end(run, store.Completed)
		}
	}
	// One that was available is so again, behind those that were due meanwhile. Reading: it is due now.
	id := e.add()
	e.pauseJob(id, store.Waiting)
	e.clock.Advance(time.Second)
	other := e.add()
	e.clock.Advance(time.Second)
	e.resume(resumption(id), store.Available)
	e.beat(node)
	e.wantIDs("claimed", claimedIDs(e.claim(node, 10)), other, id)
	// So is one that waited: its run looks for itself.
	wait := forSignals()
	wait.Until = e.clock.Now().Add(time.Hour)
	parked := e.parked(wait)
	e.pauseJob(parked.Job.ID, store.Waiting)
	e.resume(resumption(parked.Job.ID), store.Available)
	if record := e.get(parked.Job.ID); record.Wait != nil || !record.RunAt.Equal(e.clock.Now()) {
		e.Fatalf("the resumed job: %+v", record)
	}
	e.claimOne(e.join(), parked.Job.ID)
}

func resumeFinished(e *env) {
	node := e.join()
	for _, state := range []store.State{store.Failed, store.Cancelled} {
		run := e.claimOne(node, e.add(attempts(5)))
		e.write(&run, steps(1, 3)...)
		e.send(run.Job.ID, signal("s"))
		e.end(run, store.Retryable)
		e.later(node, time.Minute)
		run = e.claimOne(node, run.Job.ID)
		if err := e.tryAppend(&store.Append{Lease: run.Lease, Entries: steps(4, 4), Closing: true}); err != nil {
			e.Fatalf("append: %v", err)
		}
		e.end(run, state)
		before := e.get(run.Job.ID)
		journal := e.journal(run.Job.ID)
		e.clock.Advance(time.Second)
		e.resume(resumption(run.Job.ID), store.Available)
		record := e.get(run.Job.ID)
		if record.Attempt != 0 || record.Closing || record.Reason != "" || !record.FinishedAt.IsZero() || record.LeaseNumber != 2 ||
			!record.RunAt.Equal(e.clock.Now()) {
			e.Fatalf("the resumed job: %+v", record)
		}
		e.equal("attempts", record.Attempts, before.Attempts)
		e.equal("journal", e.journal(run.Job.ID), journal)
		if ended := e.ended(run.Job.ID); len(ended) != 0 {
			e.Fatalf("a resumed job has ended: %+v", ended)
		}
		next := e.claimOne(node, run.Job.ID)
		if next.Job.Attempt != 1 || next.Lease.Number != 3 || next.Job.Closing || !next.Durable || next.CancelRequested {
			e.Fatalf("the next run: %+v", next)
		}
		e.write(&next, step(5))
		e.end(next, store.Completed)
	}
	// One that is held while it is closing stays closing only if it keeps the entry with which that was decided.
	for keep, closing := range map[int64]bool{-1: true, 5: true, 4: false, 0: false} {
		run := e.claimOne(node, e.add())
		e.write(&run, steps(1, 3)...)
		if err := e.tryAppend(&store.Append{Lease: run.Lease, Entries: steps(4, 5), Closing: true}); err != nil {
			e.Fatalf("append: %v", err)
		}
		e.write(&run, step(6))
		e.park(run, &store.Wait{Held: true})
		params := resumption(run.Job.ID)
		params.Keep = keep
		e.resume(params, store.Available)
		if record := e.get(run.Job.ID); record.Closing != closing {
			e.Fatalf("the job that keeps %d entries, the fifth of which decides its end: %+v", keep, record)
		}
		run = e.claimOne(node, run.Job.ID)
		if run.Job.Closing != closing {
			e.Fatalf("the next run of it: %+v", run)
		}
		e.end(run, store.Completed)
	}
	// One that never ran, and remembers nothing.
	id := e.add(delay(time.Hour))
	e.cancel(id)
	e.resume(resumption(id), store.Available)
	e.end(e.claimOne(node, id), store.Completed)
}

func resumeKeep(e *env) {
	for _, c := range []struct{ keep, want int64 }{{-1, 5}, {9, 5}, {5, 5}, {3, 3}, {1, 1}, {0, 0}} {
		for _, finished := range []bool{false, true} {
			run := e.started()
			e.write(&run, step(1), entry(2, store.EntryCallback, "token"), step(3), entry(4, store.EntryPublished, "progress"), step(5))
			e.send(run.Job.ID, signal("s"))
			e.send(run.Job.ID, callback(store.MessageHeartbeat, "token"))
			if finished {
				e.end(run, store.Failed)
			} else {
				e.park(run, &store.Wait{Held: true})
			}
			before, messages := e.journal(run.Job.ID).Entries, e.messages(run.Job.ID)
			params := resumption(run.Job.ID)
			params.Keep, params.Expect = c.keep, 5
			e.resume(params, store.Available)
			e.equal("journal", e.journal(run.Job.ID).Entries, before[:c.want])
			e.equal("messages", e.messages(run.Job.ID), messages)
			if n := e.get(run.Job.ID).Journal; n != c.want {
				e.Fatalf("the record tells of %d entries, want %d", n, c.want)
			}
			published, err := e.store.Entries(e.ctx, store.JournalParams{
				Job: run.Job.ID, Kinds: []store.EntryKind{store.EntryPublished}, Name: "progress", Newest: true, Limit: 1,
			})
			if err != nil || (len(published) == 1) != (c.want >= 4) {
				e.Fatalf("published: %+v, %v", published, err)
			}
			// The next run goes on behind what was kept, under the same numbers.
			next := e.claimOne(run.Lease.Node, run.Job.ID)
			if next.Durable != (c.want > 0) {
				e.Fatalf("the next run says durable: %v", next.Durable)
			}
			e.write(&next, entry(c.want+1, store.EntryValue, "new"))
			entries := e.wantEntries(run.Job.ID, int(c.want)+1)
			if last := entries[c.want]; last.Name != "new" || last.LeaseNumber != next.Lease.Number {
				e.Fatalf("the new entry: %+v", last)
			}
			e.end(next, store.Completed)
		}
	}
}

func resumeForgetsCallback(e *env) {
	run := e.durable(1)
	e.write(&run, entry(2, store.EntryCallback, "token"))
	e.end(run, store.Failed)
	params := resumption(run.Job.ID)
	params.Keep = 1
	e.resume(params, store.Available)
	e.wantErr("send to it", e.trySend(run.Job.ID, callback(store.MessageCallback, "token"), "").Err, store.ErrNotFound)
	next := e.claimOne(run.Lease.Node, run.Job.ID)
	e.write(&next, entry(2, store.EntryCallback, "token"))
	e.send(run.Job.ID, callback(store.MessageCallback, "token"))
}

func resumeExpect(e *env) {
	held, failed, empty := e.durable(3), e.durable(3), e.started()
	e.park(held, &store.Wait{Held: true})
	e.end(failed, store.Failed)
	e.end(empty, store.Failed)
	for id, n := range map[store.ID]int64{held.Job.ID: 3, failed.Job.ID: 3, empty.Job.ID: 0} {
		journal := e.journal(id)
		for _, wrong := range []int64{n - 1, n + 1} {
			if wrong < 0 {
				continue
			}
			params := resumption(id)
			params.Keep, params.Expect = 0, wrong
			e.wantNoResume(params, store.ErrConflict)
		}
		e.equal("journal", e.journal(id), journal)
		params := resumption(id)
		params.Expect = n
		e.resume(params, store.Available)
	}
}

func resumeUnique(e *env) {
	node := e.join()
	first := e.add(unique("k"))
	run := e.claimOne(node, first)
	e.write(&run, steps(1, 2)...)
	e.end(run, store.Failed)
	second := e.add(unique("k"))
	params := resumption(first)
	params.Keep = 1
	_, err := e.store.Resume(e.ctx, params)
	e.wantErr("Resume without the key", err, store.ErrConflict)
	var conflict *store.UniqueError
	if !errors.As(err, &conflict) || conflict.Holder != second {
		e.Fatalf("Resume: %v, want a conflict with %v", err, second)
	}
	e.wantState(first, store.Failed)
	e.wantEntries(first, 2)
	e.cancel(second)
	e.resume(params, store.Available)
	e.wantEntries(first, 1)
	if q := e.try(unique("k"), onConflict(store.Reject)); !errors.Is(q.Err, store.ErrConflict) {
		e.Fatalf("the resumed job does not hold its key: %+v, %v", q.Result, q.Err)
	}
}

func resumeConflict(e *env) {
	_, err := e.store.Resume(e.ctx, resumption(e.ids.next()))
	e.wantErr("Resume of an unknown job", err, store.ErrNotFound)
	node := e.join()
	run := e.claimOne(node, e.add())
	e.wantNoResume(resumption(run.Job.ID), store.ErrConflict)
	e.end(run, store.Retryable)
	e.wantNoResume(resumption(run.Job.ID), store.ErrConflict)
	e.wantNoResume(resumption(e.add(delay(time.Hour))), store.ErrConflict)
	e.wantNoResume(resumption(e.parked(forSignals()).Job.ID), store.ErrConflict)
	completed := e.durable(2)
	e.end(completed, store.Completed)
	params := resumption(completed.Job.ID)
	params.Keep = 0
	e.wantNoResume(params, store.ErrConflict)
	e.wantEntries(completed.Job.ID, 2)
	e.wantNoResume(resumption(e.add()), store.ErrConflict)
}

func resumeFenced(e *env) {
	run := e.durable(3)
	e.end(run, store.Failed)
	params := resumption(run.Job.ID)
	params.Keep = 0
	e.resume(params, store.Available)
	lost := func() {
		e.Helper()
		e.wantLost(run)
		e.wantErr("append", e.tryAppend(&store.Append{Lease: run.Lease, Entries: steps(1, 1)}), store.ErrLeaseLost)
		e.wantErr("repeated append", e.tryAppend(&store.Append{Lease: run.Lease, Entries: steps(1, 1), Repeat: true}), store.ErrLeaseLost)
	}
	lost()
	next := e.claimOne(e.join(), run.Job.ID)
	lost()
	e.write(&next, step(1))
	lost()
	e.wantEntries(run.Job.ID, 1)
}

func resumeParks(e *env) {
	run := e.parked(forSignals())
	e.pauseJob(run.Job.ID, store.Waiting)
	e.send(run.Job.ID, signal("meanwhile"))
	e.resume(resumption(run.Job.ID), store.Available)
	run = e.claimOne(run.Lease.Node, run.Job.ID)
	if o := e.park(run, forSignals()); o.Final != store.Available {
		e.Fatalf("park after what came while it was held: %v", o.Final)
	}
	run = e.claimOne(run.Lease.Node, run.Job.ID)
	wait := forSignals()
	wait.Seen = 1
	if o := e.park(run, wait); o.Final != store.Waiting {
		e.Fatalf("park: %v", o.Final)
	}
	e.wantNoResume(resumption(run.Job.ID), store.ErrConflict)
	if result := e.send(run.Job.ID, signal("s")); !result.Woken {
		e.Fatalf("send: %+v", result)
	}
}
