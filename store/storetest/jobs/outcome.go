package jobs

import (
	"fmt"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

var outcomeTests = env.Tests{
	"completed_keeps_its_result":                                outcomeCompleted,
	"retryable_waits_and_is_counted":                            outcomeRetryable,
	"failed_keeps_reason_and_error":                             outcomeFailed,
	"attempts_are_recorded_oldest_first":                        outcomeAttempts,
	"outcomes_of_a_batch_stand_on_their_own":                    outcomeBatch,
	"the_trace_of_the_enqueue_stays_with_the_job":               outcomeTraced,
	"AtomicTransitions_checkpoints_then_outcomes_then_enqueues": outcomeOrder,
}

func outcomeCompleted(e *env.Env) {
	result := []byte("\x00\xffany bytes")
	run := e.Started(func(q *store.Enqueue) { q.Job.Codec = 4 })
	e.EndAs(store.Completed, run, store.Completed, func(o *store.Outcome) { o.Result, o.Codec = result, 9 })
	want := store.Record{
		Job: run.Job, State: store.Completed, Result: result, ResultCodec: 9, StartedAt: run.ClaimedAt, FinishedAt: e.Clock.Now(),
		Lease: store.Lease{Number: 1, Node: run.Lease.Node}, Build: env.Build, ClaimedAt: run.ClaimedAt,
	}
	e.Equal("record", e.Get(run.Job.ID), want, env.FinishedLease)
	e.Equal("ended", e.Ended(run.Job.ID), []store.Ended{{ID: run.Job.ID, State: store.Completed, Result: result, Codec: 9}})
	// No run finished a job that was cancelled between two runs, so its record tells of none. A job
	// that was retried after a failure keeps nothing of that failure.
	waits := e.Started()
	e.End(waits, store.Retryable)
	e.Cancel(waits.Job.ID)
	failed := e.Started()
	e.End(failed, store.Failed)
	e.Retry(failed.Job.ID)
	e.End(e.ClaimOne(e.Join(), failed.Job.ID), store.Cancelled, func(o *store.Outcome) { o.StartedAt = time.Time{} })
	for _, id := range []store.ID{waits.Job.ID, failed.Job.ID} {
		if r := e.Get(id); r.State != store.Cancelled || !r.StartedAt.IsZero() || r.Fingerprint != 0 || r.ResultCodec != 0 {
			e.Fatalf("a job that was cancelled: %+v", r)
		}
	}
	// A handler may return nothing.
	empty := e.Started()
	e.End(empty, store.Completed, func(o *store.Outcome) { o.Result = nil })
	if r := e.Get(empty.Job.ID); r.State != store.Completed || len(r.Result) != 0 {
		e.Fatalf("job without a result is %v with %q", r.State, r.Result)
	}
}

func outcomeRetryable(e *env.Env) {
	run := e.Started()
	due := e.Clock.Now().Add(90 * time.Second)
	o := e.End(run, store.Retryable, func(o *store.Outcome) { o.Delay = 90 * time.Second })
	want := store.Record{Job: run.Job, State: store.Retryable, Error: "it broke", ClaimedAt: run.ClaimedAt}
	want.RunAt = due
	want.Attempts = []store.Attempt{env.AttemptOf(run, o, e.Clock.Now())}
	e.Equal("record", e.Get(run.Job.ID), want)
	e.Clock.Advance(90*time.Second - time.Microsecond)
	e.WantNothing(run.Lease.Node)
	e.Clock.Advance(time.Microsecond)
	if again := e.ClaimOne(run.Lease.Node, run.Job.ID); again.Job.Attempt != 2 || !again.Job.RunAt.Equal(due) {
		e.Fatalf("second run: attempt %d at %v", again.Job.Attempt, again.Job.RunAt)
	}
}

// outcomeTraced: each run of a job knows in which trace it was enqueued, however the run before has
// ended; and so does who looks.
func outcomeTraced(e *env.Env) {
	for _, state := range []string{"congo=t61rcWkgMzE,rojo=00f067aa0ba902b7", `quoted="\\"`, ""} {
		const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
		run := e.Started(env.Attempts(9), func(q *store.Enqueue) { q.Job.Options.TraceParent, q.Job.Options.TraceState = parent, state })
		node := run.Lease.Node
		check := func(when string, o store.Options) {
			e.Helper()
			if o != (store.Options{TraceParent: parent, TraceState: state}) {
				e.Fatalf("%s: the options are %+v", when, o)
			}
		}
		check("the first run", run.Job.Options)
		e.End(run, store.Retryable)
		e.Clock.Advance(time.Hour)
		run = e.ClaimOne(node, run.Job.ID)
		check("a retry", run.Job.Options)
		e.End(run, store.Available, env.AsNew("1"))
		run = e.ClaimOne(node, run.Job.ID)
		check("continued as new", run.Job.Options)
		e.End(run, store.Failed)
		check("failed", e.Get(run.Job.ID).Options)
		e.Retry(run.Job.ID)
		run = e.ClaimOne(node, run.Job.ID)
		check("retried by a person", run.Job.Options)
		e.Lose(run)
		e.Clock.Advance(time.Hour)
		run = e.ClaimOne(e.Join(), run.Job.ID)
		check("rescued", run.Job.Options)
		e.End(run, store.Completed)
		check("completed", e.Get(run.Job.ID).Options)
	}
}

func outcomeFailed(e *env.Env) {
	run := e.Started()
	o := e.End(run, store.Failed, func(o *store.Outcome) {
		o.Reason, o.Error, o.Trace = store.ReasonTimeout, "too late", "goroutine 1"
	})
	want := store.Record{
		Job: run.Job, State: store.Failed, Reason: store.ReasonTimeout, Error: "too late", FinishedAt: e.Clock.Now(),
		Lease: store.Lease{Number: 1, Node: run.Lease.Node}, Build: env.Build,
		ClaimedAt: run.ClaimedAt, StartedAt: run.ClaimedAt, Fingerprint: -5,
		Attempts: []store.Attempt{env.AttemptOf(run, o, e.Clock.Now())},
	}
	e.Equal("record", e.Get(run.Job.ID), want, env.FinishedLease)
	e.Equal("ended", e.Ended(run.Job.ID), []store.Ended{{
		ID: run.Job.ID, State: store.Failed, Reason: store.ReasonTimeout, Error: "too late",
	}})
}

// outcomeAttempts: one row per run that did not complete, with the times and texts of that run.
func outcomeAttempts(e *env.Env) {
	id := e.Add(env.Attempts(10))
	var want []store.Attempt
	node := e.Join()
	for i, state := range []store.State{store.Retryable, store.Scheduled, store.Retryable, store.Available, store.Retryable, store.Completed} {
		run := e.ClaimOne(node, id)
		e.Clock.Advance(time.Second)
		o := e.End(run, state, func(o *store.Outcome) {
			if state == store.Retryable {
				o.Error, o.Trace, o.StartedAt = fmt.Sprintf("error %d", i), fmt.Sprintf("trace %d", i), run.ClaimedAt.Add(time.Millisecond)
			}
		})
		if state != store.Completed {
			want = append(want, env.AttemptOf(run, o, e.Clock.Now()))
		}
		e.Clock.Advance(time.Hour)
	}
	record := e.Get(id)
	e.Equal("attempts", record.Attempts, want)
	if record.State != store.Completed || record.Attempt != 4 || record.LeaseNumber != 6 {
		e.Fatalf("record: %+v", record)
	}
	if record.Error != "error 4" {
		e.Fatalf("the error of the last attempt that failed is %q", record.Error)
	}
	if got := e.Ended(id)[0].Error; got != "" {
		e.Fatalf("a completed job ended with the error %q", got)
	}
}

// outcomeBatch mixes good and bad outcomes of one claim record and of several, which a store
// applies as a group.
func outcomeBatch(e *env.Env) {
	e.Many(12)
	nodes := []int64{e.Join(), e.Join()}
	runs := append(e.Claim(nodes[0], 6), e.Claim(nodes[1], 6)...)
	states := []store.State{store.Completed, store.Failed, store.Retryable, store.Scheduled, store.Available, store.Cancelled}
	e.End(runs[1], store.Completed)
	e.End(runs[8], store.Scheduled)
	batch := &store.Batch{}
	for i, run := range runs {
		batch.Outcomes = append(batch.Outcomes, env.Outcome(run, states[i%len(states)]))
	}
	batch.Outcomes[4].State = store.Running
	e.Apply(batch)
	for i, o := range batch.Outcomes {
		switch i {
		case 1:
			e.WantErr("outcome of a run that has ended", o.Err, store.ErrLeaseLost)
			e.WantState(o.Lease.Job, store.Completed)
		case 8:
			e.WantErr("outcome of a run that has ended", o.Err, store.ErrLeaseLost)
			e.WantState(o.Lease.Job, store.Scheduled)
		case 4:
			e.WantErr("outcome without a state", o.Err, store.ErrInvalid)
			e.WantState(o.Lease.Job, store.Running)
		default:
			if o.Err != nil || o.Final != states[i%len(states)] {
				e.Fatalf("outcome %d: %v, %v", i, o.Final, o.Err)
			}
			e.WantState(o.Lease.Job, o.Final)
		}
	}
}

// outcomeOrder: within a batch a run writes its checkpoint before it ends, and what it enqueues may
// take the key that its end released.
func outcomeOrder(e *env.Env) {
	run := e.Started(env.Unique("k"))
	o := env.Outcome(run, store.Completed)
	next := e.Job(env.Unique("k"), env.OnConflict(store.Reject))
	c := &store.CheckpointWrite{Lease: run.Lease, Checkpoint: store.Checkpoint{Percent: 100}}
	e.Apply(&store.Batch{
		Enqueues: []*store.Enqueue{next}, Outcomes: []*store.Outcome{o}, Checkpoints: []*store.CheckpointWrite{c},
	})
	if c.Err != nil || o.Err != nil || next.Err != nil {
		e.Fatalf("errors: %v, %v, %v", c.Err, o.Err, next.Err)
	}
	e.WantState(run.Job.ID, store.Completed)
	e.WantState(next.Job.ID, store.Available)
}
