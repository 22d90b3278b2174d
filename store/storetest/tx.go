package storetest

import (
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/holdfastdev/holdfast/store"
)

// TxFactory opens a store as a Factory does, and tells how a caller begins a transaction of his own on its database.
type TxFactory func(t *testing.T, clock *Clock) (s store.Store, begin func(t *testing.T) Tx)

// Tx is a transaction of a caller, with what he ends it by.
type Tx struct {
	store.Tx

	Commit, Rollback func() error
}

// txTest is a test of what is written into transactions of callers.
type txTest struct {
	name string
	run  func(*txEnv)
}

// Who waits for such a transaction is in tx_await.go, who does not in tx_busy.go and tx_rescue.go.
var txTests = slices.Concat([]txTest{
	{"NoLoss_enqueues_happen_when_their_transaction_commits", txCommit},
	{"nothing_is_left_of_what_is_rolled_back", txRollback},
	{"an_enqueue_that_fails_leaves_the_transaction_usable", txFailures},
	{"a_job_is_what_it_would_be_without_a_transaction", txAlike},
	{"messages_arrive_when_their_transaction_commits", txSend},
	{"Remembered_entries_are_there_when_their_transaction_commits", txAppend},
	{"NoLoss_a_queue_that_was_removed_comes_back_when_a_transaction_commits", txQueueBack},
	{"what_is_no_transaction_is_refused", txForeign},
}, awaitTests, busyTests, txRescueTests)

// RunTx checks what the store writes into transactions of callers, and what it does while they are
// open. A store runs it for each kind of transaction that it takes.
func RunTx(t *testing.T, open TxFactory) {
	for _, test := range txTests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			clock := NewClock()
			s, begin := open(t, clock)
			e := &env{T: t, ctx: t.Context(), store: s, clock: clock, ids: &idSource{clock: clock}, seqs: new(atomic.Int64), space: namespace}
			test.run(&txEnv{e, begin})
		})
	}
}

type txEnv struct {
	*env

	begin func(t *testing.T) Tx
}

// both runs a test with a transaction that is rolled back, and then with one that is committed.
func (e *txEnv) both(test func(tx store.Tx), check func(committed bool)) {
	e.Helper()
	for _, commit := range []bool{false, true} {
		tx := e.begin(e.T)
		test(tx.Tx)
		end := tx.Rollback
		if commit {
			end = tx.Commit
		}
		if err := end(); err != nil {
			e.Fatal(err)
		}
		check(commit)
	}
}

// enqueueTx writes enqueues into a transaction.
func (e *txEnv) enqueueTx(tx store.Tx, enqueues ...*store.Enqueue) {
	e.Helper()
	if err := e.store.EnqueueTx(e.ctx, tx, enqueues); err != nil {
		e.Fatalf("EnqueueTx: %v", err)
	}
}

func (e *txEnv) wantUnknown(id store.ID) {
	e.Helper()
	_, err := e.store.Get(e.ctx, id)
	e.wantErr("Get of a job that is not there", err, store.ErrNotFound)
}

func txCommit(e *txEnv) {
	node := e.join()
	plain, later, keyed := e.job(), e.job(delay(time.Hour)), e.job(ordered("k"), queue("new"))
	e.both(func(tx store.Tx) {
		e.enqueueTx(tx, plain, later, keyed)
		for i, want := range []store.State{store.Available, store.Scheduled, store.Available} {
			q := []*store.Enqueue{plain, later, keyed}[i]
			if q.Err != nil || q.Result.ID != q.Job.ID || q.Result.State != want || q.Result.Existing {
				e.Fatalf("enqueue %d: %+v, %v", i, q.Result, q.Err)
			}
			e.wantUnknown(q.Job.ID)
		}
	}, func(committed bool) {
		if !committed {
			e.wantUnknown(plain.Job.ID)
			e.wantNothing(node)
			return
		}
		e.wantState(later.Job.ID, store.Scheduled)
		e.wantSameIDs("claimed", claimedIDs(e.claim(node, 10)), plain.Job.ID, keyed.Job.ID)
	})
}

// txRollback: neither the jobs, nor their keys, nor what they are the first to name: a queue, a kind.
func txRollback(e *txEnv) {
	tx := e.begin(e.T)
	gone := e.job(unique("k"), queue("new"), kind("bill"))
	e.enqueueTx(tx.Tx, gone)
	if err := tx.Rollback(); err != nil {
		e.Fatal(err)
	}
	e.wantUnknown(gone.Job.ID)
	for _, q := range []*store.Enqueue{e.job(queue("other"), kind("push")), e.job(unique("k"), queue("new"), kind("bill"))} {
		e.enqueue(q)
		if record := e.get(q.Job.ID); record.Queue != q.Job.Queue || record.Kind != q.Job.Kind || record.State != store.Available {
			e.Fatalf("record: %+v", record)
		}
	}
	if claimed := e.claim(e.join(), 10); len(claimed) != 2 {
		e.Fatalf("claimed %v", claimedIDs(claimed))
	}
}

func txFailures(e *txEnv) {
	holder := e.add(unique("taken"))
	plain, refused := e.job(), e.job(unique("taken"), onConflict(store.Reject))
	existing, replacing := e.job(unique("taken")), e.job(unique("taken"), onConflict(store.Replace))
	replacing.Job.Args = []byte("new")
	invalid, twin := e.job(kind("a\x00b")), e.job(unique("mine"))
	tx := e.begin(e.T)
	e.enqueueTx(tx.Tx, plain, refused, existing, replacing, invalid, e.job(unique("mine")), twin)
	e.wantErr("a taken key", refused.Err, store.ErrConflict)
	e.wantErr("a kind that is no text", invalid.Err, store.ErrInvalid)
	if existing.Err != nil || existing.Result.ID != holder || !existing.Result.Existing || replacing.Err != nil ||
		!replacing.Result.Replaced || twin.Err != nil || !twin.Result.Existing {
		e.Fatalf("results: %+v, %+v, %+v", existing.Result, replacing.Result, twin.Result)
	}
	again := e.job()
	again.Job.ID = plain.Job.ID
	last := e.job()
	e.enqueueTx(tx.Tx, again, last)
	if again.Err != nil || !again.Result.Existing || again.Result.ID != plain.Job.ID {
		e.Fatalf("repeat: %+v, %v", again.Result, again.Err)
	}
	if err := tx.Commit(); err != nil {
		e.Fatal(err)
	}
	e.wantState(plain.Job.ID, store.Available)
	e.wantState(last.Job.ID, store.Available)
	e.wantUnknown(refused.Job.ID)
	e.wantUnknown(invalid.Job.ID)
	if record := e.get(holder); string(record.Args) != "new" {
		e.Fatalf("the replaced job: %+v", record)
	}
}

// txAlike: with everything that an enqueue can have.
func txAlike(e *txEnv) {
	full := func(key string) *store.Enqueue {
		return e.job(unique(key), queue("full"), priority(1), attempts(7), ordered(key), delay(time.Minute), func(q *store.Enqueue) {
			q.Job.Args, q.Job.Codec, q.Job.Tags, q.Job.Metadata = []byte{0, 255, 1}, 3, []string{"b", "a"}, []byte(`{"a":[1]}`)
			q.Job.Options = store.Options{
				Timeout: time.Minute, Deadline: e.clock.Now().Add(time.Hour), Backoff: store.Backoff{Base: time.Second, Cap: time.Minute, Jitter: 0.5},
				Trace: "t", Source: "s",
			}
		})
	}
	inside, outside := full("a"), full("b")
	tx := e.begin(e.T)
	e.enqueueTx(tx.Tx, inside)
	if err := tx.Commit(); err != nil {
		e.Fatal(err)
	}
	e.enqueue(outside)
	e.equal("job", e.get(inside.Job.ID), e.get(outside.Job.ID), cmpopts.IgnoreFields(store.Job{}, "ID", "UniqueKey", "OrderingKey"))
}

func txSend(e *txEnv) {
	run := e.parked(forSignals())
	e.both(func(tx store.Tx) {
		q, nobody := &store.Send{Job: run.Job.ID, Message: signal("go"), Key: "k"}, &store.Send{Job: e.ids.next(), Message: signal("go")}
		again := *q
		if err := e.store.SendTx(e.ctx, tx, []*store.Send{q, nobody}); err != nil || q.Err != nil || !q.Result.Woken || q.Result.Seq != 1 {
			e.Fatalf("SendTx: %v, %v, %+v", err, q.Err, q.Result)
		}
		e.wantErr("a send to nobody", nobody.Err, store.ErrNotFound)
		if err := e.store.SendTx(e.ctx, tx, []*store.Send{&again}); err != nil || !again.Result.Duplicate || again.Result.Seq != 1 {
			e.Fatalf("repeated SendTx: %v, %+v", err, again.Result)
		}
		e.wantState(run.Job.ID, store.Waiting)
	}, func(committed bool) {
		want, messages := store.Waiting, 0
		if committed {
			want, messages = store.Available, 1
		}
		e.wantState(run.Job.ID, want)
		if n := len(e.messages(run.Job.ID)); n != messages {
			e.Fatalf("%d messages have arrived", n)
		}
	})
}

func txAppend(e *txEnv) {
	run := e.started()
	child := e.child(run.Job.ID)
	e.both(func(tx store.Tx) {
		a := &store.Append{Lease: run.Lease, Entries: steps(1, 2), Enqueues: []*store.Enqueue{child}, Closing: true}
		if err := e.store.AppendTx(e.ctx, tx, a); err != nil || a.Err != nil || child.Result.State != store.Available {
			e.Fatalf("AppendTx: %v, %v, the child: %+v", err, a.Err, child.Result)
		}
		e.wantUnknown(child.Job.ID)
	}, func(committed bool) {
		if !committed {
			e.wantEntries(run.Job.ID, 0)
			e.wantUnknown(child.Job.ID)
			return
		}
		e.wantEntries(run.Job.ID, 2)
		e.wantState(child.Job.ID, store.Available)
	})
	e.end(run, store.Completed, func(o *store.Outcome) { o.Durable = true })
	// A lease that is lost leaves the transaction usable.
	late, other := &store.Append{Lease: run.Lease, Entries: steps(3, 3)}, e.job()
	tx := e.begin(e.T)
	if err := e.store.AppendTx(e.ctx, tx.Tx, late); err != nil {
		e.Fatalf("AppendTx: %v", err)
	}
	e.wantErr("a lost lease", late.Err, store.ErrLeaseLost)
	e.enqueueTx(tx.Tx, other)
	if err := tx.Commit(); err != nil {
		e.Fatal(err)
	}
	e.wantState(other.Job.ID, store.Available)
	e.wantEntries(run.Job.ID, 2)
}

func txQueueBack(e *txEnv) {
	node := e.join()
	e.used(node, "mail")
	e.retire(node)
	q := e.job()
	e.both(func(tx store.Tx) {
		e.enqueueTx(tx, q)
		if q.Err != nil || q.Result.State != store.Available {
			e.Fatalf("enqueue: %+v, %v", q.Result, q.Err)
		}
	}, func(committed bool) {
		if !committed {
			// A store may have made it ahead of the transaction, so that nobody waits for that: it is a name without a job.
			if names := e.queueNames(); len(names) > 0 {
				e.equal("queues", names, []string{"mail"})
				e.equal("counts", len(counted(e.queue("mail"))), 0)
			}
			e.wantNothing(node)
			return
		}
		e.equal("queues", e.queueNames(), []string{"mail"})
		e.equal("counts", counted(e.queue("mail")), map[store.State]store.Count{store.Available: {N: 1}})
		e.claimOne(node, q.Job.ID)
	})
}

// foreign is a transaction of a store that nobody knows.
type foreign struct{}

func (foreign) StoreName() string { return "foreign" }

func txForeign(e *txEnv) {
	run := e.started()
	for _, tx := range []store.Tx{nil, foreign{}} {
		e.wantErr("EnqueueTx", e.store.EnqueueTx(e.ctx, tx, []*store.Enqueue{e.job()}), store.ErrInvalid)
		e.wantErr("SendTx", e.store.SendTx(e.ctx, tx, []*store.Send{{Job: run.Job.ID, Message: signal("s")}}), store.ErrInvalid)
		e.wantErr("AppendTx", e.store.AppendTx(e.ctx, tx, &store.Append{Lease: run.Lease, Entries: steps(1, 1)}), store.ErrInvalid)
	}
	e.wantEntries(run.Job.ID, 0)
}
