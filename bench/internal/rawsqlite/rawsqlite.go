package rawsqlite

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"sync/atomic"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/holdfastdev/holdfast/bench/internal/system"
)

const claimBatch = 500

const schema = `
CREATE TABLE IF NOT EXISTS job (
	id       INTEGER PRIMARY KEY,
	queue    TEXT NOT NULL DEFAULT 'default',
	kind     TEXT NOT NULL,
	priority INTEGER NOT NULL DEFAULT 2,
	state    INTEGER NOT NULL DEFAULT 0,
	attempt  INTEGER NOT NULL DEFAULT 0,
	run_at   INTEGER NOT NULL DEFAULT (unixepoch()),
	args     BLOB NOT NULL
);
CREATE INDEX IF NOT EXISTS job_ready ON job (queue, priority, run_at, id) WHERE state = 0;
CREATE TABLE IF NOT EXISTS instance (
	id     INTEGER PRIMARY KEY,
	name   TEXT NOT NULL,
	state  INTEGER NOT NULL DEFAULT 0,
	input  BLOB NOT NULL,
	output BLOB
);
CREATE TABLE IF NOT EXISTS history (
	instance INTEGER NOT NULL,
	seq      INTEGER NOT NULL,
	kind     INTEGER NOT NULL DEFAULT 1,
	at       INTEGER NOT NULL DEFAULT (unixepoch()),
	data     BLOB NOT NULL,
	PRIMARY KEY (instance, seq)
) WITHOUT ROWID;`

var pragmas = []string{`PRAGMA journal_mode = WAL`, `PRAGMA synchronous = FULL`, `PRAGMA cache_size = -65536`}

// System is a ceiling.
type System struct {
	Label string
	Owner bool // of a lane, instead of claims
}

// Name is what the results call it.
func (s System) Name() string { return s.Label }

// Settings are the size of its batches.
func (s System) Settings(system.Database) map[string]string {
	return map[string]string{"batch": strconv.Itoa(claimBatch)}
}

// Open creates the tables and starts the writer.
func (s System) Open(_ context.Context, db system.Database, opts system.Options) (system.Client, error) {
	conn, err := sqlite.OpenConn(db.URL, sqlite.OpenReadWrite|sqlite.OpenCreate|sqlite.OpenWAL)
	if err != nil {
		return nil, err
	}
	for _, statement := range pragmas {
		err = errors.Join(err, sqlitex.ExecuteTransient(conn, statement, nil))
	}
	if err = errors.Join(err, sqlitex.ExecuteScript(conn, schema, nil)); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return &client{owner: s.Owner, steps: opts.Steps, writer: newWriter(conn)}, nil
}

type client struct {
	owner  bool
	steps  int
	writer *writer
	seq    atomic.Int64 // of instances
}

const insertSQL = `INSERT INTO job (kind, args) VALUES ('bench.noop', ?)`

func (c *client) Insert(ctx context.Context, args system.Args) error {
	return c.InsertMany(ctx, []system.Args{args})
}

func (c *client) InsertMany(ctx context.Context, args []system.Args) error {
	texts := make([][]byte, len(args))
	for i, a := range args {
		text, err := json.Marshal(a)
		if err != nil {
			return err
		}
		texts[i] = text
	}
	return c.writer.do(ctx, func(conn *sqlite.Conn) error {
		statement, err := conn.Prepare(insertSQL)
		for _, text := range texts {
			if err != nil {
				return err
			}
			statement.BindBytes(1, text)
			err = step(statement)
		}
		return err
	})
}

// step executes a statement that returns nothing.
func step(statement *sqlite.Stmt) error {
	_, err := statement.Step()
	return errors.Join(err, statement.Reset())
}

func (c *client) Settle(context.Context) error { return nil }

func (c *client) Left(ctx context.Context) (n int64, err error) {
	err = c.writer.do(ctx, func(conn *sqlite.Conn) error {
		n, err = sqlitex.ResultInt64(conn.Prep(`SELECT count(*) FROM job`))
		return err
	})
	return n, err
}

func (c *client) Close(context.Context) error { return c.writer.close() }

// Flow runs a durable function: each point is durable before the next.
func (c *client) Flow(ctx context.Context) error {
	id := c.seq.Add(1)
	err := c.point(ctx, `INSERT INTO instance (id, name, input) VALUES (?, 'bench.flow', ?)`, id, []byte(`{"n":1}`))
	for i := 0; i < c.steps && err == nil; i++ {
		err = c.point(ctx, `INSERT INTO history (instance, data, seq) VALUES (?, ?, ?)`, id, []byte(`{"result":1}`), int64(i))
	}
	if err != nil {
		return err
	}
	return c.point(ctx, `UPDATE instance SET state = 1, output = ?2 WHERE id = ?1`, id, []byte(`{}`))
}

func (c *client) point(ctx context.Context, sql string, instance int64, data []byte, more ...int64) error {
	return c.writer.do(ctx, func(conn *sqlite.Conn) error {
		statement, err := conn.Prepare(sql)
		if err != nil {
			return err
		}
		statement.BindInt64(1, instance)
		statement.BindBytes(2, data)
		for i, n := range more {
			statement.BindInt64(3+i, n)
		}
		return step(statement)
	})
}
