package outside

import (
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

// What people do to jobs that are handed over.
var peopleTests = env.Tests{
	"Cancel_arrives_at_jobs_that_are_handed_over":                    peopleCancel,
	"a_job_that_is_handed_over_and_paused_can_be_finished":           peoplePause,
	"one_that_hands_over_while_it_is_asked_to_pause_can_be_finished": peoplePausing,
	"one_that_hands_over_while_it_is_cancelled_is_cancelled":         peopleCancelling,
	"it_is_removed_when_its_retention_is_over":                       peopleRetain,
	"what_is_listed_and_counted_of_it":                               peopleList,
}

func peopleCancel(e *env.Env) {
	plain, remembers, terminated := e.HandedOver(), e.Durable(1), e.HandedOver()
	e.HandOver(remembers, &store.Wait{}, durable)
	ids := []store.ID{plain.Job.ID, remembers.Job.ID}
	if states := e.Cancel(ids...); states[0] != store.Cancelled || states[1] != store.Available {
		e.Fatalf("cancelled: %v", states)
	}
	for _, id := range ids {
		e.WantNotFinished(id, store.ErrConflict)
	}
	run := e.ClaimOne(e.Join(), remembers.Job.ID)
	if !run.CancelRequested {
		e.Fatal("the run of a job that was handed over does not know of the cancel")
	}
	e.EndAs(store.Cancelled, run, store.Cancelled, durable)
	e.Terminate(terminated.Job.ID)
	e.WantNotFinished(terminated.Job.ID, store.ErrConflict)
	retried := e.HandedOver()
	if r := e.TryRetry(retried.Job.ID); r.State != store.Waiting {
		e.Fatalf("retried: %+v", r)
	} else {
		e.WantErr("Retry of a job that is handed over", r.Err, store.ErrConflict)
	}
}

func peoplePause(e *env.Env) {
	until := e.Clock.Now().Add(time.Minute)
	for _, finish := range []bool{true, false} {
		run := e.Started()
		e.HandOver(run, &store.Wait{Until: until})
		e.PauseJob(run.Job.ID, store.Waiting)
		e.Clock.Advance(time.Hour)
		e.Promote()
		record := e.Get(run.Job.ID)
		if record.State != store.Waiting || !record.Wait.Held || !record.Wait.HandedOver || record.Wait.Reason != store.ReasonPaused {
			e.Fatalf("paused: %+v, %+v", record, record.Wait)
		}
		if finish {
			e.Finish(env.CompletedBy(run.Job.ID))
			continue
		}
		e.Resume(env.Resumption(run.Job.ID), store.Available)
		e.WantNotFinished(run.Job.ID, store.ErrConflict)
		e.ClaimOne(e.Join(), run.Job.ID)
	}
	undoes := e.Durable(1)
	e.HandOver(undoes, &store.Wait{Compensates: true}, durable)
	e.PauseJob(undoes.Job.ID, store.Waiting)
	if r := e.TryFinish(env.FailedBy(undoes.Job.ID))[0]; r.Err != nil || r.State != store.Available {
		e.Fatalf("Finish of one that compensates and is paused: %+v", r)
	}
}

func peoplePausing(e *env.Env) {
	for _, remembers := range []bool{true, false} {
		run := e.Durable(1)
		if !remembers {
			run = e.Started()
		}
		e.PauseJob(run.Job.ID, store.Running)
		e.HandOver(run, &store.Wait{}, func(o *store.Outcome) { o.Durable = remembers })
		record := e.Get(run.Job.ID)
		if record.State != store.Waiting || !record.Wait.Held || !record.Wait.HandedOver {
			e.Fatalf("handed over while it was to be paused: %+v, %+v", record, record.Wait)
		}
		e.Finish(env.FailedBy(run.Job.ID))
	}
}

func peopleCancelling(e *env.Env) {
	run := e.Started()
	e.Cancel(run.Job.ID)
	if o := e.HandOver(run, &store.Wait{}); o.Final != store.Cancelled {
		e.Fatalf("a run that hands over although it is cancelled: %v", o.Final)
	}
	remembers := e.Durable(1)
	e.Cancel(remembers.Job.ID)
	if o := e.HandOver(remembers, &store.Wait{}, durable); o.Final != store.Available {
		e.Fatalf("a durable run that hands over although it is cancelled: %v", o.Final)
	}
}

func peopleRetain(e *env.Env) {
	id := e.HandedOver().Job.ID
	e.Finish(env.FailedBy(id))
	e.Clock.Advance(time.Hour)
	_, err := e.Store.Retain(e.Ctx, store.Retention{Completed: 48 * time.Hour, Failed: time.Minute, Cancelled: 48 * time.Hour, Limit: 100})
	e.NoError("Retain", err)
	e.WantUnknown(id)
	r := e.TryFinish(env.CompletedBy(id))[0]
	e.WantErr("Finish of a job that was removed", r.Err, store.ErrNotFound)
}

func peopleList(e *env.Env) {
	id := e.HandedOver().Job.ID
	listed := e.List(store.Filter{States: []store.State{store.Waiting}}, 10)
	if len(listed) != 1 || listed[0].ID != id || !listed[0].Wait.HandedOver {
		e.Fatalf("listed: %+v", listed)
	}
	e.Equal("counts", env.Counted(e.Queue(listed[0].Queue)), map[store.State]store.Count{store.Waiting: {N: 1}})
	e.Finish(env.CompletedBy(id))
	listed = e.List(store.Filter{States: []store.State{store.Completed}}, 10)
	if len(listed) != 1 || listed[0].ID != id {
		e.Fatalf("listed: %+v", listed)
	}
}
