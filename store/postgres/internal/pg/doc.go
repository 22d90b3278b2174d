// Package pg is PostgreSQL as the other packages of the store use it: connections, sessions,
// statements by name, the clock of the database, how values stand in rows, and what errors mean. It
// knows no operation.
//
// # What it promises
//
// Send runs statements in one round trip and one transaction, Read asks questions in one snapshot,
// and InTx is a session in which one step depends on the one before. RetryOnConflict repeats what
// PostgreSQL ended because two transactions were in each other's way. No statement waits for a lock
// longer than lock_timeout, two seconds, and a transaction that was sent may go on for a moment
// after its caller gave up, so that the caller learns of its end.
//
// The texts of all statements stand in sql/*.sql, which store/internal/sqltext explains. They are
// put into a schema once, when a database is opened.
//
// # Connections
//
// The connections are those of a pool of pgx, or of a pool of database/sql with pgx's driver, which
// has a connection of pgx inside each of its own (Conns). So pipelines and prepared statements are
// the same in both. What must not wait for the pool opens a connection beside it (Beside). Claims,
// calls for slots and batches of writes go by one connection each while they follow each other
// (Sticky), as each connection plans a statement for itself. What is kept and not used goes back
// when the pool has no other.
//
// # Plans
//
// The hot tables are filled and emptied faster than statistics are collected, and PostgreSQL keeps
// plans that it made while a table was tiny. So every hot statement is written as nested loops over
// primary keys, and the planner is left no other way (pins): by settings of our own connections,
// and on a caller's pool or behind a pooler by settings that live as long as the pipeline and leave
// nothing behind. TestHotPlans checks it.
//
// # Clock
//
// Times that are compared with run times are the database's, told by the local clock and an offset
// that every beat measures. Beats, death and the leader lease are told by the database in the
// statement itself.
//
// # When it fails
//
// A program that vanishes, with its machine or its network, leaves connections behind whose locks
// live on. Ours have keepalives and a limit for being silent in the middle of a transaction
// (vigils), ten seconds. Beats have a connection of their own (vital), so that no queue for the
// pool makes a node look dead. Errors are those of pgx until Classify gives them a class.
//
// # Mutexes
//
// vital.mu is held while the connection of beats is made and used, by beats alone. The mutex of a
// Sticky is held during a call; another one that meets it goes by any connection of the pool.
//
// # Imports
//
// Package store, store/internal/sqltext, and pgx.
package pg
