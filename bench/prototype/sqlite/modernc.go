package main

import (
	"context"
	"database/sql"
	"errors"

	_ "modernc.org/sqlite"
)

// moderncConn keeps one connection of a database/sql pool.
type moderncConn struct {
	db *sql.DB
	c  *sql.Conn
}

func openModernc(path string) (conn, error) {
	db, err := sql.Open("sqlite", path)
	if err != nil {
		return nil, err
	}
	c, err := db.Conn(context.Background())
	return moderncConn{db, c}, err
}

func (c moderncConn) script(sql string) error {
	_, err := c.c.ExecContext(context.Background(), sql)
	return err
}

func (c moderncConn) close() error { return errors.Join(c.c.Close(), c.db.Close()) }

func (c moderncConn) prepare(text string) (stmt, error) {
	s, err := c.c.PrepareContext(context.Background(), text)
	if err != nil {
		return nil, err
	}
	return &moderncStmt{s: s, query: returnsRows(text)}, nil
}

// moderncStmt collects the parameters and decides by the text whether it queries or executes: what a program with
// database/sql does by hand.
type moderncStmt struct {
	s     *sql.Stmt
	query bool
	args  []any
	rows  *sql.Rows
	row   []any
	ptrs  []any
}

func (s *moderncStmt) bind(param int, v any) {
	for len(s.args) < param {
		s.args = append(s.args, nil)
	}
	s.args[param-1] = v
}

func (s *moderncStmt) bindInt(param int, v int64)    { s.bind(param, v) }
func (s *moderncStmt) bindBytes(param int, v []byte) { s.bind(param, v) }
func (s *moderncStmt) bindText(param int, v string)  { s.bind(param, v) }

func (s *moderncStmt) step() (bool, error) {
	if !s.query {
		_, err := s.s.Exec(s.args...)
		return false, err
	}
	if s.rows == nil {
		rows, err := s.s.Query(s.args...)
		if err != nil {
			return false, err
		}
		columns, err := rows.Columns()
		if err != nil {
			return false, err
		}
		s.rows = rows
		if s.row == nil {
			s.row, s.ptrs = make([]any, len(columns)), make([]any, len(columns))
			for i := range s.row {
				s.ptrs[i] = &s.row[i]
			}
		}
	}
	if !s.rows.Next() {
		return false, s.rows.Err()
	}
	return true, s.rows.Scan(s.ptrs...)
}

func (s *moderncStmt) colInt(col int) int64 { v, _ := s.row[col].(int64); return v }

func (s *moderncStmt) colBytes(col int) []byte { v, _ := s.row[col].([]byte); return v }

func (s *moderncStmt) colText(col int) string { v, _ := s.row[col].(string); return v }

func (s *moderncStmt) reset() error {
	if s.rows == nil {
		return nil
	}
	err := s.rows.Close()
	s.rows = nil
	return err
}
