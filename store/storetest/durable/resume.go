package durable

import (
	"errors"
	"time"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

var resumeTests = env.Tests{
	"a_paused_job_goes_back_to_where_it_was":             resumeWhere,
	"a_finished_job_begins_again_with_what_it_remembers": resumeFinished,
	"Remembered_but_for_what_a_person_takes_away":        resumeKeep,
	"a_callback_that_was_taken_away_is_not_known":        resumeForgetsCallback,
	"a_person_who_knows_another_journal_is_refused":      resumeExpect,
	"UniqueIsUnique_a_finished_job_needs_its_key":        resumeUnique,
	"OneOwner_the_leases_from_before_are_lost":           resumeFenced,
}

// resumeWhere: the time of a scheduled or retryable job is kept while it is held.
func resumeWhere(e *env.Env) {
	node := e.Join()
	for _, state := range []store.State{store.Scheduled, store.Retryable} {
		for _, early := range []bool{true, false} {
			id := e.Add(env.Delay(map[store.State]time.Duration{store.Scheduled: time.Minute}[state]))
			if state == store.Retryable {
				e.End(e.ClaimOne(node, id), store.Retryable)
			}
			before := e.Get(id)
			e.PauseJob(id, store.Waiting)
			if early {
				e.Later(node, 30*time.Second)
				e.Resume(env.Resumption(id), state)
				e.Equal("the resumed job", e.Get(id), before, cmpopts.IgnoreFields(store.Record{}, "Actions"))
				e.Later(node, 30*time.Second)
			} else {
				e.Later(node, time.Minute)
				e.Resume(env.Resumption(id), store.Available)
			}
			run := e.ClaimOne(node, id)
			if run.Job.Attempt != before.Attempt+1 {
				e.Fatalf("the run after the pause is attempt %d", run.Job.Attempt)
			}
			e.End(run, store.Completed)
		}
	}
	// A job that was available becomes available again. Reading: it is due now, so it comes after
	// those that were due meanwhile.
	id := e.Add()
	e.PauseJob(id, store.Waiting)
	e.Clock.Advance(time.Second)
	other := e.Add()
	e.Clock.Advance(time.Second)
	e.Resume(env.Resumption(id), store.Available)
	e.Beat(node)
	e.WantIDs("claimed", env.ClaimedIDs(e.Claim(node, 10)), other, id)
	// A job that waited becomes available too, because its run looks itself for what it waits for.
	wait := env.ForSignals()
	wait.Until = e.Clock.Now().Add(time.Hour)
	parked := e.Parked(wait)
	e.PauseJob(parked.Job.ID, store.Waiting)
	e.Resume(env.Resumption(parked.Job.ID), store.Available)
	if record := e.Get(parked.Job.ID); record.Wait != nil || !record.RunAt.Equal(e.Clock.Now()) {
		e.Fatalf("the resumed job: %+v", record)
	}
	e.ClaimOne(e.Join(), parked.Job.ID)
}

func resumeFinished(e *env.Env) {
	node := e.Join()
	for _, state := range []store.State{store.Failed, store.Cancelled} {
		run := e.ClaimOne(node, e.Add(env.Attempts(5)))
		e.Write(&run, env.Steps(1, 3)...)
		e.Send(run.Job.ID, env.Signal("s"))
		e.End(run, store.Retryable)
		e.Later(node, time.Minute)
		run = e.ClaimOne(node, run.Job.ID)
		e.NoError("append", e.TryAppend(&store.Append{Lease: run.Lease, Entries: env.Steps(4, 4), Closing: true}))
		e.End(run, state)
		before := e.Get(run.Job.ID)
		journal := e.Journal(run.Job.ID)
		e.Clock.Advance(time.Second)
		e.Resume(env.Resumption(run.Job.ID), store.Available)
		record := e.Get(run.Job.ID)
		if record.Attempt != 0 || record.Closing || record.Reason != "" || !record.FinishedAt.IsZero() || record.LeaseNumber != 2 ||
			!record.RunAt.Equal(e.Clock.Now()) {
			e.Fatalf("the resumed job: %+v", record)
		}
		e.Equal("attempts", record.Attempts, before.Attempts)
		e.Equal("journal", e.Journal(run.Job.ID), journal)
		if ended := e.Ended(run.Job.ID); len(ended) != 0 {
			e.Fatalf("a resumed job has ended: %+v", ended)
		}
		next := e.ClaimOne(node, run.Job.ID)
		if next.Job.Attempt != 1 || next.Lease.Number != 3 || next.Job.Closing || !next.Durable || next.CancelRequested {
			e.Fatalf("the next run: %+v", next)
		}
		e.Write(&next, env.Step(5))
		e.End(next, store.Completed)
	}
	// A job that never ran remembers nothing.
	id := e.Add(env.Delay(time.Hour))
	e.Cancel(id)
	e.Resume(env.Resumption(id), store.Available)
	e.End(e.ClaimOne(node, id), store.Completed)
	resumeClosing(e)
}

// resumeClosing: a held job stays closing only if it keeps the entry that decided its end.
func resumeClosing(e *env.Env) {
	node := e.Join()
	for keep, closing := range map[int64]bool{-1: true, 5: true, 4: false, 0: false} {
		run := e.ClaimOne(node, e.Add())
		e.Write(&run, env.Steps(1, 3)...)
		e.NoError("append", e.TryAppend(&store.Append{Lease: run.Lease, Entries: env.Steps(4, 5), Closing: true}))
		e.Write(&run, env.Step(6))
		e.Park(run, &store.Wait{Held: true})
		e.Resume(env.Cut(run.Job.ID, keep), store.Available)
		if record := e.Get(run.Job.ID); record.Closing != closing {
			e.Fatalf("the job that keeps %d entries, the fifth of which decides its end: %+v", keep, record)
		}
		run = e.ClaimOne(node, run.Job.ID)
		if run.Job.Closing != closing {
			e.Fatalf("the next run of it: %+v", run)
		}
		e.End(run, store.Completed)
	}
}

func resumeKeep(e *env.Env) {
	for _, c := range []struct{ keep, want int64 }{{-1, 5}, {9, 5}, {5, 5}, {3, 3}, {1, 1}, {0, 0}} {
		for _, finished := range []bool{false, true} {
			run := e.Started()
			e.Write(&run,
				env.Step(1), env.Entry(2, store.EntryCallback, "token"), env.Step(3),
				env.Entry(4, store.EntryPublished, "progress"), env.Step(5))
			e.Send(run.Job.ID, env.Signal("s"))
			e.Send(run.Job.ID, env.Callback(store.MessageHeartbeat, "token"))
			if finished {
				e.End(run, store.Failed)
			} else {
				e.Park(run, &store.Wait{Held: true})
			}
			before, messages := e.Journal(run.Job.ID).Entries, e.Messages(run.Job.ID)
			params := env.Resumption(run.Job.ID)
			params.Keep, params.Expect = c.keep, 5
			e.Resume(params, store.Available)
			e.Equal("journal", e.Journal(run.Job.ID).Entries, before[:c.want])
			e.Equal("messages", e.Messages(run.Job.ID), messages)
			if n := e.Get(run.Job.ID).Journal; n != c.want {
				e.Fatalf("the record tells of %d entries, want %d", n, c.want)
			}
			published, err := e.Store.Entries(e.Ctx, store.JournalParams{
				Job: run.Job.ID, Kinds: []store.EntryKind{store.EntryPublished}, Name: "progress", Newest: true, Limit: 1,
			})
			if err != nil || (len(published) == 1) != (c.want >= 4) {
				e.Fatalf("published: %+v, %v", published, err)
			}
			// The next run writes its entries under the numbers that became free.
			next := e.ClaimOne(run.Lease.Node, run.Job.ID)
			if next.Durable != (c.want > 0) {
				e.Fatalf("the next run says durable: %v", next.Durable)
			}
			e.Write(&next, env.Entry(c.want+1, store.EntryValue, "new"))
			entries := e.WantEntries(run.Job.ID, int(c.want)+1)
			if last := entries[c.want]; last.Name != "new" || last.LeaseNumber != next.Lease.Number {
				e.Fatalf("the new entry: %+v", last)
			}
			e.End(next, store.Completed)
		}
	}
}

func resumeForgetsCallback(e *env.Env) {
	run := e.Durable(1)
	e.Write(&run, env.Entry(2, store.EntryCallback, "token"))
	e.End(run, store.Failed)
	e.Resume(env.Cut(run.Job.ID, 1), store.Available)
	e.WantErr("send to it", e.TrySend(run.Job.ID, env.Callback(store.MessageCallback, "token"), "").Err, store.ErrNotFound)
	next := e.ClaimOne(run.Lease.Node, run.Job.ID)
	e.Write(&next, env.Entry(2, store.EntryCallback, "token"))
	e.Send(run.Job.ID, env.Callback(store.MessageCallback, "token"))
}

func resumeExpect(e *env.Env) {
	held, failed, empty := e.Durable(3), e.Durable(3), e.Started()
	e.Park(held, &store.Wait{Held: true})
	e.End(failed, store.Failed)
	e.End(empty, store.Failed)
	for id, n := range map[store.ID]int64{held.Job.ID: 3, failed.Job.ID: 3, empty.Job.ID: 0} {
		journal := e.Journal(id)
		for _, wrong := range []int64{n - 1, n + 1} {
			if wrong < 0 {
				continue
			}
			params := env.Resumption(id)
			params.Keep, params.Expect = 0, wrong
			e.WantNoResume(params, store.ErrConflict)
		}
		e.Equal("journal", e.Journal(id), journal)
		params := env.Resumption(id)
		params.Expect = n
		e.Resume(params, store.Available)
	}
}

func resumeUnique(e *env.Env) {
	node := e.Join()
	first := e.Add(env.Unique("k"))
	run := e.ClaimOne(node, first)
	e.Write(&run, env.Steps(1, 2)...)
	e.End(run, store.Failed)
	second := e.Add(env.Unique("k"))
	params := env.Resumption(first)
	params.Keep = 1
	_, _, err := e.Store.Resume(e.Ctx, params)
	e.WantErr("Resume without the key", err, store.ErrConflict)
	var conflict *store.UniqueError
	if !errors.As(err, &conflict) || conflict.Holder != second {
		e.Fatalf("Resume: %v, want a conflict with %v", err, second)
	}
	e.WantState(first, store.Failed)
	e.WantEntries(first, 2)
	e.Cancel(second)
	e.Resume(params, store.Available)
	e.WantEntries(first, 1)
	if q := e.Try(env.Unique("k"), env.OnConflict(store.Reject)); !errors.Is(q.Err, store.ErrConflict) {
		e.Fatalf("the resumed job does not hold its key: %+v, %v", q.Result, q.Err)
	}
}

func resumeFenced(e *env.Env) {
	run := e.Durable(3)
	e.End(run, store.Failed)
	e.Resume(env.Cut(run.Job.ID, 0), store.Available)
	lost := func() {
		e.Helper()
		e.WantLost(run)
		e.WantErr("append", e.TryAppend(&store.Append{Lease: run.Lease, Entries: env.Steps(1, 1)}), store.ErrLeaseLost)
		e.WantErr("repeated append", e.TryAppend(&store.Append{Lease: run.Lease, Entries: env.Steps(1, 1), Repeat: true}), store.ErrLeaseLost)
	}
	lost()
	next := e.ClaimOne(e.Join(), run.Job.ID)
	lost()
	e.Write(&next, env.Step(1))
	lost()
	e.WantEntries(run.Job.ID, 1)
}
