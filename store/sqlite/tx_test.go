package sqlite_test

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"testing"
	"time"

	_ "modernc.org/sqlite"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/sqlite"
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

func TestEnqueueTxCommits(t *testing.T) {
	ctx := t.Context()
	path := file(t)
	s := open(t, sqlite.File(path))
	db := database(t, path)
	tx := begin(t, db)
	mustExec(t, tx, "CREATE TABLE users (name TEXT)")
	mustExec(t, tx, "INSERT INTO users VALUES ('ada')")
	q, plain, later, same := fancy(), newJob(), newJob(), fancy()
	later.Delay = time.Hour
	same.OnConflict = store.Reject
	enqueues := []*store.Enqueue{q, plain, later, same}
	if err := s.EnqueueTx(ctx, sqlite.Tx(tx), enqueues); err != nil {
		t.Fatal(err)
	}
	var unique *store.UniqueError
	if q.Err != nil || plain.Err != nil || later.Err != nil || !errors.As(same.Err, &unique) || unique.Holder != q.Job.ID {
		t.Fatalf("errors: %v, %v, %v, %v", q.Err, plain.Err, later.Err, same.Err)
	}
	if q.Result.State != store.Available || later.Result.State != store.Scheduled {
		t.Fatalf("results: %+v, %+v", q.Result, later.Result)
	}
	if _, err := s.Get(ctx, q.Job.ID); !errors.Is(err, store.ErrNotFound) {
		t.Fatalf("visible before the commit: %v", err)
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	record, err := s.Get(ctx, q.Job.ID)
	if err != nil || record.State != store.Available || record.OrderingKey != "o" || record.Options.Timeout != time.Minute ||
		len(record.Tags) != 1 || string(record.Args) != string(q.Job.Args) || string(record.Metadata) != `{"a":1}` {
		t.Fatalf("after the commit: %+v, %v", record, err)
	}
	node, err := s.Join(ctx, store.NodeInfo{})
	if err != nil {
		t.Fatal(err)
	}
	if claimed, err := claim(ctx, s, node, 1, 10); err != nil || len(claimed) != 2 {
		t.Fatalf("claimed %d jobs, %v", len(claimed), err)
	}
}

func TestEnqueueTxRollsBack(t *testing.T) {
	ctx := t.Context()
	path := file(t)
	s := open(t, sqlite.File(path))
	tx := begin(t, database(t, path))
	q := fancy()
	if err := s.EnqueueTx(ctx, sqlite.Tx(tx), []*store.Enqueue{q}); err != nil {
		t.Fatal(err)
	}
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Get(ctx, q.Job.ID); !errors.Is(err, store.ErrNotFound) {
		t.Fatalf("after the rollback: %v", err)
	}
	// What it interned is gone as well, and must not be remembered.
	other := newJob()
	other.Job.Kind = "other"
	if err := s.Apply(ctx, &store.Batch{Enqueues: []*store.Enqueue{other, q}}); err != nil || q.Err != nil {
		t.Fatal(err, q.Err)
	}
	if record, err := s.Get(ctx, q.Job.ID); err != nil || record.Queue != q.Job.Queue || record.Kind != "send" {
		t.Fatalf("after the enqueue: %+v, %v", record, err)
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

// TestWatchReportsForeignWrites: those of other stores and of callers' transactions, but not its own.
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
		case <-time.After(10 * time.Second):
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
