package copies

import (
	"fmt"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

// variety makes jobs in all states but running, with all that can belong to one, and stops all
// nodes.
func variety(e *env.Env) {
	plain(e)
	durable(e)
	relatives(e)
	keyed(e)
	dependent(e)
	e.Pause("idle", true)
	e.SetQueue("tuned", store.AttemptSettings{MaxAttempts: 3, Backoff: store.Backoff{Base: 1, Cap: 2, Jitter: 0.5}, Timeout: 1}, 0)
	e.Add(env.Queue("idle"))
	e.Enqueue(e.Job(env.In(env.OtherSpace)))
	scheduled(e)
	batched(e)
	e.SaveLimit(env.Limit("partner", 5, func(l *store.Limit) { l.Queues, l.Kinds = []string{"mail"}, map[string]int{"send": 2} }))
	e.SaveLimit(env.Limit("all", 0, func(l *store.Limit) { l.Namespace = env.OtherSpace }))
	stop(e)
	e.Sweep()
}

// plain jobs in all states, with attempts, checkpoints, actions and requests.
func plain(e *env.Env) {
	e.Add(env.Delay(time.Hour))
	e.Enqueue(e.Job(func(q *store.Enqueue) {
		q.Job.Args, q.Job.Codec, q.Job.Tags = []byte("\x00\xff not a text"), 3, []string{"a", "b"}
		q.Job.Metadata = []byte(`{"who": "me",  "n": 12345678901234567890}`)
		q.Job.Options = store.Options{
			Timeout: time.Minute, Deadline: e.Clock.Now().Add(time.Hour), Backoff: store.Backoff{Base: time.Second, Jitter: 0.5}, Source: "here",
			TraceParent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", TraceState: `congo="t61"`,
		}
	}))
	for _, state := range []store.State{store.Completed, store.Failed, store.Cancelled, store.Retryable, store.Scheduled, store.Available} {
		run := started(e, env.Attempts(5))
		e.Save(run, store.Checkpoint{Percent: 12.5, Message: "some way", Value: []byte(`{"at":[1,2]}`)})
		e.End(run, state, func(o *store.Outcome) {
			if state == store.Retryable || state == store.Scheduled {
				o.Delay = time.Hour
			}
			o.StartedAt = e.Clock.Now()
			if state == store.Completed {
				o.Result, o.Codec = []byte("\xff\x00"), 2
			}
			if state == store.Failed {
				o.Fingerprint, o.Trace = -77, "a stack"
			}
		})
		e.Clock.Advance(time.Second)
	}
	e.Declare(map[string]store.AttributeType{"amount": store.AttributeInt, "customer": store.AttributeKeyword})
	e.Add(env.Searched("amount", store.IntValue(-5)), env.Searched("customer", store.KeywordValue("Ä")))
	failed := started(e, env.Searched("amount", store.IntValue(7)))
	e.End(failed, store.Failed)
	e.KeepLogs(env.Logged(failed, 1, `{"msg":"\u0000"}`), env.Logged(failed, 2, "two", "three"))
	e.Retry(failed.Job.ID)
	e.Cancel(e.Add())
	e.PauseJob(e.Add(env.Delay(time.Minute)), store.Waiting)
	lost := started(e, env.Attempts(5))
	e.Lose(lost)
	e.Park(started(e), &store.Wait{Until: e.Clock.Now().Add(time.Minute)}, func(o *store.Outcome) {
		o.Reason, o.Error, o.Durable = store.ReasonCodecKey, "a key is missing", false
	})
	e.Clock.Advance(time.Second)
}

// durable jobs with journals, messages and waits.
func durable(e *env.Env) {
	for _, wait := range []*store.Wait{
		env.ForSignals(store.MessageSignal),
		{Until: e.Clock.Now().Add(time.Hour)},
		{Count: 3, Failures: true, For: []byte(`[{"what":"child"}]`)},
		{Held: true},
	} {
		run := remembering(e, 3)
		e.Send(run.Job.ID, env.Traced(env.Signal("before")))
		wait.Seen = 1
		e.Park(run, wait)
	}
	paused := remembering(e, 1)
	e.Park(paused, env.ForSignals(store.MessageSignal))
	e.PauseJob(paused.Job.ID, store.Waiting)
	e.Park(started(e), &store.Wait{Held: true}, func(o *store.Outcome) { o.Reason, o.Error = store.ReasonNondeterminism, "it does not fit" })

	asked := remembering(e, 1)
	done, failed, refused := e.Ask(asked.Job.ID, "done"), e.Ask(asked.Job.ID, "failed"), e.Ask(asked.Job.ID, "refused")
	e.Answer(asked, env.Answered(done, `"\u0007"`), env.RefusedAs(refused, "not now"),
		store.UpdateAnswer{Seq: failed, Verdict: store.UpdateFailed, Error: "not today"})
	e.Park(asked, env.ForUpdates(refused))
	e.PauseJob(asked.Job.ID, store.Waiting)
	e.Ask(asked.Job.ID, "open")

	e.HandOver(remembering(e, 1), &store.Wait{Until: e.Clock.Now().Add(time.Hour)})
	e.HandOver(started(e), &store.Wait{Compensates: true})
	handed := started(e)
	e.HandOver(handed, &store.Wait{})
	e.PauseJob(handed.Job.ID, store.Waiting)

	// One that continued as new, with what it published, and signals that nothing received.
	run := remembering(e, 2)
	for _, name := range []string{"received", "kept 1", "kept 2"} {
		if send := e.TrySend(run.Job.ID, env.Signal(name), name); send.Err != nil {
			e.Fatalf("send: %v", send.Err)
		}
	}
	received := env.Entry(3, store.EntryReceived, "received")
	received.Ref = 1
	e.Write(&run, received, env.Entry(4, store.EntryPublished, "value"), env.Entry(5, store.EntryStreamed, "stream"),
		env.Entry(6, store.EntryPublished, "value"))
	e.End(run, store.Available, env.AsNew(`{"round":2}`))
	again := claim(e, run.Job.Kind)
	e.Write(&again, env.Step(8), env.Entry(9, store.EntryStreamed, "stream"))
	e.Park(again, &store.Wait{Seen: 2, Kinds: store.MessagesOf(store.MessageSignal)})

	// One that is closing, cancelled and lost with its node.
	closing := remembering(e, 1)
	e.NoError("append", e.TryAppend(&store.Append{
		Lease: closing.Lease, Entries: []store.Entry{env.Entry(2, store.EntryClosing, "")}, Closing: true,
	}))
	e.Cancel(closing.Job.ID)
	e.Leave(closing.Lease.Node)

	e.Fork(run.Job.ID, 8)
	e.Cancel(e.Fork(run.Job.ID, 8))
	finished := remembering(e, 4)
	e.End(finished, store.Completed)
}

// relatives are parents that wait, and that have finished before their children.
func relatives(e *env.Env) {
	parent := remembering(e, 1)
	e.Bear(&parent, 2)
	e.Bear(&parent, 1, env.Kind("child"))
	e.End(claim(e, "child"), store.Failed)
	e.Park(parent, &store.Wait{Seen: 1, Kinds: store.MessagesOf(store.MessageChild)})

	over := remembering(e, 1)
	e.Bear(&over, 2, env.OnParentClose(store.TerminateChild))
	e.End(over, store.Completed, env.WithChildren)
}

// dependent jobs wait for others, which wait, have failed, or are gone.
func dependent(e *env.Env) {
	later := e.Add(env.Delay(time.Hour))
	failed, gone := started(e), started(e)
	e.Add(env.After(later, failed.Job.ID), env.Delay(time.Hour))
	e.PauseJob(e.Add(env.AfterOr(store.RunIfFailed, later)), store.Waiting)
	e.Add(env.AfterOr(store.HoldIfFailed, failed.Job.ID, gone.Job.ID, later))
	e.End(gone, store.Cancelled)
	e.CloseChildren(10)
	e.Delete(gone.Job.ID)
	followed := e.Job(env.Delay(2 * time.Hour))
	then := e.Job(env.AfterOr(store.OnlyIfFailed, followed.Job.ID))
	followed.FollowUps = []*store.Enqueue{then}
	then.Job.Options.Follows = followed.Job.ID
	e.Enqueue(followed)
	e.End(failed, store.Failed) // of which the others do not know
}

// keyed jobs hold unique keys, and turns of ordering keys, or wait for them.
func keyed(e *env.Env) {
	e.Add(env.Unique("waiting"))
	e.End(started(e, env.Unique("finished", store.Completed)), store.Completed)
	e.End(started(e, env.Unique("given up")), store.Completed)
	for i := range 3 {
		e.Add(env.Ordered("line"), func(q *store.Enqueue) { q.Job.Args = fmt.Appendf(nil, "%d", i) })
	}
	e.End(started(e, env.Ordered("busy"), env.Queue("ordered")), store.Retryable, func(o *store.Outcome) { o.Delay = time.Hour })
	e.Add(env.Ordered("busy"), env.Queue("ordered"))
	keeps := func(q *store.Enqueue) { q.Job.Options.KeepTurn = true }
	e.End(started(e, env.Ordered("stuck"), env.Queue("stuck"), keeps), store.Failed)
	e.Add(env.Ordered("stuck"), env.Queue("stuck"), keeps)
	e.Add(env.Key("business"))
	e.End(started(e, env.Key("for ever"), env.KeepKey(store.KeepForever)), store.Completed)
	e.End(started(e, env.Key("for a while"), env.KeepKey(time.Hour)), store.Failed)
	e.SendOrStart("business", "along")
	e.SendOrStart("for ever and more", "along", env.Args("2"))
	e.Promote()
}

// scheduled are schedules with all that there is of one, and with runs in all states. Their numbers
// are not in the order of their names.
func scheduled(e *env.Env) {
	e.SaveSchedule(env.Schedule("z"))
	gone := e.SaveSchedule(env.Schedule("gone"))
	e.Apply(env.Batched(e.Fire(gone, e.Clock.Now())))
	e.NoError("DeleteSchedule", e.Store.DeleteSchedule(e.Ctx, env.Namespace, "gone", 0, ""))
	at := e.Clock.Now()
	s := e.SaveSchedule(env.Schedule("nightly", func(s *store.Schedule) {
		s.Declared, s.Cursor, s.NextAt, s.Left = "from code", at.Add(-time.Hour), at, 7
		s.Overlap, s.Missed, s.Window, s.Jitter = store.OverlapCancel, store.MissedCatchUp, time.Hour, time.Minute
		s.Start, s.End = at.Add(-time.Hour), at.Add(24*time.Hour)
		s.Job.Args, s.Job.Codec, s.Job.Tags = []byte("\x00\xff not a text"), 3, []string{"a", "b"}
		s.Job.Metadata, s.Job.OrderingKey, s.Job.MaxAttempts = []byte(`{"a":1}`), "o", 5
		s.Job.Options = store.Options{Timeout: time.Second, Source: "nightly"}
	}))
	fired, manual, skipped := e.Fire(s, at), e.Fire(s, at, env.Unique("by hand")), e.Fire(s, at.Add(time.Hour), env.Unique("by hand"))
	fired.Fire.Runs = append(fired.Fire.Runs, store.FireRun{Nominal: at.Add(-time.Minute), State: store.RunMissed})
	manual.Fire.Manual, manual.Fire.Version = 1<<62, 0
	skipped.Fire.Version, skipped.Fire.Cancels = s.Version+2, fired.Enqueues[0].Job.ID
	e.Apply(env.Batched(fired, manual))
	e.Clock.Advance(time.Second)
	e.Apply(env.Batched(skipped))
	e.SaveSchedule(env.Schedule("nightly", func(s *store.Schedule) {
		s.Namespace, s.PausedAt, s.PausedBy, s.Note = env.OtherSpace, at, "ann", "too many"
	}))
}

// batched are batches in all states, with members.
func batched(e *env.Env) {
	open, waits, done := e.NewBatch(e.Calls(store.BatchEnded)), e.NewBatch(), e.NewBatch(e.Calls(store.BatchFailed))
	e.InOtherSpace().NewBatch()
	for _, b := range []store.JobBatch{open, waits, done} {
		e.End(started(e, env.Member(b.ID)), store.Completed)
		e.End(started(e, env.Member(b.ID)), store.Failed)
	}
	e.Add(env.Member(waits.ID), env.Delay(time.Hour))
	e.CloseBatch(waits.ID)
	e.CloseBatch(done.ID)
	e.CallBack()
}

// started is a run of a job of a kind of its own, so that it is found among those that wait.
func started(e *env.Env, change ...func(*store.Enqueue)) store.Claimed {
	e.Helper()
	job := e.Job(change...)
	job.Job.Kind = "kind-" + job.Job.ID.String()
	e.Enqueue(job)
	return claim(e, job.Job.Kind)
}

func claim(e *env.Env, kind string) store.Claimed {
	e.Helper()
	e.Promote()
	claimed := e.ClaimKinds(e.Join(), kind)
	if len(claimed) != 1 {
		e.Fatalf("claimed %d jobs of kind %s", len(claimed), kind)
	}
	return claimed[0]
}

// remembering is such a run that has taken steps.
func remembering(e *env.Env, steps int64) store.Claimed {
	e.Helper()
	run := started(e)
	e.Write(&run, env.Steps(1, steps)...)
	return run
}
