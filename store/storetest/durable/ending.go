package durable

import (
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

// Where a job goes when a run of it ends depends on what the run says and on what others have asked
// meanwhile. Every combination is in ending_table.go, and those of runs that are lost in
// ending_lost.go.
var endingTests = env.Tests{
	"AtomicTransitions_every_end_under_every_request_leads_where_it_must":                  endingTable,
	"AtomicTransitions_every_lost_run_under_every_request_leads_where_it_must":             endingLost,
	"AtomicTransitions_every_run_that_is_given_up_under_every_request_leads_where_it_must": endingGivenUp,
	"AtomicTransitions_every_run_whose_node_leaves_leads_where_it_must":                    endingLeft,
	"a_message_that_has_come_wakes_a_run_that_knew_of_its_cancel":                          endingMessage,
	"CancelArrives_at_once_at_a_job_that_waits_in_spite_of_it_if_somebody_asks_again":      endingAskedAgain,
	"an_outcome_tells_when_its_job_is_due":                                                 endingDue,
}

// endingMessage: a run that knows of a request to cancel is woken by messages like any other.
func endingMessage(e *env.Env) {
	run := e.Durable(1)
	e.Send(run.Job.ID, env.Signal("s"))
	e.Cancel(run.Job.ID)
	o := e.Park(run, env.ForSignals(), func(o *store.Outcome) { o.CancelSeen = true })
	if o.Final != store.Available || !o.Due.IsZero() {
		e.Fatalf("a park after its message: %v, due at %v", o.Final, o.Due)
	}
	run = e.WantCancelTold(run.Lease.Node, run.Job.ID)
	wait := env.ForSignals()
	wait.Seen = 1
	e.ParkAs(store.Waiting, run, wait, func(o *store.Outcome) { o.CancelSeen = true })
	if result := e.Send(run.Job.ID, env.Signal("s")); !result.Woken {
		e.Fatalf("the next message: %+v", result)
	}
	e.WantCancelTold(run.Lease.Node, run.Job.ID)
}

// endingAskedAgain: a run that knows of the request fails, or is in contradiction with its journal.
// Then the job waits, and the sweep leaves it alone; but a person who asks again does not want to
// wait.
func endingAskedAgain(e *env.Env) {
	for _, c := range []struct {
		state  store.State
		change func(*store.Outcome)
	}{
		{store.Retryable, func(o *store.Outcome) { o.CancelSeen, o.Delay = true, 1000*24*time.Hour }},
		{store.Waiting, contradicts(true)},
		{store.Waiting, contradicts(false)},
	} {
		run := e.Durable(2)
		node := run.Lease.Node
		e.Cancel(run.Job.ID)
		e.EndAs(c.state, run, c.state, c.change)
		for range 3 {
			if n := e.Sweep(); n != 0 {
				e.Fatalf("the sweep applied %d requests", n)
			}
			e.Later(node, time.Hour)
			e.WantNothing(node)
		}
		e.WantState(run.Job.ID, c.state)
		e.Equal("answers of the second cancel", e.Cancel(run.Job.ID), []store.State{store.Available})
		e.End(e.WantCancelTold(node, run.Job.ID), store.Cancelled)
	}
}

// contradicts ends a run that knows of a request, or not, and meets another step than the one
// before.
func contradicts(seen bool) func(*store.Outcome) {
	return func(o *store.Outcome) {
		o.Wait, o.CancelSeen = &store.Wait{Held: true}, seen
		o.Reason, o.Error = store.ReasonNondeterminism, "step 2 is another one"
	}
}

// endingDue: a repeated outcome tells the same time, or none.
func endingDue(e *env.Env) {
	now := e.Clock.Now()
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
		run := e.ClaimOne(e.Join(), e.Add(env.Attempts(9)))
		e.Write(&run, env.Step(1))
		o := e.End(run, c.state, c.change)
		if o.Final != c.state || !o.Due.Equal(c.want) {
			e.Fatalf("%v, due at %v; want %v, due at %v", o.Final, o.Due, c.state, c.want)
		}
		if record := e.Get(run.Job.ID); !c.want.IsZero() && !record.RunAt.Equal(c.want) {
			e.Fatalf("%v, due at %v, and the record says %v", o.Final, o.Due, record.RunAt)
		}
		again := env.Repeated(o)
		e.Apply(&store.Batch{Outcomes: []*store.Outcome{again}})
		if again.Err != nil || !again.Due.IsZero() && !again.Due.Equal(c.want) {
			e.Fatalf("repeated: %v, due at %v, %v; want %v, or nothing", again.Final, again.Due, again.Err, c.want)
		}
		e.Terminate(run.Job.ID)
	}
}
