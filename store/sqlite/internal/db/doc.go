// Package db is the file: how it is reached, what may be asked of it, and whether it is still
// there.
//
//	Conn         a connection with statements that stay prepared
//	SQLSession   the same statements in a transaction of the caller's, through database/sql
//	Session      either of them, and Stmt a statement of it; sql/ has the texts of all, by name
//	Patient      waits for the process that has the file: SQLite has no queue for its locks
//	Classify     gives an error its class of package store
//	Place        where the file and its log were, and whether they still are
//	LifeLocks    locks of the operating system that tell which nodes live
//
// # Who has the file
//
// No caller sees "database is locked": a call that needs the file waits for it until its context
// ends, or 30 seconds if that has no deadline, and then gets ErrUnavailable.
//
// SQLite's locks on the file belong to the process: the system drops them when any code of the
// process closes any descriptor of the file. So nothing here opens the file but through SQLite.
//
// # Who may see it
//
// A file that is made has the mode 0600, for it holds args. Who may not write a file opens it with
// look.go: SQLite would make a log and an index to read it, of the mode of the database and of the
// reader's user, and the owner could write no more. Root gives what it makes to the owner, SQLite
// the log and this package the locks.
//
// # Which nodes live
//
// A node holds an operating system lock on a file beside the database (holdfast.db.nodes/ID.lock)
// as long as it lives. A lock that can be had says that its node was killed: rescue need not wait
// until it has been silent for long. A missing file says nothing, and those who watch the node
// decide.
//
// # When it fails
//
// A full disk is ErrFull, a file that cannot be written ErrReadOnly, one that is damaged or no
// database ErrInvalid. A file that was deleted or replaced while it is open is ErrDatabaseGone:
// place.go has the details. It costs two stats for each commit: 4 µs, a hundredth of a durable
// insert of one job (BenchmarkConfirm). A file that is overwritten in place, by cp, is not noticed.
//
// # Imports
//
// Of ours, store and store/internal/sqltext; the driver (zombiezen.com/go/sqlite, modernc's engine
// behind its native API, without cgo), which nothing else of ours imports, and a file lock. The
// driver was chosen by measurement: docs/performance.md, "The hot path alone".
package db
