// Package sqlite keeps jobs in one SQLite file, in the process that uses them. It is the store to start with, and
// enough for one machine: any number of goroutines and several processes may share a file.
//
// # What it promises
//
// Everything that package store says, with commits that are durable against power loss (synchronous=FULL; Normal is
// the option that gives up the last commits on a power loss, never consistency). Readers never block writers. No caller sees
// "database is locked": whoever needs the file waits for it until its context ends, or 30 seconds if that has no deadline,
// and then gets ErrUnavailable.
//
// # How it writes
//
// SQLite has one writer by nature, so a Store has one write connection, handed from caller to caller, and each operation is one
// BEGIN IMMEDIATE … COMMIT on it with statements that stay prepared. A transaction that has the lock runs to its end whatever
// happens to the context of its caller; contexts bound the wait, and reads. That there is one writer is used throughout: a claim
// reads the heads of the lanes and then deletes them by range, an end of a run reads its claim record and writes what it decided.
//
// Reads have connections of their own and see one snapshot each.
//
// # How it differs from the schema that the stores share
//
// Ordering keys are handed on in the transaction that frees them or adds to them, not by a later
// pass: the file has one write lock anyway, so nothing is won by waiting, and there is no table of
// keys to look at. Batch.Woken tells of a turn that was handed on; where an answer has no place for
// that, as that of a rescue, Watch does. A finished row of a job that completed does not repeat
// lane and attempt, so that completing reads no body. A claim record holds lease numbers where they
// are not all 1.
//
// Nobody but a caller's own transaction keeps others from writing, and it keeps everybody: there is
// no ErrBusy here, and AwaitTx need only get the write lock once.
//
// # What is remembered and waited for
//
// A step of a durable function is one insert into the journal: the fence is the claim record, which a transaction reads once for all
// that it holds, and the insert itself finds a number that is taken or leaves a gap. A park writes the pointer of a waiting job,
// which says all that wakes it; a message reads its job, that pointer and the last message in one statement, adds itself, and moves
// the pointer if it must. There is one writer, so that no message slips between the look of a park and its pointer. The lane of a
// job that is bound to a version of its kind is that of the kind "kind@version", so that a claim knows nothing of versions.
//
// A job that is held has its pointer at the end of time, while its body keeps its run time; all other pointers are where the body says.
//
// # Other processes
//
// Watch looks at PRAGMA data_version on the write connection: it changes with every commit but those of this very
// connection, which is what a wake-up should tell. It cannot tell what changed, so each wake-up is a WakeAll.
//
// A node holds an operating system lock on a file beside the database (holdfast.db.nodes/ID.lock)
// as long as it lives. A lock that can be had says that its node was killed: rescue need not wait
// until it has been silent for long. A missing file says nothing, and those who watch the node
// decide.
//
// The clock is that of each process, and may be set. Who is dead is told by others than the store;
// a leader lease that ends later than it was ever long is over; and what lies in ready is claimed,
// whatever the clock says of its run time: somebody has found it due. Only what is deferred waits
// until the clock has caught up.
//
// # What goes
//
// Retain removes jobs, records of what people did, and the lanes and queues that nobody uses any
// more; retire.go says how it knows. What a process remembers of lanes is therefore looked up once
// in each transaction that puts a job into one: 0.6 µs. Ids of lanes and queues are never used
// twice.
//
// # When the file goes
//
// SQLite does not notice that its file, or the log beside it, was deleted or replaced while it is
// open: it would go on to confirm what nobody will ever find. So after each commit, and before its
// caller is told, the store looks whether both are still in their place, and fails with
// ErrDatabaseGone if they are not; so does everything else from then on. Transactions that callers
// commit themselves are looked after only when they begin; those of a Transactor like ours.
// place.go has the details. It costs two stats for each commit: 4 µs, a hundredth of a durable
// insert of one job (BenchmarkConfirm). A file that is overwritten in place, by cp, is not noticed.
//
// SQLite's locks on the file belong to the process: the system drops them when any code of the process closes any descriptor of the
// file. So this package never opens the file but through SQLite, and neither should the program: no os.Open of a live database, and no
// second copy of the SQLite library (cgo, ncruces) on the same file in one process. modernc.org/sqlite is the copy that we use,
// and may be used beside it.
//
// # Who may see it
//
// A file that is made has the mode 0600, for it holds args. Who may not write a file opens it with
// look.go: SQLite would make a log and an index to read it, of the mode of the database and of the
// reader's user, and the owner could write no more. Root gives what it makes to the owner, SQLite
// the log and this package the locks.
//
// # When it fails
//
// A transaction that fails is rolled back; nothing of it has happened, except that after a failed sync (ErrUnavailable)
// nobody can know. A full disk is ErrFull, and goes on when there is room. A file that cannot be written is ErrReadOnly,
// a schema from the future ErrSchema, and a file that is damaged or no database ErrInvalid: retrying helps none of them.
//
// # Locks
//
// The write connection is taken before anything else and given back last. Inside, laneCache.mu,
// endCache.mu, lifeLocks.mu and untold.mu are held for moments and never together. The order is:
// writer, then one of them.
//
// # Imports
//
// Package store, store/internal/sqltext, the driver (zombiezen.com/go/sqlite, modernc's engine
// behind its native API, without cgo), and a file lock. The driver was chosen by measurement:
// docs/performance.md, "The hot path alone".
package sqlite
