package storetest

import (
	"fmt"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

var waitTests = []test{
	{"a_parked_job_says_what_it_waits_for", waitRecord},
	{"OneOwner_a_parked_run_is_over", waitFenced},
	{"NoLoss_a_message_after_the_park_wakes_the_job", waitThenMessage},
	{"NoLoss_a_message_before_the_park_is_seen_by_it", waitMessageFirst},
	{"NoLoss_a_message_in_the_batch_of_the_park_is_seen_by_it", waitMessageInBatch},
	{"only_the_kinds_that_it_waits_for_wake_a_job", waitKinds},
	{"what_a_run_has_seen_does_not_wake_it", waitSeen},
	{"a_job_that_counts_is_woken_by_the_last_of_them", waitCount},
	{"a_job_is_woken_once", waitOnce},
	{"EveryDueThingHappens_a_wait_ends_at_its_time", waitUntil},
	{"EveryDueThingHappens_a_deadline_ends_a_wait", waitDeadline},
	{"a_wait_for_nothing_ends_with_a_person", waitForNothing},
	{"a_durable_job_gets_to_its_end_at_its_deadline", waitDurableDeadline},
	{"a_closing_job_goes_on_in_spite_of_its_cancel_and_its_deadline", waitClosing},
	{"Order_a_waiting_job_keeps_the_turn_of_its_key", waitOrderingKey},
	{"UniqueIsUnique_a_waiting_job_holds_its_key_as_if_it_ran", waitUnique},
	{"a_wait_that_says_nothing_is_invalid", waitInvalid},
	{"a_repeated_park_is_recognised", waitRepeat},
	{"OneOwner_a_repeated_park_of_a_lost_lease_is_refused", waitRepeatLost},
	{"parks_and_wakes_of_a_batch_stand_on_their_own", waitBatch},
	{"waiting_jobs_are_counted_and_listed", waitCounted},
}

func waitRecord(e *env) {
	run := e.durable(1, attempts(2))
	until := e.clock.Now().Add(time.Hour).Add(999) // nanoseconds are not kept
	wait := forSignals()
	wait.Until = until
	o := e.park(run, wait)
	if o.Final != store.Waiting {
		e.Fatalf("final state is %v", o.Final)
	}
	record := e.get(run.Job.ID)
	// A park is no attempt: it is neither counted nor recorded.
	if record.State != store.Waiting || record.Attempt != 0 || len(record.Attempts) != 0 || record.LeaseNumber != 1 || record.Error != "" {
		e.Fatalf("record: %+v", record)
	}
	e.equal("wait", record.Wait, &store.WaitInfo{Since: e.clock.Now(), Until: until.Truncate(time.Microsecond), For: wait.For})
	listed := e.list(store.Filter{States: []store.State{store.Waiting}}, 10)
	if len(listed) != 1 || listed[0].ID != run.Job.ID {
		e.Fatalf("listed: %+v", listed)
	}
	e.equal("wait in the list", listed[0].Wait, record.Wait)
	e.wantNothing(run.Lease.Node)
	e.send(run.Job.ID, signal("approved"))
	e.clock.Advance(time.Second)
	if record := e.get(run.Job.ID); record.Wait != nil {
		e.Fatalf("an available job waits: %+v", record.Wait)
	}
	again := e.claimOne(run.Lease.Node, run.Job.ID)
	if again.Job.Attempt != 1 || again.Lease.Number != 2 || !again.Durable {
		e.Fatalf("the next run: %+v", again)
	}
	// Without a limit and words.
	e.park(again, &store.Wait{Kinds: store.MessagesOf(store.MessageChild)})
	e.equal("wait", e.get(run.Job.ID).Wait, &store.WaitInfo{Since: e.clock.Now()})
}

func waitFenced(e *env) {
	run := e.parked(forSignals())
	e.wantLost(run)
	e.send(run.Job.ID, signal("s"))
	e.wantLost(run)
	next := e.claimOne(e.join(), run.Job.ID)
	e.wantLost(run)
	// Nor does a stale run park the job again.
	o := outcome(run, store.Waiting, func(o *store.Outcome) { o.Wait, o.Durable = forSignals(), true })
	e.apply(&store.Batch{Outcomes: []*store.Outcome{o}})
	e.wantErr("a stale park", o.Err, store.ErrLeaseLost)
	e.end(next, store.Completed)
}

func waitThenMessage(e *env) {
	run := e.parked(forSignals(), queue("approvals"))
	q := &store.Send{Job: run.Job.ID, Message: signal("approved")}
	other := &store.Send{Job: e.add(), Message: signal("approved")}
	e.clock.Advance(time.Second)
	batch := &store.Batch{Sends: []*store.Send{other, q}}
	e.apply(batch)
	if q.Err != nil || q.Result != (store.SendResult{Seq: 1, Woken: true}) || other.Result.Woken {
		e.Fatalf("send: %+v, %v; the other: %+v", q.Result, q.Err, other.Result)
	}
	e.wantWoken(batch, "approvals")
	record := e.get(run.Job.ID)
	// Reading: a job that was woken is due now, so it queues up behind those that were due before.
	if record.State != store.Available || !record.RunAt.Equal(e.clock.Now()) || record.Wait != nil || len(record.Attempts) != 0 {
		e.Fatalf("the woken job: %+v", record)
	}
	e.wantIDs("claimed", claimedIDs(e.claim(e.join(), 10)), other.Job, run.Job.ID)
}

func waitMessageFirst(e *env) {
	run := e.durable(1)
	e.send(run.Job.ID, signal("approved"))
	e.clock.Advance(time.Second)
	o := e.park(run, forSignals())
	record := e.get(run.Job.ID)
	if o.Final != store.Available || record.State != store.Available || record.Attempt != 0 || len(record.Attempts) != 0 ||
		!record.RunAt.Equal(e.clock.Now()) || record.Wait != nil {
		e.Fatalf("park after the message: %v, %+v", o.Final, record)
	}
	next := e.claimOne(run.Lease.Node, run.Job.ID)
	if next.Job.Attempt != 1 || next.Lease.Number != 2 {
		e.Fatalf("the next run: %+v", next)
	}
	// Now it knows.
	wait := forSignals()
	wait.Seen = 1
	if o := e.park(next, wait); o.Final != store.Waiting {
		e.Fatalf("park of a run that knows: %v", o.Final)
	}
}

// waitMessageInBatch: sends are written before outcomes, whoever is named first.
func waitMessageInBatch(e *env) {
	run, idle := e.durable(1), e.durable(1)
	park := func(run store.Claimed) *store.Outcome {
		return outcome(run, store.Waiting, func(o *store.Outcome) { o.Wait, o.Durable = forSignals(), true })
	}
	a, b := park(run), park(idle)
	q := &store.Send{Job: run.Job.ID, Message: signal("approved")}
	e.apply(&store.Batch{Outcomes: []*store.Outcome{a, b}, Sends: []*store.Send{q}})
	if a.Err != nil || a.Final != store.Available || b.Err != nil || b.Final != store.Waiting || q.Err != nil || q.Result.Woken {
		e.Fatalf("park: %v, %v; its neighbour: %v, %v; send: %+v, %v", a.Final, a.Err, b.Final, b.Err, q.Result, q.Err)
	}
	e.wantState(run.Job.ID, store.Available)
	e.wantState(idle.Job.ID, store.Waiting)
}

func waitKinds(e *env) {
	kinds := []store.MessageKind{store.MessageSignal, store.MessageCallback, store.MessageCallbackFailed, store.MessageHeartbeat}
	for _, awaited := range kinds {
		for _, sent := range kinds {
			for _, first := range []bool{false, true} {
				run := e.durable(1)
				e.write(&run, entry(2, store.EntryCallback, "token"))
				if first {
					e.send(run.Job.ID, callback(sent, "token"))
				}
				e.park(run, forSignals(awaited))
				if !first {
					e.send(run.Job.ID, callback(sent, "token"))
				}
				want := store.Waiting
				if sent == awaited {
					want = store.Available
				}
				e.wantState(run.Job.ID, want)
				e.terminate(run.Job.ID)
			}
		}
	}
}

func waitSeen(e *env) {
	run := e.durable(1)
	for range 3 {
		e.send(run.Job.ID, signal("s"))
	}
	wait := forSignals()
	wait.Seen = 2
	if o := e.park(run, wait); o.Final != store.Available {
		e.Fatalf("park of a run that has not seen the last message: %v", o.Final)
	}
	run = e.claimOne(run.Lease.Node, run.Job.ID)
	wait.Seen = 3
	if o := e.park(run, wait); o.Final != store.Waiting {
		e.Fatalf("park of a run that has seen all: %v", o.Final)
	}
	if result := e.send(run.Job.ID, signal("s")); !result.Woken || result.Seq != 4 {
		e.Fatalf("the next message: %+v", result)
	}
	// A run that has seen more than has come is woken by what comes after that.
	run = e.claimOne(run.Lease.Node, run.Job.ID)
	wait.Seen = 5
	e.park(run, wait)
	if result := e.send(run.Job.ID, signal("s")); result.Woken {
		e.Fatalf("message 5: %+v", result)
	}
	if result := e.send(run.Job.ID, signal("s")); !result.Woken {
		e.Fatalf("message 6: %+v", result)
	}
}

// waitCount: messages of every kind count.
func waitCount(e *env) {
	run := e.durable(1)
	e.write(&run, entry(2, store.EntryCallback, "token"))
	e.send(run.Job.ID, signal("s"))
	e.send(run.Job.ID, signal("s"))
	e.park(run, &store.Wait{Seen: 1, Count: 4})
	for i, message := range []store.Message{signal("s"), callback(store.MessageHeartbeat, "token"), signal("s")} {
		result := e.send(run.Job.ID, message)
		if want := i == 2; result.Woken != want {
			e.Fatalf("message %d: %+v", i+3, result)
		}
	}
	// Five are there, so a run that has seen two and counts to three parks for nothing; one that counts to four does not.
	run = e.claimOne(run.Lease.Node, run.Job.ID)
	if o := e.park(run, &store.Wait{Seen: 2, Count: 3}); o.Final != store.Available {
		e.Fatalf("park with enough messages: %v", o.Final)
	}
	run = e.claimOne(run.Lease.Node, run.Job.ID)
	if o := e.park(run, &store.Wait{Seen: 2, Count: 4}); o.Final != store.Waiting {
		e.Fatalf("park with one too few: %v", o.Final)
	}
	if result := e.send(run.Job.ID, signal("s")); !result.Woken {
		e.Fatalf("the last one: %+v", result)
	}
	// A kind that is waited for does not let the count wait.
	run = e.claimOne(run.Lease.Node, run.Job.ID)
	e.park(run, &store.Wait{Seen: 6, Count: 10, Kinds: store.MessagesOf(store.MessageCallback)})
	if result := e.send(run.Job.ID, signal("s")); result.Woken {
		e.Fatalf("a signal: %+v", result)
	}
	if result := e.send(run.Job.ID, callback(store.MessageCallback, "token")); !result.Woken {
		e.Fatalf("a callback: %+v", result)
	}
}

func waitOnce(e *env) {
	run := e.parked(forSignals())
	a, b := &store.Send{Job: run.Job.ID, Message: signal("a")}, &store.Send{Job: run.Job.ID, Message: signal("b")}
	batch := &store.Batch{Sends: []*store.Send{a, b}}
	e.apply(batch)
	if a.Err != nil || b.Err != nil || !a.Result.Woken || b.Result.Woken || b.Result.Seq != 2 {
		e.Fatalf("two sends: %+v, %+v, %v, %v", a.Result, b.Result, a.Err, b.Err)
	}
	e.wantWoken(batch, "mail")
	if result := e.send(run.Job.ID, signal("c")); result.Woken {
		e.Fatalf("a send to an available job: %+v", result)
	}
	next := e.claimOne(e.join(), run.Job.ID)
	e.wantNothing(next.Lease.Node)
}

func waitUntil(e *env) {
	until := e.clock.Now().Add(time.Hour)
	wait := forSignals()
	wait.Until = until
	run := e.parked(wait)
	node := run.Lease.Node
	promoted, err := e.store.Promote(e.ctx, 100)
	if err != nil || !promoted.NextDue.Equal(until) {
		e.Fatalf("Promote: %+v, %v; want the next one due at %v", promoted, err, until)
	}
	e.later(node, until.Sub(e.clock.Now())-time.Microsecond)
	e.wantState(run.Job.ID, store.Waiting)
	e.clock.Advance(time.Microsecond)
	promoted, err = e.store.Promote(e.ctx, 100)
	if err != nil || promoted.Jobs != 1 || len(promoted.Wakes) != 1 || !isReady(promoted.Wakes, namespace, "mail") {
		e.Fatalf("Promote: %+v, %v", promoted, err)
	}
	record := e.get(run.Job.ID)
	if record.State != store.Available || !record.RunAt.Equal(until) || record.Wait != nil || record.Attempt != 0 {
		e.Fatalf("record: %+v", record)
	}
	next := e.claimOne(node, run.Job.ID)
	if next.Job.Attempt != 1 || next.Lease.Number != 2 {
		e.Fatalf("the next run: %+v", next)
	}
	// A time that has come already wakes it as soon as somebody looks.
	if o := e.park(next, &store.Wait{Until: e.clock.Now().Add(-time.Hour)}); o.Final != store.Waiting && o.Final != store.Available {
		e.Fatalf("park until the past: %v", o.Final)
	}
	e.claimOne(node, run.Job.ID)
}

func waitDeadline(e *env) {
	for _, c := range []struct {
		until, deadline, want time.Duration
	}{
		{0, time.Hour, time.Hour},
		{2 * time.Hour, time.Hour, time.Hour},
		{time.Hour, 2 * time.Hour, time.Hour},
		{time.Hour, time.Hour, time.Hour},
	} {
		start := e.clock.Now()
		run := e.durable(1, func(q *store.Enqueue) { q.Job.Options.Deadline = start.Add(c.deadline) })
		wait := forSignals()
		if c.until > 0 {
			wait.Until = start.Add(c.until)
		}
		e.park(run, wait)
		if got := e.get(run.Job.ID).Wait.Until; !got.Equal(wait.Until) {
			e.Fatalf("it says that it waits until %v, want %v", got, wait.Until)
		}
		due := start.Add(c.want)
		e.later(run.Lease.Node, due.Sub(e.clock.Now())-time.Microsecond)
		e.wantState(run.Job.ID, store.Waiting)
		e.later(run.Lease.Node, time.Microsecond)
		e.wantState(run.Job.ID, store.Available)
		e.end(e.claimOne(run.Lease.Node, run.Job.ID), store.Completed)
	}
}

func waitForNothing(e *env) {
	run := e.parked(&store.Wait{})
	promoted, err := e.store.Promote(e.ctx, 100)
	if err != nil || !promoted.NextDue.IsZero() {
		e.Fatalf("Promote: %+v, %v", promoted, err)
	}
	e.send(run.Job.ID, signal("s"))
	e.later(run.Lease.Node, 1000*24*time.Hour)
	e.wantState(run.Job.ID, store.Waiting)
	e.cancel(run.Job.ID)
	e.wantState(run.Job.ID, store.Available)
}

// waitDurableDeadline: a job that remembers is not failed by its deadline where another one would be: its run is, when the
// deadline has come.
func waitDurableDeadline(e *env) {
	for _, state := range []store.State{store.Retryable, store.Scheduled} {
		for _, c := range []struct{ delay, want time.Duration }{
			{time.Hour, time.Minute}, {time.Second, time.Second}, {time.Minute, time.Minute},
		} {
			start := e.clock.Now()
			run := e.claimOne(e.join(), e.add(attempts(5), func(q *store.Enqueue) { q.Job.Options.Deadline = start.Add(time.Minute) }))
			e.write(&run, step(1))
			o := e.end(run, state, func(o *store.Outcome) { o.Delay = c.delay })
			record := e.get(run.Job.ID)
			if o.Final != state || record.State != state || !record.RunAt.Equal(start.Add(c.want)) || len(record.Attempts) != 1 {
				e.Fatalf("%v in %v: %v, %+v", state, c.delay, o.Final, record)
			}
			e.later(run.Lease.Node, c.want)
			e.end(e.claimOne(run.Lease.Node, run.Job.ID), store.Failed, func(o *store.Outcome) { o.Reason = store.ReasonDeadline })
		}
	}
	// What its node lost, too.
	deadline := e.clock.Now().Add(rescueBackoff + time.Second)
	run := e.second(attempts(5), func(q *store.Enqueue) { q.Job.Options.Deadline = deadline })
	e.write(&run, step(1))
	e.end(run, store.Available)
	run = e.claimOne(run.Lease.Node, run.Job.ID)
	if r := e.lose(run); r.State != store.Retryable || !r.RunAt.Equal(deadline) || !e.get(run.Job.ID).RunAt.Equal(deadline) {
		e.Fatalf("rescued: %+v, want it due at %v", r, deadline)
	}
}

// waitClosing: the end of a closing job is decided, and takes the time that it takes.
func waitClosing(e *env) {
	run := e.started(attempts(5), func(q *store.Enqueue) { q.Job.Options.Deadline = e.clock.Now().Add(time.Minute) })
	if err := e.tryAppend(&store.Append{Lease: run.Lease, Entries: steps(1, 1), Closing: true}); err != nil {
		e.Fatalf("append: %v", err)
	}
	run.Durable = true
	e.cancel(run.Job.ID)
	for _, state := range []store.State{store.Retryable, store.Scheduled} {
		if o := e.end(run, state, func(o *store.Outcome) { o.Delay = time.Hour }); o.Final != state {
			e.Fatalf("%v became %v", state, o.Final)
		}
		e.sweep() // nor does the request wake it later
		e.wantNothing(run.Lease.Node)
		e.wantState(run.Job.ID, state)
		e.later(run.Lease.Node, time.Hour)
		run = e.claimOne(run.Lease.Node, run.Job.ID)
	}
	until := e.clock.Now().Add(time.Hour).Truncate(time.Microsecond)
	if o := e.park(run, &store.Wait{Until: until}); o.Final != store.Waiting {
		e.Fatalf("a park became %v", o.Final)
	}
	e.sweep()
	if record := e.get(run.Job.ID); record.State != store.Waiting || !record.RunAt.Equal(until) || !record.Closing {
		e.Fatalf("it is parked until %v: %+v", until, record)
	}
	e.later(run.Lease.Node, time.Hour)
	run = e.claimOne(run.Lease.Node, run.Job.ID)
	if o := e.end(run, store.Failed); o.Final != store.Failed {
		e.Fatalf("final state is %v", o.Final)
	}
}

func waitOrderingKey(e *env) {
	run := e.parked(forSignals(), ordered("k"))
	second := e.add(ordered("k"), priority(1))
	node := run.Lease.Node
	e.wantNothing(node)
	if !e.get(second).Blocked {
		e.Fatal("the next job of the key does not wait for its turn")
	}
	batch := &store.Batch{Sends: []*store.Send{{Job: run.Job.ID, Message: signal("s")}}}
	e.apply(batch)
	// It is ready at once: nobody has to hand it the turn.
	claimed := e.claimWith(e.demand(node, 10))
	e.wantIDs("claimed", claimedIDs(claimed), run.Job.ID)
	e.park(claimed[0], &store.Wait{Seen: 1, Until: e.clock.Now().Add(time.Minute)})
	e.wantNothing(node)
	e.later(node, time.Minute)
	run = e.claimOne(node, run.Job.ID)
	e.park(run, &store.Wait{})
	e.terminate(run.Job.ID)
	e.claimOne(node, second)
}

func waitUnique(e *env) {
	taken := func(key string) bool {
		e.Helper()
		q := e.try(unique(key), onConflict(store.Reject))
		if q.Err == nil {
			e.terminate(q.Job.ID)
		}
		return q.Err != nil
	}
	// One that holds its key while it runs holds it while it waits, and after it.
	run := e.parked(forSignals(), unique("a"))
	if !taken("a") {
		e.Fatal("a waiting job lost its key")
	}
	e.send(run.Job.ID, signal("s"))
	if !taken("a") {
		e.Fatal("a woken job lost its key")
	}
	run = e.claimOne(run.Lease.Node, run.Job.ID)
	if o := e.end(run, store.Completed); o.Final != store.Completed || taken("a") {
		e.Fatal("a finished job holds its key")
	}
	// One that gave it away when it was claimed does not take it back.
	run = e.parked(forSignals(), unique("b", store.Scheduled, store.Available))
	if taken("b") {
		e.Fatal("a waiting job holds a key that it does not hold while it runs")
	}
	e.send(run.Job.ID, signal("s"))
	if taken("b") {
		e.Fatal("a woken job took its key back")
	}
}

func waitInvalid(e *env) {
	run := e.durable(1)
	o := outcome(run, store.Waiting, func(o *store.Outcome) { o.Wait = nil })
	e.apply(&store.Batch{Outcomes: []*store.Outcome{o}})
	e.wantErr("a park without a wait", o.Err, store.ErrInvalid)
	e.wantState(run.Job.ID, store.Running)
}

func waitRepeat(e *env) {
	run := e.durable(1)
	o := e.park(run, forSignals())
	check := func(when string) {
		e.Helper()
		before := e.get(run.Job.ID)
		again := repeated(o)
		e.apply(&store.Batch{Outcomes: []*store.Outcome{again}})
		if again.Err != nil || again.Final != store.Waiting {
			e.Fatalf("repeated park %s: %v, %v", when, again.Final, again.Err)
		}
		e.equal("job", e.get(run.Job.ID), before)
	}
	check("while it waits")
	e.send(run.Job.ID, signal("s"))
	check("after it was woken")
	next := e.claimOne(run.Lease.Node, run.Job.ID)
	check("while it runs again")
	e.end(next, store.Retryable)
	check("after the next run")
	e.retry(run.Job.ID)
	e.end(e.claimOne(run.Lease.Node, run.Job.ID), store.Completed)
	check("after it has completed")

	// One that never arrived happens now.
	run = e.durable(1)
	o = outcome(run, store.Waiting, func(o *store.Outcome) { o.Wait, o.Durable, o.Repeat = forSignals(), true, true })
	e.apply(&store.Batch{Outcomes: []*store.Outcome{o}})
	if o.Err != nil || o.Final != store.Waiting {
		e.Fatalf("a park that never happened: %v, %v", o.Final, o.Err)
	}
	e.wantState(run.Job.ID, store.Waiting)
}

func waitRepeatLost(e *env) {
	lost := func(how string, run store.Claimed) {
		e.Helper()
		before := e.get(run.Job.ID)
		o := outcome(run, store.Waiting, func(o *store.Outcome) { o.Wait, o.Durable, o.Repeat = forSignals(), true, true })
		e.apply(&store.Batch{Outcomes: []*store.Outcome{o}})
		e.wantErr("repeated park of a run that was "+how, o.Err, store.ErrLeaseLost)
		e.equal("job", e.get(run.Job.ID), before)
	}
	run := e.durable(1)
	e.clock.Advance(deadAfter + time.Second)
	e.rescue()
	lost("rescued", run)
	e.terminate(run.Job.ID)
	run = e.durable(1)
	e.leave(run.Lease.Node)
	lost("given back", run)
	e.terminate(run.Job.ID)
	run = e.durable(1)
	e.terminate(run.Job.ID)
	lost("terminated", run)
}

func waitBatch(e *env) {
	const n = 20
	var runs []store.Claimed
	for range n {
		runs = append(runs, e.durable(1))
	}
	batch := &store.Batch{}
	for i, run := range runs {
		if i%4 == 0 { // it has a message that came before
			batch.Sends = append(batch.Sends, &store.Send{Job: run.Job.ID, Message: signal("s")})
		}
		state := store.Waiting
		if i%5 == 0 {
			state = store.Completed
		}
		batch.Outcomes = append(batch.Outcomes, outcome(run, state, func(o *store.Outcome) { o.Wait, o.Durable = forSignals(), true }))
	}
	stale := outcome(runs[3], store.Waiting, func(o *store.Outcome) { o.Wait, o.Durable = forSignals(), true })
	batch.Outcomes = append(batch.Outcomes, stale)
	e.apply(batch)
	e.wantErr("a second park", stale.Err, store.ErrLeaseLost)
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
		e.wantState(run.Job.ID, want)
		wake.Sends = append(wake.Sends, &store.Send{Job: run.Job.ID, Message: signal(fmt.Sprint("s", i))})
	}
	e.apply(wake)
	for i, q := range wake.Sends {
		if i%5 == 0 {
			e.wantErr("a message to a finished job", q.Err, store.ErrConflict)
		} else if q.Err != nil || q.Result.Woken != (i%4 != 0) {
			e.Fatalf("send %d: %+v, %v", i, q.Result, q.Err)
		}
	}
	e.wantWoken(wake, "mail")
	if runs := e.claim(e.join(), 2*n); len(runs) != n-n/5 {
		e.Fatalf("claimed %d, want %d", len(runs), n-n/5)
	}
}

func waitCounted(e *env) {
	e.parked(forSignals())
	e.parked(&store.Wait{Until: e.clock.Now().Add(time.Hour)})
	held := e.held()
	if n := e.queue("mail").Counts[store.Waiting].N; n != 3 {
		e.Fatalf("the queue counts %d waiting jobs", n)
	}
	if ids := e.listIDs(store.Filter{States: []store.State{store.Waiting}}); len(ids) != 3 || ids[0] != held.Job.ID {
		e.Fatalf("listed: %v", ids)
	}
	if ended := e.ended(held.Job.ID); len(ended) != 0 {
		e.Fatalf("a waiting job has ended: %+v", ended)
	}
	if q := e.queue("mail"); !q.OldestDue.IsZero() {
		e.Fatalf("the oldest available job is from %v", q.OldestDue)
	}
}
