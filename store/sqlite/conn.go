package sqlite

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"zombiezen.com/go/sqlite"

	"github.com/holdfastdev/holdfast/store"
)

// session is where statements run: one of our connections, or a transaction of the caller's.
type session interface {
	// stmt returns a statement by name, ready to be bound. It belongs to the session: the same name returns the same
	// statement, so that two uses of one must not overlap. An error in it shows when it runs.
	stmt(name string) stmt
}

// stmt is a prepared statement. Parameters are bound and columns are read in order, each by the next call.
type stmt interface {
	bindInt(v int64)
	bindFloat(v float64)
	bindText(v string)
	bindBlob(v []byte)
	bindNull()

	// exec runs the statement to its end and returns how many rows it changed.
	exec() (changed int64, err error)
	// next steps to the next row. After false or an error the statement is ready to be bound again.
	next() (bool, error)
	// done drops the rows that were not read.
	done()

	readInt() int64
	readFloat() float64
	readText() string
	readBlob() []byte
	// readNull reports whether the next column is NULL, and then passes over it.
	readNull() bool
}

// conn is one connection with its prepared statements. This file is all that knows the driver, but for its error codes.
type conn struct {
	c     *sqlite.Conn
	stmts map[string]*nativeStmt
}

// nativeStmt is a stmt of the driver's own interface: no boxing, no copies but those of SQLite.
type nativeStmt struct {
	conn       *sqlite.Conn
	s          *sqlite.Stmt
	broken     error
	param, col int
}

// openConn opens the file at path, which is created if create is set. One that this process may not
// write is opened to look at it.
func openConn(path string, create bool) (*conn, error) {
	if denied := deniesWrites(path); denied != nil {
		return openLooking(path, denied)
	}
	flags := sqlite.OpenReadWrite
	if create {
		flags |= sqlite.OpenCreate
	}
	c, err := sqlite.OpenConn(path, flags)
	if err != nil {
		return nil, err
	}
	c.SetBusyTimeout(0) // waiting is done in busy.go, where it can be interrupted
	return &conn{c: c, stmts: map[string]*nativeStmt{}}, nil
}

// close closes the connection.
func (c *conn) close() error { return c.c.Close() }

// interrupt makes what runs on the connection fail when done is closed; nil takes that back.
func (c *conn) interrupt(done <-chan struct{}) { c.c.SetInterrupt(done) }

// script runs statements one after the other.
func (c *conn) script(text string) error {
	for hasStatement(text) {
		s, rest, err := c.c.PrepareTransient(text)
		if err != nil {
			return err
		}
		_, err = s.Step()
		if err := errors.Join(err, s.Finalize()); err != nil {
			return err
		}
		text = text[len(text)-rest:]
	}
	return nil
}

// hasStatement reports whether text is more than comments. It does not look into strings: none of ours contains "--".
func hasStatement(text string) bool {
	for line := range strings.Lines(text) {
		code, _, _ := strings.Cut(line, "--")
		if strings.Trim(code, "; \t\r\n") != "" {
			return true
		}
	}
	return false
}

// one runs a statement that is not kept and returns its first column as text, or "" if it returns no row.
func (c *conn) one(text string) (string, error) {
	s, _, err := c.c.PrepareTransient(text)
	if err != nil {
		return "", err
	}
	value := ""
	row, err := s.Step()
	if row {
		value = s.ColumnText(0)
	}
	return value, errors.Join(err, s.Finalize())
}

// changes is how many rows the last statement has changed, though it failed.
func (c *conn) changes() int { return c.c.Changes() }

// begin begins a transaction that reads.
func (c *conn) begin() error { return exec(c.kept("begin", "BEGIN")) }

// beginImmediate begins a transaction that writes.
func (c *conn) beginImmediate() error { return exec(c.kept("begin immediate", "BEGIN IMMEDIATE")) }

// commit commits the transaction.
func (c *conn) commit() error { return exec(c.kept("commit", "COMMIT")) }

// savepoint runs f so that nothing of it remains if it fails.
func (c *conn) savepoint(f func() error) (err error) {
	if err := exec(c.kept("savepoint", "SAVEPOINT holdfast")); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, exec(c.kept("rollback to", "ROLLBACK TO holdfast")))
		}
		err = errors.Join(err, exec(c.kept("release", "RELEASE holdfast")))
	}()
	return f()
}

// rollback ends a transaction if there is one: some errors, such as a full disk, have ended it already.
func (c *conn) rollback() {
	if !c.c.AutocommitEnabled() {
		// An error here leaves the connection as it was; the next BEGIN tells.
		_ = exec(c.kept("rollback", "ROLLBACK"))
	}
}

// dataVersion changes when another connection has committed.
func (c *conn) dataVersion() (int64, error) {
	s := c.kept("data version", "PRAGMA data_version")
	found, err := s.next()
	if err != nil || !found {
		return 0, err
	}
	defer s.done()
	return s.readInt(), nil
}

// stmt implements session.
func (c *conn) stmt(name string) stmt {
	if s, ok := c.stmts[name]; ok {
		return s
	}
	return c.kept(name, textOf(name))
}

// prepare prepares a statement and keeps it, unless it is wrong.
func (c *conn) prepare(name, text string) error { return c.kept(name, text).broken }

// kept returns the statement that is kept under name. A statement that cannot be prepared (its table is missing) fails when it
// runs, and is prepared again the next time.
func (c *conn) kept(name, text string) *nativeStmt {
	if s, ok := c.stmts[name]; ok {
		return s
	}
	prepared, err := c.c.Prepare(text)
	if err != nil {
		return &nativeStmt{conn: c.c, broken: fmt.Errorf("%s: %w", name, err)}
	}
	s := &nativeStmt{conn: c.c, s: prepared}
	c.stmts[name] = s
	return s
}

func (n *nativeStmt) bindInt(v int64) {
	if n.param++; n.broken == nil {
		n.s.BindInt64(n.param, v)
	}
}

func (n *nativeStmt) bindFloat(v float64) {
	if n.param++; n.broken == nil {
		n.s.BindFloat(n.param, v)
	}
}

func (n *nativeStmt) bindText(v string) {
	if n.param++; n.broken == nil {
		n.s.BindText(n.param, v)
	}
}

func (n *nativeStmt) bindBlob(v []byte) {
	if n.param++; n.broken == nil {
		n.s.BindBytes(n.param, v)
	}
}

func (n *nativeStmt) bindNull() {
	if n.param++; n.broken == nil {
		n.s.BindNull(n.param)
	}
}

func (n *nativeStmt) exec() (int64, error) {
	n.param = 0
	if n.broken != nil {
		return 0, n.broken
	}
	if _, err := n.s.Step(); err != nil {
		return 0, err
	}
	changed := int64(n.conn.Changes())
	return changed, n.s.Reset()
}

func (n *nativeStmt) next() (bool, error) {
	n.param, n.col = 0, 0
	if n.broken != nil {
		return false, n.broken
	}
	row, err := n.s.Step()
	if err != nil {
		return false, err
	}
	if !row {
		return false, n.s.Reset()
	}
	return true, nil
}

func (n *nativeStmt) done() {
	if n.broken == nil {
		_ = n.s.Reset() // repeats the error of the last step, if any
	}
}

func (n *nativeStmt) readInt() int64 {
	n.col++
	return n.s.ColumnInt64(n.col - 1)
}

func (n *nativeStmt) readFloat() float64 {
	n.col++
	return n.s.ColumnFloat(n.col - 1)
}

func (n *nativeStmt) readText() string {
	n.col++
	return n.s.ColumnText(n.col - 1)
}

func (n *nativeStmt) readBlob() []byte {
	n.col++
	b := make([]byte, n.s.ColumnLen(n.col-1))
	n.s.ColumnBytes(n.col-1, b)
	return b
}

func (n *nativeStmt) readNull() bool {
	if n.s.ColumnIsNull(n.col) {
		n.col++
		return true
	}
	return false
}

// useWAL switches the file to write-ahead logging, which it remembers. Readers then never block the writer.
func (c *conn) useWAL(ctx context.Context) error {
	return patient(ctx, func() error {
		mode, err := c.one("PRAGMA journal_mode = WAL")
		if err == nil && mode != "wal" {
			return fmt.Errorf("%w: the file system does not support SQLite's write-ahead log (journal mode %s)", store.ErrInvalid, mode)
		}
		return err
	})
}

// openReader opens a connection that only reads.
func openReader(ctx context.Context, path string) (*conn, error) {
	r, err := openConn(path, false)
	if err != nil {
		return nil, err
	}
	if err := patient(ctx, func() error { return r.script("PRAGMA query_only = ON; PRAGMA cache_size = -8192") }); err != nil {
		_ = r.close()
		return nil, err
	}
	return r, nil
}

// databaseID tells databases apart.
func databaseID(q session) (string, error) {
	s := q.stmt("database_id")
	found, err := s.next()
	if err != nil || !found {
		return "", unexpected("database_id", err)
	}
	defer s.done()
	return s.readText(), nil
}
