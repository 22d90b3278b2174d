package core

import (
	"sync"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/db"
)

// Database is an open database: its connections, and what is remembered of it from one transaction
// to the next.
type Database struct {
	Path  string // the file, with links resolved
	clock func() time.Time

	writer  chan *Link // holds the write connection while it is free
	readers chan *Link // holds Readers connections, nil for those not opened yet
	closed  chan struct{}
	denied  error // ErrReadOnly, if this process may only look

	id           string // tells databases apart
	FirstVersion int64  // of the data, when it was opened

	Place db.Place
	Own   OwnWrites
	Lanes LaneCache
	Tails TailCache
	Lives db.LifeLocks
	Sweep GateSweep // used by who has the writer
	Taken int       // about how many jobs of a lane the larger ones of the last claims took; used by who has the writer

	Portion int64 // rows of one job that a transaction removes or copies
}

// Link is one of the connections, and what its next transaction begins with.
type Link struct {
	*db.Conn
	tails JournalTails // empty
}

// Tx is one transaction, ours or a caller's: where its statements run, what it has read, and what
// it must write before it commits. Read and look make some that only read.
type Tx struct {
	db.Session
	Database *Database
	Now      int64 // one time for the whole transaction

	Own             *Link                             // the session, if it is ours
	lanes           knownLanes                        // that this transaction needed
	records         map[RecordName]*ClaimRecord       // claim records that it read
	last            *ClaimRecord                      // of records, the one used last
	keys            []KeyName                         // ordering keys that may have become free
	lined           map[store.ID]bool                 // new jobs with an ordering key
	gates           map[int64]bool                    // that may have become free
	CallerWakes     bool                              // the caller finds out from its batch or answer which nodes to wake
	Ungated         int                               // how many jobs it has put into ready that waited at gates
	Woken           []store.Wake                      // what nodes should look at once it has committed
	Entries         RowBuffer[PlannedEntry]           // of journals, to be written
	Successes       RowBuffer[Success]                // finished rows to be written
	Jobs            RowBuffer[NewJob]                 // to be inserted
	Ready           RowBuffer[Pointer]                // to be inserted
	Tails           JournalTails                      // of the journals to which it wrote
	AskedLeft, Left bool                              // whether jobs that are not there have left rows
	Promised        map[int64]map[string]store.Policy // of nodes, for a rescue
	Tuned           map[int64]store.AttemptSettings   // of queues, for a rescue
	Starts          bool                              // jobs of the batch run at once
	Started         []store.Claimed                   // that do
	OpenBatch       BatchName                         // to which it added last: it is open
	told            told                              // for the feed
	request         *store.KeyedRequest               // in whose context it was begun
	Changed         bool                              // it does something that a person asks for
}

// BatchName is a batch of jobs, in its namespace.
type BatchName struct {
	ID        store.ID
	Namespace string
}

// Success is the plain success of a run, of which no more is written than the finished row: its job
// holds no keys, has no children and answers no parent.
type Success struct {
	Outcome *store.Outcome
	Record  *ClaimRecord
}

// NewJob is a job that is to be inserted.
type NewJob struct {
	Enqueue       *store.Enqueue
	Lane          *Lane
	RunAt         int64
	Options, Tags string
	Awaits        []store.Dependency // jobs after which it comes that have not finished
}

// PlannedEntry is an entry of an append that is to be written into a journal.
type PlannedEntry struct {
	Of    *store.Append
	Index int
}

// Pointer says where a job is to be put.
type Pointer struct {
	ID    store.ID
	Lane  *Lane
	Key   string // the ordering key
	RunAt int64
}

// Body is a stored job with its lane. Times of a body that are compared are kept in microseconds as
// well.
type Body struct {
	store.Job
	Lane       *Lane
	RunMicros  int64
	Due        int64 // of its pointer in deferred, once that was found
	ClaimedAt  int64 // of the last run that did not finish the job; 0 if the body does not know
	Forked     bool  // it has a journal from the start
	Successors bool  // others may come after it
	Decided    int64 // if it is closing: the entry with which that was decided
}

// RecordName names a claim record.
type RecordName struct{ Node, Seq int64 }

// ClaimRecord is one claimed batch: which jobs a node runs, and which of them are done.
type ClaimRecord struct {
	RecordName
	Exists    bool
	ClaimedAt int64
	Done, All int64
	ids       []byte
	leases    []byte // nil: every lease number is 1
	gates     []byte // nil: no job counts in a limit per key
	wasDone   int64  // Done as it is stored
	changed   bool
}

// RunningJob is where a job runs.
type RunningJob struct {
	Lease     store.Lease
	ClaimedAt int64
}

// RunningJobs finds where jobs run. It looks at all records once, however many jobs are asked for.
type RunningJobs map[store.ID]RunningJob

// Lane is what a claim chooses by: the jobs of one kind and priority in one queue.
type Lane struct {
	LaneName
	ID    int64
	Queue int64 // the queue's id

	Base, Version string // of the kind
	Limit         string // the limit per key in which the jobs count; "": none
	Shard         string // of the fair keys of the jobs; "": they have none
	Claims        string // the kind as ClaimParams.Kinds says it
}

// LaneName is what a lane stands for. The kind is what a store.LaneName makes of it.
type LaneName struct {
	Namespace, QueueName, Kind string
	Priority                   int
}

// knownLanes are the lanes that one transaction has to do with.
type knownLanes struct {
	read  []*Lane // or interned. They are known to others once the transaction has committed
	table laneTable

	last *Lane // of used
	used map[LaneName]*Lane
}

// laneTable is a set of lanes.
type laneTable struct {
	byName map[LaneName]*Lane
	byID   map[int64]*Lane
}

// LaneCache knows what the ids of lanes stand for, which never changes, and which lanes there were.
// One that is not used any more may have been removed by now: what puts a job into a lane looks
// whether it is still there (see Tx.Lane). The lanes that were needed last are kept.
type LaneCache struct {
	mu         sync.RWMutex
	young, old laneTable
}

// KeyName is an ordering key: it orders the jobs of one queue.
type KeyName struct {
	Queue int64
	Key   string
}

// RowBuffer keeps rows of one table that are to be inserted: RowsAtOnce with one statement, and the
// last ones one by one.
type RowBuffer[T any] struct{ Rows []T }
