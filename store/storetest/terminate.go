package storetest

import (
	"time"

	"github.com/holdfastdev/holdfast/store"
)

var terminateTests = []test{
	{"a_terminated_job_is_over_in_every_state", terminateStates},
	{"OneOwner_a_terminated_run_writes_nothing", terminateFenced},
	{"FinishedIsFinal_a_finished_job_is_not_terminated", terminateFinished},
	{"a_terminated_job_frees_its_keys", terminateFreesKeys},
	{"a_terminated_job_may_be_let_go_again", terminateResumed},
	{"terminate_answers_in_the_order_asked", terminateAnswers},
}

func terminateStates(e *env) {
	node := e.join()
	begun := func() store.Claimed {
		e.Helper()
		run := e.claimOne(node, e.add())
		e.write(&run, step(1))
		return run
	}
	for what, put := range map[string]func() store.ID{
		"scheduled":          func() store.ID { return e.add(delay(time.Hour)) },
		"available":          func() store.ID { return e.add() },
		"retryable, durable": func() store.ID { run := begun(); e.end(run, store.Retryable); return run.Job.ID },
		"available, durable": func() store.ID { run := begun(); e.end(run, store.Available); return run.Job.ID },
		"waiting":            func() store.ID { run := begun(); e.park(run, forSignals()); return run.Job.ID },
		"held":               func() store.ID { run := begun(); e.park(run, &store.Wait{Held: true}); return run.Job.ID },
		"cancelled before":   func() store.ID { run := begun(); e.park(run, forSignals()); e.cancel(run.Job.ID); return run.Job.ID },
	} {
		id := put()
		before := e.get(id)
		e.clock.Advance(time.Second)
		if states := e.terminate(id); states[0] != store.Cancelled {
			e.Fatalf("%s: the answer is %v", what, states[0])
		}
		record := e.get(id)
		if record.State != store.Cancelled || record.Reason != store.ReasonTerminated || record.Error != "enough" ||
			!record.FinishedAt.Equal(e.clock.Now()) || record.CancelRequested || record.Wait != nil || record.Attempt != before.Attempt {
			e.Fatalf("%s: %+v", what, record)
		}
		// No run ended, so none is recorded.
		e.equal("attempts", record.Attempts, before.Attempts)
		e.equal("ended", e.ended(id), []store.Ended{{ID: id, State: store.Cancelled, Reason: store.ReasonTerminated, Error: "enough"}})
		if n := e.sweep(); n != 0 {
			e.Fatalf("%s: the sweep applied %d requests", what, n)
		}
		e.wantNothing(node)
		e.wantErr("send to a terminated job", e.trySend(id, signal("s"), "").Err, store.ErrConflict)
	}
}

func terminateFenced(e *env) {
	for _, durable := range []bool{false, true} {
		run, neighbour := e.started(), e.started()
		if durable {
			e.write(&run, step(1))
			e.cancel(run.Job.ID)
			e.pauseJob(run.Job.ID, store.Running)
		}
		if states := e.terminate(run.Job.ID); states[0] != store.Cancelled {
			e.Fatalf("the answer is %v", states[0])
		}
		record := e.get(run.Job.ID)
		if record.State != store.Cancelled || record.Reason != store.ReasonTerminated || record.Error != "enough" ||
			!record.FinishedAt.Equal(e.clock.Now()) || record.CancelRequested || record.PauseRequested || record.Attempt != 1 {
			e.Fatalf("record: %+v", record)
		}
		// The run is over, which is recorded although it did not say so itself.
		if len(record.Attempts) != 1 || record.Attempts[0].Outcome != store.Cancelled || record.Attempts[0].LeaseNumber != 1 ||
			record.Attempts[0].Reason != store.ReasonTerminated || !record.Attempts[0].StartedAt.IsZero() {
			e.Fatalf("attempts: %+v", record.Attempts)
		}
		beat := e.beat(run.Lease.Node)
		if len(beat.Cancels) != 0 || len(beat.Pauses) != 0 {
			e.Fatalf("the beat brings %+v", beat)
		}
		e.wantLost(run)
		entries := len(e.journal(run.Job.ID).Entries)
		for _, repeat := range []bool{false, true} {
			a := &store.Append{
				Lease: run.Lease, Entries: steps(int64(entries)+1, int64(entries)+1), Enqueues: []*store.Enqueue{e.child(run.Job.ID)},
				Repeat: repeat,
			}
			e.wantErr("append", e.tryAppend(a), store.ErrLeaseLost)
		}
		for _, state := range []store.State{store.Completed, store.Retryable, store.Available, store.Waiting} {
			o := repeated(outcome(run, state))
			e.apply(&store.Batch{Outcomes: []*store.Outcome{o}})
			e.wantErr("repeated "+state.String(), o.Err, store.ErrLeaseLost)
		}
		e.equal("record", e.get(run.Job.ID), record)
		e.wantEntries(run.Job.ID, entries)
		// Its claim record is as good as before for those beside it.
		e.end(neighbour, store.Completed)
		e.clock.Advance(deadAfter + time.Second)
		if rescued := e.rescue(); len(rescued) != 0 {
			e.Fatalf("rescued: %+v", rescued)
		}
		e.equal("record", e.get(run.Job.ID), record)
	}
	// In one claim record with others.
	e.enqueue(e.job(), e.job(), e.job())
	node := e.join()
	params := e.demand(node, 3)
	runs := e.claimWith(params)
	e.terminate(runs[1].Job.ID)
	params.Repeat = true
	e.wantIDs("repeated claim", claimedIDs(e.claimWith(params)), runs[0].Job.ID, runs[2].Job.ID)
	e.end(runs[2], store.Completed)
	e.leave(node)
	e.wantState(runs[0].Job.ID, store.Available)
	e.wantState(runs[1].Job.ID, store.Cancelled)
}

func terminateFinished(e *env) {
	for _, state := range []store.State{store.Completed, store.Failed, store.Cancelled} {
		run := e.durable(1)
		e.end(run, state)
		before := e.get(run.Job.ID)
		e.clock.Advance(time.Second)
		if states := e.terminate(run.Job.ID); states[0] != state {
			e.Fatalf("the answer about a %v job is %v", state, states[0])
		}
		e.equal("record", e.get(run.Job.ID), before)
	}
}

func terminateFreesKeys(e *env) {
	node := e.join()
	for _, parked := range []bool{false, true} {
		run := e.claimOne(node, e.add(ordered("o"), unique("u")))
		e.write(&run, step(1))
		if parked {
			e.park(run, forSignals())
		}
		next := e.add(ordered("o"))
		e.wantNothing(node)
		e.terminate(run.Job.ID)
		if q := e.try(unique("u"), onConflict(store.Reject)); q.Err != nil {
			e.Fatalf("the terminated job holds its key: %v", q.Err)
		} else {
			e.terminate(q.Job.ID)
		}
		e.end(e.claimOne(node, next), store.Completed)
	}
}

func terminateResumed(e *env) {
	for _, resumed := range []bool{false, true} {
		run := e.durable(2)
		e.terminate(run.Job.ID)
		if resumed {
			e.resume(resumption(run.Job.ID), store.Available)
		} else {
			e.retry(run.Job.ID)
		}
		e.wantLost(run)
		next := e.claimOne(run.Lease.Node, run.Job.ID)
		if next.Job.Attempt != 1 || next.Lease.Number != 2 || !next.Durable || next.CancelRequested {
			e.Fatalf("the next run: %+v", next)
		}
		e.write(&next, step(3))
		e.end(next, store.Completed)
	}
}

func terminateAnswers(e *env) {
	running, done := e.durable(1), e.started()
	e.end(done, store.Completed)
	waiting, unknown := e.add(), e.ids.next()
	ids := []store.ID{unknown, waiting, running.Job.ID, done.Job.ID, waiting, running.Job.ID}
	results, err := e.store.Cancel(e.ctx, store.CancelParams{Jobs: ids, Reason: "r", Actor: "a", Terminate: true})
	if err != nil || len(results) != len(ids) {
		e.Fatalf("%d results, %v", len(results), err)
	}
	want := []store.State{0, store.Cancelled, store.Cancelled, store.Completed, store.Cancelled, store.Cancelled}
	for i, r := range results {
		if r.Job != ids[i] || r.State != want[i] {
			e.Fatalf("answer %d is %+v, want %v to be %v", i, r, ids[i], want[i])
		}
		if i == 0 {
			e.wantErr("termination of an unknown job", r.Err, store.ErrNotFound)
		} else if r.Err != nil {
			e.Fatalf("answer %d is %v", i, r.Err)
		}
	}
	if n := len(e.get(running.Job.ID).Attempts); n != 1 {
		e.Fatalf("%d attempts are recorded", n)
	}
}
