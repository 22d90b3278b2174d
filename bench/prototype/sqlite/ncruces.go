package main

import "github.com/ncruces/go-sqlite3"

type ncrucesConn struct{ *sqlite3.Conn }

func openNcruces(path string) (conn, error) {
	c, err := sqlite3.Open(path)
	return ncrucesConn{c}, err
}

func (c ncrucesConn) script(sql string) error { return c.Exec(sql) }
func (c ncrucesConn) close() error            { return c.Close() }

func (c ncrucesConn) prepare(sql string) (stmt, error) {
	s, _, err := c.PrepareFlags(sql, sqlite3.PREPARE_PERSISTENT)
	return ncrucesStmt{s}, err
}

type ncrucesStmt struct{ s *sqlite3.Stmt }

func (s ncrucesStmt) bindInt(param int, v int64)    { must(s.s.BindInt64(param, v)) }
func (s ncrucesStmt) bindBytes(param int, v []byte) { must(s.s.BindBlob(param, v)) }
func (s ncrucesStmt) bindText(param int, v string)  { must(s.s.BindText(param, v)) }
func (s ncrucesStmt) step() (bool, error)           { return s.s.Step(), s.s.Err() }
func (s ncrucesStmt) colInt(col int) int64          { return s.s.ColumnInt64(col) }
func (s ncrucesStmt) colBytes(col int) []byte       { return s.s.ColumnBlob(col, nil) }
func (s ncrucesStmt) colText(col int) string        { return s.s.ColumnText(col) }
func (s ncrucesStmt) reset() error                  { return s.s.Reset() }
