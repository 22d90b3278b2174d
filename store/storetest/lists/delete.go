package lists

import (
	"strings"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

var deleteTests = env.Tests{
	"a_deleted_job_is_gone_with_everything_that_belongs_to_it":     deleteAll,
	"NoLoss_a_job_that_has_not_finished_is_not_deleted":            deleteUnfinished,
	"NoLoss_a_parent_is_not_deleted_before_its_children_end":       deleteParent,
	"a_parent_whose_children_were_closed_is_deleted":               deleteClosed,
	"each_job_gets_its_answer":                                     deleteAnswers,
	"a_job_that_remembers_much_is_deleted":                         deleteLarge,
	"what_was_made_of_a_deleted_job_goes_on":                       deleteSource,
	"NoLoss_deletes_and_retention_leave_to_each_other_what_is_due": deleteBesideRetention,
}

// rich makes a finished job of which there is something in every place.
func rich(e *env.Env, state store.State, change ...func(*store.Enqueue)) store.ID {
	e.Helper()
	words := func(q *store.Enqueue) { q.Job.Tags, q.Job.Metadata = []string{"t"}, []byte(`{"m":1}`) }
	first := e.Started(append(change, words, env.Attempts(9))...)
	id := first.Job.ID
	e.Save(first, store.Checkpoint{Percent: 50, Value: []byte(`{"n":1}`)})
	e.Cancel(id)
	e.End(first, store.Retryable) // cancelled, as it was asked
	e.Retry(id)
	run := e.ClaimOne(first.Lease.Node, id)
	e.Write(&run, append(env.Steps(1, 3), env.Entry(4, store.EntryPublished, "v"))...)
	e.Send(id, env.Signal("approved"))
	e.PauseJob(id, store.Running)
	e.End(run, store.Available)
	e.Resume(env.Resumption(id), store.Available)
	run = e.ClaimOne(first.Lease.Node, id)
	e.End(run, state)
	e.Leave(first.Lease.Node)
	return id
}

// wantNoTrace checks that a job that takes the id of a removed one finds nothing of it.
func wantNoTrace(e *env.Env, id store.ID) {
	e.Helper()
	e.Equal("journal of a removed job", e.Journal(id), store.Journal{Job: id})
	if q := e.Try(env.ID(id)); q.Err != nil || q.Result.Existing {
		e.Fatalf("enqueue with the id of a removed job: %+v, %v", q.Result, q.Err)
	}
	record := e.Get(id)
	if record.State != store.Available || record.LeaseNumber != 0 || len(record.Attempts) != 0 || record.Checkpoint != nil ||
		len(record.Actions) != 0 || len(record.Tags) != 0 || record.CancelRequested || record.PauseRequested || record.Error != "" {
		e.Fatalf("what took the id of a removed job: %+v", record)
	}
	node := e.Join()
	run := e.ClaimOne(node, id)
	if run.Durable || run.Checkpoint != nil || run.CancelRequested {
		e.Fatalf("the run of a new job: %+v", run)
	}
	e.Write(&run, env.Step(1))
	if got := e.Send(id, env.Signal("approved")); got.Seq != 1 {
		e.Fatalf("the first message has the number %d", got.Seq)
	}
	e.End(run, store.Completed)
	e.Leave(node)
}

func deleteAll(e *env.Env) {
	kept := e.Get(rich(e, store.Completed))
	for _, state := range []store.State{store.Completed, store.Failed, store.Cancelled} {
		id := rich(e, state, env.Unique(state.String(), store.States...), env.Ordered("k"))
		e.WantTaken(state.String(), id)
		if r := e.TryDelete(id)[0]; r.Err != nil || r.State != state {
			e.Fatalf("Delete of a %s job: %+v", state, r)
		}
		e.WantGone(id)
		e.WantFree(state.String())
		e.WantErr("retry of a deleted job", e.TryRetry(id).Err, store.ErrNotFound)
		e.WantErr("message to a deleted job", e.TrySend(id, env.Signal("s"), "").Err, store.ErrNotFound)
		for _, f := range []store.Filter{{IDs: []store.ID{id}}, {Tags: []string{"t"}, States: []store.State{store.Failed, store.Cancelled}}} {
			e.WantIDs("listed", e.ListIDs(f))
		}
		wantNoTrace(e, id)
	}
	e.Equal("another job", e.Get(kept.ID), kept)
	// Without a run there is less.
	never := e.Add(env.Delay(time.Hour))
	e.Cancel(never)
	e.Delete(never)
	wantNoTrace(e, never)
}

func deleteUnfinished(e *env.Env) {
	ids := inEachState(e)
	for state, id := range ids {
		before := e.Get(id)
		r := e.TryDelete(id)[0]
		if state.Finished() {
			if r.Err != nil || r.State != state {
				e.Errorf("Delete of a %s job: %+v", state, r)
			}
			continue
		}
		e.WantErr("Delete of a "+state.String()+" job", r.Err, store.ErrConflict)
		if r.State != state || !strings.Contains(r.Err.Error(), state.String()) {
			e.Errorf("Delete of a %s job: %+v", state, r)
		}
		e.Equal("the job", e.Get(id), before)
	}
	waits := e.Parked(env.ForSignals(), env.Priority(1))
	e.WantErr("Delete of a job that waits", e.TryDelete(waits.Job.ID)[0].Err, store.ErrConflict)
	// One that was retried has not finished any more.
	e.Retry(ids[store.Retryable])
	done := rich(e, store.Failed, env.Queue("b"), env.Priority(1))
	e.Retry(done)
	e.WantErr("Delete of a job that runs again", e.TryDelete(done)[0].Err, store.ErrConflict)
}

func deleteParent(e *env.Env) {
	parent := e.Started()
	children := e.Bear(&parent, 3, env.Kind("push"))
	e.End(parent, store.Completed)
	e.CloseChildren(100) // which their policy lets live
	node := e.Join()
	for runs := e.ClaimKinds(node, "push"); len(runs) > 0; runs = runs[1:] {
		r := e.TryDelete(parent.Job.ID)[0]
		e.WantErr("Delete of a parent", r.Err, store.ErrConflict)
		named := false
		for _, run := range runs {
			named = named || strings.Contains(r.Err.Error(), run.Job.ID.String())
		}
		if r.State != store.Completed || !named {
			e.Fatalf("Delete of a parent with %d living children: %+v", len(runs), r)
		}
		e.End(runs[0], store.Failed)
	}
	e.Retry(children[1])
	e.WantErr("Delete of the parent of a child that runs again", e.TryDelete(parent.Job.ID)[0].Err, store.ErrConflict)
	e.End(e.ClaimKinds(node, "push")[0], store.Completed)
	before := e.Get(children[0])
	e.Delete(parent.Job.ID)
	e.Equal("a child", e.Get(children[0]), before)
	e.WantSameIDs("children of a deleted job", e.ListIDs(store.Filter{Parent: parent.Job.ID}), children...)
	// A child that runs again answers nothing to a parent that is gone.
	e.Retry(children[0])
	e.End(e.ClaimKinds(node, "push")[0], store.Completed)
	for _, id := range children {
		e.Delete(id)
	}
}

func deleteClosed(e *env.Env) {
	parent := e.Started()
	children := e.Bear(&parent, 3, env.Kind("push"), env.OnParentClose(store.CancelChild))
	e.End(parent, store.Failed, env.WithChildren)
	e.WantErr("Delete of a parent", e.TryDelete(parent.Job.ID)[0].Err, store.ErrConflict)
	for _, id := range children[:2] {
		e.Cancel(id)
	}
	e.Terminate(children[2])
	// Nothing is left to be closed, although it was not looked at.
	e.Delete(parent.Job.ID)
	e.WantIDs("closed", e.CloseChildren(100))
	wantNoTrace(e, parent.Job.ID)
}

func deleteAnswers(e *env.Env) {
	runs := e.Running(3)
	done, failed, running := runs[0], runs[1], runs[2]
	e.End(done, store.Completed)
	e.End(failed, store.Failed)
	unknown := e.IDs.Next()
	o := e.InOtherSpace()
	foreign := o.Started()
	o.End(foreign, store.Completed)
	ids := []store.ID{unknown, failed.Job.ID, running.Job.ID, done.Job.ID, failed.Job.ID, foreign.Job.ID}
	results, _, err := e.Store.Delete(e.Ctx, store.DeleteParams{Namespace: env.Namespace, Jobs: ids, Actor: "ada"})
	e.WantAnswers(results, err, ids,
		store.Result{Err: store.ErrNotFound},
		store.Result{State: store.Failed},
		store.Result{State: store.Running, Err: store.ErrConflict},
		store.Result{State: store.Completed},
		store.Result{Err: store.ErrNotFound},
		store.Result{Err: store.ErrNotFound},
	)
	results, _, err = e.Store.Delete(e.Ctx, store.DeleteParams{Jobs: ids})
	e.WantAnswers(results, err, ids,
		store.Result{Err: store.ErrNotFound}, store.Result{Err: store.ErrNotFound},
		store.Result{State: store.Running, Err: store.ErrConflict},
		store.Result{Err: store.ErrNotFound}, store.Result{Err: store.ErrNotFound},
		store.Result{State: store.Completed},
	)
	if results, _, err := e.Store.Delete(e.Ctx, store.DeleteParams{}); err != nil || len(results) != 0 {
		e.Fatalf("Delete of nothing: %+v, %v", results, err)
	}
}

func deleteLarge(e *env.Env) {
	run := e.Started()
	for seq := int64(1); seq < 3000; seq += 500 {
		e.Write(&run, env.Steps(seq, seq+499)...)
	}
	for range 300 {
		e.Send(run.Job.ID, env.Signal("s"))
	}
	e.End(run, store.Completed)
	e.Delete(run.Job.ID)
	wantNoTrace(e, run.Job.ID)
}

func deleteSource(e *env.Env) {
	source := e.Durable(3)
	e.End(source, store.Failed)
	fork := e.Fork(source.Job.ID, 2)
	e.Delete(source.Job.ID)
	_, err := e.Store.Fork(e.Ctx, store.ForkParams{From: source.Job.ID, Keep: 1, Job: e.Job().Job})
	e.WantErr("a fork of a deleted job", err, store.ErrNotFound)
	e.WantEntries(fork, 2)
	e.End(e.ClaimOne(e.Join(), fork), store.Completed)
	// The answer of a child stays with its parent.
	parent := e.Started()
	child := e.Bear(&parent, 1, env.Kind("push"))[0]
	e.End(e.ClaimKinds(parent.Lease.Node, "push")[0], store.Completed)
	e.Delete(child)
	if answers := e.Answers(parent.Job.ID); len(answers) != 1 {
		e.Fatalf("answers of a deleted child: %+v", answers)
	}
	e.End(parent, store.Completed)
	e.Delete(parent.Job.ID)
}

// deleteBesideRetention: neither finds less or more because of the other.
func deleteBesideRetention(e *env.Env) {
	runs := e.Running(6)
	e.EndAll(runs, store.Completed)
	e.Clock.Advance(time.Hour + env.Slack)
	e.Delete(runs[0].Job.ID)
	params := store.Retention{Completed: time.Hour, Failed: time.Hour, Cancelled: time.Hour, Limit: 2}
	if n := e.Retain(params); n != 5 {
		e.Fatalf("removed %d jobs, want the five that were left", n)
	}
	for _, run := range runs {
		e.WantGone(run.Job.ID)
		e.WantErr("Delete of what was retained", e.TryDelete(run.Job.ID)[0].Err, store.ErrNotFound)
	}
	wantNoTrace(e, runs[0].Job.ID)
}
