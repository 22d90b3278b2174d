// Package tx tests what is written into transactions of callers, and what happens while these are
// open.
package tx

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

// Factory opens a store, and tells how a caller begins a transaction on its database.
type Factory func(t *testing.T, clock *env.Clock) (s store.Store, begin func(t *testing.T) Tx)

// Who waits for such a transaction is in await.go, who does not in busy.go, edit.go and rescue.go.
var txTests = env.Merged(tests{
	"NoLoss_enqueues_happen_when_their_transaction_commits":                 txCommit,
	"nothing_is_left_of_what_is_rolled_back":                                txRollback,
	"an_enqueue_that_fails_leaves_the_transaction_usable":                   txFailures,
	"a_job_is_what_it_would_be_without_a_transaction":                       txAlike,
	"messages_arrive_when_their_transaction_commits":                        txSend,
	"requests_arrive_when_their_transaction_commits":                        txRequest,
	"Remembered_entries_are_there_when_their_transaction_commits":           txAppend,
	"NoLoss_a_queue_that_was_removed_comes_back_when_a_transaction_commits": txQueueBack,
	"what_is_no_transaction_is_refused":                                     txForeign,
	"nothing_can_be_done_in_a_transaction_that_has_ended":                   txOver,
}, awaitTests, busyTests, keyTests, editTests, txRescueTests, callersTests, callersOpenTests, dependTests, batchTests, fedTests)

// Run checks what the store writes into transactions of callers, and what it does while they are
// open. A store runs it for each kind of transaction that it takes.
func Run(t *testing.T, open Factory) {
	for name, test := range txTests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clock := env.NewClock()
			s, begin := open(t, clock)
			test(&txEnv{env.On(t, s, clock), begin})
		})
	}
}

func txCommit(e *txEnv) {
	node := e.Join()
	plain, later, keyed := e.Job(), e.Job(env.Delay(time.Hour)), e.Job(env.Ordered("k"), env.Queue("new"))
	e.both(func(tx store.Tx) {
		e.enqueueTx(tx, plain, later, keyed)
		for i, want := range []store.State{store.Available, store.Scheduled, store.Available} {
			q := []*store.Enqueue{plain, later, keyed}[i]
			if q.Err != nil || q.Result.ID != q.Job.ID || q.Result.State != want || q.Result.Existing {
				e.Fatalf("enqueue %d: %+v, %v", i, q.Result, q.Err)
			}
			e.WantUnknown(q.Job.ID)
		}
	}, func(committed bool) {
		if !committed {
			e.WantUnknown(plain.Job.ID)
			e.WantNothing(node)
			return
		}
		e.WantState(later.Job.ID, store.Scheduled)
		e.WantSameIDs("claimed", env.ClaimedIDs(e.Claim(node, 10)), plain.Job.ID, keyed.Job.ID)
	})
}

// txRollback: no job stays, no unique key, and no queue or kind that these jobs named first.
func txRollback(e *txEnv) {
	tx := e.begin(e.T)
	gone := e.Job(env.Unique("k"), env.Queue("new"), env.Kind("bill"))
	e.enqueueTx(tx.Tx, gone)
	e.NoError("the end of the transaction", tx.Rollback())
	e.WantUnknown(gone.Job.ID)
	for _, q := range []*store.Enqueue{
		e.Job(env.Queue("other"), env.Kind("push")), e.Job(env.Unique("k"), env.Queue("new"), env.Kind("bill")),
	} {
		e.Enqueue(q)
		if record := e.Get(q.Job.ID); record.Queue != q.Job.Queue || record.Kind != q.Job.Kind || record.State != store.Available {
			e.Fatalf("record: %+v", record)
		}
	}
	if claimed := e.Claim(e.Join(), 10); len(claimed) != 2 {
		e.Fatalf("claimed %v", env.ClaimedIDs(claimed))
	}
}

func txFailures(e *txEnv) {
	holder := e.Add(env.Unique("taken"))
	plain, refused := e.Job(), e.Job(env.Unique("taken"), env.OnConflict(store.Reject))
	existing, replacing := e.Job(env.Unique("taken")), e.Job(env.Unique("taken"), env.OnConflict(store.Replace))
	replacing.Job.Args = []byte("new")
	invalid, twin := e.Job(env.Kind("a\x00b")), e.Job(env.Unique("mine"))
	tx := e.begin(e.T)
	e.enqueueTx(tx.Tx, plain, refused, existing, replacing, invalid, e.Job(env.Unique("mine")), twin)
	e.WantErr("a taken key", refused.Err, store.ErrConflict)
	e.WantErr("a kind that is no text", invalid.Err, store.ErrInvalid)
	if existing.Err != nil || existing.Result.ID != holder || !existing.Result.Existing || replacing.Err != nil ||
		!replacing.Result.Replaced || twin.Err != nil || !twin.Result.Existing {
		e.Fatalf("results: %+v, %+v, %+v", existing.Result, replacing.Result, twin.Result)
	}
	again := e.Job()
	again.Job.ID = plain.Job.ID
	last := e.Job()
	e.enqueueTx(tx.Tx, again, last)
	if again.Err != nil || !again.Result.Existing || again.Result.ID != plain.Job.ID {
		e.Fatalf("repeat: %+v, %v", again.Result, again.Err)
	}
	e.NoError("the end of the transaction", tx.Commit())
	e.WantState(plain.Job.ID, store.Available)
	e.WantState(last.Job.ID, store.Available)
	e.WantUnknown(refused.Job.ID)
	e.WantUnknown(invalid.Job.ID)
	if record := e.Get(holder); string(record.Args) != "new" {
		e.Fatalf("the replaced job: %+v", record)
	}
}

// txAlike: the enqueue has everything that one can have.
func txAlike(e *txEnv) {
	full := func(key string) *store.Enqueue {
		return e.Job(env.Unique(key), env.Queue("full"), env.Priority(1), env.Attempts(7), env.Ordered(key),
			env.Delay(time.Minute), func(q *store.Enqueue) {
				q.Job.Args, q.Job.Codec, q.Job.Tags, q.Job.Metadata = []byte{0, 255, 1}, 3, []string{"b", "a"}, []byte(`{"a":[1]}`)
				q.Job.Options = store.Options{
					Timeout: time.Minute, Deadline: e.Clock.Now().Add(time.Hour), Backoff: store.Backoff{Base: time.Second, Cap: time.Minute, Jitter: 0.5},
					Source: "s",
				}
			})
	}
	inside, outside := full("a"), full("b")
	tx := e.begin(e.T)
	e.enqueueTx(tx.Tx, inside)
	e.NoError("the end of the transaction", tx.Commit())
	e.Enqueue(outside)
	e.Equal("job", e.Get(inside.Job.ID), e.Get(outside.Job.ID), cmpopts.IgnoreFields(store.Job{}, "ID", "UniqueKey", "OrderingKey"))
}

func txSend(e *txEnv) {
	run := e.Parked(env.ForSignals())
	e.both(func(tx store.Tx) {
		q, nobody := &store.Send{Job: run.Job.ID, Message: env.Signal("go"), Key: "k"}, &store.Send{Job: e.IDs.Next(), Message: env.Signal("go")}
		again := *q
		if err := e.Store.SendTx(e.Ctx, tx, []*store.Send{q, nobody}); err != nil || q.Err != nil || !q.Result.Woken || q.Result.Seq != 1 {
			e.Fatalf("SendTx: %v, %v, %+v", err, q.Err, q.Result)
		}
		e.WantErr("a send to nobody", nobody.Err, store.ErrNotFound)
		if err := e.Store.SendTx(e.Ctx, tx, []*store.Send{&again}); err != nil || !again.Result.Duplicate || again.Result.Seq != 1 {
			e.Fatalf("repeated SendTx: %v, %+v", err, again.Result)
		}
		e.WantState(run.Job.ID, store.Waiting)
	}, func(committed bool) {
		want, messages := store.Waiting, 0
		if committed {
			want, messages = store.Available, 1
		}
		e.WantState(run.Job.ID, want)
		if n := len(e.Messages(run.Job.ID)); n != messages {
			e.Fatalf("%d messages have arrived", n)
		}
	})
}

func txRequest(e *txEnv) {
	run := e.Parked(env.ForUpdates(0))
	e.both(func(tx store.Tx) {
		q := &store.Send{Job: run.Job.ID, Message: env.Request("add"), Key: "k"}
		again := *q
		if err := e.Store.SendTx(e.Ctx, tx, []*store.Send{q}); err != nil || q.Err != nil || !q.Result.Woken || q.Result.Seq < 1 {
			e.Fatalf("SendTx: %v, %v, %+v", err, q.Err, q.Result)
		}
		if err := e.Store.SendTx(e.Ctx, tx, []*store.Send{&again}); err != nil || !again.Result.Duplicate || again.Result.Seq != q.Result.Seq {
			e.Fatalf("repeated SendTx: %v, %+v", err, again.Result)
		}
		e.WantState(run.Job.ID, store.Waiting)
		e.WantOpen(run.Job.ID)
	}, func(committed bool) {
		if !committed {
			e.WantState(run.Job.ID, store.Waiting)
			e.WantOpen(run.Job.ID)
			return
		}
		e.WantState(run.Job.ID, store.Available)
		e.WantOpen(run.Job.ID, "k")
	})
}

func txAppend(e *txEnv) {
	run := e.Started()
	child := e.Child(run.Job.ID)
	e.both(func(tx store.Tx) {
		a := &store.Append{Lease: run.Lease, Entries: env.Steps(1, 2), Enqueues: []*store.Enqueue{child}, Closing: true}
		if err := e.Store.AppendTx(e.Ctx, tx, a); err != nil || a.Err != nil || child.Result.State != store.Available {
			e.Fatalf("AppendTx: %v, %v, the child: %+v", err, a.Err, child.Result)
		}
		e.WantUnknown(child.Job.ID)
	}, func(committed bool) {
		if !committed {
			e.WantEntries(run.Job.ID, 0)
			e.WantUnknown(child.Job.ID)
			return
		}
		e.WantEntries(run.Job.ID, 2)
		e.WantState(child.Job.ID, store.Available)
	})
	e.End(run, store.Completed, func(o *store.Outcome) { o.Durable = true })
	// A lease that is lost leaves the transaction usable.
	late, other := &store.Append{Lease: run.Lease, Entries: env.Steps(3, 3)}, e.Job()
	tx := e.begin(e.T)
	e.NoError("AppendTx", e.Store.AppendTx(e.Ctx, tx.Tx, late))
	e.WantErr("a lost lease", late.Err, store.ErrLeaseLost)
	e.enqueueTx(tx.Tx, other)
	e.NoError("the end of the transaction", tx.Commit())
	e.WantState(other.Job.ID, store.Available)
	e.WantEntries(run.Job.ID, 2)
}

func txQueueBack(e *txEnv) {
	node := e.Join()
	e.Used(node, "mail")
	e.Retire(node)
	q := e.Job()
	e.both(func(tx store.Tx) {
		e.enqueueTx(tx, q)
		if q.Err != nil || q.Result.State != store.Available {
			e.Fatalf("enqueue: %+v, %v", q.Result, q.Err)
		}
	}, func(committed bool) {
		if !committed {
			// A store may have made it ahead of the transaction, so that no call waits for that: it
			// is a name without a job.
			if names := e.QueueNames(); len(names) > 0 {
				e.Equal("queues", names, []string{"mail"})
				e.Equal("counts", len(env.Counted(e.Queue("mail"))), 0)
			}
			e.WantNothing(node)
			return
		}
		e.Equal("queues", e.QueueNames(), []string{"mail"})
		e.Equal("counts", env.Counted(e.Queue("mail")), map[store.State]store.Count{store.Available: {N: 1}})
		e.ClaimOne(node, q.Job.ID)
	})
}

// foreign is a transaction of an unknown store.
type foreign struct{}

func (foreign) StoreName() string { return "foreign" }

func txForeign(e *txEnv) {
	run := e.Started()
	for _, tx := range []store.Tx{nil, foreign{}} {
		e.WantErr("EnqueueTx", e.Store.EnqueueTx(e.Ctx, tx, []*store.Enqueue{e.Job()}), store.ErrInvalid)
		e.WantErr("SendTx", e.Store.SendTx(e.Ctx, tx, []*store.Send{{Job: run.Job.ID, Message: env.Signal("s")}}), store.ErrInvalid)
		e.WantErr("AppendTx", e.Store.AppendTx(e.Ctx, tx, &store.Append{Lease: run.Lease, Entries: env.Steps(1, 1)}), store.ErrInvalid)
	}
	e.WantEntries(run.Job.ID, 0)
}

// txOver: it is refused with what helps, which is not to repeat it there.
func txOver(e *txEnv) {
	committed := e.begin(e.T)
	e.NoError("the end of the transaction", committed.Commit())
	rolledBack := e.begin(e.T)
	e.NoError("the end of the transaction", rolledBack.Rollback())
	run := e.Started()
	for _, tx := range []store.Tx{committed.Tx, rolledBack.Tx} {
		_, cancelled := e.Store.CancelTx(e.Ctx, tx, store.CancelParams{Jobs: []store.ID{run.Job.ID}})
		for op, err := range map[string]error{
			"EnqueueTx": e.Store.EnqueueTx(e.Ctx, tx, []*store.Enqueue{e.Job()}),
			"SendTx":    e.Store.SendTx(e.Ctx, tx, []*store.Send{{Job: run.Job.ID, Message: env.Signal("s")}}),
			"AppendTx":  e.Store.AppendTx(e.Ctx, tx, &store.Append{Lease: run.Lease, Entries: env.Steps(1, 1)}),
			"CancelTx":  cancelled,
		} {
			e.WantErr(op, err, store.ErrInvalid)
			if says := "your transaction is closed; roll it back and begin again"; !strings.Contains(err.Error(), says) {
				e.Errorf("%s: %v, which does not say %q", op, err, says)
			}
		}
	}
	e.WantEntries(run.Job.ID, 0)
}
