package updates

import (
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

// endTests are about what becomes of requests: their answers, and how they go.
var endTests = env.Tests{
	"AtomicTransitions_an_answer_comes_with_its_append_or_not_at_all":    answerAtomic,
	"OneOwner_an_answer_under_a_lost_lease_is_none":                      answerFenced,
	"the_first_answer_stays":                                             answerOnce,
	"an_answer_is_to_a_request_of_its_job":                               answerOwn,
	"a_refused_request_is_forgotten_when_its_caller_says_so":             refusedForgotten,
	"a_refused_request_goes_after_a_minute":                              refusedRetained,
	"Remembered_answers_outlive_a_job_that_continues":                    answerContinued,
	"a_job_that_runs_again_knows_no_request_that_was_open":               openReopened,
	"what_a_person_takes_away_takes_its_answer_along":                    answerCut,
	"a_fork_has_no_requests":                                             forkAlone,
	"requests_go_with_their_job":                                         goneWithJob,
	"Remembered_a_rescue_changes_nothing_about_requests":                 rescueKeeps,
	"an_answer_that_is_repeated_with_its_append_does_not_answer_another": answerRepeated,
}

func answerAtomic(e *env.Env) {
	run := e.Durable(1)
	seq, other := e.Ask(run.Job.ID, "k"), e.Ask(run.Job.ID, "l")
	gap := &store.Append{
		Lease: run.Lease, Entries: []store.Entry{env.Step(2), env.Step(4)}, Answers: []store.UpdateAnswer{env.Answered(seq, "1")},
	}
	e.WantErr("an append with a gap", e.TryAppend(gap), store.ErrInvalid)
	orphan := e.Child(e.IDs.Next())
	wrong := &store.Append{
		Lease: run.Lease, Entries: []store.Entry{env.Step(2)}, Enqueues: []*store.Enqueue{orphan},
		Answers: []store.UpdateAnswer{env.Answered(seq, "1")},
	}
	e.WantErr("an append with a wrong child", e.TryAppend(wrong), store.ErrInvalid)
	e.WantOpen(run.Job.ID, "k", "l")
	e.Clock.Advance(time.Second)
	e.NoError("append", e.TryAppend(&store.Append{
		Lease:   run.Lease,
		Entries: []store.Entry{{Seq: 2, Kind: store.EntryUpdated, Path: "1:1", Name: "add", Ref: seq, Data: []byte(`{}`)}},
		Answers: []store.UpdateAnswer{
			{Seq: seq, Verdict: store.UpdateDone, Data: []byte("\x00\xff any"), Codec: 3},
			{Seq: other, Verdict: store.UpdateFailed, Error: "sold out"},
		},
	}))
	e.Equal("the answer", e.Update(run.Job.ID, "k").Answer,
		&store.UpdateAnswer{Seq: seq, Verdict: store.UpdateDone, Data: []byte("\x00\xff any"), Codec: 3, At: e.Clock.Now()})
	e.WantAnswer(run.Job.ID, "l", store.UpdateFailed, "sold out")
	e.WantOpen(run.Job.ID)
	if entry := e.Journal(run.Job.ID).Entries[1]; entry.Kind != store.EntryUpdated || entry.Ref != seq {
		e.Fatalf("the entry: %+v", entry)
	}
}

func answerFenced(e *env.Env) {
	run := e.Durable(1)
	seq := e.Ask(run.Job.ID, "k")
	e.Park(run, env.ForUpdates(seq))
	stale := &store.Append{Lease: run.Lease, Answers: []store.UpdateAnswer{env.Answered(seq, "1")}}
	e.WantErr("an answer of a run that is over", e.TryAppend(stale), store.ErrLeaseLost)
	e.WantOpen(run.Job.ID, "k")
	// One of a batch that is refused has not happened, and no other has with it.
	q := &store.Send{Job: run.Job.ID, Message: env.Request("add"), Key: "l", Required: true}
	batch := &store.Batch{Appends: []*store.Append{stale}, Sends: []*store.Send{q}}
	if err := e.Store.Apply(e.Ctx, batch); err == nil {
		e.Fatal("a batch with a stale answer was applied")
	}
	e.WantNoUpdate(run.Job.ID, "l")
	e.WantState(run.Job.ID, store.Waiting)
}

func answerOnce(e *env.Env) {
	run := e.Durable(1)
	seq := e.Ask(run.Job.ID, "k")
	e.Answer(run, env.Answered(seq, "1"))
	before := e.Update(run.Job.ID, "k")
	e.Clock.Advance(time.Second)
	e.Answer(run, env.Answered(seq, "2"))
	e.Answer(run, env.RefusedAs(seq, "too late"))
	e.Equal("the request", e.Update(run.Job.ID, "k"), before)
	// Only what was refused can be forgotten.
	e.NoError("ForgetUpdate", e.Store.ForgetUpdate(e.Ctx, "", run.Job.ID, "k"))
	e.Equal("the request", e.Update(run.Job.ID, "k"), before)
}

func answerOwn(e *env.Env) {
	a, b := e.Durable(1), e.Durable(1)
	seq := e.Ask(a.Job.ID, "k")
	e.Answer(b, env.Answered(seq, "1"), env.Answered(seq+1000, "1"))
	e.WantOpen(a.Job.ID, "k")
	e.Answer(a, env.Answered(seq, "1"))
	e.WantAnswer(a.Job.ID, "k", store.UpdateDone, "1")
}

func refusedForgotten(e *env.Env) {
	run := e.Durable(1)
	before, messages := e.Journal(run.Job.ID), e.Get(run.Job.ID).Messages
	seq := e.Ask(run.Job.ID, "k")
	open := e.Ask(run.Job.ID, "open")
	e.Answer(run, env.RefusedAs(seq, "the cart is closed"))
	e.WantAnswer(run.Job.ID, "k", store.UpdateRefused, "the cart is closed")
	if q := e.TrySend(run.Job.ID, env.Request("add"), "k"); q.Err != nil || !q.Result.Duplicate || q.Result.Seq != seq {
		e.Fatalf("the same request: %+v, %v", q.Result, q.Err)
	}
	for _, key := range []string{"k", "k", "unknown", "open"} {
		e.NoError("ForgetUpdate", e.Store.ForgetUpdate(e.Ctx, "", run.Job.ID, key))
	}
	e.NoError("ForgetUpdate", e.Store.ForgetUpdate(e.Ctx, "", e.IDs.Next(), "k"))
	e.WantNoUpdate(run.Job.ID, "k")
	e.WantOpen(run.Job.ID, "open")
	after := e.Journal(run.Job.ID)
	e.Equal("the journal", after, before)
	if n := e.Get(run.Job.ID).Messages; n != messages {
		e.Fatalf("%d messages became %d", messages, n)
	}
	// The key is free.
	if again := e.Ask(run.Job.ID, "k"); again <= open {
		e.Fatalf("the request has the number %d, after %d", again, open)
	}
}

func refusedRetained(e *env.Env) {
	run := e.Durable(1)
	refused, done := e.Ask(run.Job.ID, "refused"), e.Ask(run.Job.ID, "done")
	e.Ask(run.Job.ID, "open")
	e.Answer(run, env.RefusedAs(refused, "no"), env.Answered(done, "1"))
	e.Clock.Advance(store.RefusedKept)
	for _, params := range []store.Retention{env.Briefly, {}} {
		e.Retain(params)
		e.WantAnswer(run.Job.ID, "refused", store.UpdateRefused, "no")
	}
	e.Clock.Advance(time.Second)
	e.Retain(store.Retention{}) // also if jobs are kept for ever
	e.WantNoUpdate(run.Job.ID, "refused")
	e.WantAnswer(run.Job.ID, "done", store.UpdateDone, "1")
	e.WantOpen(run.Job.ID, "open")
}

func answerContinued(e *env.Env) {
	run := e.Durable(1)
	seq := e.Ask(run.Job.ID, "done")
	e.Ask(run.Job.ID, "open")
	e.Answer(run, env.Answered(seq, "1"))
	for range 2 {
		e.End(run, store.Available, env.AsNew("2"))
		e.WantAnswer(run.Job.ID, "done", store.UpdateDone, "1")
		e.WantOpen(run.Job.ID, "open")
		run = e.ClaimOne(run.Lease.Node, run.Job.ID)
	}
	e.ParkAs(store.Available, run, env.ForUpdates(seq))
}

func openReopened(e *env.Env) {
	for _, reopen := range []func(store.ID){e.Retry, func(id store.ID) { e.Resume(env.Resumption(id), store.Available) }} {
		run := e.Durable(2)
		seq := e.Ask(run.Job.ID, "done")
		e.Ask(run.Job.ID, "open")
		e.Answer(run, env.Answered(seq, "1"))
		e.End(run, store.Failed)
		e.WantOpen(run.Job.ID, "open")
		reopen(run.Job.ID)
		e.WantOpen(run.Job.ID)
		e.WantNoUpdate(run.Job.ID, "open")
		e.WantAnswer(run.Job.ID, "done", store.UpdateDone, "1")
		e.Ask(run.Job.ID, "open")
		e.Terminate(run.Job.ID)
	}
	// One that was held, and had not finished, still has to answer.
	held := e.Held()
	e.Ask(held.Job.ID, "open")
	e.Resume(env.Resumption(held.Job.ID), store.Available)
	e.WantOpen(held.Job.ID, "open")
}

func answerCut(e *env.Env) {
	accepted := func(entry, update int64) store.Entry {
		return store.Entry{Seq: entry, Kind: store.EntryUpdated, Path: "1:1", Name: "add", Ref: update, Data: []byte(`{}`)}
	}
	for _, end := range []func(store.Claimed){
		func(run store.Claimed) { e.End(run, store.Failed) },
		func(run store.Claimed) { e.Park(run, &store.Wait{Held: true}) },
	} {
		run := e.Durable(1)
		first, second, open := e.Ask(run.Job.ID, "first"), e.Ask(run.Job.ID, "second"), e.Ask(run.Job.ID, "open")
		refused := e.Ask(run.Job.ID, "refused")
		a := &store.Append{Lease: run.Lease, Entries: []store.Entry{accepted(2, first), env.Step(3), accepted(4, second), accepted(5, open)}}
		// A message may have the number of a request.
		a.Entries = append(a.Entries, store.Entry{Seq: 6, Kind: store.EntryReceived, Path: "9", Ref: first})
		a.Answers = []store.UpdateAnswer{env.Answered(first, "1"), env.Answered(second, "2"), env.RefusedAs(refused, "no")}
		e.NoError("append", e.TryAppend(a))
		end(run)
		finished := e.Get(run.Job.ID).State.Finished()
		e.Resume(env.Cut(run.Job.ID, 3), store.Available)
		e.WantAnswer(run.Job.ID, "first", store.UpdateDone, "1")
		e.WantAnswer(run.Job.ID, "refused", store.UpdateRefused, "no")
		e.WantNoUpdate(run.Job.ID, "second")
		if finished {
			e.WantOpen(run.Job.ID)
		} else {
			e.WantOpen(run.Job.ID, "open") // and is to be accepted again
		}
		e.Ask(run.Job.ID, "second")
		e.Terminate(run.Job.ID)
	}
	// What was accepted before it continued as new is not taken away.
	run := e.Durable(1)
	seq := e.Ask(run.Job.ID, "k")
	e.NoError("append", e.TryAppend(&store.Append{
		Lease: run.Lease, Entries: []store.Entry{accepted(2, seq)}, Answers: []store.UpdateAnswer{env.Answered(seq, "1")},
	}))
	e.End(run, store.Available, env.AsNew("2"))
	run = e.ClaimOne(run.Lease.Node, run.Job.ID)
	e.Write(&run, env.Step(4))
	e.End(run, store.Failed)
	e.Resume(env.Cut(run.Job.ID, 0), store.Available)
	e.WantAnswer(run.Job.ID, "k", store.UpdateDone, "1")
}

func forkAlone(e *env.Env) {
	run := e.Durable(1)
	seq := e.Ask(run.Job.ID, "done")
	e.Ask(run.Job.ID, "open")
	e.NoError("append", e.TryAppend(&store.Append{
		Lease:   run.Lease,
		Entries: []store.Entry{{Seq: 2, Kind: store.EntryUpdated, Path: "1:1", Name: "add", Ref: seq, Data: []byte(`{}`)}},
		Answers: []store.UpdateAnswer{env.Answered(seq, "1")},
	}))
	fork := e.Fork(run.Job.ID, 2)
	e.WantEntries(fork, 2)
	e.WantNoUpdate(fork, "done")
	e.WantOpen(fork)
	e.Ask(fork, "done") // which it may be asked for again
	e.WantAnswer(run.Job.ID, "done", store.UpdateDone, "1")
	// What it takes back is not the original's.
	next := e.ClaimOne(run.Lease.Node, fork)
	e.End(next, store.Failed)
	e.Resume(env.Cut(fork, 1), store.Available)
	e.WantAnswer(run.Job.ID, "done", store.UpdateDone, "1")
}

func goneWithJob(e *env.Env) {
	run := e.Durable(1)
	seq := e.Ask(run.Job.ID, "done")
	e.Ask(run.Job.ID, "open")
	e.Answer(run, env.Answered(seq, "1"))
	e.End(run, store.Completed)
	other := e.Add()
	e.Ask(other, "open")
	e.Clock.Advance(time.Hour + env.Slack)
	for range 10 {
		e.Retain(env.Briefly)
	}
	e.WantNoUpdate(run.Job.ID, "done")
	e.WantOpen(run.Job.ID)
	e.WantOpen(other, "open")
	// A job that uses the id again has none of them.
	again := e.Add(env.ID(run.Job.ID))
	e.WantNoUpdate(again, "done")
	e.WantOpen(again)
	e.Ask(again, "done")
}

func rescueKeeps(e *env.Env) {
	run := e.Durable(1)
	seq := e.Ask(run.Job.ID, "done")
	e.Ask(run.Job.ID, "open")
	e.Answer(run, env.Answered(seq, "1"))
	e.Lose(run)
	e.WantAnswer(run.Job.ID, "done", store.UpdateDone, "1")
	e.WantOpen(run.Job.ID, "open")
	e.WantErr("an answer of the dead", e.TryAppend(&store.Append{
		Lease: run.Lease, Answers: []store.UpdateAnswer{env.Answered(e.Update(run.Job.ID, "open").Seq, "2")},
	}), store.ErrLeaseLost)
	e.WantOpen(run.Job.ID, "open")
}

func answerRepeated(e *env.Env) {
	run := e.Durable(1)
	seq := e.Ask(run.Job.ID, "k")
	a := &store.Append{Lease: run.Lease, Entries: []store.Entry{env.Step(2)}, Answers: []store.UpdateAnswer{env.RefusedAs(seq, "no")}}
	e.NoError("append", e.TryAppend(a))
	e.NoError("ForgetUpdate", e.Store.ForgetUpdate(e.Ctx, "", run.Job.ID, "k"))
	e.Ask(run.Job.ID, "k")
	a.Repeat = true
	e.NoError("the repeated append", e.TryAppend(a))
	e.Answer(run, env.RefusedAs(seq, "no"))
	e.WantOpen(run.Job.ID, "k")
}
