package postgres

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/holdfastdev/holdfast/store"
)

// Tx wraps a caller's pgx transaction for EnqueueTx.
func Tx(tx pgx.Tx) store.Tx { return callersTx{pgx: tx} }

// SQLTx wraps a caller's transaction of database/sql for EnqueueTx. It must be of pgx's driver (pgx/v5/stdlib).
func SQLTx(tx *sql.Tx) store.Tx { return callersTx{sql: tx} }

type callersTx struct {
	pgx pgx.Tx
	sql *sql.Tx
}

// StoreName implements store.Tx.
func (callersTx) StoreName() string { return storeName }

// EnqueueTx implements store.Writer. The transaction must be on the same database as the store; its search path and
// settings do not matter. Nodes are told when it commits. A unique key that another open transaction has taken is waited
// for, as with any unique index, for as long as the caller's lock_timeout allows.
func (s *Store) EnqueueTx(ctx context.Context, wrapped store.Tx, enqueues []*store.Enqueue) error {
	err := s.enqueueTx(ctx, wrapped, enqueues)
	return classify(ctx, "enqueue in the caller's transaction", err)
}

func (s *Store) enqueueTx(ctx context.Context, wrapped store.Tx, enqueues []*store.Enqueue) error {
	if s.isClosed() {
		return errClosed
	}
	theirs, ok := wrapped.(callersTx)
	var t runner
	switch {
	case ok && theirs.pgx != nil:
		t = pgxRunner{s, theirs.pgx}
	case ok && theirs.sql != nil:
		t = sqlRunner{s, theirs.sql}
	default:
		return fmt.Errorf("%w: the transaction is not one of this store; wrap it with postgres.Tx or postgres.SQLTx", store.ErrInvalid)
	}
	now := s.now()
	entries, err := s.entriesOf(ctx, enqueues, now, true)
	if err != nil || len(entries) == 0 {
		return err
	}
	if err := s.enqueueCarefully(ctx, t, entries, now); err != nil {
		return err
	}
	payloads := wakesOf(entries, now)
	if len(payloads) == 0 {
		return nil
	}
	return t.run(ctx, "notify", nil, s.channel(), payloads)
}

// wakesOf returns the notifications of enqueues in a caller's transaction. They carry no origin: this store, too, hears
// of them only when the transaction commits.
func wakesOf(entries []*entry, now int64) []string {
	type queue struct{ namespace, name string }
	ready, soonest := map[queue]bool{}, map[queue]int64{}
	for _, e := range entries {
		q := queue{e.Job.Namespace, e.Job.Queue}
		switch {
		case e.Result.State == 0 && !e.Result.Replaced:
		case e.runAt <= now && e.Job.OrderingKey == "":
			ready[q] = true
		default:
			// What is due later, or needs the turn of its key, is a matter of promotion.
			if due, ok := soonest[q]; !ok || e.runAt < due {
				soonest[q] = e.runAt
			}
		}
	}
	var payloads []string
	for q := range ready {
		payloads = append(payloads, encodeWake(store.Wake{Kind: store.WakeReady, Namespace: q.namespace, Queue: q.name}, ""))
	}
	for q, due := range soonest {
		wake := store.Wake{Kind: store.WakeDeferred, Namespace: q.namespace, Queue: q.name, Due: timeOf(due)}
		payloads = append(payloads, encodeWake(wake, ""))
	}
	return payloads
}
