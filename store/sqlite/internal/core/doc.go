// Package core is an open database and its transactions: who has the write connection, what a
// transaction must write before it commits, and the rows that everything else is made of.
//
//	Database      the connections, and what is remembered between transactions
//	Tx            one transaction, ours or a caller's
//	Body          a job; Pointer says where it is to be put, a Lane what a claim chooses it by
//	ClaimRecord   which jobs a node runs, and which of them are done
//	KeyName       an ordering key, which orders the jobs of a queue
//	RowBuffer     rows that are to be inserted, many with one statement
//
// # How it writes
//
// SQLite has one writer by nature, so a Database has one write connection, handed from caller to
// caller, and each operation is one BEGIN IMMEDIATE … COMMIT on it with statements that stay
// prepared. A transaction that has the lock runs to its end whatever happens to the context of its
// caller; contexts bound the wait, and reads. Reads have connections of their own and see one
// snapshot each.
//
// # What is remembered
//
// Lanes, by name and by id: what an id stands for never changes, and ids are never used twice. A
// lane may be removed, though, so that it is looked up once in each transaction that puts a job
// into it: 0.6 µs. And the tails of journals that this process wrote, which are their last entries.
// Both take in what a transaction has found or written when it has committed, and not before.
//
// Ordering keys are handed on in the transaction that frees them or adds to them, by its end: Tx
// collects them, and what nodes are to be told of, which the answers say.
//
// # When it fails
//
// A transaction that fails is rolled back; nothing of it has happened, except that after a failed
// sync (ErrUnavailable) it is unknown. After each commit, and before its caller is told, the
// store looks whether file and log are still in their place, and fails with ErrDatabaseGone if they
// are not; so does everything else from then on. Transactions that callers commit themselves are
// looked after only when they begin; those of a Transactor like ours.
//
// # Locks
//
// The write connection is taken before anything else and given back last. Inside, LaneCache.mu,
// TailCache.mu and db.LifeLocks.mu are held for moments and never together. The order is: writer,
// then one of them.
//
// # Imports
//
// Of ours, store, internal/gcra and db.
package core
