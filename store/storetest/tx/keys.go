package tx

import (
	"context"
	"errors"
	"fmt"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

var keyTests = tests{
	"a_key_is_taken_when_its_transaction_commits_and_else_is_not":               txKey,
	"a_signal_goes_along_when_its_transaction_commits":                          txAlong,
	"a_signal_that_cannot_go_along_leaves_the_transaction_usable":               txAlongFails,
	"a_business_key_that_is_being_taken_holds_up_enqueues_of_that_key_alone":    busyBusinessKey,
	"a_signal_that_goes_along_holds_up_what_needs_its_job_and_nothing_else":     busyAlong,
	"an_enqueue_that_finds_a_business_key_held_holds_up_nothing":                busyAttached,
	"a_finished_job_whose_key_is_being_taken_runs_again_only_if_that_is_undone": busyAgain,
	"a_job_whose_business_key_is_being_taken_is_not_removed_before_that":        busyRemoved,
	"a_job_that_is_retried_takes_its_business_key_again_and_no_other_job_s":     txKeyRetried,
	"NoLoss_a_retry_that_takes_a_business_key_holds_up_that_key_alone":          busyRetried,
}

// txKey: what is rolled back leaves no key, nor takes one from the job that had it.
func txKey(e *txEnv) {
	old := e.TakeKey("old")
	e.Cancel(old)
	fresh, next, again := e.Job(env.Key("new")), e.Job(env.Key("old"), env.KeepKey(store.KeepForever)), e.Job(env.Key("new"), env.Args("2"))
	e.both(func(tx store.Tx) {
		e.enqueueTx(tx, fresh, next)
		e.enqueueTx(tx, again)
		for i, q := range []*store.Enqueue{fresh, next} {
			if q.Err != nil || q.Result.Existing || q.Result.State != store.Available {
				e.Fatalf("enqueue %d: %+v, %v", i, q.Result, q.Err)
			}
		}
		if again.Err != nil || again.Result.ID != fresh.Job.ID || !again.Result.Differs {
			e.Fatalf("the same key in the same transaction: %+v, %v", again.Result, again.Err)
		}
		e.WantNoKey("new")
		if found := e.Find("old"); found != old {
			e.Fatalf("the key is that of %v before the commit", found)
		}
	}, func(committed bool) {
		if !committed {
			e.WantNoKey("new")
			e.Retry(old)
			e.WantKey("old", old)
			e.Cancel(old)
			return
		}
		e.WantKey("new", fresh.Job.ID)
		e.WantKey("old", next.Job.ID)
		e.WantErr("a retry of the old one", e.TryRetry(old).Err, store.ErrConflict)
	})
}

func txAlong(e *txEnv) {
	run := e.Parked(env.ForSignals(), env.Key("parked"))
	starts, again := e.Job(env.Key("k"), env.Along("one")), e.Job(env.Key("k"), env.Along("two"))
	wakes := e.Job(env.Key("parked"), env.Along("go"))
	e.both(func(tx store.Tx) {
		e.enqueueTx(tx, starts, again, wakes)
		if starts.Result.Existing || again.Send.Job != starts.Job.ID || again.Send.Result.Seq != 2 || !wakes.Send.Result.Woken {
			e.Fatalf("%+v, %+v, %+v", starts.Result, again.Send, wakes.Send)
		}
		repeated := *wakes
		along := *wakes.Send
		repeated.Send = &along
		e.enqueueTx(tx, &repeated)
		if !repeated.Send.Result.Duplicate || repeated.Send.Result.Seq != wakes.Send.Result.Seq {
			e.Fatalf("repeated: %+v", repeated.Send.Result)
		}
		e.WantState(run.Job.ID, store.Waiting)
	}, func(committed bool) {
		if !committed {
			e.WantNoKey("k")
			e.WantState(run.Job.ID, store.Waiting)
			e.Equal("messages", e.Names(run.Job.ID), []string(nil))
			return
		}
		e.Equal("messages", e.Names(starts.Job.ID), []string{"one", "two"})
		e.Equal("messages", e.Names(run.Job.ID), []string{"go"})
		e.WantState(run.Job.ID, store.Available)
	})
	// What was sent in a transaction is recognised outside of it.
	repeated := *again
	along := *again.Send
	repeated.Send = &along
	e.Enqueue(&repeated)
	if !repeated.Send.Result.Duplicate || repeated.Send.Result.Seq != 2 {
		e.Fatalf("repeated: %+v", repeated.Send.Result)
	}
}

func txAlongFails(e *txEnv) {
	kept := e.TakeKey("kept", env.KeepKey(store.KeepForever))
	e.Cancel(kept)
	refused, invalid, fine := e.Job(env.Key("kept"), env.Along("s")), e.Job(env.Along("s")), e.Job(env.Key("k"), env.Along("s"))
	tx := e.begin(e.T)
	e.enqueueTx(tx.Tx, refused, invalid, fine)
	e.WantErr("a signal to a job that has finished", refused.Err, store.ErrConflict)
	e.WantErr("a signal without a key", invalid.Err, store.ErrInvalid)
	last := e.Job()
	e.enqueueTx(tx.Tx, last)
	e.NoError("the end of the transaction", tx.Commit())
	e.WantState(last.Job.ID, store.Available)
	e.Equal("messages", e.Names(fine.Job.ID), []string{"s"})
	e.WantUnknown(refused.Job.ID)
	e.WantUnknown(invalid.Job.ID)
}

// busyBusinessKey: the key is new, or was that of a finished job.
func busyBusinessKey(e *txEnv) {
	e.needsWriters()
	by := e.bystanders()
	for _, isNew := range []bool{true, false} {
		for _, commit := range []bool{true, false} {
			key := fmt.Sprint("held ", isNew, commit)
			if !isNew {
				e.Cancel(e.TakeKey(key, env.Queue(heldQueue)))
			}
			first := e.Job(env.Key(key), env.Queue(heldQueue))
			plain, sending := e.Job(env.Key(key), env.Queue(heldQueue)), e.Job(env.Key(key), env.Queue(heldQueue), env.Along("s"))
			other := e.Job(env.Key(key+"?"), env.Queue(heldQueue), env.Along("s"))
			held := []*store.Enqueue{plain, sending}
			batch := &store.Batch{}
			check := by.join(batch)
			tx := e.begin(e.T)
			e.enqueueTx(tx.Tx, first)
			batch.Enqueues = append(append([]*store.Enqueue{other}, held...), batch.Enqueues...)
			e.applySoon(batch)
			for i, q := range held {
				wantBusy(e, fmt.Sprint("enqueue ", i, " of a key that is being taken"), q.Err)
				e.WantUnknown(q.Job.ID)
			}
			if other.Err != nil || other.Send.Result.Seq != 1 {
				e.Fatalf("another key: %+v, %v", other.Result, other.Err)
			}
			check()
			e.finish(tx, commit)
			e.applySoon(&store.Batch{Enqueues: held})
			holder := plain.Job.ID
			if commit {
				holder = first.Job.ID
			}
			if plain.Err != nil || plain.Result.ID != holder || plain.Result.Existing != commit || sending.Err != nil ||
				sending.Result.ID != holder || !sending.Result.Existing {
				e.Fatalf("repeated: %+v, %v, %+v, %v; want %v", plain.Result, plain.Err, sending.Result, sending.Err, holder)
			}
			e.Equal("messages", e.Names(holder), []string{"s"})
			e.Terminate(holder, other.Job.ID)
		}
	}
}

// busyAlong: the transaction has sent to the holder of the key. Other signals to it wait, and
// enqueues that send none do not.
func busyAlong(e *txEnv) {
	e.needsWriters()
	by := e.bystanders()
	for _, commit := range []bool{true, false} {
		key := fmt.Sprint("held ", commit)
		run := e.ClaimOne(by.node, e.TakeKey(key, env.Queue(heldQueue)))
		first := e.Job(env.Key(key), env.Queue(heldQueue), env.Along("first"))
		second, plain := e.Job(env.Key(key), env.Queue(heldQueue), env.Along("second")), e.Job(env.Key(key), env.Queue(heldQueue))
		batch := &store.Batch{}
		check := by.join(batch)
		tx := e.begin(e.T)
		e.enqueueTx(tx.Tx, first)
		batch.Enqueues = append([]*store.Enqueue{second}, batch.Enqueues...)
		e.applySoon(batch)
		wantBusy(e, "another signal", second.Err)
		check()
		e.applySoon(&store.Batch{Enqueues: []*store.Enqueue{plain}})
		if plain.Err != nil || plain.Result.ID != run.Job.ID {
			e.Fatalf("an enqueue of the same key: %+v, %v", plain.Result, plain.Err)
		}
		e.finish(tx, commit)
		e.applySoon(&store.Batch{Enqueues: []*store.Enqueue{second}})
		want := []string{"first", "second"}
		if !commit {
			want = want[1:]
		}
		e.Equal("messages", e.Names(run.Job.ID), want)
		e.Terminate(run.Job.ID)
	}
}

func busyAttached(e *txEnv) {
	e.needsWriters()
	holder := e.TakeKey("k", env.KeepKey(store.KeepForever))
	free := e.TakeKey("free")
	tx := e.begin(e.T)
	attached := e.Job(env.Key("k"))
	e.enqueueTx(tx.Tx, attached, e.Job(env.Key("free")))
	if attached.Result.ID != holder {
		e.Fatalf("%+v", attached.Result)
	}
	e.Terminate(free)
	next, sending := e.Job(env.Key("free")), e.Job(env.Key("k"), env.Along("s"))
	e.applySoon(&store.Batch{Enqueues: []*store.Enqueue{next, sending}})
	if next.Err != nil || next.Result.Existing || sending.Err != nil || sending.Send.Result.Seq != 1 {
		e.Fatalf("%+v, %v, %+v, %v", next.Result, next.Err, sending.Result, sending.Err)
	}
	e.NoError("the end of the transaction", tx.Rollback())
}

// busyAgain: nothing else that is retried waits for it.
func busyAgain(e *txEnv) {
	e.needsWriters()
	for _, commit := range []bool{true, false} {
		key := fmt.Sprint("held ", commit)
		old := e.TakeKey(key)
		e.Cancel(old)
		tx := e.begin(e.T)
		next := e.Job(env.Key(key))
		e.enqueueTx(tx.Tx, next)
		_, _, err := e.Store.Resume(e.Ctx, env.Resumption(old))
		wantBusy(e, "the job that had the key is resumed", err)
		beside := e.Add()
		e.Cancel(beside)
		results, _, err := e.Store.Retry(e.Ctx, store.RetryParams{Jobs: []store.ID{beside, old}, Actor: "ada"})
		if err != nil || results[0].Err != nil || results[0].State != store.Available {
			e.Fatalf("a retry of both: %+v, %v", results, err)
		}
		wantBusy(e, "the job that had the key is retried", results[1].Err)
		e.WantState(old, store.Cancelled)
		e.finish(tx, commit)
		err = e.TryRetry(old).Err
		if commit {
			e.WantErr("a retry of the job that had the key", err, store.ErrConflict)
		} else {
			e.NoError("a retry of the job that had the key", err)
			e.WantKey(key, old)
		}
	}
}

// txKeyRetried: of two failed jobs that had keys, one finds it free and one finds it taken.
func txKeyRetried(e *txEnv) {
	free, taken := e.TakeKey("free"), e.TakeKey("taken")
	e.Cancel(free)
	e.Cancel(taken)
	holder := e.TakeKey("taken")
	e.both(func(tx store.Tx) {
		results := e.retryTx(tx, free, taken)
		if results[0].Err != nil || results[0].State != store.Available {
			e.Fatalf("the key is free: %+v", results[0])
		}
		var held *store.UniqueError
		if !errors.As(results[1].Err, &held) || held.Holder != holder || held.Key != "taken" || results[1].State != store.Cancelled {
			e.Fatalf("the key is taken: %+v", results[1])
		}
	}, func(committed bool) {
		e.WantKey("taken", holder)
		if !committed {
			e.WantState(free, store.Cancelled)
			other := e.TakeKey("free")
			e.Terminate(other)
			return
		}
		e.WantKey("free", free)
	})
}

func busyRetried(e *txEnv) {
	e.needsWriters()
	for _, commit := range []bool{true, false} {
		key := fmt.Sprint("held ", commit)
		old := e.TakeKey(key)
		e.Cancel(old)
		tx := e.begin(e.T)
		e.done(e.retryTx(tx.Tx, old), store.Available)
		next, beside := e.Job(env.Key(key)), e.Job(env.Key(key+" beside"))
		e.applySoon(&store.Batch{Enqueues: []*store.Enqueue{next, beside}})
		wantBusy(e, "an enqueue with the key", next.Err)
		e.NoError("an enqueue with another key", beside.Err)
		e.finish(tx, commit)
		if commit {
			e.WantKey(key, old)
		} else {
			e.WantState(old, store.Cancelled)
			e.TakeKey(key)
		}
	}
}

// busyRemoved: neither a person nor retention waits for the transaction, and others are removed.
func busyRemoved(e *txEnv) {
	e.needsWriters()
	for _, commit := range []bool{true, false} {
		key := fmt.Sprint("held ", commit)
		old, other := e.TakeKey(key), e.TakeKey(key+" beside")
		e.Cancel(old)
		e.Cancel(other)
		tx := e.begin(e.T)
		next := e.Job(env.Key(key))
		e.enqueueTx(tx.Tx, next)
		e.soonOnly(func(ctx context.Context) {
			results, _, err := e.Store.Delete(ctx, store.DeleteParams{Jobs: []store.ID{old, other}})
			e.NoError("Delete", err)
			wantBusy(e, "a delete of the job that had the key", results[0].Err)
			e.NoError("a delete beside it", results[1].Err)
		})
		e.WantState(old, store.Cancelled)
		e.finish(tx, commit)
		e.Delete(old)
		if commit {
			e.WantKey(key, next.Job.ID)
		} else {
			e.WantNoKey(key)
		}
	}
}
