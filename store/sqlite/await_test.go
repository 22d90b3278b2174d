package sqlite_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/sqlite"
)

// TestAwaitTx: for as long as ctx lasts, and no longer than the transaction. Who has nothing to
// write does not wait with it.
func TestAwaitTx(t *testing.T) {
	ctx := t.Context()
	path := file(t)
	s := open(t, sqlite.File(path))
	db := plainDatabase(t, path)
	run := started(t, s, join(t, s), 1)
	if err := s.AwaitTx(ctx, run.Job.ID); err != nil {
		t.Fatalf("without a transaction: %v", err)
	}

	tx := begin(t, db)
	a := step(run.Lease, 1)
	if err := s.AppendTx(ctx, sqlite.Tx(tx), a); err != nil || a.Err != nil {
		t.Fatal(err, a.Err)
	}
	short, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
	defer cancel()
	err := s.AwaitTx(short, run.Job.ID)
	if !errors.Is(err, context.DeadlineExceeded) || strings.Contains(err.Error(), "locked") {
		t.Errorf("with a deadline: %v", err)
	}

	// The wait is bounded by no other caller's patience.
	sqlite.SetPatience(t, time.Millisecond)
	waited := make(chan error, 1)
	go func() { waited <- s.AwaitTx(ctx, run.Job.ID) }()
	looks := 0
	for range 20 {
		switch promoted, err := s.Promote(ctx, 1); {
		case errors.Is(err, store.ErrUnavailable): // it came during one of the short tries
		case err != nil || promoted.Jobs != 0:
			t.Fatalf("a look at the write connection: %+v, %v", promoted, err)
		default:
			looks++
		}
		if err := enqueue(ctx, s, 1); !errors.Is(err, store.ErrUnavailable) {
			t.Fatalf("a write beside the transaction: %v", err)
		}
	}
	if looks == 0 {
		t.Error("he keeps the write connection while he waits")
	}
	select {
	case err := <-waited:
		t.Fatalf("it did not wait: %v", err)
	default:
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	if err := <-waited; err != nil {
		t.Fatal(err)
	}
	if n := journalLength(t, s, run.Job.ID); n != 1 {
		t.Errorf("the journal has %d entries", n)
	}
}
