package dead

import (
	"fmt"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

var againTests = env.Tests{
	"a_failed_job_runs_again_with_a_change_of_it":         againChanged,
	"a_change_that_is_refused_leaves_the_job_failed":      againRefused,
	"only_a_failed_job_runs_again_with_a_change":          againOthers,
	"a_retry_of_failed_jobs_leaves_all_others_alone":      onlyFailed,
	"a_removal_of_failed_jobs_leaves_all_others_alone":    onlyFailedGo,
	"a_failed_job_that_runs_again_may_wait_until_a_time":  againLater,
	"a_job_without_a_change_runs_again_and_is_not_edited": againPlain,
}

func again(e *env.Env, id store.ID, change store.Edit) (store.State, error) {
	e.Helper()
	params := env.Edits(id, change)
	params.Again = &store.Again{Keep: -1, Expect: -1}
	return e.TryEdit(params)
}

func actions(e *env.Env, id store.ID) (kinds []store.ActionKind) {
	e.Helper()
	for _, a := range e.Get(id).Actions {
		kinds = append(kinds, a.Kind)
	}
	return kinds
}

func againChanged(e *env.Env) {
	node := e.Join()
	id := failed(e, node, 7, "x", env.Attempts(3))
	queue, priority := "b", 1
	state, err := again(e, id, store.Edit{Args: []byte(`{"to":"bob"}`), Queue: &queue, Priority: &priority, AddTags: []string{"redriven"}})
	if err != nil || state != store.Available {
		e.Fatalf("%v, %v", state, err)
	}
	r := e.Get(id)
	if r.State != store.Available || string(r.Args) != `{"to":"bob"}` || r.Queue != queue || r.Priority != priority || r.Attempt != 0 ||
		r.Fingerprint != 0 || len(r.Tags) != 1 {
		e.Fatalf("%+v", r)
	}
	e.Equal("actions", actions(e, id), []store.ActionKind{store.ActionRetry, store.ActionEdit})
	run := e.ClaimOne(node, id)
	if string(run.Job.Args) != `{"to":"bob"}` || run.Job.Attempt != 1 {
		e.Fatalf("%+v", run.Job)
	}
	e.End(run, store.Completed)
	if len(groups(e, store.Filter{})) != 0 {
		e.Fatalf("it is in a group still")
	}
}

func againRefused(e *env.Env) {
	node := e.Join()
	unique := failed(e, node, 7, "x", env.Unique("k", store.Scheduled, store.Available, store.Running))
	want := func(what string, err, is error) {
		e.Helper()
		e.WantErr(what, err, is)
		r := e.Get(unique)
		if r.State != store.Failed || string(r.Args) == `{"to":"bob"}` || r.Fingerprint != 7 || len(r.Actions) != 0 || r.Queue != "mail" {
			e.Fatalf("%s: %+v", what, r)
		}
	}
	queue := "b"
	_, err := again(e, unique, store.Edit{Args: []byte(`{"to":"bob"}`), Queue: &queue})
	want("args on which its key may depend", err, store.ErrConflict)
	_, err = again(e, unique, store.Edit{Metadata: []byte("{")})
	want("a change that no job can have", err, store.ErrInvalid)
	params := env.Edits(unique, store.Edit{Queue: &queue})
	params.Again = &store.Again{Keep: -1, Expect: 5}
	_, err = e.TryEdit(params)
	want("another journal", err, store.ErrConflict)
	holder := e.Add(env.Unique("k", store.Scheduled, store.Available, store.Running))
	_, err = again(e, unique, store.Edit{Queue: &queue})
	want("a key that another job has", err, store.ErrConflict)
	e.Cancel(holder)
	if state, err := again(e, unique, store.Edit{Queue: &queue}); err != nil || state != store.Available {
		e.Fatalf("%v, %v", state, err)
	}
}

func againOthers(e *env.Env) {
	node := e.Join()
	queue := "b"
	running := e.Started()
	available, completed, retryable, cancelled := e.Add(), e.Add(), e.Add(), e.Add()
	for _, run := range e.Claim(node, 4) {
		switch run.Job.ID {
		case completed:
			e.End(run, store.Completed)
		case retryable:
			e.End(run, store.Retryable)
		case available:
			e.End(run, store.Available)
		default:
			e.End(run, store.Cancelled)
		}
	}
	for id, state := range map[store.ID]store.State{
		available: store.Available, completed: store.Completed, retryable: store.Retryable, cancelled: store.Cancelled,
		running.Job.ID: store.Running,
	} {
		_, err := again(e, id, store.Edit{Queue: &queue})
		e.WantErr(state.String(), err, store.ErrConflict)
		if r := e.Get(id); r.Queue != "mail" || r.State != state || len(r.Actions) != 0 {
			e.Fatalf("%+v", r)
		}
		results, _, err := e.Store.Retry(e.Ctx, store.RetryParams{Namespace: env.Namespace, Jobs: []store.ID{id}, Failed: true})
		e.NoError("Retry", err)
		e.WantErr(fmt.Sprint("Retry of ", state), results[0].Err, store.ErrConflict)
		if r := e.Get(id); r.State != state || len(r.Actions) != 0 || results[0].State != state {
			e.Fatalf("%+v, %+v", r, results)
		}
	}
	_, err := again(e, store.ID{1}, store.Edit{})
	e.WantErr("nobody", err, store.ErrNotFound)
}

func onlyFailed(e *env.Env) {
	node := e.Join()
	first, second := failed(e, node, 7, "x"), failed(e, node, 7, "x")
	e.Retry(first)
	results, _, err := e.Store.Retry(e.Ctx, store.RetryParams{Namespace: env.Namespace, Jobs: []store.ID{first, second}, Failed: true})
	e.NoError("Retry", err)
	e.WantErr("retried before", results[0].Err, store.ErrConflict)
	if results[1].Err != nil || results[1].State != store.Available || len(e.Get(first).Actions) != 1 {
		e.Fatalf("%+v", results)
	}
}

func againLater(e *env.Env) {
	id := failed(e, e.Join(), 7, "x")
	at := e.Clock.Now().Add(time.Hour)
	if state, err := again(e, id, store.Edit{RunAt: &at}); err != nil || state != store.Scheduled {
		e.Fatalf("%v, %v", state, err)
	}
	if r := e.Get(id); !r.RunAt.Equal(at) {
		e.Fatalf("%+v", r)
	}
}

func againPlain(e *env.Env) {
	node := e.Join()
	id := failed(e, node, 7, "x")
	if state, err := again(e, id, store.Edit{}); err != nil || state != store.Available {
		e.Fatalf("%v, %v", state, err)
	}
	e.Equal("actions", actions(e, id), []store.ActionKind{store.ActionRetry})
	e.End(e.ClaimOne(node, id), store.Completed)
}

// onlyFailedGo: what was read as failed may run again, or have completed, by the time it is to go.
func onlyFailedGo(e *env.Env) {
	node := e.Join()
	first, completed := failed(e, node, 7, "x"), e.Add()
	e.End(e.ClaimOne(node, completed), store.Completed)
	waits := e.Add()
	params := store.DeleteParams{Namespace: env.Namespace, Jobs: []store.ID{completed, first, waits}, States: store.SetOf(store.Failed)}
	results, _, err := e.Store.Delete(e.Ctx, params)
	if err != nil || len(results) != 3 || results[1].Err != nil || results[1].State != store.Failed {
		e.Fatalf("%+v, %v", results, err)
	}
	for i, want := range map[int]store.State{0: store.Completed, 2: store.Available} {
		r := results[i]
		e.WantErr(want.String(), r.Err, store.ErrConflict)
		e.Equal("its state", []store.State{r.State, e.Get(r.Job).State}, []store.State{want, want})
	}
}
