package access

import (
	"errors"
	"strings"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

// edited: an edit of a job says what it was before.
func edited(e *env.Env) {
	job := e.Add()
	queue, deadline := "bulk", e.Clock.Now().Add(time.Hour)
	e.NoError("Edit", third(e.Store.Edit(e.Ctx, store.EditParams{
		Namespace: env.Namespace, Job: job, Actor: "ada", Reason: "late", Edit: store.Edit{
			Queue: &queue, Deadline: &deadline, AddTags: []string{"vip"}, Args: []byte(`"hush"`), Metadata: []byte(`{"a":"hush"}`),
		},
	})))
	all := audit(e, store.AuditParams{Job: job})
	if len(all) != 1 {
		e.Fatalf("entries: %+v", all)
	}
	e.Equal("before", all[0].Before, `{"deadline":null,"queue":"mail","tags":[]}`)
	at, err := deadline.UTC().Truncate(time.Microsecond).MarshalJSON()
	e.NoError("the deadline", err)
	e.Equal("after", all[0].After, `{"args":"changed","deadline":`+string(at)+`,"metadata":"changed","queue":"bulk","tags":["vip"]}`)
	e.Equal("reason", all[0].Detail, "late")
	e.Equal("namespace", all[0].Namespace, env.Namespace)
	e.Equal("of the kind", len(audit(e, store.AuditParams{Target: store.AuditTarget{Kind: store.AuditJob}})), 1)
}

// moved: what is done to a job says in which state it was, and in which it is then, or for what it
// was asked.
func moved(e *env.Env) {
	waits := e.Add(env.RunAt(e.Clock.Now().Add(time.Hour)))
	runs := e.Running(1)[0].Job.ID
	parked := e.Running(1)[0]
	e.Park(parked, &store.Wait{Held: true})
	held := parked.Job.ID
	for _, step := range []struct {
		job  store.ID
		do   func()
		want string
	}{
		{waits, func() { e.PauseJob(waits, store.Waiting) }, `pause {"state":"scheduled"} {"state":"waiting","held":true}`},
		{waits, func() { e.Resume(env.Resumption(waits), store.Scheduled) }, `resume {"state":"waiting","held":true} {"state":"scheduled"}`},
		{waits, func() { e.Retry(waits) }, `retry {"state":"scheduled"} {"state":"available"}`},
		{waits, func() { e.Cancel(waits) }, `cancel {"state":"available"} {"state":"cancelled"}`},
		{waits, func() { e.Resume(env.Resumption(waits), store.Available) }, `resume {"state":"cancelled"} {"state":"available"}`},
		{held, func() { e.Resume(env.Resumption(held), store.Available) }, `resume {"state":"waiting","held":true} {"state":"available"}`},
		{runs, func() { e.PauseJob(runs, store.Running) }, `pause {"state":"running"} {"state":"running","asked":"pause"}`},
		{runs, func() { e.Resume(env.Resumption(runs), store.Running) }, `resume {"state":"running","asked":"pause"} {"state":"running"}`},
		{runs, func() { e.Cancel(runs) }, `cancel {"state":"running"} {"state":"running","asked":"cancel"}`},
		{runs, func() { terminate(e, runs) }, `terminate {"state":"running"} {"state":"cancelled"}`},
		{runs, func() { e.Retry(runs) }, `retry {"state":"cancelled"} {"state":"available"}`},
		{runs, func() { e.Cancel(runs) }, `cancel {"state":"available"} {"state":"cancelled"}`},
		{runs, func() { remove(e, runs) }, `delete {"state":"cancelled"} `},
	} {
		e.Clock.Advance(time.Second)
		step.do()
		all := audit(e, store.AuditParams{Job: step.job, Limit: 1})
		e.Equal("entries", len(all), 1)
		e.Equal("said", strings.Join([]string{all[0].Action, all[0].Before, all[0].After}, " "), step.want)
	}
}

func terminate(e *env.Env, id store.ID) {
	e.Helper()
	results, _, err := e.Store.Cancel(e.Ctx, store.CancelParams{Jobs: []store.ID{id}, Terminate: true, Actor: "ada"})
	e.NoError("Cancel", errors.Join(err, results[0].Err))
}

func remove(e *env.Env, id store.ID) {
	e.Helper()
	results, _, err := e.Store.Delete(e.Ctx, store.DeleteParams{Namespace: env.Namespace, Jobs: []store.ID{id}, Reason: "mine", Actor: "ada"})
	e.NoError("Delete", errors.Join(err, results[0].Err))
}

// removed: what was done to a job is listed when the job is gone.
func removed(e *env.Env) {
	done := e.Running(1)[0]
	e.End(done, store.Completed)
	remove(e, done.Job.ID)
	all := audit(e, store.AuditParams{Job: done.Job.ID, Namespace: env.Namespace})
	if len(all) != 1 || all[0].Action != string(store.ActionDelete) || all[0].Actor != "ada" || all[0].Detail != "mine" {
		e.Errorf("entries: %+v", all)
	}
}
