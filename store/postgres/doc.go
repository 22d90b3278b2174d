// Package postgres keeps jobs in PostgreSQL, 14 or newer. It is the store for more than one
// machine: nodes share nothing else.
//
// URL, Pool and DB name a database for holdfast.Open; Config is the same with options, such as
// another schema. Tx and SQLTx wrap a transaction of the caller's own, of pgx and of database/sql,
// for EnqueueTx and SendTx; Begin and BeginSQL a database, for StepTx:
//
//	hf, err := holdfast.Open(ctx, postgres.URL("postgres://app@db/app"))
//	…
//	job, err := Receipt.EnqueueTx(ctx, hf, postgres.Tx(tx), id)
//
// # What it promises
//
// Everything that package store says. Each operation is one transaction, at READ COMMITTED, and
// most are one round trip: the statements of a transaction are sent in one pipeline, which
// PostgreSQL runs as one implicit transaction. Readers see one snapshot and lock nothing.
//
// # How it is built
//
// This package is the door: it has the configuration, opens the database, takes callers'
// transactions, names the operations, and gives their errors a class. What they do is in the
// packages of internal, each of which stands on those before it:
//
//   - pg: connections, statements and their texts (internal/pg/sql), the clock, and what PostgreSQL's errors mean;
//   - schema: the steps of the schema (internal/schema/migrations), and the partitions of the days;
//   - local: what one process remembers of the database (lanes, where claims begin) and hears of others (wake-ups);
//   - read: questions;
//   - claims: jobs are handed to nodes;
//   - write: what nodes and clients do all the time: batches, promotion, callers' transactions;
//   - operate: what people ask for, nodes that come and go, and what the leader does.
//
// The state of a job is where its pointer is; the tables are in
// internal/schema/migrations/0001_schema.sql.
//
// # From SQL
//
// The schema has a function, enqueue, for producers that are not this program: in the transaction
// of its caller it checks what package holdfast checks, and writes what EnqueueTx writes
// (internal/schema/migrations). Go and SQL are held against the same vectors, and against each
// other with random enqueues. Who changes what an enqueue writes, or what is refused, changes both.
//
// # Poolers
//
// Config.NoSession does without LISTEN, settings of connections, and named statements. A URL whose
// server refuses our settings, as PgBouncer does, is used like that by itself. Everything works,
// but each statement is planned each time: nothing to speak of for large batches, and up to 2 ms of
// CPU for a small one.
//
// # When it fails
//
// A connection that breaks is ErrUnavailable, and what was asked may have happened; callers repeat
// it, and what did happen is recognised: an enqueue by its id, a claim by its node and number, an
// outcome by the row that it left. A server that restarts is the same, several times. A standby is
// ErrReadOnly, a full disk ErrFull, a schema from the future ErrSchema, and what can never work
// ErrInvalid; classOf in internal/pg/classify.go is the table.
//
// # Imports
//
// Package store, the packages of internal, and pgx. They import package store,
// store/internal/sqltext, and pgx.
package postgres
