package db

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"zombiezen.com/go/sqlite"

	"github.com/holdfastdev/holdfast/store"
)

// Session is where statements run: one of our connections, or a transaction of the caller's.
type Session interface {
	// Stmt returns a statement by name, ready to be bound. It belongs to the session: the same name
	// returns the same statement, so that two uses of one must not overlap. An error in it shows
	// when it runs.
	Stmt(name string) Stmt
}

// Stmt is a prepared statement. Parameters are bound and columns are read in order, each by the
// next call.
type Stmt interface {
	BindInt(v int64)
	BindFloat(v float64)
	BindText(v string)
	BindBlob(v []byte)
	BindNull()

	// Exec runs the statement to its end and returns how many rows it changed.
	Exec() (changed int64, err error)
	// Next steps to the next row. After false or an error the statement is ready to be bound again.
	Next() (bool, error)
	// Done drops the rows that were not read.
	Done()

	ReadInt() int64
	ReadFloat() float64
	ReadText() string
	ReadBlob() []byte
	// ReadNull reports whether the next column is NULL, and then passes over it.
	ReadNull() bool
}

// Conn is one connection with its prepared statements. This file is all that knows the driver, but
// for its error codes.
type Conn struct {
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

// OpenConn opens the file at path, which is created if create is set. One that this process may not
// write is opened to look at it.
func OpenConn(path string, create bool) (*Conn, error) {
	if denied := DeniesWrites(path); denied != nil {
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
	return &Conn{c: c, stmts: map[string]*nativeStmt{}}, nil
}

// Close closes the connection.
func (c *Conn) Close() error { return c.c.Close() }

// Interrupt makes what runs on the connection fail when done is closed; nil takes that back.
func (c *Conn) Interrupt(done <-chan struct{}) { c.c.SetInterrupt(done) }

// Script runs statements one after the other.
func (c *Conn) Script(text string) error {
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

// hasStatement reports whether text is more than comments. It does not look into strings: none of
// ours contains "--".
func hasStatement(text string) bool {
	for line := range strings.Lines(text) {
		code, _, _ := strings.Cut(line, "--")
		if strings.Trim(code, "; \t\r\n") != "" {
			return true
		}
	}
	return false
}

// One runs a statement that is not kept and returns its first column as text, or "" if it returns
// no row.
func (c *Conn) One(text string) (string, error) {
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

// VacuumInto writes a copy of the database, in one snapshot, into an empty file.
func (c *Conn) VacuumInto(path string) error {
	s, _, err := c.c.PrepareTransient("VACUUM INTO ?")
	if err != nil {
		return err
	}
	s.BindText(1, path)
	_, err = s.Step()
	return errors.Join(err, s.Finalize())
}

// Changes is how many rows the last statement has changed, though it failed.
func (c *Conn) Changes() int { return c.c.Changes() }

// Begin begins a transaction that reads.
func (c *Conn) Begin() error { return Exec(c.kept("begin", "BEGIN")) }

// BeginImmediate begins a transaction that writes.
func (c *Conn) BeginImmediate() error { return Exec(c.kept("begin immediate", "BEGIN IMMEDIATE")) }

// Commit commits the transaction.
func (c *Conn) Commit() error { return Exec(c.kept("commit", "COMMIT")) }

// Savepoint runs f so that nothing of it remains if it fails.
func (c *Conn) Savepoint(f func() error) (err error) {
	if err := Exec(c.kept("savepoint", "SAVEPOINT holdfast")); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, Exec(c.kept("rollback to", "ROLLBACK TO holdfast")))
		}
		err = errors.Join(err, Exec(c.kept("release", "RELEASE holdfast")))
	}()
	return f()
}

// Rollback ends a transaction if there is one: some errors, such as a full disk, have ended it
// already.
func (c *Conn) Rollback() {
	if !c.c.AutocommitEnabled() {
		// An error here leaves the connection as it was; the next BEGIN tells.
		_ = Exec(c.kept("rollback", "ROLLBACK"))
	}
}

// DataVersion changes when another connection has committed.
func (c *Conn) DataVersion() (int64, error) {
	s := c.kept("data version", "PRAGMA data_version")
	found, err := s.Next()
	if err != nil || !found {
		return 0, err
	}
	defer s.Done()
	return s.ReadInt(), nil
}

// Stmt implements session.
func (c *Conn) Stmt(name string) Stmt {
	if s, ok := c.stmts[name]; ok {
		return s
	}
	return c.kept(name, TextOf(name))
}

// Prepare prepares a statement and keeps it, unless it is wrong.
func (c *Conn) Prepare(name, text string) error { return c.kept(name, text).broken }

// kept returns the statement that is kept under name. A statement that cannot be prepared (its
// table is missing) fails when it runs, and is prepared again the next time.
func (c *Conn) kept(name, text string) *nativeStmt {
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

func (n *nativeStmt) BindInt(v int64) {
	if n.param++; n.broken == nil {
		n.s.BindInt64(n.param, v)
	}
}

func (n *nativeStmt) BindFloat(v float64) {
	if n.param++; n.broken == nil {
		n.s.BindFloat(n.param, v)
	}
}

func (n *nativeStmt) BindText(v string) {
	if n.param++; n.broken == nil {
		n.s.BindText(n.param, v)
	}
}

func (n *nativeStmt) BindBlob(v []byte) {
	if n.param++; n.broken == nil {
		n.s.BindBytes(n.param, v)
	}
}

func (n *nativeStmt) BindNull() {
	if n.param++; n.broken == nil {
		n.s.BindNull(n.param)
	}
}

func (n *nativeStmt) Exec() (int64, error) {
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

func (n *nativeStmt) Next() (bool, error) {
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

func (n *nativeStmt) Done() {
	if n.broken == nil {
		_ = n.s.Reset() // repeats the error of the last step, if any
	}
}

func (n *nativeStmt) ReadInt() int64 {
	n.col++
	return n.s.ColumnInt64(n.col - 1)
}

func (n *nativeStmt) ReadFloat() float64 {
	n.col++
	return n.s.ColumnFloat(n.col - 1)
}

func (n *nativeStmt) ReadText() string {
	n.col++
	return n.s.ColumnText(n.col - 1)
}

func (n *nativeStmt) ReadBlob() []byte {
	n.col++
	b := make([]byte, n.s.ColumnLen(n.col-1))
	n.s.ColumnBytes(n.col-1, b)
	return b
}

func (n *nativeStmt) ReadNull() bool {
	if n.s.ColumnIsNull(n.col) {
		n.col++
		return true
	}
	return false
}

// UseWAL switches the file to write-ahead logging, which it remembers. Readers then never block the
// writer.
func (c *Conn) UseWAL(ctx context.Context) error {
	return Patient(ctx, func() error {
		mode, err := c.One("PRAGMA journal_mode = WAL")
		if err == nil && mode != "wal" {
			return fmt.Errorf("%w: the file system does not support SQLite's write-ahead log (journal mode %s)", store.ErrInvalid, mode)
		}
		return err
	})
}

// OpenReader opens a connection that only reads.
func OpenReader(ctx context.Context, path string) (*Conn, error) {
	r, err := OpenConn(path, false)
	if err != nil {
		return nil, err
	}
	if err := Patient(ctx, func() error { return r.Script("PRAGMA query_only = ON; PRAGMA cache_size = -8192") }); err != nil {
		_ = r.Close()
		return nil, err
	}
	return r, nil
}

// DatabaseID tells databases apart.
func DatabaseID(q Session) (string, error) {
	s := q.Stmt("database_id")
	found, err := s.Next()
	if err != nil || !found {
		return "", Unexpected("database_id", err)
	}
	defer s.Done()
	return s.ReadText(), nil
}
