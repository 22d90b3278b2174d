package sqlite_test

import (
	"context"
	"database/sql"
	"errors"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/sqlite"
)

// plainDatabase opens the file as a program would that knows nothing of us: its transactions begin
// as readers, and its driver waits for nobody.
func plainDatabase(t *testing.T, path string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	tables := "CREATE TABLE accounts (name TEXT PRIMARY KEY, amount INTEGER); INSERT INTO accounts VALUES ('ada', 0)"
	if _, err := db.ExecContext(t.Context(), tables); err != nil {
		t.Fatal(err)
	}
	return db
}

func amount(t *testing.T, db *sql.DB) (n int) {
	t.Helper()
	if err := db.QueryRowContext(t.Context(), "SELECT amount FROM accounts").Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// started enqueues a job and claims it.
func started(t *testing.T, s store.Store, node, seq int64) store.Claimed {
	t.Helper()
	if err := enqueue(t.Context(), s, 1); err != nil {
		t.Fatal(err)
	}
	claimed, err := claim(t.Context(), s, node, seq, 1)
	if err != nil || len(claimed) != 1 {
		t.Fatal(len(claimed), err)
	}
	return claimed[0]
}

func join(t *testing.T, s store.Store) int64 {
	t.Helper()
	node, err := s.Join(t.Context(), store.NodeInfo{})
	if err != nil {
		t.Fatal(err)
	}
	return node
}

func step(l store.Lease, seq int64) *store.Append {
	return &store.Append{Lease: l, Entries: []store.Entry{{Seq: seq, Kind: store.EntryStep, Name: "pay", Data: []byte(`1`)}}}
}

func journalLength(t *testing.T, s store.Store, id store.ID) int {
	t.Helper()
	journals, err := s.Journals(t.Context(), "", []store.ID{id})
	if err != nil {
		t.Fatal(err)
	}
	return len(journals[0].Entries)
}

// TestTransact: a step and what it changed in the user's own table happen together, or not at all.
func TestTransact(t *testing.T) {
	ctx := t.Context()
	path := file(t)
	s := open(t, sqlite.File(path))
	db := plainDatabase(t, path)
	run := started(t, s, join(t, s), 1)
	pay := func(seq int64, fail error) error {
		return sqlite.Begin(db).Transact(ctx, func(tx *sql.Tx, wrapped store.Tx) error {
			var before int
			if err := tx.QueryRowContext(ctx, "SELECT amount FROM accounts").Scan(&before); err != nil {
				return err
			}
			if _, err := tx.ExecContext(ctx, "UPDATE accounts SET amount = ?", before+1); err != nil {
				return err
			}
			a := step(run.Lease, seq)
			if err := s.AppendTx(ctx, wrapped, a); err != nil {
				return err
			}
			return errors.Join(a.Err, fail)
		})
	}
	if err := pay(1, nil); err != nil {
		t.Fatal(err)
	}
	mine := errors.New("mine")
	if err := pay(2, mine); !errors.Is(err, mine) {
		t.Errorf("the error of the function: %v", err)
	}
	if err := pay(1, nil); !errors.Is(err, store.ErrLeaseLost) {
		t.Errorf("a number that is taken: %v", err)
	}
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic was swallowed")
			}
		}()
		_ = sqlite.Begin(db).Transact(ctx, func(*sql.Tx, store.Tx) error { panic("no") })
	}()
	if n, entries := amount(t, db), journalLength(t, s, run.Job.ID); n != 1 || entries != 1 {
		t.Errorf("the amount is %d, the journal has %d entries", n, entries)
	}
	if err := pay(2, nil); err != nil {
		t.Error(err)
	}
}

// TestTransactAmongWriters: transactions of the user and those of the store wait for each other,
// and all happen.
func TestTransactAmongWriters(t *testing.T) {
	ctx := t.Context()
	path := file(t)
	source := sqlite.File(path)
	source.Synchronous = sqlite.Normal
	s := open(t, source)
	db := plainDatabase(t, path)
	const each = 50
	var all sync.WaitGroup
	failures := make(chan error, 8*each)
	for range 4 {
		all.Go(func() {
			for range each {
				failures <- sqlite.Begin(db).Transact(ctx, func(tx *sql.Tx, wrapped store.Tx) error {
					var before int
					if err := tx.QueryRowContext(ctx, "SELECT amount FROM accounts").Scan(&before); err != nil {
						return err
					}
					if _, err := tx.ExecContext(ctx, "UPDATE accounts SET amount = ?", before+1); err != nil {
						return err
					}
					return s.EnqueueTx(ctx, wrapped, []*store.Enqueue{newJob()})
				})
			}
		})
		all.Go(func() {
			for range each {
				failures <- enqueue(ctx, s, 1)
			}
		})
	}
	all.Wait()
	close(failures)
	for err := range failures {
		if err != nil {
			t.Fatal(err)
		}
	}
	page, err := s.List(ctx, store.ListParams{Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	if n := amount(t, db); n != 4*each || len(page.Jobs) != 8*each {
		t.Errorf("the amount is %d, there are %d jobs", n, len(page.Jobs))
	}
}

// TestTransactWaits: for as long as the caller has time, and not for ever.
func TestTransactWaits(t *testing.T) {
	ctx := t.Context()
	path := file(t)
	s := open(t, sqlite.File(path))
	db := plainDatabase(t, path)
	holder := begin(t, database(t, path))
	mustExec(t, holder, "UPDATE accounts SET amount = 7")

	nothing := func(*sql.Tx, store.Tx) error { return nil }
	short, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
	defer cancel()
	if err := sqlite.Begin(db).Transact(short, nothing); !errors.Is(err, context.DeadlineExceeded) || strings.Contains(err.Error(), "locked") {
		t.Errorf("with a deadline: %v", err)
	}
	sqlite.SetPatience(t, 50*time.Millisecond)
	if err := sqlite.Begin(db).Transact(ctx, nothing); !errors.Is(err, store.ErrUnavailable) || strings.Contains(err.Error(), "locked") {
		t.Errorf("without a deadline: %v", err)
	}
	sqlite.SetPatience(t, time.Minute)
	done := make(chan error)
	go func() { done <- sqlite.Begin(db).Transact(ctx, nothing) }()
	if err := holder.Commit(); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	// Whoever uses the store otherwise inside waits for himself, and is told so.
	sqlite.SetPatience(t, 50*time.Millisecond)
	err := sqlite.Begin(db).Transact(ctx, func(*sql.Tx, store.Tx) error { return enqueue(ctx, s, 1) })
	if !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("a write of the store inside: %v", err)
	}
	if err := enqueue(ctx, s, 1); err != nil {
		t.Errorf("a write of the store after it: %v", err)
	}
}

func TestTransactElsewhere(t *testing.T) {
	ctx := t.Context()
	s := open(t, sqlite.File(file(t)))
	run := started(t, s, join(t, s), 1)
	migrated, empty := file(t), file(t)
	open(t, sqlite.File(migrated))
	for path, want := range map[string]error{migrated: store.ErrInvalid, empty: store.ErrSchema} {
		err := sqlite.Begin(database(t, path)).Transact(ctx, func(_ *sql.Tx, wrapped store.Tx) error {
			return s.AppendTx(ctx, wrapped, step(run.Lease, 1))
		})
		if !errors.Is(err, want) {
			t.Errorf("error is %v, want %v", err, want)
		}
	}
	if err := s.SendTx(ctx, otherTx{}, nil); !errors.Is(err, store.ErrInvalid) {
		t.Errorf("another store's transaction: %v", err)
	}
}

type otherTx struct{}

func (otherTx) StoreName() string { return "other" }

// TestAppendTxFences: from the append to the end of the transaction nobody takes the job, even if
// the transaction began as a reader's and the append has nothing to write.
func TestAppendTxFences(t *testing.T) {
	ctx := t.Context()
	path := file(t)
	s := open(t, sqlite.File(path))
	db := plainDatabase(t, path)
	node := join(t, s)
	for i, a := range []*store.Append{{Entries: step(store.Lease{}, 1).Entries}, {}} {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			run := started(t, s, node, int64(i)+1)
			a.Lease = run.Lease
			tx := begin(t, db)
			if err := s.AppendTx(ctx, sqlite.Tx(tx), a); err != nil || a.Err != nil {
				t.Fatal(err, a.Err)
			}
			terminate := func(ctx context.Context) error {
				_, _, err := s.Cancel(ctx, store.CancelParams{Jobs: []store.ID{run.Job.ID}, Terminate: true})
				return err
			}
			short, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
			defer cancel()
			if err := terminate(short); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("the job was taken meanwhile: %v", err)
			}
			if err := tx.Commit(); err != nil {
				t.Fatal(err)
			}
			if err := terminate(ctx); err != nil {
				t.Fatal(err)
			}
			if n := journalLength(t, s, run.Job.ID); n != len(a.Entries) {
				t.Errorf("the journal has %d entries", n)
			}
			late := begin(t, db)
			if err := s.AppendTx(ctx, sqlite.Tx(late), a); err != nil || !errors.Is(a.Err, store.ErrLeaseLost) {
				t.Errorf("an append of a terminated run: %v, %v", err, a.Err)
			}
			if err := late.Rollback(); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// TestSendTx: the message and the wake-up are there when the transaction is.
func TestSendTx(t *testing.T) {
	ctx := t.Context()
	path := file(t)
	s := open(t, sqlite.File(path))
	db := plainDatabase(t, path)
	node := join(t, s)
	run := started(t, s, node, 1)
	wait := &store.Wait{Kinds: store.MessagesOf(store.MessageSignal)}
	o := &store.Outcome{Lease: run.Lease, State: store.Waiting, Wait: wait}
	if err := store.ApplyEach(ctx, s, &store.Batch{Outcomes: []*store.Outcome{o}}); err != nil || o.Final != store.Waiting {
		t.Fatal(err, o.Final, o.Err)
	}
	for _, commit := range []bool{false, true} {
		tx := begin(t, db)
		q := &store.Send{Job: run.Job.ID, Message: store.Message{Kind: store.MessageSignal, Name: "go"}}
		if err := s.SendTx(ctx, sqlite.Tx(tx), []*store.Send{q}); err != nil || q.Err != nil || !q.Result.Woken || q.Result.Seq != 1 {
			t.Fatalf("%v, %v, %+v", err, q.Err, q.Result)
		}
		want, end := store.Waiting, tx.Rollback
		if commit {
			want, end = store.Available, tx.Commit
		}
		if err := end(); err != nil {
			t.Fatal(err)
		}
		if record, err := s.Get(ctx, "", run.Job.ID); err != nil || record.State != want {
			t.Errorf("the job is %v, want %v; %v", record.State, want, err)
		}
	}
}
