package tx

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

// What people change, and runs say, of jobs that the transaction of a caller holds.
var editTests = tests{
	"an_edit_waits_for_no_transaction_that_holds_its_job":          busyEdit,
	"a_delete_waits_for_no_transaction_that_holds_its_job":         busyDelete,
	"what_a_run_says_waits_for_no_transaction_that_holds_its_job":  busyMeta,
	"what_a_run_says_is_there_when_its_transaction_commits":        txMeta,
	"search_attributes_are_there_with_the_transaction":             txAttributes,
	"lists_and_counts_show_what_is_committed_and_wait_for_nothing": txLists,
}

// soonOnly runs what must not take long.
func (e *txEnv) soonOnly(do func(ctx context.Context)) {
	e.Helper()
	ctx, cancel := context.WithTimeout(e.Ctx, soon)
	defer cancel()
	if do(ctx); ctx.Err() != nil {
		e.Fatal("it waits for the transaction")
	}
}

func busyEdit(e *txEnv) {
	e.needsWriters()
	by := e.bystanders()
	for _, commit := range []bool{true, false} {
		run := e.ClaimOne(by.node, e.Add(env.Queue(heldQueue)))
		e.Write(&run, env.Step(1))
		e.Park(run, env.ForSignals())
		before := e.Get(run.Job.ID)
		tx := e.begin(e.T)
		e.sendTx(tx.Tx, run.Job.ID)
		changes := []store.Edit{
			{Queue: new("elsewhere"), Priority: new(1)}, {AddTags: []string{"t"}}, {Deadline: new(e.Clock.Now().Add(time.Hour))},
		}
		for _, change := range changes {
			e.soonOnly(func(ctx context.Context) {
				_, _, err := e.Store.Edit(ctx, env.Edits(run.Job.ID, change))
				wantBusy(e, "an edit", err)
			})
		}
		e.Equal("the job", e.Get(run.Job.ID), before)
		e.Edit(e.Add(env.Delay(time.Hour)), changes[0], store.Scheduled) // beside it
		e.finish(tx, commit)
		want := store.Waiting
		if commit {
			want = store.Available
		}
		for _, change := range changes {
			e.Edit(run.Job.ID, change, want)
		}
		if !commit {
			e.Send(run.Job.ID, env.Signal("s"))
		}
		params := e.Demand(by.node, 10)
		runs := e.ClaimWith(params)
		e.WantIDs("claimed", env.ClaimedIDs(runs), run.Job.ID)
		e.End(runs[0], store.Completed)
	}
}

// busyDelete: a transaction has a finished job in its hands since it tried to send to it. Whether
// that holds it is up to the store.
func busyDelete(e *txEnv) {
	e.needsWriters()
	held, other := e.Started(env.Queue(heldQueue)), e.Started()
	e.End(held, store.Completed)
	e.End(other, store.Completed)
	for _, commit := range []bool{true, false} {
		tx := e.begin(e.T)
		q := &store.Send{Job: held.Job.ID, Message: env.Signal("late")}
		e.NoError("SendTx", e.Store.SendTx(e.Ctx, tx.Tx, []*store.Send{q}))
		e.WantErr("a send to a finished job", q.Err, store.ErrConflict)
		var results []store.Result
		e.soonOnly(func(ctx context.Context) {
			var err error
			results, _, err = e.Store.Delete(ctx, store.DeleteParams{Jobs: []store.ID{held.Job.ID, other.Job.ID}})
			e.NoError("Delete", err)
		})
		if err := results[0].Err; err != nil && !errors.Is(err, store.ErrBusy) {
			e.Fatalf("Delete of a job that is held: %+v", results[0])
		}
		if results[1].Err != nil {
			e.Fatalf("Delete beside it: %+v", results[1])
		}
		e.finish(tx, commit)
		if results[0].Err != nil {
			e.Delete(held.Job.ID)
		}
		e.WantGone(held.Job.ID)
		held, other = e.Started(env.Queue(heldQueue)), e.Started()
		e.End(held, store.Failed)
		e.End(other, store.Failed)
	}
}

func busyMeta(e *txEnv) {
	e.needsWriters()
	by := e.bystanders()
	says := &store.Meta{Metadata: []byte(`{"by":"run"}`), Tags: []string{"run"}}
	for _, state := range []store.State{store.Completed, store.Failed, store.Retryable} {
		run := e.ClaimOne(by.node, e.Add(env.Queue(heldQueue), env.Attempts(9)))
		e.Write(&run, env.Step(1))
		batch := &store.Batch{}
		check := by.join(batch)
		tx := e.begin(e.T)
		e.sendTx(tx.Tx, run.Job.ID)
		save := &store.CheckpointWrite{Lease: run.Lease, Checkpoint: store.Checkpoint{Percent: 5}, Meta: says}
		next := &store.Append{Lease: run.Lease, Entries: env.Steps(2, 2), Meta: says}
		end := env.Outcome(run, state, func(o *store.Outcome) { o.Meta, o.Durable = says, true })
		batch.Checkpoints, batch.Appends = append(batch.Checkpoints, save), append([]*store.Append{next}, batch.Appends...)
		e.applySoon(batch)
		wantBusy(e, "a checkpoint that says something", save.Err)
		wantBusy(e, "an append that says something", next.Err)
		check()
		ends := &store.Batch{Outcomes: []*store.Outcome{end}}
		e.applySoon(ends)
		wantBusy(e, "an end that says something", end.Err)
		if r := e.Get(run.Job.ID); r.State != store.Running || r.Metadata != nil || r.Checkpoint != nil ||
			len(e.Journal(run.Job.ID).Entries) != 1 {
			e.Fatalf("something of what was held up has happened: %+v", r)
		}
		e.finish(tx, true)
		e.applySoon(&store.Batch{Checkpoints: []*store.CheckpointWrite{save}, Appends: []*store.Append{next}})
		e.applySoon(ends)
		if save.Err != nil || next.Err != nil || end.Err != nil || end.Final != state {
			e.Fatalf("repeated: %v, %v, %v, %v", save.Err, next.Err, end.Final, end.Err)
		}
		if r := e.Get(run.Job.ID); string(r.Metadata) != `{"by":"run"}` || !slices.Equal(r.Tags, says.Tags) {
			e.Fatalf("the job says %s and %q", r.Metadata, r.Tags)
		}
	}
}

func txMeta(e *txEnv) {
	run := e.Started()
	e.both(func(tx store.Tx) {
		a := &store.Append{Lease: run.Lease, Entries: env.Steps(1, 1), Meta: &store.Meta{Metadata: []byte(`{"tx":1}`), Tags: []string{"tx"}}}
		if err := e.Store.AppendTx(e.Ctx, tx, a); err != nil || a.Err != nil {
			e.Fatalf("AppendTx: %v, %v", err, a.Err)
		}
		if r := e.Get(run.Job.ID); r.Metadata != nil || r.Tags != nil {
			e.Fatalf("before the commit the job says %s and %q", r.Metadata, r.Tags)
		}
	}, func(committed bool) {
		want := ""
		if committed {
			want = `{"tx":1}`
		}
		if r := e.Get(run.Job.ID); string(r.Metadata) != want || (len(r.Tags) == 1) != committed {
			e.Fatalf("committed: %v, and the job says %s and %q", committed, r.Metadata, r.Tags)
		}
	})
	e.End(run, store.Completed, func(o *store.Outcome) { o.Durable = true })
	late := &store.Append{Lease: run.Lease, Entries: env.Steps(2, 2), Meta: &store.Meta{Tags: []string{"late"}}}
	tx := e.begin(e.T)
	e.NoError("AppendTx", e.Store.AppendTx(e.Ctx, tx.Tx, late))
	e.WantErr("a lost lease", late.Err, store.ErrLeaseLost)
	e.finish(tx, true)
	if r := e.Get(run.Job.ID); !slices.Equal(r.Tags, []string{"tx"}) {
		e.Fatalf("after a lost lease the tags are %q", r.Tags)
	}
}

// txAttributes: search attributes of an enqueue, and of an append, are there with the transaction.
func txAttributes(e *txEnv) {
	e.Declare(map[string]store.AttributeType{"customer": store.AttributeKeyword, "amount": store.AttributeInt})
	run := e.Started()
	amount := []store.Attribute{{Name: "amount", Value: store.IntValue(7)}}
	var plain, keyed *store.Enqueue
	e.both(func(tx store.Tx) {
		acme := env.Searched("customer", store.KeywordValue("acme"))
		plain, keyed = e.Job(acme), e.Job(acme, env.Key("k"))
		e.NoError("EnqueueTx", e.Store.EnqueueTx(e.Ctx, tx, []*store.Enqueue{plain, keyed}))
		a := &store.Append{Lease: run.Lease, Entries: env.Steps(1, 1), Meta: &store.Meta{Attributes: amount}}
		if err := e.Store.AppendTx(e.Ctx, tx, a); err != nil || a.Err != nil {
			e.Fatalf("AppendTx: %v, %v", err, a.Err)
		}
	}, func(committed bool) {
		ofRun := []string(nil)
		if committed {
			want := []string{"customer=acme"}
			ofRun = []string{"amount=7"}
			e.Equal("the key", e.Values(keyed.Job.ID), want)
			e.Equal("an enqueue", e.Values(plain.Job.ID), want)
		}
		e.Equal("the run", e.Values(run.Job.ID), ofRun)
	})
	f := store.Filter{Namespace: env.Namespace, Attributes: []store.AttributeMatch{{Name: "customer", Op: store.AttributeIsThere}}}
	e.WantSameIDs("found", e.ListIDs(f), plain.Job.ID, keyed.Job.ID)
}

func txLists(e *txEnv) {
	q, there := e.Job(), e.Add()
	e.both(func(tx store.Tx) {
		e.enqueueTx(tx, q)
		e.soonOnly(func(context.Context) {
			for _, sort := range []store.Sort{store.SortNewest, store.SortRunAt} {
				e.WantIDs("listed", e.Sorted(sort, store.Filter{}, 10), there)
			}
			if n := e.Count(store.Filter{}); n != 1 {
				e.Fatalf("%d jobs are counted", n)
			}
		})
	}, func(committed bool) {
		if n := e.Count(store.Filter{}); (n == 2) != committed {
			e.Fatalf("committed: %v, and %d jobs are counted", committed, n)
		}
	})
}
