package batches

import (
	"errors"
	"time"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

// What is kept of batches, and who belongs to them.
var batchTests = env.Tests{
	"what_is_made_is_there":                        kept,
	"pages_of_batches":                             pages,
	"a_member_is_a_job_like_any_other":             member,
	"members_are_listed":                           listed,
	"a_closed_batch_takes_no_members":              closed,
	"what_no_store_takes_is_refused":               refused,
	"Remembered_members_are_kept_until_the_call":   retained,
	"batches_that_were_called_back_are_removed":    forgotten,
	"a_member_that_runs_adds_members":              addedByMember,
	"a_repeated_enqueue_finds_its_job_when_closed": repeated,
}

func kept(e *env.Env) {
	calls := []store.BatchJob{e.Calls(store.BatchEnded), e.Calls(store.BatchFailed)}
	b := e.NewBatch(calls...)
	want := store.JobBatch{
		ID: b.ID, Namespace: env.Namespace, BatchSettings: store.BatchSettings{Name: "import", Calls: calls},
		CreatedAt: e.Clock.Now(), Version: b.Version,
	}
	e.Equal("batch", b, want)
	e.Clock.Advance(time.Second)
	e.NoError("the same once more", e.Store.CreateBatch(e.Ctx, nil, b))
	e.Equal("batch", e.BatchOf(b.ID), want)
	e.CloseBatch(b.ID)
	want.ClosedAt, want.Version = e.Clock.Now(), want.Version+1
	e.Clock.Advance(time.Second)
	e.CloseBatch(b.ID)
	e.Equal("closed batch", e.BatchOf(b.ID), want)
	other := e.InOtherSpace()
	e.WantErr("CloseBatch from elsewhere", e.Store.CloseBatch(e.Ctx, nil, "elsewhere", b.ID), store.ErrNotFound)
	b.Namespace = other.Job().Job.Namespace
	e.WantErr("CreateBatch with its id", e.Store.CreateBatch(e.Ctx, nil, b), store.ErrConflict)
	e.WantErr("CloseBatch of none", e.Store.CloseBatch(e.Ctx, nil, env.Namespace, e.IDs.Next()), store.ErrNotFound)
}

func pages(e *env.Env) {
	var all []store.ID
	for range 5 {
		all = append([]store.ID{e.NewBatch().ID}, all...)
	}
	other := e.InOtherSpace().NewBatch().ID
	e.CloseBatch(all[1])
	e.CallBack()
	page := func(f store.BatchFilter) (ids []store.ID) {
		found, err := e.Store.Batches(e.Ctx, f)
		e.NoError("Batches", err)
		for _, b := range found {
			ids = append(ids, b.ID)
		}
		return ids
	}
	e.WantIDs("first page", page(store.BatchFilter{Namespace: env.Namespace, Limit: 2}), all[:2]...)
	e.WantIDs("last page", page(store.BatchFilter{Namespace: env.Namespace, Before: all[1], Limit: 9}), all[2:]...)
	e.WantIDs("those that were not called back", page(store.BatchFilter{Namespace: env.Namespace, Undone: true, Limit: 3}),
		all[0], all[2], all[3])
	e.WantIDs("of all namespaces", page(store.BatchFilter{Limit: 2}), other, all[0])
	e.WantIDs("one that is elsewhere", page(store.BatchFilter{Namespace: env.Namespace, ID: other, Limit: 1}))
	e.WantIDs("one that was called back", page(store.BatchFilter{ID: all[1], Undone: true, Limit: 1}))
}

func member(e *env.Env) {
	node, b := e.Join(), e.NewBatch()
	plain := e.Add()
	id := e.Add(env.Member(b.ID))
	e.Equal("job", e.Get(id), e.Get(plain), cmpopts.IgnoreFields(store.Job{}, "ID", "Batch"))
	if got := e.Get(id).Batch; got != b.ID {
		e.Fatalf("its batch is %v", got)
	}
	runs := e.ClaimRuns(node)
	if got := runs[id].Job; got.Batch != b.ID || got.Parent != (store.ID{}) {
		e.Fatalf("claimed: %+v", got)
	}
	e.End(runs[id], store.Retryable)
	e.Clock.Advance(time.Hour)
	e.Promote()
	run := e.ClaimOne(node, id)
	e.Write(&run, env.Steps(1, 1)...)
	child := e.Bear(&run, 1)[0]
	e.End(run, store.Failed, env.WithChildren)
	if got := e.Get(id); got.Batch != b.ID || got.State != store.Failed {
		e.Fatalf("ended: %+v", got)
	}
	e.CloseChildren(10)
	e.WantState(child, store.Cancelled)
	e.Retry(id)
	if got := e.Get(id); got.Batch != b.ID || got.State != store.Available {
		e.Fatalf("retried: %+v", got)
	}
}

func listed(e *env.Env) {
	node, b, other := e.Join(), e.NewBatch(), e.NewBatch()
	var ids []store.ID
	for range 4 {
		ids = append([]store.ID{e.Add(env.Member(b.ID))}, ids...)
		e.Add(env.Member(other.ID))
	}
	run := e.ClaimOne(node, ids[3])
	child := e.Bear(&run, 1)[0]
	e.WantIDs("members", e.ListIDs(store.Filter{Batch: b.ID}), ids...)
	e.Cancel(ids[1])
	e.WantIDs("cancelled members", e.ListIDs(store.Filter{Batch: b.ID, States: []store.State{store.Cancelled}}), ids[1])
	e.WantIDs("children of a batch", e.ListIDs(store.Filter{Batch: b.ID, Parent: ids[3]}))
	e.WantIDs("cancelled members by time", e.Sorted(store.SortFinished, store.Filter{Batch: b.ID}, 10), ids[1])
	all := e.ListIDs(store.Filter{NoParent: true})
	if len(all) != 8 {
		e.Fatalf("no children: %v, of which %v is one", all, child)
	}
	if n := e.Count(store.Filter{Batch: b.ID}); n != 4 {
		e.Fatalf("counted %d members", n)
	}
}

func closed(e *env.Env) {
	b, free := e.NewBatch(), e.NewBatch()
	foreign := e.InOtherSpace().NewBatch()
	e.CloseBatch(b.ID)
	for what, c := range map[string]struct {
		batch   store.ID
		missing bool
		class   error
	}{
		"a closed one":                 {b.ID, false, store.ErrConflict},
		"one that is not there":        {e.IDs.Next(), true, store.ErrNotFound},
		"one of another namespace":     {foreign.ID, true, store.ErrNotFound},
		"one that is a job":            {e.Add(), true, store.ErrNotFound},
		"a closed one, for the second": {b.ID, false, store.ErrConflict},
	} {
		for _, change := range []func(*store.Enqueue){
			func(*store.Enqueue) {}, env.Unique("u" + what), env.Key("k" + what), func(q *store.Enqueue) { q.KnownID = true },
		} {
			q, good, plain := e.Job(env.Member(c.batch), change), e.Job(env.Member(free.ID)), e.Job()
			e.Apply(&store.Batch{Enqueues: []*store.Enqueue{good, q, plain}})
			e.WantErr(what, q.Err, c.class)
			want := store.BatchClosedError{Job: q.Job.ID, Batch: c.batch, Missing: c.missing}
			if got, ok := errors.AsType[*store.BatchClosedError](q.Err); !ok || *got != want {
				e.Fatalf("%s: %v", what, q.Err)
			}
			e.WantUnknown(q.Job.ID)
			e.WantState(good.Job.ID, store.Available)
			e.WantState(plain.Job.ID, store.Available)
		}
	}
	e.WantFree("ua closed one")
}

func refused(e *env.Env) {
	b := e.NewBatch()
	for what, change := range map[string]func(*store.JobBatch){
		"no id":           func(b *store.JobBatch) { b.ID = store.ID{} },
		"no namespace":    func(b *store.JobBatch) { b.Namespace = "" },
		"a name with NUL": func(b *store.JobBatch) { b.Name = "a\x00" },
		"a job without kind": func(b *store.JobBatch) {
			call := e.Calls(store.BatchEnded)
			call.Job.Kind = ""
			b.Calls = append(b.Calls, call)
		},
		"two jobs with one id": func(b *store.JobBatch) {
			call := e.Calls(store.BatchEnded)
			b.Calls = append(b.Calls, call, call)
		},
		"an unknown condition": func(b *store.JobBatch) { b.Calls = append(b.Calls, e.Calls(9)) },
		"too many jobs": func(b *store.JobBatch) {
			for range store.MaxBatchCalls + 1 {
				b.Calls = append(b.Calls, e.Calls(store.BatchEnded))
			}
		},
	} {
		bad := store.JobBatch{ID: e.IDs.Next(), Namespace: env.Namespace}
		change(&bad)
		e.WantErr(what, e.Store.CreateBatch(e.Ctx, nil, bad), store.ErrInvalid)
	}
	child := e.Try(env.Member(b.ID), func(q *store.Enqueue) { q.Job.Parent = e.IDs.Next() })
	e.WantErr("a child", child.Err, store.ErrInvalid)
	follow := e.Job(env.Member(b.ID))
	first := e.Job(func(q *store.Enqueue) {
		follow.After = env.Dependencies(store.RunIfFailed, q.Job.ID)
		q.FollowUps = []*store.Enqueue{follow}
	})
	e.Apply(&store.Batch{Enqueues: []*store.Enqueue{first}})
	e.WantErr("a follow-up", first.Err, store.ErrInvalid)
}

func retained(e *env.Env) {
	node, b := e.Join(), e.NewBatch(e.Calls(store.BatchEnded))
	members := e.Many(3, env.Member(b.ID))
	plain := e.Add()
	e.Enqueue(members...)
	runs := e.ClaimRuns(node)
	e.End(runs[members[0].Job.ID], store.Completed)
	e.End(runs[members[1].Job.ID], store.Failed)
	e.End(runs[plain], store.Failed)
	e.Cancel(members[2].Job.ID)
	e.End(runs[members[2].Job.ID], store.Cancelled)
	e.Retire(node)
	e.WantGone(plain)
	for i, want := range []store.State{store.Completed, store.Failed, store.Cancelled} {
		e.WantState(members[i].Job.ID, want)
	}
	e.CloseBatch(b.ID)
	e.WantIDs("called", e.CallBack(), b.Calls[0].ID)
	want := store.BatchCounts{Completed: 1, Failed: 1, Cancelled: 1}
	e.Equal("counts", e.Get(b.Calls[0].ID).Options.Called, store.BatchResult{ID: b.ID, BatchCounts: want})
	e.Retire(node)
	for _, q := range members {
		e.WantGone(q.Job.ID)
	}
}

func forgotten(e *env.Env) {
	node, b, open := e.Join(), e.NewBatch(), e.NewBatch()
	e.CloseBatch(b.ID)
	e.CallBack()
	e.BatchOf(b.ID)
	e.Retire(node)
	found, err := e.Store.Batches(e.Ctx, store.BatchFilter{Namespace: env.Namespace, Limit: 10})
	if err != nil || len(found) != 1 || found[0].ID != open.ID {
		e.Fatalf("batches: %+v, %v", found, err)
	}
}

func addedByMember(e *env.Env) {
	node, b := e.Join(), e.NewBatch(e.Calls(store.BatchSucceeded))
	first := e.Add(env.Member(b.ID))
	run := e.ClaimOne(node, first)
	second := e.Add(env.Member(b.ID))
	e.CloseBatch(b.ID)
	e.End(run, store.Completed)
	e.WantIDs("called while one has not ended", e.CallBack())
	e.End(e.ClaimOne(node, second), store.Completed)
	e.WantIDs("called", e.CallBack(), b.Calls[0].ID)
}

func repeated(e *env.Env) {
	b := e.NewBatch()
	var all []*store.Enqueue
	for _, change := range []func(*store.Enqueue){func(*store.Enqueue) {}, env.Unique("u"), env.Key("k")} {
		all = append(all, e.Enqueue(e.Job(env.Member(b.ID), change))...)
	}
	e.CloseBatch(b.ID)
	for i, q := range all {
		again := e.Job(func(r *store.Enqueue) { r.Job, r.KnownID = q.Job, q.KnownID })
		e.Apply(&store.Batch{Enqueues: []*store.Enqueue{again}})
		if again.Err != nil || !again.Result.Existing || again.Result.ID != q.Job.ID {
			e.Fatalf("repeat %d: %+v, %v", i, again.Result, again.Err)
		}
	}
}
