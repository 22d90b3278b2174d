package sqlite

import (
	"context"
	"database/sql"
	"errors"
)

// preparer is what is needed of a caller's transaction.
type preparer interface {
	PrepareContext(ctx context.Context, query string) (*sql.Stmt, error)
}

// sqlSession runs statements in a caller's transaction through database/sql.
type sqlSession struct {
	ctx   context.Context // of the one call that the session serves
	conn  preparer
	stmts map[string]*sqlStmt
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

// newSQLSession serves one call. It must be closed.
func newSQLSession(ctx context.Context, conn preparer) *sqlSession {
	return &sqlSession{ctx: ctx, conn: conn, stmts: map[string]*sqlStmt{}}
}

// stmt implements session.
func (q *sqlSession) stmt(name string) stmt {
	if s, ok := q.stmts[name]; ok {
		return s
	}
	prepared, err := q.conn.PrepareContext(q.ctx, textOf(name))
	s := &sqlStmt{ctx: q.ctx, s: prepared, broken: err}
	q.stmts[name] = s
	return s
}

// close closes the statements.
func (q *sqlSession) close() {
	for _, s := range q.stmts {
		if s.s != nil {
			_ = s.s.Close() // everything it did was checked
		}
	}
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
