package sqlite_test

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"testing"
	"time"

	_ "modernc.org/sqlite"

	"github.com/holdfastdev/holdfast/internal/sqlitetest"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/sqlite"
	"github.com/holdfastdev/holdfast/store/storetest"
)

// database opens the file as a user's program would.
func database(t *testing.T, path string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path+"?_txlock=immediate&_pragma=busy_timeout(5000)")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func begin(t *testing.T, db *sql.DB) *sql.Tx {
	t.Helper()
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tx.Rollback() })
	return tx
}

func mustExec(t *testing.T, tx *sql.Tx, text string) {
	t.Helper()
	if _, err := tx.ExecContext(t.Context(), text); err != nil {
		t.Fatal(err)
	}
}

// fancy has all that an enqueue can have.
func fancy() *store.Enqueue {
	q := newJob()
	q.Job.Queue, q.Job.OrderingKey, q.Job.Tags = "new in the transaction", "o", []string{"a"}
	q.Job.UniqueKey, q.Job.UniqueStates = []byte("unique"), store.Unfinished
	q.Job.Metadata, q.Job.Args = []byte(`{"a":1}`), []byte{0, 255, 1}
	q.Job.Options.Timeout = time.Minute
	return q
}

// TestCallersTransactions: with modernc.org/sqlite, in transactions that begin as writers' and in
// those that begin as readers'.
func TestCallersTransactions(t *testing.T) {
	for name, connect := range map[string]func(*testing.T, string) *sql.DB{"immediate": database, "deferred": plainDatabase} {
		t.Run(name, func(t *testing.T) {
			storetest.RunTx(t, func(t *testing.T, clock *storetest.Clock) (store.Store, func(*testing.T) storetest.Tx) {
				source := sqlite.File(sqlitetest.File(t))
				source.Clock, source.Synchronous = clock.Now, sqlite.Normal
				s := open(t, source)
				db := connect(t, source.Path)
				return s, func(t *testing.T) storetest.Tx {
					tx := begin(t, db)
					return storetest.Tx{Tx: sqlite.Tx(tx), Commit: tx.Commit, Rollback: tx.Rollback}
				}
			})
		})
	}
}

func TestEnqueueTxOnAnotherDatabase(t *testing.T) {
	ctx := t.Context()
	s := open(t, sqlite.File(file(t)))
	migrated, empty := file(t), file(t)
	open(t, sqlite.File(migrated))
	for path, want := range map[string]error{migrated: store.ErrInvalid, empty: store.ErrSchema} {
		err := s.EnqueueTx(ctx, sqlite.Tx(begin(t, database(t, path))), []*store.Enqueue{newJob()})
		if !errors.Is(err, want) {
			t.Errorf("error is %v, want %v", err, want)
		}
	}
}

// TestCallersTransactionHoldsTheLock: our writers wait for it, as long as their contexts let them.
func TestCallersTransactionHoldsTheLock(t *testing.T) {
	ctx := t.Context()
	path := file(t)
	s := open(t, sqlite.File(path))
	tx := begin(t, database(t, path))
	mustExec(t, tx, "CREATE TABLE users (name TEXT)")

	short, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
	defer cancel()
	if err := enqueue(short, s, 1); !errors.Is(err, context.DeadlineExceeded) || strings.Contains(err.Error(), "locked") {
		t.Errorf("enqueue with a deadline: %v", err)
	}
	if _, err := s.List(ctx, store.ListParams{Limit: 1}); err != nil {
		t.Errorf("a read was held up: %v", err)
	}
	sqlite.SetPatience(t, 50*time.Millisecond)
	if err := enqueue(ctx, s, 1); !errors.Is(err, store.ErrUnavailable) || strings.Contains(err.Error(), "locked") {
		t.Errorf("enqueue without a deadline: %v", err)
	}
	sqlite.SetPatience(t, time.Minute)
	done := make(chan error)
	go func() { done <- enqueue(ctx, s, 1) }()
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Errorf("enqueue: %v", err)
	}
}

// TestWatchReportsForeignWrites: those of other stores and of callers' transactions, but not its
// own.
func TestWatchReportsForeignWrites(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	path := file(t)
	source := sqlite.File(path)
	source.Poll = time.Millisecond
	s, other := open(t, source), open(t, source)
	wakes, ended := make(chan store.Wake, 100), make(chan error)
	go func() { ended <- s.Watch(ctx, func(w store.Wake) { wakes <- w }) }()

	expect := func(what string) {
		t.Helper()
		select {
		case w := <-wakes:
			if w.Kind != store.WakeAll {
				t.Errorf("%s: %+v", what, w)
			}
		case <-time.After(time.Minute):
			t.Fatalf("%s was not reported", what)
		}
	}
	if err := enqueue(ctx, other, 1); err != nil {
		t.Fatal(err)
	}
	expect("another store's write")
	tx := begin(t, database(t, path))
	if err := s.EnqueueTx(ctx, sqlite.Tx(tx), []*store.Enqueue{newJob()}); err != nil {
		t.Fatal(err)
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	expect("a caller's transaction")
	for range 20 {
		if err := enqueue(ctx, s, 1); err != nil {
			t.Fatal(err)
		}
	}
	// The next report is that of this write: the twenty before gave none.
	if err := enqueue(ctx, other, 1); err != nil {
		t.Fatal(err)
	}
	expect("another store's second write")
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("Watch: %v", err)
	}
	if len(wakes) != 0 {
		t.Errorf("%d wake-ups too many", len(wakes))
	}
}
