package sqlite

import (
	"io/fs"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gofrs/flock"
	"zombiezen.com/go/sqlite"

	"github.com/holdfastdev/holdfast/store"
)

// Store is an open database. Use Config.Open.
type Store struct {
	config    Config
	path      string // the file, with links resolved
	temporary string // the directory to remove at Close, or ""

	writer  chan *conn // holds the write connection while nobody uses it
	readers chan *conn // holds Readers connections, nil for those not opened yet
	closed  chan struct{}
	close   sync.Once
	denied  error // ErrReadOnly, if this process may only look

	databaseID   string
	firstVersion int64 // of the data, when the store was opened

	place place
	lanes laneCache
	ends  endCache
	lives lifeLocks
	wakes untold

	portion    int64        // rows of one job that a transaction removes or copies
	queuesSeen atomic.Int64 // the last queue that Retain has looked at
}

// tx is one write transaction, ours or a caller's: where its statements run, and what it must settle before it commits.
type tx struct {
	session
	store *Store
	now   int64 // one time for the whole transaction

	own             *conn                             // the session, if it is ours
	lanes           knownLanes                        // that this transaction needed
	records         map[recordName]*claimRecord       // claim records that it read
	last            *claimRecord                      // of records, the one used last
	keys            []keyName                         // ordering keys that may have become free
	lined           map[store.ID]bool                 // new jobs with an ordering key
	tells           bool                              // the caller is told of woken
	woken           []store.Wake                      // queues in which a waiting job became available
	lines           rowBuffer[line]                   // entries of journals to be written
	ends            rowBuffer[end]                    // of runs, to be written
	jobs            rowBuffer[newJob]                 // to be inserted
	ready           rowBuffer[pointer]                // to be inserted
	ended           journalEnds                       // of the journals to which it wrote
	askedLeft, left bool                              // whether jobs that are not there have left rows
	promised        map[int64]map[string]store.Policy // of nodes, for a rescue
	starts          bool                              // jobs of the batch run at once
	started         []store.Claimed                   // that do
}

// session is where statements run: one of our connections, or a transaction of the caller's.
type session interface {
	// stmt returns a statement by name, ready to be bound. It belongs to the session: the same name returns the same
	// statement, so that two uses of one must not overlap. An error in it shows when it runs.
	stmt(name string) stmt
}

// stmt is a prepared statement. Parameters are bound and columns are read in order, each by the next call.
type stmt interface {
	bindInt(v int64)
	bindFloat(v float64)
	bindText(v string)
	bindBlob(v []byte)
	bindNull()

	// exec runs the statement to its end and returns how many rows it changed.
	exec() (changed int64, err error)
	// next steps to the next row. After false or an error the statement is ready to be bound again.
	next() (bool, error)
	// done drops the rows that were not read.
	done()

	readInt() int64
	readFloat() float64
	readText() string
	readBlob() []byte
	// readNull reports whether the next column is NULL, and then passes over it.
	readNull() bool
}

// conn is one connection with its prepared statements. This file is all that knows the driver, but for its error codes.
type conn struct {
	c     *sqlite.Conn
	stmts map[string]*nativeStmt
	ended journalEnds // empty; of the next transaction
}

// nativeStmt is a stmt of the driver's own interface: no boxing, no copies but those of SQLite.
type nativeStmt struct {
	conn       *sqlite.Conn
	s          *sqlite.Stmt
	broken     error
	param, col int
}

// ending is how a run ends, whoever ends it: its handler, its node that leaves, a rescue, or a person.
type ending struct {
	state     store.State
	reason    store.Reason
	err       string
	trace     string
	result    []byte
	codec     int // of the result
	startedAt time.Time
	// fingerprint of a run that failed its job.
	fingerprint int64
	runAt       int64 // of a job that goes on
	taken       bool  // somebody else than the run ends it

	wait     *store.Wait     // of a job that is parked
	pause    *request        // of a job that would go on, but is held because a person asked
	again    *store.Continue // of a job that starts over
	version  string          // of the kind, from now on
	durable  bool            // the job has a journal: it is given the chance to end itself
	children bool            // there are children to close, as the run knows

	cancelSeen bool  // the run had the chance to end itself because somebody asked to cancel the job
	uncounted  bool  // though it is Retryable
	due        int64 // set by goOn: when a job that waits for a time is due; 0: none
}

// end is the plain success of a run, of which nobody is told.
type end struct {
	o *store.Outcome
	r *claimRecord
}

// generation is where a job's memory begins.
type generation struct {
	first int64 // the Seq of the entry with which it last continued as new; 0 if it never did
	// sent is the number of the last row of its inbox that is forgotten. The Seqs of messages are
	// counted from there, from 1.
	sent int64
}

// addressee is what a message needs to know of the job that it is for.
type addressee struct {
	lane  int64
	runAt int64
	key   string      // the ordering key
	ended store.State // 0 while the job is not finished
	last  int64       // the row of its last message
	sent  int64       // that of the last one that is forgotten, from where Seqs count
	wait  *store.Wait // nil if it does not wait
}

// newJob is a job that is to be inserted.
type newJob struct {
	q             *store.Enqueue
	lane          *lane
	runAt         int64
	options, tags string
}

// line is an entry on its way into a journal.
type line struct {
	of *store.Append
	i  int
}

// journalEnd is the last entry that a lease has written. While the lease lives nobody else writes to the journal, or removes from it.
type journalEnd struct{ lease, seq int64 }

// journalEnds are the ends of journals that this process has written, so that what follows need not look whether it does.
type journalEnds map[store.ID]journalEnd

// endCache keeps the newest ends of journals: of runs that go on, and some that do not.
type endCache struct {
	mu         sync.Mutex
	young, old journalEnds
}

// pointer says where a job is to be put.
type pointer struct {
	id    store.ID
	lane  *lane
	key   string // the ordering key
	runAt int64
}

// pointerKey is a job's place in its lane.
type pointerKey struct {
	runAt int64
	id    store.ID
}

// body is a stored job with its lane. Times of a body that are compared are kept in microseconds as well.
type body struct {
	store.Job
	lane      *lane
	runAt     int64
	due       int64 // of its pointer in deferred, once that was found
	claimedAt int64 // of the last run that did not finish the job; 0 if the body does not know
	forked    bool  // it has a journal from the start
	closing   int64 // if it is closing: the entry with which that was decided
}

type request struct {
	at            int64
	reason, actor string
}

// requests are what people asked of a job, nil for what they did not.
type requests struct {
	cancel, pause *request
}

// recordName names a claim record.
type recordName struct{ node, seq int64 }

// claimRecord is one claimed batch: which jobs a node runs, and which of them are done.
type claimRecord struct {
	recordName
	exists    bool
	claimedAt int64
	done, all int64
	ids       []byte
	leases    []byte // nil: every lease number is 1
	changed   bool
}

type runningJob struct {
	lease     store.Lease
	claimedAt int64
}

// runningJobs finds where jobs run. It looks at all records once, however many jobs are asked for.
type runningJobs map[store.ID]runningJob

// lane is what a claim chooses by: the jobs of one kind and priority in one queue.
type lane struct {
	laneName
	id    int64
	queue int64 // the queue's id

	base, version string // of the kind
}

// laneName is what a lane stands for. The kind is "kind@version" for jobs that are bound to a version of it, as ClaimParams.Kinds says it.
type laneName struct {
	namespace, queueName, kind string
	priority                   int
}

// knownLanes are the lanes that one transaction has to do with.
type knownLanes struct {
	read  []*lane // or interned. They are known to others once the transaction has committed
	table laneTable

	last *lane // of used
	used map[laneName]*lane
}

// laneTable is a set of lanes.
type laneTable struct {
	byName map[laneName]*lane
	byID   map[int64]*lane
}

// laneCache knows what the ids of lanes stand for, which never changes, and which lanes there were.
// One that is not used any more may have been removed by now: whoever puts a job into a lane looks
// whether it is still there (see tx.lane). The lanes that were needed last are kept.
type laneCache struct {
	mu         sync.RWMutex
	young, old laneTable
}

// keyName is an ordering key: it orders the jobs of one queue.
type keyName struct {
	queue int64
	key   string
}

// deferredJob is a pointer in deferred.
type deferredJob struct {
	due  int64
	id   store.ID
	lane int64
	key  string
}

// untold are queues in which jobs became available, and the time at which the first is due, in
// transactions whose answer does not tell, such as a retry, a rescue or the end of children. Watch
// tells of them.
type untold struct {
	more chan struct{} // holds something when there are some

	mu    sync.Mutex
	wakes []store.Wake
}

// place is where the database was found when it was opened, and what was there. Somebody may delete
// the file, or put another one in its place, while it is open. SQLite does not notice: it goes on
// writing to a file that nobody will ever find again. The same is true of the log beside it, which
// holds the last commits, and of the index of the log, by which processes tell each other where it
// ends. SQLite itself replaces neither as long as somebody has the database open.
//
// So nothing is confirmed before the file and its log were seen to be in their place, after the
// commit. And nothing is begun, or read, if all of them were not seen there a moment ago.
type place struct {
	main, log, index placed

	gone atomic.Pointer[goneError] // once anything was seen to be gone
	seen atomic.Int64              // when all were seen in their place, in nanoseconds since epoch

	stat func(path string) (fs.FileInfo, error) // os.Stat, but in tests
}

// placed is a file that was there.
type placed struct {
	path string
	info fs.FileInfo
}

// lifeLocks are locks of the operating system that nodes hold as long as they live: one file for each, beside the
// database. The system releases the lock of a process that dies, however it dies.
//
//	no file            nothing is known; the heartbeat decides
//	the lock is taken  the node's process lives
//	the lock is free   the node is dead
type lifeLocks struct {
	dir  string
	like fs.FileInfo // the database, who may use which may use the locks

	mu   sync.Mutex
	held map[int64]*flock.Flock
}

// storedWait is what is kept of store.WaitInfo. Times are in microseconds, 0 for none.
type storedWait struct {
	Since  int64        `json:"since"`
	Until  int64        `json:"until,omitempty"`
	For    string       `json:"for,omitempty"`
	Reason store.Reason `json:"reason,omitempty"`
	Error  string       `json:"error,omitempty"`
}

// rowBuffer keeps rows of one table that are to be inserted: rowsAtOnce with one statement, and the
// last ones one by one.
type rowBuffer[T any] struct{ rows []T }
