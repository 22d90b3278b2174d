package sqlite

import (
	"context"
	"database/sql"
	"errors"

	"github.com/holdfastdev/holdfast/store"
)

// Conn is what the store needs of a caller's transaction: *sql.Tx, or a *sql.Conn on which the caller has begun one.
type Conn interface {
	PrepareContext(ctx context.Context, query string) (*sql.Stmt, error)
}

// Tx wraps a caller's transaction for EnqueueTx, SendTx and AppendTx. It must be on the same file as the store, with any SQLite driver for
// database/sql. Begin it as a writer (with modernc.org/sqlite: _txlock=immediate in the data source name): SQLite refuses the first write
// of a transaction that has read before, if somebody else wrote meanwhile.
//
// While the transaction is open after its first write, everybody else who writes to the file waits for it. Keep it short.
func Tx(c Conn) store.Tx { return &callersTx{Conn: c} }

type callersTx struct {
	Conn

	store *Store // that wrote something with it
}

// StoreName implements store.Tx.
func (*callersTx) StoreName() string { return storeName }

// confirm looks whether what a transaction has committed is in a database that others will find, if
// the store wrote some of it.
func (tx *callersTx) confirm() error {
	if tx.store == nil {
		return nil
	}
	return tx.store.place.confirm()
}

// EnqueueTx implements store.Writer. It fails with ErrInvalid if tx is on another database.
func (s *Store) EnqueueTx(ctx context.Context, wrapped store.Tx, enqueues []*store.Enqueue) error {
	return s.inCallers(ctx, "enqueue", wrapped, func(t *tx) error { return t.enqueueAll(enqueues) })
}

// inCallers runs f in a caller's transaction.
func (s *Store) inCallers(ctx context.Context, op string, wrapped store.Tx, f func(*tx) error) error {
	if err := s.usable(); err != nil {
		return classify(op, err)
	}
	theirs, ok := wrapped.(*callersTx)
	if !ok {
		return store.NotWrapped("sqlite.Tx")
	}
	session := &sqlSession{ctx: ctx, conn: theirs, stmts: map[string]*sqlStmt{}}
	defer session.close()
	// What it interns is not published: it may yet be rolled back.
	t := &tx{session: session, store: s, now: s.now()}
	theirs.store = s
	err := s.place.begin()
	id := ""
	if err == nil {
		id, err = databaseID(session)
	}
	if err == nil && id != s.databaseID {
		err = store.OtherDatabase()
	}
	if err == nil {
		err = f(t)
	}
	if err == nil {
		err = t.settle()
	}
	return classify(op+" in the caller's transaction", err)
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

// sqlSession runs statements in a caller's transaction through database/sql.
type sqlSession struct {
	ctx   context.Context // of the one call that the session serves
	conn  Conn
	stmts map[string]*sqlStmt
}

func (q *sqlSession) stmt(name string) stmt {
	if s, ok := q.stmts[name]; ok {
		return s
	}
	prepared, err := q.conn.PrepareContext(q.ctx, textOf(name))
	s := &sqlStmt{ctx: q.ctx, s: prepared, broken: err}
	q.stmts[name] = s
	return s
}

func (q *sqlSession) close() {
	for _, s := range q.stmts {
		if s.s != nil {
			_ = s.s.Close() // everything it did was checked
		}
	}
}

// sqlStmt is a stmt of database/sql.
type sqlStmt struct {
	ctx    context.Context
	s      *sql.Stmt
	broken error
	args   []any
	rows   *sql.Rows
	values []any
	col    int
}

func (s *sqlStmt) bindInt(v int64)     { s.args = append(s.args, v) }
func (s *sqlStmt) bindFloat(v float64) { s.args = append(s.args, v) }
func (s *sqlStmt) bindText(v string)   { s.args = append(s.args, v) }
func (s *sqlStmt) bindNull()           { s.args = append(s.args, nil) }

func (s *sqlStmt) bindBlob(v []byte) {
	if v == nil {
		v = []byte{} // drivers take a nil slice for NULL
	}
	s.args = append(s.args, v)
}

func (s *sqlStmt) exec() (changed int64, err error) {
	args := s.args
	s.args = nil
	if s.broken != nil {
		return 0, s.broken
	}
	var result sql.Result
	err = patient(s.ctx, func() (err error) {
		result, err = s.s.ExecContext(s.ctx, args...)
		return err
	})
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

func (s *sqlStmt) next() (bool, error) {
	if s.broken != nil {
		return false, s.broken
	}
	if s.rows == nil {
		args := s.args
		s.args = nil
		err := patient(s.ctx, func() (err error) {
			s.rows, err = s.s.QueryContext(s.ctx, args...) //nolint:rowserrcheck // checked below, when Next is false
			return err
		})
		if err != nil {
			return false, err
		}
		columns, err := s.rows.Columns()
		if err != nil {
			s.done()
			return false, err
		}
		s.values = make([]any, len(columns))
	}
	s.col = 0
	if !s.rows.Next() {
		err := errors.Join(s.rows.Err(), s.rows.Close())
		s.rows = nil
		return false, err
	}
	targets := make([]any, len(s.values))
	for i := range s.values {
		targets[i] = &s.values[i]
	}
	if err := s.rows.Scan(targets...); err != nil {
		s.done()
		return false, err
	}
	return true, nil
}

func (s *sqlStmt) done() {
	if s.rows != nil {
		_ = s.rows.Close() // the rows that mattered were read
		s.rows = nil
	}
}

func (s *sqlStmt) value() any {
	s.col++
	return s.values[s.col-1]
}

func (s *sqlStmt) readInt() int64 {
	v, _ := s.value().(int64)
	return v
}

func (s *sqlStmt) readFloat() float64 {
	v, _ := s.value().(float64)
	return v
}

// readText and readBlob take what the driver makes of the value: some return text as bytes.
func (s *sqlStmt) readText() string {
	switch v := s.value().(type) {
	case string:
		return v
	case []byte:
		return string(v)
	default:
		return ""
	}
}

func (s *sqlStmt) readBlob() []byte {
	switch v := s.value().(type) {
	case []byte:
		return v
	case string:
		return []byte(v)
	default:
		return nil
	}
}

func (s *sqlStmt) readNull() bool {
	if s.values[s.col] == nil {
		s.col++
		return true
	}
	return false
}
