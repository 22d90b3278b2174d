package postgres_test

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strconv"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres"
)

// start claims a new job.
func start(t *testing.T, s store.Store, node, seq int64) store.Claimed {
	t.Helper()
	q := newJob()
	enqueue(t, s, q)
	runs, err := s.Claim(t.Context(), demand(node, seq, 1))
	if err != nil || len(runs) != 1 || runs[0].Job.ID != q.Job.ID {
		t.Fatalf("claimed %+v, %v", runs, err)
	}
	return runs[0]
}

// allDead says of all nodes that live that they are dead, as of their last beats.
func allDead(t *testing.T, s store.Store) (params store.RescueParams) {
	t.Helper()
	nodes, err := s.Nodes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range nodes {
		if n.DeadAt.IsZero() {
			params.Dead = append(params.Dead, store.NodeBeat{Node: n.ID, At: n.BeatAt})
		}
	}
	return params
}

func step(seq int64) store.Entry {
	return store.Entry{Seq: seq, Kind: store.EntryStep, Path: strconv.FormatInt(seq, 10), Name: "charge", Data: []byte(`{"ok":true}`)}
}

func signal(id store.ID, name string) *store.Send {
	return &store.Send{Job: id, Message: store.Message{Kind: store.MessageSignal, Name: name}}
}

func parked(c store.Claimed, w store.Wait) *store.Outcome {
	return &store.Outcome{Lease: c.Lease, State: store.Waiting, Wait: &w, Durable: true}
}

func childOf(parent store.ID) func(*store.Enqueue) {
	return func(q *store.Enqueue) { q.Job.Parent, q.Job.Answers = parent, true }
}

// TestAppendTxHoldsItsJob: as long as the transaction is open nobody takes the job.
func TestAppendTxHoldsItsJob(t *testing.T) {
	t.Parallel()
	for name, begin := range callers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config := used(t, nil)
			s := open(t, config)
			node := join(t, s)
			run := start(t, s, node, 1)
			child := newJob(childOf(run.Job.ID))
			tx, commit, _ := begin(t, config.URL)
			w := &store.Append{Lease: run.Lease, Entries: []store.Entry{step(1), step(2)}, Enqueues: []*store.Enqueue{child}, Closing: true}
			if err := s.AppendTx(t.Context(), tx, w); err != nil || w.Err != nil {
				t.Fatalf("AppendTx: %v, %v", err, w.Err)
			}
			if child.Result.State != store.Available {
				t.Fatalf("child: %+v, %v", child.Result, child.Err)
			}
			rescued, err := s.Rescue(t.Context(), allDead(t, s))
			if err != nil || len(rescued.Jobs) > 0 {
				t.Fatalf("Rescue: %+v, %v", rescued.Jobs, err)
			}
			results, _, err := s.Cancel(t.Context(), store.CancelParams{Jobs: []store.ID{run.Job.ID}, Terminate: true})
			if err != nil {
				t.Fatal(err)
			}
			wantErr(t, "Cancel", results[0].Err, store.ErrBusy)
			done := &store.Outcome{Lease: run.Lease, State: store.Completed, Durable: true, InTx: true}
			if err := store.ApplyEach(t.Context(), s, &store.Batch{Outcomes: []*store.Outcome{done}}); err != nil {
				t.Fatal(err)
			}
			wantErr(t, "Apply", done.Err, store.ErrBusy)
			back := &store.Outcome{Lease: run.Lease, State: store.Available, Durable: true}
			if err := store.ApplyEach(t.Context(), s, &store.Batch{Outcomes: []*store.Outcome{back}}); err != nil {
				t.Fatal(err)
			}
			wantErr(t, "Apply", back.Err, store.ErrBusy)
			if err := commit(); err != nil {
				t.Fatal(err)
			}
			wantState(t, s, child.Job.ID, store.Available)
			back.Repeat = true
			if err := store.ApplyEach(t.Context(), s, &store.Batch{Outcomes: []*store.Outcome{back}}); err != nil || back.Err != nil {
				t.Fatalf("Apply: %v, %v", err, back.Err)
			}
			record, err := s.Get(t.Context(), "", run.Job.ID)
			if err != nil || record.State != store.Available || record.Journal != 2 || !record.Closing {
				t.Fatalf("record: %+v, %v", record, err)
			}
			// The lease is gone, which leaves a transaction usable.
			tx, _, rollback := begin(t, config.URL)
			late := &store.Append{Lease: run.Lease, Entries: []store.Entry{step(3)}}
			if err := s.AppendTx(t.Context(), tx, late); err != nil {
				t.Fatal(err)
			}
			wantErr(t, "AppendTx", late.Err, store.ErrLeaseLost)
			enqueue := newJob()
			if err := s.EnqueueTx(t.Context(), tx, []*store.Enqueue{enqueue}); err != nil || enqueue.Err != nil {
				t.Fatalf("EnqueueTx: %v, %v", err, enqueue.Err)
			}
			if err := rollback(); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// TestSendTxHoldsItsJob: other senders to the job wait, and fail alone; others of their batch do
// not.
func TestSendTxHoldsItsJob(t *testing.T) {
	t.Parallel()
	for name, begin := range callers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config := used(t, nil)
			s := open(t, config)
			w := watch(t, s)
			eventually(t, "wake-ups", func() bool { return s.Traits().Wakeups })
			node := join(t, s)
			run, other := start(t, s, node, 1), start(t, s, node, 2)
			if err := store.ApplyEach(t.Context(), s, &store.Batch{Outcomes: []*store.Outcome{
				parked(run, store.Wait{Kinds: store.MessagesOf(store.MessageSignal)}),
			}}); err != nil {
				t.Fatal(err)
			}
			tx, commit, _ := begin(t, config.URL)
			first := signal(run.Job.ID, "first")
			first.Key = "k"
			nobody := signal(uuid.Must(uuid.NewV7()), "nobody")
			if err := s.SendTx(t.Context(), tx, []*store.Send{first, nobody}); err != nil || first.Err != nil || !first.Result.Woken {
				t.Fatalf("SendTx: %v, %v, %+v", err, first.Err, first.Result)
			}
			wantErr(t, "a send to nobody", nobody.Err, store.ErrNotFound)
			wantState(t, s, run.Job.ID, store.Waiting)
			held, free := signal(run.Job.ID, "second"), signal(other.Job.ID, "free")
			done := completed(other)
			if err := store.ApplyEach(t.Context(), s, &store.Batch{Sends: []*store.Send{held, free}, Outcomes: []*store.Outcome{done}}); err != nil {
				t.Fatal(err)
			}
			wantErr(t, "a send to the held job", held.Err, store.ErrUnavailable)
			if free.Err != nil || free.Result.Seq != 1 || done.Final != store.Completed {
				t.Fatalf("the others: %v, %+v, %v", free.Err, free.Result, done.Err)
			}
			if err := commit(); err != nil {
				t.Fatal(err)
			}
			wantState(t, s, run.Job.ID, store.Available)
			eventually(t, "a wake-up at the commit", func() bool { return w.count(ofQueue("mail")) >= 1 })
			again := signal(run.Job.ID, "first")
			again.Key = "k"
			err := store.ApplyEach(t.Context(), s, &store.Batch{Sends: []*store.Send{held, again}})
			if err != nil || held.Result.Seq != 2 || again.Result.Seq != 1 {
				t.Fatalf("after the commit: %v, %+v, %+v", err, held.Result, again.Result)
			}
		})
	}
}

// TestRepeatedWavesOfSends: within a batch the first of two sends with one key, or to one callback,
// decides over the second.
func TestRepeatedWavesOfSends(t *testing.T) {
	t.Parallel()
	s := open(t, used(t, nil))
	run := start(t, s, join(t, s), 1)
	token := store.Entry{Seq: 1, Kind: store.EntryCallback, Path: "1", Name: "token"}
	batch := &store.Batch{Appends: []*store.Append{{Lease: run.Lease, Entries: []store.Entry{token}}}}
	if err := store.ApplyEach(t.Context(), s, batch); err != nil {
		t.Fatal(err)
	}
	keyed := func(q *store.Send, key string) *store.Send { q.Key = key; return q }
	callback := func(kind store.MessageKind) *store.Send {
		return &store.Send{Job: run.Job.ID, Message: store.Message{Kind: kind, Name: "token"}}
	}
	sends := []*store.Send{
		keyed(signal(run.Job.ID, "a"), "k"), keyed(signal(run.Job.ID, "b"), "k"), signal(run.Job.ID, "c"),
		callback(store.MessageHeartbeat), callback(store.MessageCallback),
		callback(store.MessageHeartbeat), callback(store.MessageCallbackFailed),
		keyed(signal(run.Job.ID, "d"), "l"),
	}
	if err := store.ApplyEach(t.Context(), s, &store.Batch{Sends: sends}); err != nil {
		t.Fatal(err)
	}
	for i, want := range []int64{1, 1, 2, 3, 4, 0, 0, 5} {
		if got := sends[i]; got.Result.Seq != want || got.Result.Duplicate != (i == 1) || (want == 0) != errors.Is(got.Err, store.ErrConflict) {
			t.Fatalf("send %d: %+v, %v", i, got.Result, got.Err)
		}
	}
}

// TestAppendAnswerCutOff: an append whose answer is lost is recognised, with its children.
func TestAppendAnswerCutOff(t *testing.T) {
	t.Parallel()
	config := used(t, nil)
	p := newProxy(t, config.URL)
	config.URL = p.url
	s := open(t, config)
	run := start(t, s, join(t, s), 1)
	batch := &store.Batch{Appends: []*store.Append{{Lease: run.Lease, Entries: []store.Entry{step(1)}}}}
	if err := store.ApplyEach(t.Context(), s, batch); err != nil {
		t.Fatal(err)
	}
	child := newJob(childOf(run.Job.ID), func(q *store.Enqueue) { q.Job.Args = []byte("cut here") })
	w := &store.Append{Lease: run.Lease, Entries: []store.Entry{step(2)}, Enqueues: []*store.Enqueue{child}}
	enqueue(t, s, newJob()) // so that the statement is prepared
	text := "cut here"
	p.cut.Store(&text)
	wantErr(t, "Apply", store.ApplyEach(t.Context(), s, &store.Batch{Appends: []*store.Append{w}}), store.ErrUnavailable)
	w.Repeat = true
	if err := store.ApplyEach(t.Context(), s, &store.Batch{Appends: []*store.Append{w}}); err != nil || w.Err != nil {
		t.Fatalf("repeat: %v, %v", err, w.Err)
	}
	if !child.Result.Existing || child.Result.ID != child.Job.ID {
		t.Fatalf("child: %+v", child.Result)
	}
	if record, err := s.Get(t.Context(), "", run.Job.ID); err != nil || record.Journal != 2 {
		t.Fatalf("record: %+v, %v", record, err)
	}
}

// TestTransact: what is done in it happens if it returns nil, and only then.
func TestTransact(t *testing.T) {
	t.Parallel()
	config := used(t, nil)
	s := open(t, config)
	pool, err := pgxpool.New(t.Context(), config.URL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	db, err := sql.Open("pgx", config.URL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	tx := func(fn func(store.Tx) error) []error {
		return []error{
			postgres.Begin(pool).Transact(t.Context(), func(_ pgx.Tx, wrapped store.Tx) error { return fn(wrapped) }),
			postgres.BeginSQL(db).Transact(t.Context(), func(_ *sql.Tx, wrapped store.Tx) error { return fn(wrapped) }),
		}
	}
	var kept, lost []store.ID
	enqueueIn := func(wrapped store.Tx, list *[]store.ID) error {
		q := newJob()
		*list = append(*list, q.Job.ID)
		return s.EnqueueTx(context.Background(), wrapped, []*store.Enqueue{q})
	}
	for _, err := range tx(func(wrapped store.Tx) error { return enqueueIn(wrapped, &kept) }) {
		if err != nil {
			t.Fatal(err)
		}
	}
	mine := errors.New("mine")
	for _, err := range tx(func(wrapped store.Tx) error { return errors.Join(enqueueIn(wrapped, &lost), mine) }) {
		wantErr(t, "Transact", err, mine)
	}
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic is lost")
			}
		}()
		tx(func(wrapped store.Tx) error { _ = enqueueIn(wrapped, &lost); panic("mine") })
	}()
	ended, err := s.Ended(t.Context(), "", slices.Concat(kept, lost))
	if err != nil || len(ended) != 3 {
		t.Fatalf("unknown jobs: %+v, %v", ended, err)
	}
	for _, id := range kept {
		wantState(t, s, id, store.Available)
	}
}
