package postgres_test

import (
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

// beginOn begins a transaction of a caller's, which the test ends.
func beginOn(t *testing.T, url string) pgx.Tx {
	t.Helper()
	tx, err := connect(t, url).Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return tx
}

// TestLaneThatATransactionIsMaking: an enqueue from SQL makes the lane that it needs in its own
// transaction. Until that ends others who need the lane are put aside, and nothing else waits.
func TestLaneThatATransactionIsMaking(t *testing.T) {
	t.Parallel()
	for _, commits := range []bool{true, false} {
		config := used(t, nil)
		s := open(t, config)
		node := join(t, s)
		parent := start(t, s, node, 1)
		tx := beginOn(t, config.URL)
		first := enqueued(t, tx, config.SchemaName, `'send', queue => 'being made'`)

		inLane := func() *store.Enqueue { return newJob(func(q *store.Enqueue) { q.Job.Queue = "being made" }) }
		for range 3 {
			held, other, alsoNew := inLane(), newJob(), newJob(inQueue("new", 3))
			child := inLane()
			child.Job.Parent = parent.Lease.Job
			a := &store.Append{Lease: parent.Lease, Entries: []store.Entry{env.Entry(1, store.EntryChild, "c")}, Enqueues: []*store.Enqueue{child}}
			batch := &store.Batch{Enqueues: []*store.Enqueue{held, other, alsoNew}, Appends: []*store.Append{a}}
			if err := store.ApplyEach(t.Context(), s, batch); err != nil {
				t.Fatal(err)
			}
			wantErr(t, "the enqueue into the lane", held.Err, store.ErrBusy)
			wantErr(t, "the append with a child in the lane", a.Err, store.ErrBusy)
			wantState(t, s, other.Job.ID, store.Available)
			wantState(t, s, alsoNew.Job.ID, store.Available)
		}
		end := tx.Rollback
		if commits {
			end = tx.Commit
		}
		if err := end(t.Context()); err != nil {
			t.Fatal(err)
		}
		after := inLane()
		enqueue(t, s, after)
		wantState(t, s, after.Job.ID, store.Available)
		if _, err := s.Get(t.Context(), "", first.id); errors.Is(err, store.ErrNotFound) == commits {
			t.Errorf("the transaction committed: %v, and its job: %v", commits, err)
		}
	}
}

// TestFirstUseOfADayFromSQL: that a lane is used on a new day is noted, and nothing waits for the
// transaction that notes it: not even those who note the same.
func TestFirstUseOfADayFromSQL(t *testing.T) {
	t.Parallel()
	config := used(t, nil)
	enqueue(t, open(t, config), newJob())
	conn := connect(t, config.URL)
	exec := func(sql string) {
		t.Helper()
		if _, err := conn.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	exec("UPDATE " + config.SchemaName + ".lane SET used_on = used_on - 1")
	tx := beginOn(t, config.URL)
	enqueued(t, tx, config.SchemaName, `'send', queue => 'mail'`)
	enqueued(t, tx, config.SchemaName, `'send', queue => 'mail'`)
	exec("SET lock_timeout = '1s'")
	enqueued(t, conn, config.SchemaName, `'send', queue => 'mail'`)
	enqueued(t, conn, config.SchemaName, `'send', queue => 'mail'`)
	if n := value[int](t, conn, "SELECT count(*)::int FROM "+config.SchemaName+".lane_use"); n != 1 {
		t.Errorf("%d notes of one lane and day", n)
	}
	enqueue(t, open(t, config), newJob()) // of a process that does not know the lane yet
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := value[int](t, conn, "SELECT count(*)::int FROM "+config.SchemaName+".job"); n != 6 {
		t.Errorf("there are %d jobs", n)
	}
}

// TestLanesUsedFromSQLStay: a lane that was not used for long is not removed while a transaction
// puts a job into it, nor afterwards.
func TestLanesUsedFromSQLStay(t *testing.T) {
	t.Parallel()
	config := fresh(t)
	params := store.Retention{Completed: time.Hour}
	s := open(t, config)
	enqueue(t, s, newJob(), newJob(inQueue("unused", 2)))
	conn := connect(t, config.URL)
	exec := func(sql string) {
		t.Helper()
		if _, err := conn.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	// As if all of them had ended, and their day had been dropped, a hundred days ago.
	exec("DELETE FROM " + config.SchemaName + ".ready")
	exec("DELETE FROM " + config.SchemaName + ".job")
	exec("UPDATE " + config.SchemaName + ".lane SET used_on = used_on - 100")
	exec("UPDATE " + config.SchemaName + ".queue SET created_at = 1")
	tx := beginOn(t, config.URL)
	r := enqueued(t, tx, config.SchemaName, `'send', queue => 'mail'`)
	lanes := func() int {
		t.Helper()
		// A store looks once a day.
		if _, err := open(t, config).Retain(t.Context(), params); err != nil {
			t.Fatal(err)
		}
		return value[int](t, conn, "SELECT count(*)::int FROM "+config.SchemaName+".lane")
	}
	if n := lanes(); n != 1 {
		t.Fatalf("while the transaction is open there are %d lanes", n)
	}

	// It commits when a leader has looked for notes and is about to remove lanes. The job has run
	// by then, so that nothing but the note tells of it.
	if _, err := tx.Exec(t.Context(), "DELETE FROM "+config.SchemaName+".ready"); err != nil {
		t.Fatal(err)
	}
	lock := beginOn(t, config.URL)
	if _, err := lock.Exec(t.Context(), "LOCK TABLE "+config.SchemaName+".audit"); err != nil {
		t.Fatal(err)
	}
	retained := make(chan error, 1)
	leader := open(t, config)
	go func() {
		_, err := leader.Retain(t.Context(), store.Retention{Completed: time.Hour, Audit: time.Hour})
		retained <- err
	}()
	eventually(t, "the leader is between the two", func() bool {
		return value[int](t, conn, "SELECT count(*)::int FROM pg_locks WHERE NOT granted AND relation = $1::text::regclass",
			config.SchemaName+".audit") > 0
	})
	if err := errors.Join(tx.Commit(t.Context()), lock.Rollback(t.Context()), <-retained); err != nil {
		t.Fatal(err)
	}
	if n := value[int](t, conn, "SELECT count(*)::int FROM "+config.SchemaName+".lane"); n != 1 {
		t.Fatalf("after the commit there are %d lanes", n)
	}
	if n := lanes(); n != 1 {
		t.Fatalf("when the note was read there are %d lanes", n)
	}
	if n := value[int](t, conn, "SELECT count(*)::int FROM "+config.SchemaName+".lane_use"); n != 0 {
		t.Errorf("%d notes are left", n)
	}
	if n := lanes(); n != 1 {
		t.Fatalf("once it is known that the lane was used there are %d lanes", n)
	}
	if record, err := s.Get(t.Context(), "", r.id); err != nil || record.Queue != "mail" {
		t.Fatalf("%+v, %v", record, err)
	}
}

// TestQueueUsedFromSQL: a queue that had no job before has had one.
func TestQueueUsedFromSQL(t *testing.T) {
	t.Parallel()
	config := used(t, nil)
	s, conn := open(t, config), connect(t, config.URL)
	names := func() (names []string) {
		t.Helper()
		queues, err := s.Queues(t.Context(), "default")
		if err != nil {
			t.Fatal(err)
		}
		for _, q := range queues {
			names = append(names, q.Name)
		}
		return names
	}
	enqueued(t, conn, config.SchemaName, `'send', queue => 'new'`)
	// As an enqueue that failed after it had made the lane leaves it.
	if _, err := conn.Exec(t.Context(), "UPDATE "+config.SchemaName+".queue SET created_at = NULL"); err != nil {
		t.Fatal(err)
	}
	if got := names(); len(got) != 0 {
		t.Errorf("before its first job there is the queue %q", got)
	}
	enqueued(t, conn, config.SchemaName, `'send', queue => 'new'`)
	if _, err := s.Retain(t.Context(), store.Retention{}); err != nil {
		t.Fatal(err)
	}
	if got := names(); len(got) != 1 || got[0] != "new" {
		t.Errorf("there are the queues %q", got)
	}
}
