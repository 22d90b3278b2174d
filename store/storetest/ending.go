package storetest

import (
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// Where a job goes when a run of it ends depends on what the run says and on what others have asked
// meanwhile. Every combination is in ending_table.go, and those of runs that are lost in
// ending_lost.go.
var endingTests = []test{
	{"AtomicTransitions_every_end_under_every_request_leads_where_it_must", endingTable},
	{"AtomicTransitions_every_lost_run_under_every_request_leads_where_it_must", endingLost},
	{"AtomicTransitions_every_run_that_is_given_up_under_every_request_leads_where_it_must", endingGivenUp},
	{"a_message_that_has_come_wakes_a_run_that_knew_of_its_cancel", endingMessage},
	{"CancelArrives_a_run_that_cannot_end_itself_is_not_tried_at_once_for_ever", endingForever},
	{"a_contradiction_is_held_though_a_cancel_was_asked", endingContradiction},
	{"an_outcome_tells_when_its_job_is_due", endingDue},
}

// endingMessage: knowing of a request is no reason to sleep over a message.
func endingMessage(e *env) {
	run := e.durable(1)
	e.send(run.Job.ID, signal("s"))
	e.cancel(run.Job.ID)
	o := e.park(run, forSignals(), func(o *store.Outcome) { o.CancelSeen = true })
	if o.Final != store.Available || !o.Due.IsZero() {
		e.Fatalf("a park after its message: %v, due at %v", o.Final, o.Due)
	}
	run = e.wantCancelTold(run.Lease.Node, run.Job.ID)
	wait := forSignals()
	wait.Seen = 1
	if o := e.park(run, wait, func(o *store.Outcome) { o.CancelSeen = true }); o.Final != store.Waiting {
		e.Fatalf("a park that has seen its message: %v", o.Final)
	}
	if result := e.send(run.Job.ID, signal("s")); !result.Woken {
		e.Fatalf("the next message: %+v", result)
	}
	e.wantCancelTold(run.Lease.Node, run.Job.ID)
}

// endingForever: a run that has seen the request and fails is repeated as its outcome says, and at
// last not any more.
func endingForever(e *env) {
	run := e.durable(1)
	node := run.Lease.Node
	e.cancel(run.Job.ID)
	knowing := func(o *store.Outcome) { o.CancelSeen = true }
	for range 3 {
		due := e.clock.Now().Add(time.Minute)
		if o := e.end(run, store.Retryable, knowing); o.Final != store.Retryable || !o.Due.Equal(due) {
			e.Fatalf("it became %v, due at %v; want %v", o.Final, o.Due, due)
		}
		e.later(node, time.Minute-time.Microsecond)
		e.sweep()
		e.wantNothing(node)
		e.later(node, time.Microsecond)
		run = e.wantCancelTold(node, run.Job.ID)
	}
	if o := e.end(run, store.Failed, knowing); o.Final != store.Failed {
		e.Fatalf("it became %v", o.Final)
	}
	// A person who asks again does not want to wait.
	run = e.durable(1)
	e.cancel(run.Job.ID)
	e.end(run, store.Retryable, knowing)
	e.equal("answers of the second cancel", e.cancel(run.Job.ID), []store.State{store.Available})
	e.wantCancelTold(run.Lease.Node, run.Job.ID)
}

// endingContradiction: until a person lets it go on, or asks again.
func endingContradiction(e *env) {
	contradicts := func(o *store.Outcome) { o.Reason, o.Error = store.ReasonNondeterminism, "step 2 is another one" }
	for _, seen := range []bool{false, true} {
		run := e.durable(2)
		node := run.Lease.Node
		e.cancel(run.Job.ID)
		hold := func() {
			e.Helper()
			o := e.park(run, &store.Wait{Held: true}, contradicts, func(o *store.Outcome) { o.CancelSeen = seen })
			record := e.get(run.Job.ID)
			if o.Final != store.Waiting || record.Wait == nil || record.Wait.Error != "step 2 is another one" {
				e.Fatalf("a contradiction became %v: %+v", o.Final, record)
			}
			e.sweep()
			e.wantStuck(run.Job.ID, node)
		}
		hold()
		e.resume(resumption(run.Job.ID), store.Available)
		run = e.wantCancelTold(node, run.Job.ID)
		hold()
		e.equal("answers of the second cancel", e.cancel(run.Job.ID), []store.State{store.Available})
		run = e.wantCancelTold(node, run.Job.ID)
		e.end(run, store.Cancelled)
	}
}

// endingDue: also of one that is repeated, if it says anything.
func endingDue(e *env) {
	now := e.clock.Now()
	for _, c := range []struct {
		state  store.State
		change func(*store.Outcome)
		want   time.Time
	}{
		{store.Retryable, func(o *store.Outcome) { o.Delay = time.Minute }, now.Add(time.Minute)},
		{store.Retryable, func(o *store.Outcome) { o.Delay = 0 }, now},
		{store.Retryable, func(o *store.Outcome) { o.RunAt = now.Add(-time.Hour) }, now.Add(-time.Hour)},
		{store.Scheduled, func(o *store.Outcome) { o.RunAt, o.Delay = now.Add(time.Hour+999), time.Second }, now.Add(time.Hour)},
		{store.Scheduled, func(o *store.Outcome) { o.Delay = 1999 }, now.Add(time.Microsecond)},
		{store.Waiting, func(o *store.Outcome) { o.Wait = &store.Wait{Until: now.Add(time.Hour + 999)} }, now.Add(time.Hour)},
		{store.Waiting, func(o *store.Outcome) { o.Wait = &store.Wait{} }, time.Time{}},
		{store.Waiting, func(o *store.Outcome) { o.Wait = &store.Wait{Held: true, Until: now.Add(time.Hour)} }, time.Time{}},
		{store.Available, func(*store.Outcome) {}, time.Time{}},
		{store.Completed, func(*store.Outcome) {}, time.Time{}},
		{store.Failed, func(o *store.Outcome) { o.RunAt = now.Add(time.Hour) }, time.Time{}},
	} {
		run := e.claimOne(e.join(), e.add(attempts(9)))
		e.write(&run, step(1))
		o := e.end(run, c.state, c.change)
		if o.Final != c.state || !o.Due.Equal(c.want) {
			e.Fatalf("%v, due at %v; want %v, due at %v", o.Final, o.Due, c.state, c.want)
		}
		if record := e.get(run.Job.ID); !c.want.IsZero() && !record.RunAt.Equal(c.want) {
			e.Fatalf("%v, due at %v, and the record says %v", o.Final, o.Due, record.RunAt)
		}
		again := repeated(o)
		e.apply(&store.Batch{Outcomes: []*store.Outcome{again}})
		if again.Err != nil || !again.Due.IsZero() && !again.Due.Equal(c.want) {
			e.Fatalf("repeated: %v, due at %v, %v; want %v, or nothing", again.Final, again.Due, again.Err, c.want)
		}
		e.terminate(run.Job.ID)
	}
}
