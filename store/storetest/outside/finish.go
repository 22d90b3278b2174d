package outside

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

var finishTests = env.Tests{
	"a_job_that_is_handed_over_is_completed_from_outside":                 finishCompleted,
	"a_job_that_is_handed_over_is_failed_from_outside":                    finishFailed,
	"FinishedIsFinal_a_job_is_finished_from_outside_once":                 finishOnce,
	"AtomicTransitions_many_jobs_are_finished_and_answered_for_in_order":  finishMany,
	"what_was_not_handed_over_is_not_finished_and_its_state_is_told":      finishRefused,
	"NoLoss_the_parent_of_a_job_that_is_finished_from_outside_is_told":    finishAnswers,
	"Order_a_job_that_is_finished_from_outside_hands_its_turn_on":         finishTurn,
	"UniqueIsUnique_a_job_that_is_finished_from_outside_gives_its_key_up": finishKey,
	"EveryDueThingHappens_its_children_are_closed":                        finishChildren,
	"EveryDueThingHappens_it_is_available_again_when_its_time_is_over":    handOverUntil,
	"no_message_wakes_a_job_that_is_handed_over":                          handOverMessages,
	"Remembered_one_that_compensates_does_so_before_it_has_failed":        finishCompensates,
	"an_outcome_that_hands_over_is_recognised_when_it_is_repeated":        handOverRepeated,
	"an_invalid_end_is_refused":                                           finishInvalid,
}

func finishCompleted(e *env.Env) {
	run := e.HandedOver(func(q *store.Enqueue) { q.Job.Codec = 3 })
	id := run.Job.ID
	waiting := e.Get(id)
	if waiting.State != store.Waiting || waiting.Attempt != 0 || len(waiting.Attempts) != 0 || waiting.LeaseNumber != 1 {
		e.Fatalf("handed over: %+v", waiting)
	}
	e.Equal("wait", waiting.Wait, &store.WaitInfo{Since: e.Clock.Now(), HandedOver: true})
	e.WantNotDue(waiting)
	e.WantNothing(e.Join())

	e.Clock.Advance(time.Minute)
	end := env.CompletedBy(id)
	end.Codec, end.Kind = 2, run.Job.Kind
	e.Finish(end)
	done := e.Get(id)
	if string(done.Result) != `"from outside"` || done.ResultCodec != 2 || done.Reason != "" || done.Error != "" || done.Attempt != 0 ||
		!done.FinishedAt.Equal(e.Clock.Now()) || !done.ClaimedAt.Equal(run.ClaimedAt) || done.Wait != nil {
		e.Fatalf("completed: %+v", done)
	}
	e.Equal("actions", done.Actions, []store.Action{{At: e.Clock.Now(), Kind: store.ActionComplete, Actor: "ada"}})
	if ended := e.Ended(id)[0]; ended.State != store.Completed || string(ended.Result) != `"from outside"` || ended.Codec != 2 {
		e.Fatalf("ended: %+v", ended)
	}
	e.WantLost(run)
	if r := e.TryRetry(id); r.State != store.Completed {
		e.Fatalf("retried: %+v", r)
	}
}

func finishFailed(e *env.Env) {
	run := e.HandedOver()
	id := run.Job.ID
	e.Finish(env.FailedBy(id))
	failed := e.Get(id)
	if failed.Reason != store.ReasonTerminal || failed.Error != "it failed outside" || failed.Fingerprint != 7 || failed.Closing ||
		failed.Result != nil || len(failed.Attempts) != 0 {
		e.Fatalf("failed: %+v", failed)
	}
	e.Equal("actions", failed.Actions, []store.Action{{At: e.Clock.Now(), Kind: store.ActionFail, Actor: "ada"}})
	e.Retry(id)
	again := e.ClaimOne(e.Join(), id)
	if again.Lease.Number != 2 || again.Job.Attempt != 1 || again.Durable {
		e.Fatalf("claimed again: %+v", again)
	}
	e.HandOver(again, &store.Wait{})
	e.Finish(env.CompletedBy(id))
}

func finishOnce(e *env.Env) {
	for _, first := range []func(store.ID) store.End{env.CompletedBy, env.FailedBy} {
		id := e.HandedOver().Job.ID
		e.Finish(first(id))
		e.WantNotFinished(id, store.ErrConflict)
		if n := len(e.Get(id).Actions); n != 1 {
			e.Fatalf("%d actions", n)
		}
	}
}

func finishMany(e *env.Env) {
	node := e.Join()
	var ends []store.End
	var want []store.Result
	for i := range 30 {
		id := e.Add()
		switch i % 3 {
		case 0:
			e.HandOver(e.ClaimOne(node, id), &store.Wait{})
			ends = append(ends, env.CompletedBy(id))
			want = append(want, store.Result{Job: id, State: store.Completed})
		case 1:
			e.HandOver(e.ClaimOne(node, id), &store.Wait{})
			ends = append(ends, env.FailedBy(id))
			want = append(want, store.Result{Job: id, State: store.Failed})
		default:
			e.End(e.ClaimOne(node, id), store.Scheduled)
			ends = append(ends, env.CompletedBy(id), env.CompletedBy(e.IDs.Next()))
			want = append(want, store.Result{Job: id, State: store.Scheduled, Err: store.ErrConflict}, store.Result{Err: store.ErrNotFound})
		}
	}
	var ids []store.ID
	for _, end := range ends {
		ids = append(ids, end.Job)
	}
	e.WantAnswers(e.TryFinish(ends...), nil, ids, want...)
	for _, w := range want {
		if w.Err == nil {
			e.WantState(w.Job, w.State)
		}
	}
}

// finishRefused: the error names the state, for those who ask again after an answer was lost.
func finishRefused(e *env.Env) {
	node := e.Join()
	failed, cancelled, completed := e.Started(), e.Started(), e.Started()
	e.End(failed, store.Failed)
	e.End(cancelled, store.Cancelled)
	e.End(completed, store.Completed)
	retryable := e.Started()
	e.End(retryable, store.Retryable)
	ordered := e.Started(env.Ordered("k"))
	behind := e.Add(env.Ordered("k"))
	for what, id := range map[string]store.ID{
		"scheduled": e.Add(env.Delay(time.Hour)), "retryable": retryable.Job.ID,
		"failed": failed.Job.ID, "cancelled": cancelled.Job.ID, "completed": completed.Job.ID, "running": ordered.Job.ID,
		"available": behind, "waiting and was not handed over": e.Parked(env.ForSignals()).Job.ID,
	} {
		e.WantNotFinished(id, store.ErrConflict)
		if r := e.TryFinish(env.CompletedBy(id))[0]; !strings.Contains(r.Err.Error(), fmt.Sprintf("job %s is %s", id, what)) {
			e.Fatalf("a %s job: %v", what, r.Err)
		}
	}
	e.WantNotFinished(e.Held().Job.ID, store.ErrConflict)
	ready := e.Add()
	e.WantNotFinished(ready, store.ErrConflict)
	e.ClaimOne(node, ready)

	unknown := e.TryFinish(env.CompletedBy(e.IDs.Next()))[0]
	e.WantErr("Finish of nothing", unknown.Err, store.ErrNotFound)
	there := e.HandedOver()
	results, _, err := e.Store.Finish(e.Ctx, store.FinishParams{Namespace: env.OtherSpace, Ends: []store.End{env.CompletedBy(there.Job.ID)}})
	e.WantAnswers(results, err, []store.ID{there.Job.ID}, store.Result{Err: store.ErrNotFound})
	other := env.CompletedBy(there.Job.ID)
	other.Kind = "bill"
	if r := e.TryFinish(other)[0]; r.State != store.Waiting || !strings.Contains(r.Err.Error(), there.Job.Kind) {
		e.Fatalf("Finish as another kind: %+v", r)
	}
	e.WantState(there.Job.ID, store.Waiting)
}

func finishAnswers(e *env.Env) {
	for _, end := range []func(store.ID) store.End{env.CompletedBy, env.FailedBy} {
		parent := e.Started(env.Queue("parents"))
		node := e.Join()
		ids := e.Bear(&parent, 2)
		runs := e.Claim(node, 2)
		e.ParkAs(store.Waiting, parent, &store.Wait{Count: 2})
		for _, run := range runs {
			e.HandOver(run, &store.Wait{})
		}
		e.Finish(end(ids[0]))
		e.WantState(parent.Job.ID, store.Waiting)
		e.Finish(end(ids[1]))
		if !env.IsReady(e.Told(), env.Namespace, "parents") {
			e.Fatalf("the nodes are told %+v", e.Told())
		}
		e.WantState(parent.Job.ID, store.Available)
		messages := e.Messages(parent.Job.ID)
		for i, m := range messages {
			want := store.Message{Seq: int64(i + 1), Kind: store.MessageChild, From: ids[i], State: store.Completed, Data: []byte(`"from outside"`)}
			if end(ids[i]).State == store.Failed {
				want = store.Message{
					Seq: int64(i + 1), Kind: store.MessageChild, From: ids[i], State: store.Failed,
					Reason: store.ReasonTerminal, Error: "it failed outside",
				}
			}
			want.At = e.Clock.Now()
			e.Equal("answer", m, want)
		}
		if len(messages) != 2 {
			e.Fatalf("%d answers", len(messages))
		}
		e.Terminate(parent.Job.ID)
	}
}

func finishTurn(e *env.Env) {
	first := e.HandedOver(env.Ordered("k"))
	second := e.Add(env.Ordered("k"))
	e.Promote()
	node := e.Join()
	e.WantNothing(node)
	e.Finish(env.CompletedBy(first.Job.ID))
	e.Promote()
	e.ClaimOne(node, second)
}

func finishKey(e *env.Env) {
	for n, states := range [][]store.State{
		nil, {store.Scheduled, store.Available, store.Running, store.Retryable, store.Failed}, {store.Scheduled, store.Available},
	} {
		key := fmt.Sprint("k", n)
		run := e.HandedOver(env.Unique(key, states...))
		wantHolder(e, key, run.Job.ID, states == nil || slices.Contains(states, store.Running))
		e.Finish(env.FailedBy(run.Job.ID))
		wantHolder(e, key, run.Job.ID, slices.Contains(states, store.Failed))
	}
}

func wantHolder(e *env.Env, key string, id store.ID, holds bool) {
	e.Helper()
	if holds {
		e.WantTaken(key, id)
	} else {
		e.WantFree(key)
	}
}

func finishChildren(e *env.Env) {
	leader := e.Join()
	for _, end := range []func(store.ID) store.End{env.CompletedBy, env.FailedBy} {
		parent := e.Started()
		children := e.Bear(&parent, 2, env.Delay(time.Hour))
		left := e.Bear(&parent, 1, env.Delay(time.Hour), env.OnParentClose(store.AbandonChild))
		e.HandOver(parent, &store.Wait{}, func(o *store.Outcome) { o.Durable = true })
		e.Finish(end(parent.Job.ID))
		if !e.Lead(leader).Work.CloseChildren {
			e.Fatal("the leader is not told that there are children to close")
		}
		e.WantSameIDs("closed", e.CloseChildren(10), children...)
		e.WantState(left[0], store.Scheduled)
	}
}

func handOverUntil(e *env.Env) {
	until := e.Clock.Now().Add(time.Minute)
	run := e.Started()
	if o := e.HandOver(run, &store.Wait{Until: until}); o.Final != store.Waiting || !o.Due.Equal(until) {
		e.Fatalf("handed over: %v, due %v", o.Final, o.Due)
	}
	record := e.Get(run.Job.ID)
	e.Equal("wait", record.Wait, &store.WaitInfo{Since: e.Clock.Now(), Until: until, HandedOver: true})
	e.Clock.Advance(time.Minute)
	e.Promote()
	e.WantNotFinished(run.Job.ID, store.ErrConflict)
	again := e.ClaimOne(e.Join(), run.Job.ID)
	if again.Job.Attempt != 1 || again.Lease.Number != 2 {
		e.Fatalf("claimed again: %+v", again)
	}
	e.HandOver(again, &store.Wait{Until: e.Clock.Now().Add(time.Minute)})
	e.Finish(env.CompletedBy(run.Job.ID))

	deadline := e.Clock.Now().Add(time.Minute)
	late := e.Started(env.Deadline(deadline))
	if o := e.HandOver(late, &store.Wait{}); o.Final != store.Waiting || !o.Due.Equal(deadline) {
		e.Fatalf("handed over with a deadline: %v, due %v; want %v", o.Final, o.Due, deadline)
	}
	e.Clock.Advance(time.Minute)
	e.Promote()
	e.WantState(late.Job.ID, store.Available)
}

func handOverMessages(e *env.Env) {
	run := e.Durable(1)
	child := e.ClaimOne(e.Join(), e.Bear(&run, 1)[0])
	e.HandOver(run, &store.Wait{Kinds: store.MessagesOf(store.MessageSignal, store.MessageChild), Count: 1, Failures: true}, durable)
	if r := e.Send(run.Job.ID, env.Signal("s")); r.Woken {
		e.Fatal("a signal has woken a job that is handed over")
	}
	e.End(child, store.Failed)
	e.WantState(run.Job.ID, store.Waiting)
	if n := len(e.Messages(run.Job.ID)); n != 2 {
		e.Fatalf("%d messages have arrived", n)
	}
	// Nor does one that was there before.
	early := e.Durable(1)
	e.Send(early.Job.ID, env.Signal("s"))
	if o := e.HandOver(early, &store.Wait{Kinds: store.MessagesOf(store.MessageSignal)}, durable); o.Final != store.Waiting {
		e.Fatalf("handed over, it became %v", o.Final)
	}
	e.Finish(env.CompletedBy(run.Job.ID), env.CompletedBy(early.Job.ID))
}

func durable(o *store.Outcome) { o.Durable = true }

func finishCompensates(e *env.Env) {
	handOver := func() store.Claimed {
		run := e.Durable(2, env.Deadline(e.Clock.Now().Add(time.Hour)))
		e.HandOver(run, &store.Wait{Compensates: true}, durable)
		return run
	}
	completed := handOver()
	e.Finish(env.CompletedBy(completed.Job.ID))
	run := handOver()
	id := run.Job.ID
	if r := e.TryFinish(env.FailedBy(id))[0]; r.Err != nil || r.State != store.Available {
		e.Fatalf("Finish: %+v", r)
	}
	record, journal := e.Get(id), e.Journal(id)
	if record.State != store.Available || !record.Closing || len(journal.Entries) != 3 {
		e.Fatalf("it is to compensate: %+v, %+v", record, journal)
	}
	e.Equal("the entry", journal.Entries[2], store.Entry{
		Seq: 3, Kind: store.EntryClosing, Path: "~", Data: []byte(`{"state":"failed"}`), At: e.Clock.Now(), LeaseNumber: 1,
	})
	e.Equal("actions", record.Actions, []store.Action{{At: e.Clock.Now(), Kind: store.ActionFail, Actor: "ada"}})
	e.WantNotFinished(id, store.ErrConflict)
	again := e.ClaimOne(e.Join(), id)
	if !again.Job.Closing || !again.Durable {
		e.Fatalf("claimed: %+v", again)
	}
	e.Write(&again, env.Step(4))
	e.End(again, store.Failed, durable)
	// A person lets it run again from before that.
	e.Resume(env.Cut(id, 2), store.Available)
	if e.Get(id).Closing {
		e.Fatal("it is closing still")
	}
}

func handOverRepeated(e *env.Env) {
	run := e.Started()
	o := e.HandOver(run, &store.Wait{})
	e.WantKnown(o)
	e.Finish(env.CompletedBy(run.Job.ID))
	e.WantKnown(o)
}

func finishInvalid(e *env.Env) {
	id := e.HandedOver().Job.ID
	for _, state := range []store.State{0, store.Cancelled, store.Running, store.Waiting} {
		r := e.TryFinish(store.End{Job: id, State: state})[0]
		e.WantErr("Finish as "+state.String(), r.Err, store.ErrInvalid)
	}
	r := e.TryFinish(store.End{Job: id, State: store.Completed, Codec: -1})[0]
	e.WantErr("Finish with an invalid codec", r.Err, store.ErrInvalid)
	e.WantState(id, store.Waiting)
	twice := e.TryFinish(env.CompletedBy(id), env.FailedBy(id))
	e.WantErr("the second end of one job", twice[1].Err, store.ErrInvalid)
	e.WantState(id, store.Completed)

	odd := e.HandedOver().Job.ID
	end := env.FailedBy(odd)
	end.Error = "a\x00b\xff"
	e.Finish(end)
	if text := e.Get(odd).Error; !strings.HasPrefix(text, "a") {
		e.Fatalf("the error is %q", text)
	}

	held := e.Started()
	both := env.Outcome(held, store.Waiting, func(o *store.Outcome) { o.Wait = &store.Wait{Held: true, HandedOver: true} })
	e.WantErr("a run that is held and hands over", e.TryEnd(both), store.ErrInvalid)
}
