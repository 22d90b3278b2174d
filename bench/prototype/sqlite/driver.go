package main

// conn is what the hot path needs of a driver: a connection with prepared statements it keeps.
type conn interface {
	script(sql string) error
	prepare(sql string) (stmt, error)
	close() error
}

// stmt is one prepared statement. Parameters count from 1, columns from 0. Bytes returned by colBytes are the caller's.
type stmt interface {
	bindInt(param int, v int64)
	bindBytes(param int, v []byte)
	bindText(param int, v string)
	step() (row bool, err error)
	colInt(col int) int64
	colBytes(col int) []byte
	colText(col int) string
	reset() error
}

var drivers = map[string]func(path string) (conn, error){
	"zombiezen": openZombiezen,
	"modernc":   openModernc,
	"ncruces":   openNcruces,
}
