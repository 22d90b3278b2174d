package durable

import (
	"fmt"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

var waitTests = env.Tests{
	"a_parked_job_says_what_it_waits_for":            waitRecord,
	"NoLoss_a_message_after_the_park_wakes_the_job":  waitThenMessage,
	"only_the_kinds_that_it_waits_for_wake_a_job":    waitKinds,
	"what_a_run_has_seen_does_not_wake_it":           waitSeen,
	"a_job_that_counts_is_woken_by_the_last_of_them": waitCount,
	"EveryDueThingHappens_a_wait_ends_at_its_time":   waitUntil,
	"a_wait_for_nothing_ends_with_a_person":          waitForNothing,
	"a_wait_that_has_a_reason_says_it_until_it_ends": waitReason,
	"Order_a_waiting_job_keeps_the_turn_of_its_key":  waitOrderingKey,
	"parks_and_wakes_of_a_batch_stand_on_their_own":  waitBatch,
}

func waitRecord(e *env.Env) {
	run := e.Durable(1, env.Attempts(2))
	until := e.Clock.Now().Add(time.Hour).Add(999) // nanoseconds are not kept
	wait := env.ForSignals()
	wait.Until = until
	e.ParkAs(store.Waiting, run, wait)
	record := e.Get(run.Job.ID)
	// A park is no attempt: it is neither counted nor recorded.
	if record.State != store.Waiting || record.Attempt != 0 || len(record.Attempts) != 0 || record.LeaseNumber != 1 || record.Error != "" {
		e.Fatalf("record: %+v", record)
	}
	e.Equal("wait", record.Wait, &store.WaitInfo{Since: e.Clock.Now(), Until: until.Truncate(time.Microsecond), For: wait.For})
	listed := e.List(store.Filter{States: []store.State{store.Waiting}}, 10)
	if len(listed) != 1 || listed[0].ID != run.Job.ID {
		e.Fatalf("listed: %+v", listed)
	}
	e.Equal("wait in the list", listed[0].Wait, record.Wait)
	e.WantNothing(run.Lease.Node)
	e.Send(run.Job.ID, env.Signal("approved"))
	e.Clock.Advance(time.Second)
	if record := e.Get(run.Job.ID); record.Wait != nil {
		e.Fatalf("an available job waits: %+v", record.Wait)
	}
	again := e.ClaimOne(run.Lease.Node, run.Job.ID)
	if again.Job.Attempt != 1 || again.Lease.Number != 2 || !again.Durable {
		e.Fatalf("the next run: %+v", again)
	}
	// This wait has no limit and no words.
	e.Park(again, &store.Wait{Kinds: store.MessagesOf(store.MessageChild)})
	e.Equal("wait", e.Get(run.Job.ID).Wait, &store.WaitInfo{Since: e.Clock.Now()})
}

// waitReason: a run may say why its job waits until a time, whether or not the job is durable. It
// is gone with the wait.
func waitReason(e *env.Env) {
	until := e.Clock.Now().Add(time.Minute)
	because := func(durable bool) func(*store.Outcome) {
		return func(o *store.Outcome) {
			o.Reason, o.Error, o.Durable = store.ReasonCodecKey, `codec key "k" is missing`, durable
		}
	}
	want := &store.WaitInfo{Until: until, Reason: store.ReasonCodecKey, Error: `codec key "k" is missing`}
	plain, durable := e.Running(1)[0], e.Durable(1)
	e.ParkAs(store.Waiting, plain, &store.Wait{Until: until}, because(false))
	e.ParkAs(store.Waiting, durable, &store.Wait{Until: until}, because(true))
	for _, run := range []store.Claimed{plain, durable} {
		record := e.Get(run.Job.ID)
		if record.Attempt != 0 || len(record.Attempts) != 0 || record.Error != "" || record.Reason != "" {
			e.Fatalf("record: %+v", record)
		}
		want.Since = e.Clock.Now()
		e.Equal("wait", record.Wait, want)
	}
	e.Clock.Advance(time.Minute)
	e.Promote()
	again := e.ClaimOne(plain.Lease.Node, plain.Job.ID)
	e.Park(again, &store.Wait{Until: until.Add(time.Hour)}, func(o *store.Outcome) { o.Durable = false })
	e.Equal("the next wait", e.Get(plain.Job.ID).Wait, &store.WaitInfo{Since: e.Clock.Now(), Until: until.Add(time.Hour)})
}

func waitThenMessage(e *env.Env) {
	run := e.Parked(env.ForSignals(), env.Queue("approvals"))
	q := &store.Send{Job: run.Job.ID, Message: env.Signal("approved")}
	other := &store.Send{Job: e.Add(), Message: env.Signal("approved")}
	e.Clock.Advance(time.Second)
	again := &store.Send{Job: run.Job.ID, Message: env.Signal("approved")} // a job is woken once
	batch := &store.Batch{Sends: []*store.Send{other, q, again}}
	e.Apply(batch)
	if q.Err != nil || q.Result.Seq != 1 || !q.Result.Woken || other.Result.Woken || again.Result != (store.SendResult{Seq: 2}) {
		e.Fatalf("send: %+v, %v; the other: %+v; again: %+v", q.Result, q.Err, other.Result, again.Result)
	}
	e.WantWoken(batch, "approvals")
	record := e.Get(run.Job.ID)
	// Reading: a job that was woken is due now, so it queues up behind those that were due before.
	if record.State != store.Available || !record.RunAt.Equal(e.Clock.Now()) || record.Wait != nil || len(record.Attempts) != 0 {
		e.Fatalf("the woken job: %+v", record)
	}
	e.WantIDs("claimed", env.ClaimedIDs(e.Claim(e.Join(), 10)), other.Job, run.Job.ID)
}

func waitKinds(e *env.Env) {
	kinds := []store.MessageKind{store.MessageSignal, store.MessageCallback, store.MessageCallbackFailed, store.MessageHeartbeat}
	for _, awaited := range kinds {
		for _, sent := range kinds {
			for _, first := range []bool{false, true} {
				run := e.Durable(1)
				e.Write(&run, env.Entry(2, store.EntryCallback, "token"))
				if first {
					e.Send(run.Job.ID, env.Callback(sent, "token"))
				}
				e.Park(run, env.ForSignals(awaited))
				if !first {
					e.Send(run.Job.ID, env.Callback(sent, "token"))
				}
				want := store.Waiting
				if sent == awaited {
					want = store.Available
				}
				e.WantState(run.Job.ID, want)
				e.Terminate(run.Job.ID)
			}
		}
	}
}

func waitSeen(e *env.Env) {
	run := e.Durable(1)
	for range 3 {
		e.Send(run.Job.ID, env.Signal("s"))
	}
	wait := env.ForSignals()
	wait.Seen = 2
	e.ParkAs(store.Available, run, wait)
	run = e.ClaimOne(run.Lease.Node, run.Job.ID)
	wait.Seen = 3
	e.ParkAs(store.Waiting, run, wait)
	if result := e.Send(run.Job.ID, env.Signal("s")); !result.Woken || result.Seq != 4 {
		e.Fatalf("the next message: %+v", result)
	}
	// This run says that it has seen five messages, so the sixth wakes it.
	run = e.ClaimOne(run.Lease.Node, run.Job.ID)
	wait.Seen = 5
	e.Park(run, wait)
	if result := e.Send(run.Job.ID, env.Signal("s")); result.Woken {
		e.Fatalf("message 5: %+v", result)
	}
	if result := e.Send(run.Job.ID, env.Signal("s")); !result.Woken {
		e.Fatalf("message 6: %+v", result)
	}
}

// waitCount: messages of every kind count.
func waitCount(e *env.Env) {
	run := e.Durable(1)
	e.Write(&run, env.Entry(2, store.EntryCallback, "token"))
	e.Send(run.Job.ID, env.Signal("s"))
	e.Send(run.Job.ID, env.Signal("s"))
	e.Park(run, &store.Wait{Seen: 1, Count: 4})
	for i, message := range []store.Message{env.Signal("s"), env.Callback(store.MessageHeartbeat, "token"), env.Signal("s")} {
		result := e.Send(run.Job.ID, message)
		if want := i == 2; result.Woken != want {
			e.Fatalf("message %d: %+v", i+3, result)
		}
	}
	// Five messages are there. So a run that has seen two and counts three more is woken at once;
	// one that counts four more waits.
	run = e.ClaimOne(run.Lease.Node, run.Job.ID)
	e.ParkAs(store.Available, run, &store.Wait{Seen: 2, Count: 3})
	run = e.ClaimOne(run.Lease.Node, run.Job.ID)
	e.ParkAs(store.Waiting, run, &store.Wait{Seen: 2, Count: 4})
	if result := e.Send(run.Job.ID, env.Signal("s")); !result.Woken {
		e.Fatalf("the last one: %+v", result)
	}
	// A message of an awaited kind wakes the job before the count is complete.
	run = e.ClaimOne(run.Lease.Node, run.Job.ID)
	e.Park(run, &store.Wait{Seen: 6, Count: 10, Kinds: store.MessagesOf(store.MessageCallback)})
	if result := e.Send(run.Job.ID, env.Signal("s")); result.Woken {
		e.Fatalf("a signal: %+v", result)
	}
	if result := e.Send(run.Job.ID, env.Callback(store.MessageCallback, "token")); !result.Woken {
		e.Fatalf("a callback: %+v", result)
	}
}

func waitUntil(e *env.Env) {
	until := e.Clock.Now().Add(time.Hour)
	wait := env.ForSignals()
	wait.Until = until
	run := e.Parked(wait)
	node := run.Lease.Node
	promoted, err := e.Store.Promote(e.Ctx, 100)
	if err != nil || !promoted.NextDue.Equal(until) {
		e.Fatalf("Promote: %+v, %v; want the next one due at %v", promoted, err, until)
	}
	e.Later(node, until.Sub(e.Clock.Now())-time.Microsecond)
	e.WantState(run.Job.ID, store.Waiting)
	e.Clock.Advance(time.Microsecond)
	promoted, err = e.Store.Promote(e.Ctx, 100)
	if err != nil || promoted.Jobs != 1 || len(promoted.Wakes) != 1 || !env.IsReady(promoted.Wakes, env.Namespace, "mail") {
		e.Fatalf("Promote: %+v, %v", promoted, err)
	}
	record := e.Get(run.Job.ID)
	if record.State != store.Available || !record.RunAt.Equal(until) || record.Wait != nil || record.Attempt != 0 {
		e.Fatalf("record: %+v", record)
	}
	next := e.ClaimOne(node, run.Job.ID)
	if next.Job.Attempt != 1 || next.Lease.Number != 2 {
		e.Fatalf("the next run: %+v", next)
	}
	// If the time has passed already, the next promotion wakes the job.
	if o := e.Park(next, &store.Wait{Until: e.Clock.Now().Add(-time.Hour)}); o.Final != store.Waiting && o.Final != store.Available {
		e.Fatalf("park until the past: %v", o.Final)
	}
	e.ClaimOne(node, run.Job.ID)
}

func waitForNothing(e *env.Env) {
	run := e.Parked(&store.Wait{})
	promoted, err := e.Store.Promote(e.Ctx, 100)
	if err != nil || !promoted.NextDue.IsZero() {
		e.Fatalf("Promote: %+v, %v", promoted, err)
	}
	e.Send(run.Job.ID, env.Signal("s"))
	e.Later(run.Lease.Node, 1000*24*time.Hour)
	e.WantState(run.Job.ID, store.Waiting)
	e.Cancel(run.Job.ID)
	e.WantState(run.Job.ID, store.Available)
}

func waitOrderingKey(e *env.Env) {
	run := e.Parked(env.ForSignals(), env.Ordered("k"))
	second := e.Add(env.Ordered("k"), env.Priority(1))
	node := run.Lease.Node
	e.WantNothing(node)
	if !e.Get(second).Blocked {
		e.Fatal("the next job of the key does not wait for its turn")
	}
	batch := &store.Batch{Sends: []*store.Send{{Job: run.Job.ID, Message: env.Signal("s")}}}
	e.Apply(batch)
	// The job has kept its turn, so it can be claimed at once.
	claimed := e.ClaimWith(e.Demand(node, 10))
	e.WantIDs("claimed", env.ClaimedIDs(claimed), run.Job.ID)
	e.Park(claimed[0], &store.Wait{Seen: 1, Until: e.Clock.Now().Add(time.Minute)})
	e.WantNothing(node)
	e.Later(node, time.Minute)
	run = e.ClaimOne(node, run.Job.ID)
	e.Park(run, &store.Wait{})
	e.Terminate(run.Job.ID)
	e.ClaimOne(node, second)
}

func waitBatch(e *env.Env) {
	const n = 20
	var runs []store.Claimed
	for range n {
		runs = append(runs, e.Durable(1))
	}
	batch := &store.Batch{}
	for i, run := range runs {
		if i%4 == 0 { // it has a message that came before
			batch.Sends = append(batch.Sends, &store.Send{Job: run.Job.ID, Message: env.Signal("s")})
		}
		state := store.Waiting
		if i%5 == 0 {
			state = store.Completed
		}
		batch.Outcomes = append(batch.Outcomes, env.Outcome(run, state, func(o *store.Outcome) { o.Wait, o.Durable = env.ForSignals(), true }))
	}
	stale := env.Outcome(runs[3], store.Waiting, func(o *store.Outcome) { o.Wait, o.Durable = env.ForSignals(), true })
	batch.Outcomes = append(batch.Outcomes, stale)
	e.Apply(batch)
	e.WantErr("a second park", stale.Err, store.ErrLeaseLost)
	wake := &store.Batch{}
	for i, run := range runs {
		want := store.Waiting
		switch {
		case i%5 == 0:
			want = store.Completed
		case i%4 == 0:
			want = store.Available
		}
		o := batch.Outcomes[i]
		if o.Err != nil || o.Final != want {
			e.Fatalf("outcome %d: %v, %v; want %v", i, o.Final, o.Err, want)
		}
		e.WantState(run.Job.ID, want)
		wake.Sends = append(wake.Sends, &store.Send{Job: run.Job.ID, Message: env.Signal(fmt.Sprint("s", i))})
	}
	e.Apply(wake)
	for i, q := range wake.Sends {
		if i%5 == 0 {
			e.WantErr("a message to a finished job", q.Err, store.ErrConflict)
		} else if q.Err != nil || q.Result.Woken != (i%4 != 0) {
			e.Fatalf("send %d: %+v, %v", i, q.Result, q.Err)
		}
	}
	e.WantWoken(wake, "mail")
	if runs := e.Claim(e.Join(), 2*n); len(runs) != n-n/5 {
		e.Fatalf("claimed %d, want %d", len(runs), n-n/5)
	}
}
