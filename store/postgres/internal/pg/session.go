package pg

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/holdfastdev/holdfast/store"
)

// Statement is one statement of a pipeline, by name. Each, if set, is called for every row of its
// answer.
type Statement struct {
	Name string
	Args []any
	Each func(Row) error
}

// Row is what a query answers with, one at a time.
type Row interface{ Scan(dest ...any) error }

// On runs the statement.
func (st Statement) On(ctx context.Context, t Runner) error {
	return t.Run(ctx, st.Name, st.Each, st.Args...)
}

// Runner runs statements by name inside of a transaction.
type Runner interface {
	Run(ctx context.Context, name string, each func(Row) error, args ...any) error
}

// Session is a transaction of ours.
type Session struct {
	DB *DB
	Tx transaction

	asked *asked // nil: it was begun for no request
}

// transaction is what sessions need of one. Of the result of SendBatch only Close is called.
type transaction interface {
	Exec(ctx context.Context, text string, args ...any) (pgconn.CommandTag, error)
	Query(ctx context.Context, text string, args ...any) (pgx.Rows, error)
	SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults
}

// PgxRunner runs statements in the transaction of a caller, begun with pgx.
type PgxRunner struct {
	DB *DB
	Tx pgx.Tx
}

// SQLRunner runs statements in the transaction of a caller, begun with database/sql.
type SQLRunner struct {
	DB *DB
	Tx *sql.Tx
}

// One runs single statements, each in a transaction of its own.
type One struct{ DB *DB }

// Light is one for statements that only lock: nothing has to reach the disk before their answer.
type Light struct{ DB *DB }

// Run implements Runner.
func (o One) Run(ctx context.Context, name string, each func(Row) error, args ...any) error {
	return o.DB.Send(ctx, Statement{Name: name, Args: args, Each: each})
}

// Run implements Runner.
func (l Light) Run(ctx context.Context, name string, each func(Row) error, args ...any) error {
	return l.DB.Send(ctx, Statement{Name: "commit_lightly"}, Statement{Name: name, Args: args, Each: each})
}

// WaitAtMost is the statement after which no other of its transaction waits longer for a lock.
func WaitAtMost(limit time.Duration) Statement {
	return Statement{Name: "wait_at_most", Args: []any{fmt.Sprintf("%dms", limit.Milliseconds())}}
}

// Try runs f behind a savepoint, and waits for locks no longer than limit.
func (t Session) Try(ctx context.Context, limit time.Duration, f func(Session) error) error {
	if err := t.RunAll(ctx, []Statement{WaitAtMost(limit)}); err != nil {
		return err
	}
	return t.Attempt(ctx, f)
}

// SilenceInTx is how long a program may be silent in the middle of a transaction.
const SilenceInTx = "10s"

// LockTimeout is how long a statement waits for a lock.
const LockTimeout = "2s"

// prelude makes settings for one transaction. As the first statement of a pipeline it is in one
// implicit transaction with the others, which even a pooler in transaction mode keeps on one
// connection, and it leaves nothing behind.
func prelude(settings [][2]string) string {
	calls := make([]string, len(settings))
	for i, p := range settings {
		calls[i] = "set_config('" + p[0] + "', '" + p[1] + "', true)"
	}
	return "SELECT " + strings.Join(calls, ", ")
}

// scans are the planner's settings for what is read or moved as a whole.
var scans = [][2]string{
	{"jit", "off"},
	{"enable_seqscan", "on"},
	{"enable_bitmapscan", "on"},
	{"enable_hashjoin", "on"},
	{"enable_mergejoin", "on"},
	{"plan_cache_mode", "force_custom_plan"},
	{"lock_timeout", "0"},
}

// reads are those for questions: pinned, but for joins with what runs.
var reads = [][2]string{
	{"jit", "off"},
	{"max_parallel_workers_per_gather", "0"},
	{"enable_seqscan", "off"},
	{"enable_bitmapscan", "off"},
	{"enable_hashjoin", "on"},
	{"enable_mergejoin", "off"},
	{"plan_cache_mode", "force_generic_plan"},
}

const (
	begin    = "BEGIN ISOLATION LEVEL READ COMMITTED"
	snapshot = "BEGIN READ ONLY, ISOLATION LEVEL REPEATABLE READ"
)

// The ways to begin a transaction: with the pins, for reading in one snapshot, and for whole tables
// with or without writing.
var (
	BeginHot  = begin + ";" + setLocal(pins)
	BeginRead = snapshot + ";" + setLocal(reads)
	BeginScan = snapshot + ";" + setLocal(scans)
	BeginBulk = begin + ";" + setLocal(scans)
)

func setLocal(settings [][2]string) string {
	var b strings.Builder
	for _, p := range settings {
		b.WriteString(" SET LOCAL " + p[0] + " = '" + p[1] + "';")
	}
	return b.String()
}

// Send runs statements in one round trip and one transaction: all of them happen, or none.
func (d *DB) Send(ctx context.Context, list ...Statement) error {
	return d.denied(ctx, d.sendOnce(ctx, list))
}

func (d *DB) sendOnce(ctx context.Context, list []Statement) error {
	if d.IsClosed() {
		return ErrClosed
	}
	if store.RequestIn(ctx) != nil && asksAny(list) {
		return d.inOneTx(ctx, BeginHot, func(t Session) error { return t.Together(ctx, list...) })
	}
	return d.Conns.With(ctx, func(conn *pgx.Conn) error { return d.sendOn(ctx, conn, list) })
}

// SendSticky is Send for a kind of call.
func (d *DB) SendSticky(ctx context.Context, kind *Sticky, list ...Statement) error {
	if d.IsClosed() || store.RequestIn(ctx) != nil || !kind.take() {
		return d.Send(ctx, list...)
	}
	return d.denied(ctx, kind.with(ctx, func(conn *pgx.Conn) error { return d.sendOn(ctx, conn, list) }))
}

// sendOn is send on a connection.
func (d *DB) sendOn(ctx context.Context, conn *pgx.Conn, list []Statement) error {
	batch := &pgx.Batch{}
	if d.begins {
		batch.Queue(begin)
	}
	if d.prelude != "" {
		batch.Queue(d.prelude)
	}
	for _, st := range list {
		queued := batch.Queue(d.Text(st.Name), st.Args...)
		if st.Each != nil {
			queued.Query(func(rows pgx.Rows) error { return eachOf(rows, st.Each) })
		}
	}
	if d.begins {
		batch.Queue("COMMIT")
	}
	ctx, done := withGrace(ctx)
	defer done()
	err := conn.SendBatch(ctx, batch).Close()
	if err != nil && d.begins {
		_, _ = conn.Exec(ctx, "ROLLBACK") // or the connection would be of no use to the next one
	}
	return err
}

// grace is how long a transaction that was sent may go on after its caller gave up.
const grace = 2 * time.Second

// withGrace returns a context for a transaction that was begun in ctx: it ends a little later than
// ctx. Otherwise a caller that gives up would break the connection, and the server might commit
// without the caller learning of it. Nearly always the answer comes within the grace. If ctx has a
// deadline, that bounds the wait for a connection as before.
func withGrace(ctx context.Context) (context.Context, func()) {
	longer, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		timer := time.AfterFunc(grace, cancel)
		context.AfterFunc(longer, func() { timer.Stop() })
	})
	return longer, func() {
		stop()
		cancel()
	}
}

// Read asks questions in one round trip and one snapshot.
func (d *DB) Read(ctx context.Context, list ...Statement) error {
	if d.IsClosed() {
		return ErrClosed
	}
	batch := &pgx.Batch{}
	batch.Queue(snapshot)
	batch.Queue(readPrelude)
	for _, st := range list {
		batch.Queue(d.Text(st.Name), st.Args...).Query(func(rows pgx.Rows) error { return eachOf(rows, st.Each) })
	}
	batch.Queue("COMMIT")
	return d.denied(ctx, d.Conns.With(ctx, func(conn *pgx.Conn) error { return conn.SendBatch(ctx, batch).Close() }))
}

var readPrelude = prelude(reads)

func eachOf(rows pgx.Rows, each func(Row) error) error {
	defer rows.Close()
	for rows.Next() {
		if err := each(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// Run implements Runner.
func (t Session) Run(ctx context.Context, name string, each func(Row) error, args ...any) error {
	return t.Together(ctx, Statement{Name: name, Args: args, Each: each})
}

// Together runs statements one after the other; in a transaction of ours in one round trip.
func Together(ctx context.Context, t Runner, list ...Statement) error {
	if own, ok := t.(Session); ok {
		return own.Together(ctx, list...)
	}
	for _, st := range list {
		if err := st.On(ctx, t); err != nil {
			return err
		}
	}
	return nil
}

// RunAll runs statements one after the other.
func (t Session) RunAll(ctx context.Context, list []Statement) error {
	for _, st := range list {
		if err := t.Run(ctx, st.Name, st.Each, st.Args...); err != nil {
			return err
		}
	}
	return nil
}

// Together runs statements one after the other, in one round trip.
func (t Session) Together(ctx context.Context, list ...Statement) error {
	batch := t.DB.batch(list)
	if t.asked != nil {
		t.asked.listen(batch, list)
	}
	return t.Tx.SendBatch(ctx, batch).Close()
}

// Last runs statements and commits, in one round trip where that is possible. Nothing may come
// after it. An error does not say that nothing has happened: an Each of the statements may have
// failed after the commit, or the answer to that was lost.
func (t Session) Last(ctx context.Context, list ...Statement) error {
	if hot, ok := t.Tx.(*hotTx); ok && t.asked == nil {
		return hot.last(ctx, t.DB.batch(list))
	}
	return t.Together(ctx, list...)
}

// batch are statements for one round trip.
func (d *DB) batch(list []Statement) *pgx.Batch {
	batch := &pgx.Batch{}
	for _, st := range list {
		queued := batch.Queue(d.Text(st.Name), st.Args...)
		if st.Each != nil {
			queued.Query(func(rows pgx.Rows) error { return eachOf(rows, st.Each) })
		}
	}
	return batch
}

// Exec runs a script of several statements.
func (t Session) Exec(ctx context.Context, text string) error {
	_, err := t.Tx.Exec(ctx, text, pgx.QueryExecModeSimpleProtocol)
	return err
}

// Attempt runs f behind a savepoint, so that its failure leaves the transaction usable.
func (t Session) Attempt(ctx context.Context, f func(Session) error) error {
	if err := t.Exec(ctx, "SAVEPOINT attempt"); err != nil {
		return err
	}
	before := t.asked.isDone()
	if err := f(t); err != nil {
		t.asked.undo(before)
		return errors.Join(err, t.Exec(ctx, "ROLLBACK TO SAVEPOINT attempt; RELEASE SAVEPOINT attempt"))
	}
	return t.Exec(ctx, "RELEASE SAVEPOINT attempt")
}

func runPgx(ctx context.Context, tx interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
}, text string, each func(Row) error, args []any,
) error {
	if each == nil {
		_, err := tx.Exec(ctx, text, args...)
		return err
	}
	rows, err := tx.Query(ctx, text, args...)
	if err != nil {
		return err
	}
	return eachOf(rows, each)
}

// InTx runs f in a transaction of its own, begun with one of the begin texts.
func (d *DB) InTx(ctx context.Context, begin string, f func(Session) error) error {
	return d.denied(ctx, d.inOneTx(ctx, begin, f))
}

func (d *DB) inOneTx(ctx context.Context, begin string, f func(Session) error) error {
	if d.IsClosed() {
		return ErrClosed
	}
	within := func(tx transaction) error {
		t := Session{DB: d, Tx: tx, asked: ofRequest(ctx)}
		if err := f(t); err != nil {
			return err
		}
		return t.happens(ctx)
	}
	return d.Conns.With(ctx, func(conn *pgx.Conn) error {
		end, done := withGrace(ctx)
		defer done()
		if begin == BeginHot {
			return inHotTx(end, d.newHotTx(conn), func(hot *hotTx) error { return within(hot) })
		}
		tx, err := conn.BeginTx(end, pgx.TxOptions{BeginQuery: begin})
		if err != nil {
			return err
		}
		if err := within(tx); err != nil {
			// The first error is the one to tell. Nothing of the transaction happens, whatever the
			// second one is.
			_ = tx.Rollback(end)
			return err
		}
		return tx.Commit(end)
	})
}

// RetryOnConflict repeats an operation that PostgreSQL ended because two transactions were in each
// other's way. Nothing of it has happened then.
func RetryOnConflict(ctx context.Context, operation func() error) error {
	const times = 5
	for n := 1; ; n++ {
		err := operation()
		if n == times || !IsCollision(err) {
			return err
		}
		timer := time.NewTimer(time.Duration(n) * time.Duration(1+rand.IntN(5)) * time.Millisecond)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return errors.Join(ctx.Err(), err)
		}
	}
}

// portion is how many rows a statement looks at that is run in portions.
const portion = 1000

// InPortions runs a statement that looks at so many rows in the order of their ids, those after an
// id, and answers with the last id: in one transaction after the other, until it has looked at all.
func (d *DB) InPortions(ctx context.Context, after store.ID, statement func(after pgtype.UUID, limit int32) Statement) error {
	for {
		looked, from := false, UUIDOf(after)
		last := from
		err := RetryOnConflict(ctx, func() error {
			looked = false
			st := statement(from, portion)
			st.Each = func(r Row) error { looked = true; return r.Scan(&last) }
			return d.Send(ctx, st)
		})
		if err != nil || !looked {
			return err
		}
		after = last.Bytes
	}
}

// Run implements Runner.
func (t PgxRunner) Run(ctx context.Context, name string, each func(Row) error, args ...any) error {
	return ofCallers(runPgx(ctx, t.Tx, t.DB.Text(name), each, args))
}

// Run implements Runner.
func (t SQLRunner) Run(ctx context.Context, name string, each func(Row) error, args ...any) error {
	return ofCallers(t.run(ctx, name, each, args))
}

func (t SQLRunner) run(ctx context.Context, name string, each func(Row) error, args []any) error {
	if each == nil {
		_, err := t.Tx.ExecContext(ctx, t.DB.Text(name), args...)
		return err
	}
	rows, err := t.Tx.QueryContext(ctx, t.DB.Text(name), args...)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }() // what matters is in Err
	for rows.Next() {
		if err := each(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// pins are the planner's settings for statements on hot tables. Those tables are filled, emptied
// and filled again between two looks of the statistics collector, so a plan has to be right
// whatever the statistics say: every statement is written as nested loops over primary keys, and
// these settings leave the planner no other way.
//   - jit: a compilation takes 80 ms, and the estimates that trigger it are off by orders of magnitude here;
//   - parallel workers: they take all rows from a place on and sort them, to return the first few hundred;
//   - scans and joins: a plan made while a table was tiny, or a bitmap scan with a sort of a whole lane.
//
// lock_timeout bounds what one writer can wait for another, such as for a caller's transaction that
// holds a unique key. It is longer than PostgreSQL waits before it looks for a deadlock, which is
// then told apart and repeated.
var pins = [][2]string{
	{"jit", "off"},
	{"max_parallel_workers_per_gather", "0"},
	{"enable_seqscan", "off"},
	{"enable_bitmapscan", "off"},
	{"enable_hashjoin", "off"},
	{"enable_mergejoin", "off"},
	{"plan_cache_mode", "force_generic_plan"},
	{"lock_timeout", LockTimeout},
}

// vigils are settings of our connections by which the server gives up a program that has vanished,
// with its machine or its network: what it locked is free again then. Its own look at such
// connections would take hours. A client that is alive has no statement to think about.
var vigils = [][2]string{
	{"idle_in_transaction_session_timeout", SilenceInTx},
	{"tcp_keepalives_idle", "5"},
	{"tcp_keepalives_interval", "2"},
	{"tcp_keepalives_count", "3"},
	{"tcp_user_timeout", "12s"},
}
