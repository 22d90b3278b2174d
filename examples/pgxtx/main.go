// Pgxtx takes orders and ships them, with PostgreSQL and pgx. An order and the job that ships it
// are stored in one transaction, and so are a parcel and the step that made it.
//
//	HOLDFAST_DATABASE=postgres://user@host/database go run ./examples/pgxtx lamp chair
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/store/postgres"
)

// Ship jobs ship an order. The result is the number of its parcel.
var Ship = holdfast.NewKind[int64, int64]("ship")

const tables = `
CREATE TABLE IF NOT EXISTS orders (id bigserial PRIMARY KEY, article text NOT NULL CHECK (article <> ''));
CREATE TABLE IF NOT EXISTS parcels (id bigserial PRIMARY KEY, order_id bigint NOT NULL REFERENCES orders)`

// shop is the program: its tables and its jobs, in one database.
type shop struct {
	pool *pgxpool.Pool
	hf   *holdfast.Client
}

// buy stores an order and the job that ships it: both, or neither.
func (s *shop) buy(ctx context.Context, article string) (job *holdfast.Job[int64], err error) {
	err = pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		var order int64
		if err := tx.QueryRow(ctx, "INSERT INTO orders (article) VALUES ($1) RETURNING id", article).Scan(&order); err != nil {
			return err
		}
		job, err = Ship.EnqueueTx(ctx, s.hf, postgres.Tx(tx), order)
		return err
	})
	return job, err
}

// ship is the handler. However often it is called for an order, as when its node was killed, there
// is one parcel: the row and the memory that the step is done are committed together.
func (s *shop) ship(run *holdfast.Run, order int64) (int64, error) {
	return holdfast.StepTx(run, "parcel", postgres.Begin(s.pool), func(ctx context.Context, tx pgx.Tx) (parcel int64, err error) {
		err = tx.QueryRow(ctx, "INSERT INTO parcels (order_id) VALUES ($1) RETURNING id", order).Scan(&parcel)
		return parcel, err
	})
}

func main() {
	if err := run(context.Background(), os.Stdout, os.Getenv("HOLDFAST_DATABASE"), os.Args[1:]); err != nil {
		log.Fatal(err)
	}
}

// run buys articles and waits until they are shipped.
func run(ctx context.Context, out io.Writer, url string, articles []string) error {
	pool, err := pgxpool.New(ctx, url)
	if err != nil {
		return err
	}
	defer pool.Close()
	if _, err := pool.Exec(ctx, tables); err != nil {
		return err
	}
	hf, err := holdfast.Open(ctx, postgres.Pool(pool))
	if err != nil {
		return err
	}
	defer hf.Close(ctx)
	s := &shop{pool, hf}
	if err := Ship.Handle(hf, s.ship); err != nil {
		return err
	}
	ctx, stop := context.WithCancelCause(ctx)
	go func() { stop(hf.Run(ctx)) }() // Close ends it
	for _, article := range articles {
		job, err := s.buy(ctx, article)
		if err != nil {
			return err
		}
		parcel, err := job.Wait(ctx)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "%s: parcel %d\n", article, parcel)
	}
	return nil
}
