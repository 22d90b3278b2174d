package pg

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
)

// DB is the connections to a database, the texts of the statements in its schema, and its clock.
type DB struct {
	Options

	Conns   Conns
	*Kinds  // of calls that keep a connection, never nil
	Texts   map[string]string
	prelude string // what pins plans for one pipeline, or "" if the connections do it
	begins  bool   // a pipeline begins its transaction, because the default isolation is another one

	offset    atomic.Int64              // microseconds that the database's clock is ahead of ours
	clockRead atomic.Pointer[time.Time] // when that was measured

	vital  vital
	lines  lines // of a pool of our own
	closed atomic.Bool
}

// Options are how a database is used.
type Options struct {
	SchemaName string           // that holds the tables
	NoSession  bool             // nothing that belongs to a session may be used
	Clock      func() time.Time // nil: the database's
}

// vital is a connection beside the pool for what must not wait until others are done: a node whose
// pool is busy is not dead. It is made when it is needed for the first time.
type vital struct {
	mu   sync.Mutex
	conn *pgx.Conn
}

// IsClosed reports whether everything has ended.
func (d *DB) IsClosed() bool { return d.closed.Load() }
