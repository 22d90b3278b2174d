package depend

import (
	"slices"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

// Jobs that are enqueued with another one, and follow its end.
var followTests = env.Tests{
	"each_end_is_followed_by_those_that_it_is_for":        followEveryEnd,
	"AtomicTransitions_they_are_enqueued_with_it_or_none": followTogether,
	"they_may_have_follow_ups":                            followChain,
	"what_cannot_be_a_follow_up_is_refused":               followRefused,
	"NoLoss_they_are_there_when_it_starts_at_once":        followStarted,
	"a_job_may_wait_for_the_failure_of_one_that_is_there": followLater,
}

// policies are those of follow-ups, with the ends that let them run.
var policies = map[store.FailurePolicy][]store.State{
	store.CancelIfFailed:  {store.Completed},
	store.RunIfFailed:     {store.Completed, store.Failed, store.Cancelled},
	store.OnlyIfFailed:    {store.Failed},
	store.OnlyIfCancelled: {store.Cancelled},
}

// follows makes an enqueue a follow-up of another one.
func follows(e *env.Env, q *store.Enqueue, policy store.FailurePolicy, change ...func(*store.Enqueue)) *store.Enqueue {
	f := e.Job(append(change, env.AfterOr(policy, q.Job.ID))...)
	q.FollowUps = append(q.FollowUps, f)
	return f
}

// wantAfterEnd checks what became of a follow-up.
func wantAfterEnd(e *env.Env, of, id store.ID, policy store.FailurePolicy, ended store.State) {
	e.Helper()
	if slices.Contains(policies[policy], ended) {
		e.WantState(id, store.Available)
		return
	}
	e.WantState(id, store.Cancelled)
	if r := e.Get(id); r.Error != policy.UnmetWords(of, ended) || r.Reason != store.ReasonCancelled || len(r.Actions) != 0 {
		e.Fatalf("the follow-up that is not needed: %q, %q, %+v", r.Reason, r.Error, r.Actions)
	}
}

func followEveryEnd(e *env.Env) {
	node := e.Join()
	for _, ended := range []store.State{store.Completed, store.Failed, store.Cancelled} {
		q := e.Job(env.Queue("first"))
		by := map[store.FailurePolicy]store.ID{}
		for policy := range policies {
			by[policy] = follows(e, q, policy, env.Queue("then")).Job.ID
		}
		e.Enqueue(q)
		for policy, id := range by {
			r := e.WantAwaits(id, q.Job.ID)
			if r.Predecessors[0].IfFailed != policy {
				e.Fatalf("it waits like this: %+v", r.Predecessors)
			}
		}
		for _, f := range q.FollowUps {
			e.Equal("result", f.Result, store.EnqueueResult{ID: f.Job.ID, State: store.Waiting, RunAt: e.Clock.Now()})
		}
		e.End(e.ClaimOne(node, q.Job.ID), ended)
		e.CloseChildren(10)
		for policy, id := range by {
			wantAfterEnd(e, q.Job.ID, id, policy, ended)
		}
		for _, id := range by {
			e.Cancel(id)
		}
		if ended == store.Completed {
			continue
		}
		e.Retry(q.Job.ID) // an end that was told stays told
		e.End(e.ClaimOne(node, q.Job.ID), store.Completed)
		e.CloseChildren(10)
		for _, id := range by {
			e.WantState(id, store.Cancelled)
		}
	}
}

func followTogether(e *env.Env) {
	holder := e.Add(env.Unique("k"))
	for _, conflict := range []store.OnConflict{store.ReturnExisting, store.Reject} {
		q := e.Job(env.Unique("k"), func(q *store.Enqueue) { q.OnConflict = conflict })
		f := follows(e, q, store.CancelIfFailed)
		e.NoError("Apply", e.Store.Apply(e.Ctx, &store.Batch{Enqueues: []*store.Enqueue{q}}))
		e.WantUnknown(f.Job.ID)
		e.Equal("result", f.Result, store.EnqueueResult{})
	}
	e.Cancel(holder)
	q := e.Job(env.Unique("k"))
	f := follows(e, q, store.OnlyIfFailed)
	e.Enqueue(q)
	e.WantAwaits(f.Job.ID, q.Job.ID)

	again := *q // its answer was lost
	e.Enqueue(&again)
	if !again.Result.Existing {
		e.Fatalf("the job that was enqueued again: %+v", again.Result)
	}
	e.WantAwaits(f.Job.ID, q.Job.ID)

	known := e.Job(func(k *store.Enqueue) { k.Job.ID, k.KnownID = q.Job.ID, true })
	other := follows(e, known, store.OnlyIfFailed)
	e.Enqueue(known)
	e.WantUnknown(other.Job.ID)

	lost := e.Job(env.After(e.IDs.Next()))
	third := follows(e, lost, store.RunIfFailed)
	e.NoError("Apply", e.Store.Apply(e.Ctx, &store.Batch{Enqueues: []*store.Enqueue{lost}}))
	e.WantErr("a job after one that is not there", lost.Err, store.ErrNotFound)
	e.WantUnknown(lost.Job.ID)
	e.WantUnknown(third.Job.ID)
}

func followChain(e *env.Env) {
	node := e.Join()
	q := e.Job()
	f := follows(e, q, store.OnlyIfFailed)
	g := follows(e, f, store.CancelIfFailed)
	h := follows(e, g, store.OnlyIfCancelled)
	e.Enqueue(q)
	e.End(e.ClaimOne(node, q.Job.ID), store.Failed)
	e.CloseChildren(10)
	e.End(e.ClaimOne(node, f.Job.ID), store.Failed)
	e.WantSameIDs("ended", e.CloseChildren(10), g.Job.ID)
	e.WantState(h.Job.ID, store.Available)
}

func followRefused(e *env.Env) {
	for what, breaks := range map[string]func(q, f *store.Enqueue){
		"after nothing": func(_, f *store.Enqueue) { f.After = nil },
		"after another one too": func(_, f *store.Enqueue) {
			f.After = append(f.After, env.Dependencies(store.RunIfFailed, e.IDs.Next())...)
		},
		"with a key":           func(_, f *store.Enqueue) { f.Job.UniqueKey, f.Job.UniqueStates = []byte("f"), store.Unfinished },
		"with a name":          func(_, f *store.Enqueue) { f.Job.Options.Key = "f" },
		"with an id":           func(_, f *store.Enqueue) { f.KnownID = true },
		"with the same id":     func(q, f *store.Enqueue) { f.Job.ID = q.Job.ID },
		"of another namespace": func(_, f *store.Enqueue) { f.Job.Namespace = env.OtherSpace },
		"without a kind":       func(_, f *store.Enqueue) { f.Job.Kind = "" },
		"of a child":           func(q, _ *store.Enqueue) { q.Job.Parent = e.IDs.Next() },
		"too many": func(q, _ *store.Enqueue) {
			for range store.MaxFollowUps {
				follows(e, q, store.RunIfFailed)
			}
		},
	} {
		q := e.Job()
		f := follows(e, q, store.RunIfFailed)
		breaks(q, f)
		e.NoError("Apply", e.Store.Apply(e.Ctx, &store.Batch{Enqueues: []*store.Enqueue{q}}))
		e.WantErr(what, q.Err, store.ErrInvalid)
		e.WantUnknown(q.Job.ID)
	}
}

func followStarted(e *env.Env) {
	node := e.Join()
	q := e.Job()
	f := follows(e, q, store.OnlyIfFailed)
	q.Start = true
	start := &store.Start{Node: node, Seq: 1000}
	e.NoError("Apply", e.Store.Apply(e.Ctx, &store.Batch{Enqueues: []*store.Enqueue{q}, Start: start}))
	runs := start.Claimed
	if len(runs) == 0 {
		runs = []store.Claimed{e.ClaimOne(node, q.Job.ID)}
	}
	e.WantAwaits(f.Job.ID, q.Job.ID)
	e.End(runs[0], store.Failed)
	e.CloseChildren(10)
	e.WantState(f.Job.ID, store.Available)
}

func followLater(e *env.Env) {
	node := e.Join()
	run := e.ClaimOne(node, e.Add())
	first := run.Job.ID
	f := e.Add(env.AfterOr(store.OnlyIfFailed, first))
	c := e.Add()
	e.Depend(c, store.OnlyIfCancelled, store.Waiting, first)
	e.End(run, store.Failed)
	e.CloseChildren(10)
	e.WantState(f, store.Available)
	wantAfterEnd(e, first, c, store.OnlyIfCancelled, store.Failed)
	late := e.Add(env.AfterOr(store.OnlyIfCancelled, first)) // it has ended otherwise
	e.WantSameIDs("ended", e.CloseChildren(10), late)
	wantAfterEnd(e, first, late, store.OnlyIfCancelled, store.Failed)
}
