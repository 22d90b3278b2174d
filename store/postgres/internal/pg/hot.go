package pg

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// hotTx is a transaction of a few short statements, with the pins. What begins it goes with the
// first of them, and COMMIT may go with the last: after each round trip a busy process waits for a
// turn of its scheduler, for longer than many a statement takes.
type hotTx struct {
	conn  *pgx.Conn
	begin []string // what is sent before the first statement; nil: it was sent
	over  bool     // it was committed with its last statements
}

// newHotTx returns a transaction that its first statement begins.
func (d *DB) newHotTx(conn *pgx.Conn) *hotTx {
	h := &hotTx{conn: conn, begin: []string{begin}}
	if d.prelude != "" {
		h.begin = append(h.begin, d.prelude)
	}
	return h
}

// inHotTx runs f in a transaction.
func inHotTx(ctx context.Context, h *hotTx, f func(*hotTx) error) error {
	if err := f(h); err != nil {
		// The first error is the one to tell. Nothing of the transaction happens, whatever the
		// second one is, unless it is an answer to its last statements that could not be read.
		_ = h.rollback(ctx)
		return err
	}
	return h.commit(ctx)
}

// SendBatch implements transaction. Only Close may be called of the result: it reads what the begin
// answers with, too.
func (h *hotTx) SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults {
	if h.begin == nil {
		return h.conn.SendBatch(ctx, b)
	}
	whole := &pgx.Batch{}
	for _, text := range h.begin {
		whole.Queue(text)
	}
	whole.QueuedQueries = append(whole.QueuedQueries, b.QueuedQueries...)
	h.begin = nil
	return h.conn.SendBatch(ctx, whole)
}

// ready begins the transaction if no statement has done so.
func (h *hotTx) ready(ctx context.Context) error {
	if h.begin == nil {
		return nil
	}
	return h.SendBatch(ctx, &pgx.Batch{}).Close()
}

// Exec implements transaction.
func (h *hotTx) Exec(ctx context.Context, text string, args ...any) (tag pgconn.CommandTag, err error) {
	if err := h.ready(ctx); err != nil {
		return tag, err
	}
	return h.conn.Exec(ctx, text, args...)
}

// Query implements transaction.
func (h *hotTx) Query(ctx context.Context, text string, args ...any) (pgx.Rows, error) {
	if err := h.ready(ctx); err != nil {
		return nil, err
	}
	return h.conn.Query(ctx, text, args...)
}

// last sends statements and commits. If an Each of theirs fails the transaction was committed all
// the same, as with an answer to the commit that is lost: the caller has to ask again.
func (h *hotTx) last(ctx context.Context, b *pgx.Batch) error {
	b.Queue("COMMIT").Exec(committed)
	end, done := withGrace(ctx)
	defer done()
	err := h.SendBatch(end, b).Close()
	h.over = err == nil
	return err
}

// commit commits, unless that was done, or there is nothing to commit.
func (h *hotTx) commit(ctx context.Context) error {
	if h.over || h.begin != nil {
		return nil
	}
	tag, err := h.conn.Exec(ctx, "COMMIT")
	if err != nil {
		return h.giveUp(ctx, err)
	}
	return committed(tag)
}

// committed is an error if the transaction had failed before.
func committed(tag pgconn.CommandTag) error {
	if tag.String() == "ROLLBACK" {
		return pgx.ErrTxCommitRollback
	}
	return nil
}

// rollback undoes what was not committed.
func (h *hotTx) rollback(ctx context.Context) error {
	if h.over || h.begin != nil || h.conn.IsClosed() || h.conn.PgConn().TxStatus() == 'I' {
		return nil
	}
	_, err := h.conn.Exec(ctx, "ROLLBACK")
	return h.giveUp(ctx, err)
}

// giveUp closes a connection that was left in a transaction: no other caller may be given it.
func (h *hotTx) giveUp(ctx context.Context, err error) error {
	if err != nil && h.conn.PgConn().TxStatus() != 'I' {
		_ = h.conn.Close(ctx) // the first error is the one to tell
	}
	return err
}
