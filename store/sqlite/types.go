package sqlite

import (
	"sync"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// database is an open database: its connections, and what is remembered of it from one transaction to the next.
type database struct {
	path  string // the file, with links resolved
	clock func() time.Time

	writer  chan *link // holds the write connection while nobody uses it
	readers chan *link // holds Readers connections, nil for those not opened yet
	closed  chan struct{}
	denied  error // ErrReadOnly, if this process may only look

	id           string // tells databases apart
	firstVersion int64  // of the data, when it was opened

	place place
	lanes laneCache
	ends  endCache
	lives lifeLocks
	wakes untold

	portion int64 // rows of one job that a transaction removes or copies
}

// link is one of the connections, and what its next transaction begins with.
type link struct {
	*conn
	ended journalEnds // empty
}

// tx is one write transaction, ours or a caller's: where its statements run, and what it must settle before it commits.
type tx struct {
	session
	database *database
	now      int64 // one time for the whole transaction

	own             *link                             // the session, if it is ours
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

// end is the plain success of a run, of which nobody is told.
type end struct {
	o *store.Outcome
	r *claimRecord
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

// pointer says where a job is to be put.
type pointer struct {
	id    store.ID
	lane  *lane
	key   string // the ordering key
	runAt int64
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

// runningJob is where a job runs.
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
// whether it is still there (see Tx.Lane). The lanes that were needed last are kept.
type laneCache struct {
	mu         sync.RWMutex
	young, old laneTable
}

// keyName is an ordering key: it orders the jobs of one queue.
type keyName struct {
	queue int64
	key   string
}

// rowBuffer keeps rows of one table that are to be inserted: rowsAtOnce with one statement, and the
// last ones one by one.
type rowBuffer[T any] struct{ rows []T }
