package main

import (
	"errors"
	"strings"

	"zombiezen.com/go/sqlite"
)

type zombiezenConn struct{ *sqlite.Conn }

func openZombiezen(path string) (conn, error) {
	c, err := sqlite.OpenConn(path, sqlite.OpenReadWrite|sqlite.OpenCreate)
	return zombiezenConn{c}, err
}

func (c zombiezenConn) close() error { return c.Close() }

// script runs one statement after the other; sqlitex would put them into a savepoint, where journal_mode cannot change.
func (c zombiezenConn) script(sql string) error {
	for strings.Trim(sql, "; \n\t") != "" {
		s, rest, err := c.PrepareTransient(sql)
		if err != nil {
			return err
		}
		sql = sql[len(sql)-rest:]
		_, err = s.Step()
		if err := errors.Join(err, s.Finalize()); err != nil {
			return err
		}
	}
	return nil
}

func (c zombiezenConn) prepare(sql string) (stmt, error) {
	s, err := c.Prepare(sql)
	return zombiezenStmt{s}, err
}

type zombiezenStmt struct{ s *sqlite.Stmt }

func (s zombiezenStmt) bindInt(param int, v int64)    { s.s.BindInt64(param, v) }
func (s zombiezenStmt) bindBytes(param int, v []byte) { s.s.BindBytes(param, v) }
func (s zombiezenStmt) bindText(param int, v string)  { s.s.BindText(param, v) }
func (s zombiezenStmt) step() (bool, error)           { return s.s.Step() }
func (s zombiezenStmt) colInt(col int) int64          { return s.s.ColumnInt64(col) }
func (s zombiezenStmt) colText(col int) string        { return s.s.ColumnText(col) }
func (s zombiezenStmt) reset() error                  { return s.s.Reset() }

func (s zombiezenStmt) colBytes(col int) []byte {
	b := make([]byte, s.s.ColumnLen(col))
	s.s.ColumnBytes(col, b)
	return b
}
