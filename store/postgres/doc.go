// Package postgres keeps jobs in PostgreSQL, 14 or newer. It is the store for more than one machine: nodes share nothing else.
//
// # What it promises
//
// Everything that package store says. Each operation is one transaction, at READ COMMITTED, and most are one round trip: the
// statements of a transaction are sent in one pipeline, which PostgreSQL runs as one implicit transaction. Readers see one
// snapshot and lock nothing.
//
// # How it writes
//
// The state of a job is where its pointer is; the tables are in migrations/0001_jobs.sql. On the way of a job that succeeds the body
// is inserted once and never changed. A claim deletes the pointers and writes one record for 60 jobs; completing adds a narrow
// row and sets bits in the record. That is about 780 bytes of log for a job of 63 bytes, from insert to completion.
//
// Statements on the hot path assume that all is well (every lease lives, every id is new) and fail as a whole if it is not;
// then nothing has happened, and the batch is done again the slow path, which asks first. Data that PostgreSQL refuses
// fails the operation that brought it, behind a savepoint, and nothing else of the batch.
//
// While any transaction of the server is long, nothing that dies can be cleared away, and scans of hot tables get longer with each row that
// was taken. So claims begin where the last one ended, which cursors.go tells about, and leave no versions of their node's row behind.
//
// # Who waits for whom
//
// Locks are taken in this order: lanes, rows of nodes, fences of journals, claim records, bodies, unique keys, pointers; and
// within one kind by key, so that writers do not meet crosswise. Where they do anyway PostgreSQL ends one of them, which is
// repeated by itself (patiently). Nobody waits longer than lock_timeout, two seconds.
//
// Transactions of callers stay open as long as they like, and hold bodies (SendTx, AppendTx), unique keys and ids (EnqueueTx). A
// batch waits 50 ms for the first such lock, and is then done again without the operations that need it: it asks which of the bodies can
// be had at this moment, and tries keys for 2 ms each, and for 50 ms in all (patience). The others are store.ErrBusy, and what was held is
// remembered (blocked). While such a transaction is known, bodies are asked for beforehand and keys are waited for no longer than 2 ms:
// the first thing that it holds costs a batch a wait, each further one next to nothing. Whatever takes jobs from their runs takes what it
// can have, and leaves the rest to the next time.
//
//   - A claim locks the row of its node, if that is alive, and then takes pointers, passing over those that others are taking. A batch
//     whose jobs start on a node locks its row before everything that is written under a lease, as a node that leaves does.
//   - Whatever is written under a lease locks the claim record first. A rescue marks the node dead, unless it is claiming or writing
//     journals at this moment, and then locks the records: a node that is slow, not dead, finds no record any more.
//   - An append shares the fence of its node, an advisory lock, which is taken alone by whoever marks the node dead or takes a job
//     from it: rows of journals have nothing of their own to lock. A step in a caller's transaction locks its job's body instead.
//   - Unique keys are inserted in the order of the keys, by both passes of an enqueue; those that were found held are tried by turns, and
//     too briefly to be in anybody's way.
//   - Lanes are interned in transactions of their own, never in a caller's, whose locks may live long.
//   - Turns of ordering keys are handed on by whoever frees or asks for one, after its commit, and by promotion. What is to be looked
//     at is written down in the same transaction as the reason for it (key_check), so that none is forgotten.
//
// # Plans
//
// The hot tables are filled and emptied faster than statistics are collected, and PostgreSQL keeps plans that it made
// while a table was tiny. So every hot statement is written as nested loops over primary keys, and the planner is left no
// other way (pins): by settings of our own connections, and on a caller's pool or behind a pooler by settings that live as long as the
// pipeline and leave nothing behind. TestHotPlans checks it.
//
// Jobs, finished jobs and attempts are partitioned by day, by the time in their ids. Retention drops whole days, and moves
// what outlives its day to the default partition. Every join with them is by id, row by row, so that all other days are pruned
// when the statement runs.
//
// # Wake-ups
//
// Watch listens on a connection of its own and reconnects by itself. It tests the connection with notifications to
// itself: a pooler in transaction mode accepts LISTEN and loses what comes, and only a test finds that out. As long as nothing
// is proven Traits().Wakeups is false, and nodes poll. Notify merges wake-ups of one queue to one in 5 ms, and sends them
// after the commit that they tell of; those of EnqueueTx are part of the caller's transaction.
//
// # Poolers
//
// Config.NoSession does without LISTEN, settings of connections, and named statements. A URL whose server refuses our settings, as
// PgBouncer does, is used like that by itself. Everything works, but each statement is planned each time: nothing to speak of for
// large batches, and up to 2 ms of CPU for a small one.
//
// # When it fails
//
// A program that vanishes, with its machine or its network, leaves connections behind whose locks live on. Ours have keepalives and a
// limit for being silent in the middle of a transaction (vigils), ten seconds, and so has the transaction of a step from its append
// to its commit; whoever finds that a dead node cannot be marked ends what has been silent for longer. Beats have a connection of their
// own (vital), so that no queue for the pool makes a node look dead.
//
// A connection that breaks is ErrUnavailable, and what was asked may have happened; callers repeat it, and what did happen is
// recognised: an enqueue by its id, a claim by its node and number, an outcome by the row that it left. A server that restarts is
// the same, several times. A standby is ErrReadOnly, a full disk ErrFull, a schema from the future ErrSchema, and what can
// never work ErrInvalid; classOf in errors.go is the table.
//
// Times that are compared with run times are the database's, told by the local clock and an offset that every beat
// measures. Beats, death and the leader lease are told by the database in the statement itself.
//
// # Mutexes
//
// local.LaneCache.mu, notifier.mu, cursors.mu, blocked.mu, vital.mu, door.mu and Store.lookedMu are held for moments. Nothing is taken
// under one of them but local.LaneCache.mu under cursors.mu.
//
// # Imports
//
// Package store, store/internal/sqltext, and pgx.
package postgres
