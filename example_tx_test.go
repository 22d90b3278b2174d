package holdfast_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/sqlite"
)

// shop opens a database of orders and jobs.
func shop(ctx context.Context) (hf *holdfast.Client, db *sql.DB, end func()) {
	dir := must(os.MkdirTemp("", "example"))
	file := filepath.Join(dir, "shop.db")
	hf = must(holdfast.Open(ctx, sqlite.File(file)))
	db = must(sql.Open("sqlite", "file:"+file+"?_txlock=immediate&_pragma=busy_timeout(5000)"))
	must(db.Exec(`CREATE TABLE orders (id INTEGER PRIMARY KEY, state TEXT NOT NULL)`))
	must(db.Exec(`INSERT INTO orders (id, state) VALUES (7, 'placed')`))
	return hf, db, func() {
		hf.Close(ctx)
		db.Close()
		os.RemoveAll(dir)
	}
}

// A cancel, as a retry, may be part of the caller's own transaction: it happens if that commits.
func ExampleClient_CancelTx() {
	ctx := context.Background()
	ship := holdfast.NewKind[int, struct{}]("order.ship")
	hf, db, end := shop(ctx)
	defer end()
	job := must(ship.Enqueue(ctx, hf, 7, holdfast.Delay(time.Hour)))

	withdraw := func(commit bool) error {
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		defer tx.Rollback()
		if _, err := tx.Exec(`UPDATE orders SET state = 'withdrawn' WHERE id = 7`); err != nil {
			return err
		}
		results, err := hf.CancelTx(ctx, sqlite.Tx(tx), "the customer has withdrawn", job.ID)
		if err != nil {
			return err
		}
		if err := results[0].Err; err != nil || !commit {
			return err
		}
		return tx.Commit()
	}
	for _, commit := range []bool{false, true} {
		if err := withdraw(commit); err != nil {
			log.Fatal(err)
		}
		fmt.Println("committed:", commit, "the job is", must(job.Get(ctx)).State)
	}
	// Output:
	// committed: false the job is scheduled
	// committed: true the job is cancelled
}

// A handler gives its job to an outside system, which finishes it: from any process, by the job's
// id.
func ExampleHandOver() {
	ctx := context.Background()
	pay := holdfast.NewKind[int, string]("order.pay")
	requests := make(chan holdfast.ID, 1) // to the outside system

	hf := must(holdfast.Open(ctx, sqlite.File(sqlite.Memory)))
	defer hf.Close(ctx)
	err := pay.Handle(hf, func(run *holdfast.Run, _ int) (string, error) {
		err := holdfast.Do(run, "ask the bank", func(context.Context) error {
			requests <- run.ID()
			return nil
		})
		if err != nil {
			return "", err
		}
		return "", holdfast.HandOver(72 * time.Hour)
	})
	if err != nil {
		log.Fatal(err)
	}
	go hf.Run(ctx)

	job := must(pay.Enqueue(ctx, hf, 7))
	id := <-requests
	for { // its handler may not have returned
		err := pay.Complete(ctx, hf, id, "receipt 12")
		if err == nil {
			break
		}
		if !errors.Is(err, holdfast.ErrConflict) {
			log.Fatal(err)
		}
		time.Sleep(time.Millisecond)
	}
	fmt.Println(must(job.Wait(ctx)))
	// Output: receipt 12
}

// A handler completes its job together with what it writes: both happen, or neither.
func ExampleRun_CompleteTx() {
	ctx := context.Background()
	ship := holdfast.NewKind[int, string]("order.ship")
	hf, db, end := shop(ctx)
	defer end()
	err := ship.Handle(hf, func(run *holdfast.Run, order int) (string, error) {
		tx, err := db.BeginTx(run, nil)
		if err != nil {
			return "", err
		}
		defer tx.Rollback()
		if _, err := tx.ExecContext(run, `UPDATE orders SET state = 'shipped' WHERE id = ?`, order); err != nil {
			return "", err
		}
		if err := run.CompleteTx(sqlite.Tx(tx), "parcel 3"); err != nil {
			return "", err
		}
		return "", tx.Commit()
	})
	if err != nil {
		log.Fatal(err)
	}
	go hf.Run(ctx)

	job := must(ship.Enqueue(ctx, hf, 7))
	result := must(job.Wait(ctx))
	var state string
	if err := db.QueryRow(`SELECT state FROM orders WHERE id = 7`).Scan(&state); err != nil {
		log.Fatal(err)
	}
	fmt.Println(result, state, must(job.Get(ctx)).State == store.Completed)
	// Output: parcel 3 shipped true
}
