package requests

import (
	"bytes"
	"context"
	"errors"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

// asked is a verb that people ask for. ready prepares what it is called for. It does that once; a
// second time it is to ask for something that is refused.
type asked struct {
	name  string
	ready func(e *env.Env) do
}

type do func(ctx context.Context, second bool) error

// failed is a job that has failed.
func failed(e *env.Env, change ...func(*store.Enqueue)) store.ID {
	run := e.Started(change...)
	e.End(run, store.Failed)
	return run.Job.ID
}

// first is the error of a call about one job.
func first(results []store.Result, _ []store.Wake, err error) error {
	if err != nil {
		return err
	}
	return results[0].Err
}

var verbs = []asked{
	{"Retry", func(e *env.Env) do {
		p := store.RetryParams{Jobs: []store.ID{failed(e)}, Failed: true, Actor: "ada"}
		return func(ctx context.Context, _ bool) error { return first(e.Store.Retry(ctx, p)) }
	}},
	{"Resume", func(e *env.Env) do { return resuming(e, nil) }},
	{"Resume, as new", func(e *env.Env) do {
		return resuming(e, &store.Continue{Args: []byte(`2`), Data: []byte(`{}`)})
	}},
	{"Edit", func(e *env.Env) do {
		priority := 3
		p := env.Edits(e.Add(), store.Edit{Priority: &priority})
		return func(ctx context.Context, second bool) error {
			if second {
				e.Cancel(p.Job) // so that it cannot be changed
			}
			_, _, err := e.Store.Edit(ctx, p)
			return err
		}
	}},
	{"Delete", func(e *env.Env) do {
		p := store.DeleteParams{Jobs: []store.ID{failed(e)}, Actor: "ada"}
		return func(ctx context.Context, _ bool) error { return first(e.Store.Delete(ctx, p)) }
	}},
	{"Cancel, skipping", func(e *env.Env) do {
		id := failed(e, env.Ordered("k"), func(q *store.Enqueue) { q.Job.Options.KeepTurn = true })
		p := store.CancelParams{Jobs: []store.ID{id}, Skip: true, Actor: "ada"}
		return func(ctx context.Context, _ bool) error { return first(e.Store.Cancel(ctx, p)) }
	}},
	{"Finish", func(e *env.Env) do {
		return finishing(e, env.CompletedBy(e.HandedOver().Job.ID))
	}},
	{"Finish, with compensations", func(e *env.Env) do {
		run := e.Durable(1)
		e.HandOver(run, &store.Wait{Compensates: true}, func(o *store.Outcome) { o.Durable = true })
		return finishing(e, env.FailedBy(run.Job.ID))
	}},
	{"Fork", func(e *env.Env) do {
		from := e.Started()
		return func(ctx context.Context, second bool) error {
			p := store.ForkParams{From: from.Job.ID, Job: e.Job().Job, Actor: "ada"}
			if second {
				p.From = e.IDs.Next()
			}
			_, err := e.Store.Fork(ctx, p)
			return err
		}
	}},
	{"SaveSchedule", func(e *env.Env) do {
		return func(ctx context.Context, _ bool) error {
			_, err := e.Store.SaveSchedule(ctx, env.Schedule("daily"), 0, "ada")
			return err
		}
	}},
	{"SetEndpoint", func(e *env.Env) do { return settingEndpoint(e, 0) }},
	{"SetEndpoint, again", func(e *env.Env) do {
		e.NoError("SetEndpoint", settingEndpoint(e, 0)(e.Ctx, false))
		return settingEndpoint(e, 1)
	}},
	{"CreateAPIKey", func(e *env.Env) do {
		return func(ctx context.Context, second bool) error {
			k := store.APIKey{ID: "k1", Hash: bytes.Repeat([]byte("a"), 32), Name: "ci", Role: "viewer", CreatedBy: "ada"}
			if second {
				k.Hash = bytes.Repeat([]byte("b"), 32)
			}
			_, err := e.Store.CreateAPIKey(ctx, k)
			return err
		}
	}},
	{"CreateNamespace", func(e *env.Env) do {
		return func(ctx context.Context, _ bool) error {
			_, err := e.Store.CreateNamespace(ctx, store.CreateNamespaceParams{Name: "shop", Actor: "ada"})
			return err
		}
	}},
	{"CreateBatch", func(e *env.Env) do {
		b := store.JobBatch{ID: e.IDs.Next(), Namespace: env.Namespace, BatchSettings: store.BatchSettings{Name: "import"}}
		return func(ctx context.Context, second bool) error {
			if second {
				b.Namespace = "other"
			}
			return e.Store.CreateBatch(ctx, nil, b)
		}
	}},
}

func resuming(e *env.Env, next *store.Continue) do {
	p := env.Resumption(failed(e))
	p.Continue = next
	return func(ctx context.Context, _ bool) error {
		_, _, err := e.Store.Resume(ctx, p)
		return err
	}
}

func finishing(e *env.Env, end store.End) do {
	return func(ctx context.Context, _ bool) error {
		return first(e.Store.Finish(ctx, store.FinishParams{Ends: []store.End{end}, Actor: "ada"}))
	}
}

func settingEndpoint(e *env.Env, version int64) do {
	return func(ctx context.Context, second bool) error {
		p := store.SetEndpointParams{Version: version, Data: []byte{byte('a' + version)}, Actor: "ada"}
		if second {
			p.Data = []byte("other")
		}
		p.EndpointName = store.EndpointName{Namespace: env.Namespace, Purpose: store.EndpointPush, Name: "mail"}
		_, err := e.Store.SetEndpoint(ctx, p)
		return err
	}
}

// in is the context of a request that an owner has begun.
func in(e *env.Env, n byte) context.Context {
	r := request("k", "a pause")
	r.Owner = owner(n)
	return store.WithRequest(e.Ctx, r)
}

// happens: the transaction in which a verb does something notes it.
func happens(a asked) func(*env.Env) {
	return func(e *env.Env) {
		call := a.ready(e)
		e.NoError("begins", phase(e, 1, store.RequestBegins))
		e.Equal("happened, before it", known(e, "a pause").Happened, false)
		e.NoError(a.name, call(in(e, 1), false))
		e.Equal("happened", known(e, "a pause").Happened, true)
		e.NoError("dropped, which is too late", phase(e, 1, store.RequestDropped))
		e.Clock.Advance(time.Minute)
		found := known(e, "a pause")
		e.Equal("begun, over, happened", []bool{found.Begun, found.Over, found.Happened}, []bool{true, true, true})
		e.WantErr("begins in its place", phase(e, 2, store.RequestBegins), store.ErrConflict)
		e.NoError("ends", phase(e, 1, store.RequestEnds, answer("done")))
		e.Equal("answer", string(results(e, known(e, "a pause")).Answer), "done")
	}
}

// happensNot: one in which a verb is refused does not.
func happensNot(a asked) func(*env.Env) {
	return func(e *env.Env) {
		call := a.ready(e)
		e.NoError(a.name, call(e.Ctx, false))
		e.NoError("begins", phase(e, 1, store.RequestBegins))
		if err := call(in(e, 1), true); err == nil {
			e.Fatalf("%s a second time is not refused", a.name)
		}
		e.Equal("happened", known(e, "a pause").Happened, false)
		e.Clock.Advance(time.Minute)
		e.NoError("begins in its place", phase(e, 2, store.RequestBegins))
	}
}

// overtaken: what a slow program does for a request that another one has taken over does not
// happen.
func overtaken(a asked) func(*env.Env) {
	return func(e *env.Env) {
		call := a.ready(e)
		e.NoError("begins", phase(e, 1, store.RequestBegins))
		e.Clock.Advance(time.Minute)
		e.NoError("begins in its place", phase(e, 2, store.RequestBegins))
		before := audit(e)
		if found, is := errors.AsType[*store.RequestError](call(in(e, 1), false)); !is || !found.Begun || found.Happened {
			e.Fatalf("%s of the one before: %v", a.name, found)
		}
		e.Equal("what was done", audit(e), before)
		e.NoError(a.name+" of the one after", call(in(e, 2), false))
	}
}

// audit is how much people did.
func audit(e *env.Env) int {
	all, err := e.Store.ListAudit(e.Ctx, store.AuditParams{Limit: 1000})
	e.NoError("ListAudit", err)
	return len(all)
}

// ofVerbs are the tests of all verbs that people ask for.
func ofVerbs() env.Tests {
	tests := env.Tests{}
	for _, a := range verbs {
		tests["a_request_has_happened_if_it_did_something/"+a.name] = happens(a)
		tests["a_request_has_not_happened_if_it_did_nothing/"+a.name] = happensNot(a)
		tests["OneOwner_nothing_happens_for_who_was_taken_over/"+a.name] = overtaken(a)
	}
	return tests
}
