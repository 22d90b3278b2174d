package db

import (
	"context"
	"database/sql"
	"errors"
)

// Preparer is what is needed of a caller's transaction.
type Preparer interface {
	PrepareContext(ctx context.Context, query string) (*sql.Stmt, error)
}

// SQLSession runs statements in a caller's transaction through database/sql.
type SQLSession struct {
	ctx   context.Context // of the one call that the session serves
	conn  Preparer
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

// NewSession serves one call. It must be closed.
func NewSession(ctx context.Context, conn Preparer) *SQLSession {
	return &SQLSession{ctx: ctx, conn: conn, stmts: map[string]*sqlStmt{}}
}

// Stmt implements session.
func (q *SQLSession) Stmt(name string) Stmt {
	if s, ok := q.stmts[name]; ok {
		return s
	}
	prepared, err := q.conn.PrepareContext(q.ctx, TextOf(name))
	s := &sqlStmt{ctx: q.ctx, s: prepared, broken: err}
	q.stmts[name] = s
	return s
}

// Close closes the statements.
func (q *SQLSession) Close() {
	for _, s := range q.stmts {
		if s.s != nil {
			_ = s.s.Close() // everything it did was checked
		}
	}
}

func (s *sqlStmt) BindInt(v int64)     { s.args = append(s.args, v) }
func (s *sqlStmt) BindFloat(v float64) { s.args = append(s.args, v) }
func (s *sqlStmt) BindText(v string)   { s.args = append(s.args, v) }
func (s *sqlStmt) BindNull()           { s.args = append(s.args, nil) }

func (s *sqlStmt) BindBlob(v []byte) {
	if v == nil {
		v = []byte{} // drivers take a nil slice for NULL
	}
	s.args = append(s.args, v)
}

func (s *sqlStmt) Exec() (changed int64, err error) {
	args := s.args
	s.args = nil
	if s.broken != nil {
		return 0, s.broken
	}
	var result sql.Result
	err = Patient(s.ctx, func() (err error) {
		result, err = s.s.ExecContext(s.ctx, args...)
		return err
	})
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

func (s *sqlStmt) Next() (bool, error) {
	if s.broken != nil {
		return false, s.broken
	}
	if s.rows == nil {
		args := s.args
		s.args = nil
		err := Patient(s.ctx, func() (err error) {
			s.rows, err = s.s.QueryContext(s.ctx, args...) //nolint:rowserrcheck // checked below, when Next is false
			return err
		})
		if err != nil {
			return false, err
		}
		columns, err := s.rows.Columns()
		if err != nil {
			s.Done()
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
		s.Done()
		return false, err
	}
	return true, nil
}

func (s *sqlStmt) Done() {
	if s.rows != nil {
		_ = s.rows.Close() // the rows that mattered were read
		s.rows = nil
	}
}

func (s *sqlStmt) value() any {
	s.col++
	return s.values[s.col-1]
}

func (s *sqlStmt) ReadInt() int64 {
	v, _ := s.value().(int64)
	return v
}

func (s *sqlStmt) ReadFloat() float64 {
	v, _ := s.value().(float64)
	return v
}

// ReadText and ReadBlob take what the driver makes of the value: some return text as bytes.
func (s *sqlStmt) ReadText() string {
	switch v := s.value().(type) {
	case string:
		return v
	case []byte:
		return string(v)
	default:
		return ""
	}
}

func (s *sqlStmt) ReadBlob() []byte {
	switch v := s.value().(type) {
	case []byte:
		return v
	case string:
		return []byte(v)
	default:
		return nil
	}
}

func (s *sqlStmt) ReadNull() bool {
	if s.values[s.col] == nil {
		s.col++
		return true
	}
	return false
}
