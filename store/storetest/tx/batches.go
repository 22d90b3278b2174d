package tx

import (
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

// Batches in transactions of callers, and beside them.
var batchTests = tests{
	"a_batch_is_there_when_it_commits":                                batchBoth,
	"NoLoss_a_member_that_is_committed_late_is_counted":               batchLate,
	"a_batch_to_which_it_has_added_is_closed_without_waiting":         batchClosed,
	"a_batch_that_it_has_closed_takes_members_until_it_has_committed": batchClosing,
	"a_counted_member_that_it_has_retried_is_counted_again":           batchRetried,
	"a_batch_of_which_it_has_retried_a_member_keeps_nobody_waiting":   batchRetriedAlone,
}

func batchBoth(e *txEnv) {
	node := e.Join()
	var b store.JobBatch
	var member, late *store.Enqueue
	e.both(func(tx store.Tx) {
		b = store.JobBatch{
			ID: e.IDs.Next(), Namespace: env.Namespace, BatchSettings: store.BatchSettings{Calls: []store.BatchJob{e.Calls(store.BatchEnded)}},
		}
		e.NoError("CreateBatch", e.Store.CreateBatch(e.Ctx, tx, b))
		member, late = e.Job(env.Member(b.ID)), e.Job(env.Member(b.ID))
		e.enqueueTx(tx, member)
		e.NoError("the member", member.Err)
		e.NoError("CloseBatch", e.Store.CloseBatch(e.Ctx, tx, env.Namespace, b.ID))
		e.enqueueTx(tx, late)
		e.WantErr("one after that", late.Err, store.ErrConflict)
	}, func(committed bool) {
		e.WantUnknown(late.Job.ID)
		if !committed {
			found, err := e.Store.Batches(e.Ctx, store.BatchFilter{ID: b.ID, Limit: 1})
			if err != nil || len(found) > 0 {
				e.Fatalf("batches: %+v, %v", found, err)
			}
			return
		}
		e.WantIDs("called", e.CallBack())
		e.End(e.ClaimOne(node, member.Job.ID), store.Completed)
		e.WantIDs("called", e.CallBack(), b.Calls[0].ID)
	})
}

// batchLate: the member has an id that is lower than that of one which is committed before.
func batchLate(e *txEnv) {
	if !e.Store.Traits().Concurrent {
		return // the others wait for the transaction
	}
	node, b := e.Join(), e.NewBatch(e.Calls(store.BatchEnded))
	late := e.Job(env.Member(b.ID))
	tx := e.begin(e.T)
	e.enqueueTx(tx.Tx, late)
	e.NoError("the late one", late.Err)
	early := e.Add(env.Member(b.ID))
	e.End(e.ClaimOne(node, early), store.Completed)
	e.CloseBatch(b.ID)
	e.WantIDs("called while it is open", e.CallBack())
	refused := e.Try(env.Member(b.ID))
	e.WantErr("one more", refused.Err, store.ErrConflict)
	e.NoError("the end of the transaction", tx.Commit())
	e.WantIDs("called before the late one has ended", e.CallBack())
	e.End(e.ClaimOne(node, late.Job.ID), store.Completed)
	e.WantIDs("called", e.CallBack(), b.Calls[0].ID)
	e.Equal("counts", e.BatchOf(b.ID).Counts, store.BatchCounts{Completed: 2})
}

func batchClosed(e *txEnv) {
	if !e.Store.Traits().Concurrent {
		return // the others wait for the transaction
	}
	b, other := e.NewBatch(e.Calls(store.BatchEnded)), e.NewBatch(e.Calls(store.BatchEnded))
	tx := e.begin(e.T)
	e.enqueueTx(tx.Tx, e.Job(env.Member(b.ID)))
	e.CloseBatch(b.ID)
	e.CloseBatch(other.ID)
	e.WantIDs("called", e.CallBack(), other.Calls[0].ID)
	e.NoError("the end of the transaction", tx.Rollback())
	e.WantIDs("called", e.CallBack(), b.Calls[0].ID)
}

func batchClosing(e *txEnv) {
	if !e.Store.Traits().Concurrent {
		return // the others wait for the transaction
	}
	b := e.NewBatch(e.Calls(store.BatchEnded))
	tx := e.begin(e.T)
	e.NoError("CloseBatch", e.Store.CloseBatch(e.Ctx, tx.Tx, env.Namespace, b.ID))
	id := e.Add(env.Member(b.ID))
	e.NoError("the end of the transaction", tx.Commit())
	e.WantIDs("called before it has ended", e.CallBack())
	e.Cancel(id)
	e.WantIDs("called", e.CallBack(), b.Calls[0].ID)
}

// retriedIn is a batch that is through, one of whose two members has failed and is the first.
func retriedIn(e *txEnv, node int64) (b store.JobBatch, ids []store.ID) {
	e.Helper()
	b = e.NewBatch(e.Calls(store.BatchEnded))
	for _, end := range []store.State{store.Failed, store.Cancelled} {
		id := e.Add(env.Member(b.ID), env.Attempts(1))
		e.End(e.ClaimOne(node, id), end)
		ids = append(ids, id)
	}
	e.CloseBatch(b.ID)
	through := e.CountBatches(10, 10)
	if len(through) != 1 || through[0].ID != b.ID {
		e.Fatalf("through: %+v", through)
	}
	return through[0], ids
}

func batchRetried(e *txEnv) {
	node := e.Join()
	b, ids := retriedIn(e, node)
	tx := e.begin(e.T)
	e.done(e.retryTx(tx.Tx, ids[0]), store.Available)
	e.NoError("the end of the transaction", tx.Rollback())
	if through := e.CountBatches(10, 10); len(through) != 1 || through[0].Version != b.Version {
		e.Fatalf("after a retry that was taken back: %+v", through)
	}
	tx = e.begin(e.T)
	e.done(e.retryTx(tx.Tx, ids[0]), store.Available)
	e.NoError("the end of the transaction", tx.Commit())
	e.WantNoCall("of what was counted before", b)
	e.WantIDs("called", e.CallBack())
	e.End(e.ClaimOne(node, ids[0]), store.Completed)
	e.WantIDs("called", e.CallBack(), b.Calls[0].ID)
	e.Equal("counts", e.BatchOf(b.ID).Counts, store.BatchCounts{Completed: 1, Cancelled: 1})
}

// batchRetriedAlone: while the transaction is open others are counted, and members are enqueued and
// retried, also those of the same batch.
func batchRetriedAlone(e *txEnv) {
	if !e.Store.Traits().Concurrent {
		return // the others wait for the transaction
	}
	node := e.Join()
	b, ids := retriedIn(e, node)
	open := e.NewBatch(e.Calls(store.BatchEnded))
	early := e.Add(env.Member(open.ID), env.Attempts(1))
	e.End(e.ClaimOne(node, early), store.Failed)
	tx := e.begin(e.T)
	e.done(e.retryTx(tx.Tx, ids[0], early), store.Available)
	e.WantNoCall("of what was counted before", b)
	other := e.NewBatch(e.Calls(store.BatchEnded))
	e.CloseBatch(other.ID)
	e.WantIDs("called", e.CallBack(), other.Calls[0].ID)
	late := e.Add(env.Member(open.ID))
	e.CloseBatch(open.ID)
	e.Retry(ids[1])
	e.WantIDs("called", e.CallBack())
	runs := e.ClaimRuns(node)
	e.End(runs[late], store.Completed)
	e.End(runs[ids[1]], store.Completed)
	e.WantIDs("called while it is open", e.CallBack())
	e.NoError("the end of the transaction", tx.Commit())
	e.WantIDs("called while members run again", e.CallBack())
	runs = e.ClaimRuns(node)
	e.End(runs[ids[0]], store.Completed)
	e.End(runs[early], store.Completed)
	e.WantSameIDs("called", e.CallBack(), b.Calls[0].ID, open.Calls[0].ID)
	e.Equal("counts", e.BatchOf(b.ID).Counts, store.BatchCounts{Completed: 2})
	e.Equal("counts", e.BatchOf(open.ID).Counts, store.BatchCounts{Completed: 2})
}
