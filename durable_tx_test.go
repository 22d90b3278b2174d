package holdfast_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/pgtest/ready"
	"github.com/holdfastdev/holdfast/internal/sqlitetest"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres"
	"github.com/holdfastdev/holdfast/store/sqlite"
)

// ledger is a table of the user in the database of the jobs.
type ledger[Tx any] struct {
	db    holdfast.Transactor[Tx]
	add   func(ctx context.Context, tx Tx, note string) error
	count func(note string) int
}

// playLedger runs a flow whose steps write to the ledger: each exactly once, despite failures in
// between.
func playLedger[Tx any](t *testing.T, source store.Source, l ledger[Tx]) {
	t.Helper()
	hf, err := holdfast.Open(t.Context(), source)
	if err != nil {
		t.Fatal(err)
	}
	kind := holdfast.NewKind[int, int]("book")
	tries := map[string]int{}
	err = kind.Handle(hf, func(run *holdfast.Run, _ int) (int, error) {
		for i := range 3 {
			name := fmt.Sprint("entry ", i)
			n, err := holdfast.StepTx(run, name, l.db, func(ctx context.Context, tx Tx) (int, error) {
				if err := l.add(ctx, tx, name); err != nil {
					return 0, err
				}
				if tries[name]++; tries[name] == 1 {
					return 0, errors.New("after the write") // the write is rolled back
				}
				return tries[name], nil
			})
			if err != nil {
				return 0, err
			}
			if n != 2 {
				return 0, holdfast.Fail(fmt.Errorf("%s took %d tries", name, n))
			}
		}
		// Strands write while a transaction is open.
		beside, err := holdfast.Go(run, "beside", func(run *holdfast.Run) (int, error) {
			return holdfast.Step(run, "plain", func(context.Context) (int, error) { return 1, nil })
		})
		if err != nil {
			return 0, err
		}
		_, err = holdfast.StepTx(run, "last", l.db, func(ctx context.Context, tx Tx) (int, error) { return 0, l.add(ctx, tx, "last") })
		if err != nil {
			return 0, err
		}
		return beside.Wait(run)
	}, holdfast.Backoff(time.Millisecond, time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	leaving := leaveTransaction(t, hf, l)
	ran := make(chan error, 1)
	go func() { ran <- hf.Run(context.WithoutCancel(t.Context())) }()
	job, err := kind.Enqueue(t.Context(), hf, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := job.Wait(t.Context()); err != nil {
		t.Error(err)
	}
	for _, note := range []string{"entry 0", "entry 1", "entry 2", "last"} {
		if n := l.count(note); n != 1 {
			t.Errorf("%s was written %d times", note, n)
		}
	}
	leaving()
	if err := errors.Join(hf.Close(context.WithoutCancel(t.Context())), <-ran); err != nil {
		t.Error(err)
	}
}

// leaveTransaction registers a handler that continues as new while one of its strands is in a
// transaction, and returns the test: what the handler received before is neither lost with the
// transaction, which is rolled back, nor received twice.
func leaveTransaction[Tx any](t *testing.T, hf *holdfast.Client, l ledger[Tx]) (play func()) {
	t.Helper()
	item, ready := holdfast.NewSignal[int]("item"), holdfast.NewSignal[int]("ready")
	leaves := holdfast.NewKind[int, int]("leaves")
	err := leaves.Handle(hf, func(run *holdfast.Run, received int) (int, error) {
		if received > 0 {
			again, _, err := item.TryReceive(run)
			return again, err
		}
		if _, err := ready.Wait(run); err != nil {
			return 0, err
		}
		inside := make(chan struct{})
		_, err := holdfast.Go(run, "left behind", func(run *holdfast.Run) (int, error) {
			return holdfast.StepTx(run, "open", l.db, func(ctx context.Context, tx Tx) (int, error) {
				if err := l.add(ctx, tx, "left behind"); err != nil {
					return 0, err
				}
				close(inside)
				<-ctx.Done()
				return 0, ctx.Err()
			})
		})
		if err != nil {
			return 0, err
		}
		<-inside
		n, err := item.Wait(run)
		if err != nil {
			return 0, err
		}
		return 0, continueAsNew(run, n)
	})
	if err != nil {
		t.Fatal(err)
	}
	return func() {
		t.Helper()
		job, err := leaves.Enqueue(t.Context(), hf, 0)
		if err != nil {
			t.Fatal(err)
		}
		_, err1 := item.Send(t.Context(), hf, job.ID, 7)
		_, err2 := ready.Send(t.Context(), hf, job.ID, 1)
		if err := errors.Join(err1, err2); err != nil {
			t.Fatal(err)
		}
		again, err := job.Wait(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if again != 0 {
			t.Errorf("the signal with %d was received a second time", again)
		}
		if n := l.count("left behind"); n != 0 {
			t.Errorf("a transaction that the run has left was committed: %d notes", n)
		}
	}
}

func sqlLedger(t *testing.T, db *sql.DB, tx holdfast.Transactor[*sql.Tx], insert string) ledger[*sql.Tx] {
	t.Helper()
	if _, err := db.ExecContext(t.Context(), "CREATE TABLE ledger (note TEXT)"); err != nil {
		t.Fatal(err)
	}
	return ledger[*sql.Tx]{
		db: tx,
		add: func(ctx context.Context, tx *sql.Tx, note string) error {
			_, err := tx.ExecContext(ctx, insert, note)
			return err
		},
		count: func(note string) (n int) {
			rows, err := db.QueryContext(t.Context(), "SELECT note FROM ledger")
			if err != nil {
				t.Fatal(err)
			}
			defer rows.Close()
			for rows.Next() {
				var have string
				if err := rows.Scan(&have); err != nil {
					t.Fatal(err)
				}
				if have == note {
					n++
				}
			}
			if err := rows.Err(); err != nil {
				t.Fatal(err)
			}
			return n
		},
	}
}

func TestStepTxOnSQLite(t *testing.T) {
	t.Parallel()
	file := sqlitetest.File(t)
	db, err := sql.Open("sqlite", "file:"+file+"?_txlock=immediate&_pragma=busy_timeout(10000)&_pragma=journal_mode(wal)")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	playLedger(t, sqlite.File(file), sqlLedger(t, db, sqlite.Begin(db), "INSERT INTO ledger VALUES (?)"))
}

func TestStepTxOnPostgreSQL(t *testing.T) {
	t.Parallel()
	t.Run("database/sql", func(t *testing.T) {
		t.Parallel()
		url := ready.Database(t)
		db, err := sql.Open("pgx", url)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		playLedger(t, postgres.DB(db), sqlLedger(t, db, postgres.BeginSQL(db), "INSERT INTO ledger VALUES ($1)"))
	})
	t.Run("pgx", func(t *testing.T) {
		t.Parallel()
		url := ready.Database(t)
		pool, err := pgxpool.New(t.Context(), url)
		if err != nil {
			t.Fatal(err)
		}
		defer pool.Close()
		playLedger(t, postgres.Pool(pool), pgxLedger(t, pool))
	})
}
