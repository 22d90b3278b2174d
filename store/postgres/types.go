package postgres

import (
	"context"
	"database/sql"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/holdfastdev/holdfast/store"
)

// database is the connections to a database, the texts of the statements in its schema, and its clock.
type database struct {
	Options

	pool    *pgxpool.Pool
	texts   map[string]string
	prelude string // what pins plans for one pipeline, or "" if the connections do it

	offset    atomic.Int64              // microseconds that the database's clock is ahead of ours
	clockRead atomic.Pointer[time.Time] // when that was measured

	vital  vital
	closed atomic.Bool
}

// localStore is a database with what this process remembers of it, and what it hears of others.
type localStore struct {
	*database

	origin   string      // tells our notifications from those of others
	wakeups  atomic.Bool // notifications arrive
	lanes    laneCache
	cursors  cursors
	beside   door // to connections for lanes, beside the pool
	notifier notifier
}

// schemaStore is the schema of a database.
type schemaStore struct {
	*database

	horizon atomic.Int64 // the time until which there are partitions
}

// newLocal returns what is known at the beginning: nothing.
func newLocal(db *database) *localStore {
	s := &localStore{database: db, origin: newOrigin()}
	s.notifier.init(s)
	if db.Clock == nil {
		s.cursors.clock = time.Now
	}
	return s
}

// Close sends what is to be told, and ends.
func (s *localStore) Close() { s.notifier.stop() }

// readStore answers questions.
type readStore struct{ *localStore }

// writeStore writes what nodes and clients do.
type writeStore struct {
	*localStore

	blocked blocked
}

// operateStore does what people ask for and what keeps the tables in order.
type operateStore struct {
	*writeStore

	reader *readStore
	tables *schemaStore

	retired   atomic.Int64 // the day on which lanes were removed last, and up to which
	forgotten atomic.Int64 // the last record of what people did that retention looked at

	lookedMu sync.Mutex
	looked   map[looked]time.Time // partitions that retention leaves alone for a while
	moveMost int                  // how many entries it moves; maxMoved
}

// newOperate puts it on what it stands on.
func newOperate(write *writeStore, read *readStore, tables *schemaStore) *operateStore {
	return &operateStore{writeStore: write, reader: read, tables: tables, moveMost: maxMoved}
}

// batch is a store.Batch on its way.
type batch struct {
	now         int64
	checkpoints []*store.CheckpointWrite // the last one of each lease
	replaced    map[*store.CheckpointWrite]*store.CheckpointWrite
	appends     []*appending
	sends       []*store.Send
	runs        []*run // the first one of each lease
	twins       []*run // later ones, that are repeated
	invalid     []*run
	entries     []*entry
	doubtful    []*entry // whose keys were held by transactions of callers, and perhaps are no more
	patient     bool     // nobody waits behind the batch
	alone       bool     // there is nothing but these, so that nobody waits with them, either
	slow        bool     // the fast path cannot answer it
	patience    patience

	woken woken

	start    *store.Start // nil if nothing is to run at once
	starting int          // how many enqueues are to

	// What the fast path found of the entries with unique keys.
	unique []*entry
	won    []bool
	met    []*obstacle
}

// run is one run that writes or ends, with what the statements of finish.sql need of it. Runs of an outcome have that;
// those that end because their node left or died have only what they shall become.
type run struct {
	lease   store.Lease
	outcome *store.Outcome
	invalid error // why it is no outcome
	twin    *run  // the run before it in the batch under the same lease
	place   int   // among the outcomes of the batch: in this order parents are told
	known   bool  // it is repeated, and was applied before

	state                store.State
	runAt                int64
	reason, error, trace string
	result               []byte
	startedAt            *int64
	traits               int32
	version              string
	wait                 *wait           // of a run that parks
	next                 *store.Continue // of one that starts over
	answers              bool            // to its parent, if it ends
	parent               store.ID

	told        told        // what its parent was sent
	final       store.State // what became of it
	finalReason store.Reason
	finalRunAt  int64
	lane        int32
}

// appending is an append on its way.
type appending struct {
	*store.Append
	entries []*entry // its enqueues
}

// entry is an enqueue on its way.
type entry struct {
	*store.Enqueue
	lane          lane
	runAt         int64
	options, tags *string
	appended      bool // by an append, not by the batch itself
}

// obstacle is what stands in the way of an enqueue.
type obstacle struct {
	place  int64
	runAt  *int64 // of the job with the same id
	holder *string
	due    *int64 // run time of the holder
}

// wait is a store.Wait as it is stored.
type wait struct {
	seen     int64
	enough   *int64
	until    *int64
	kinds    int32
	waitsFor *string
}

// waitRow is what is scanned of a pointer in deferred, NULL if there is none.
type waitRow struct {
	state                  *int32
	held                   *bool
	since, until           *int64
	reason, words, waitFor *string
}

// wakeCandidates are jobs that may have to be woken, with the number of messages that were not looked at before.
type wakeCandidates struct {
	jobs     []pgtype.UUID
	numbers  []int64
	children []pgtype.UUID // whose parents nobody has named: these have one more each
}

// woken are jobs that waited and became available.
type woken map[store.ID]wokenJob

type wokenJob struct {
	lane int32
	seq  int64 // of the message that woke it
}

// told is the message that a child has answered with.
type told struct {
	parent store.ID
	seq    int64
}

// request is one of a person whose job does not run.
type request struct {
	id            store.ID
	reason, actor string
}

// cancelling is a request to cancel on its way, and what became of it.
type cancelling struct {
	store.CancelParams
	recorded bool // it is what a person does, at this moment
	states   map[store.ID]store.State
	ended    map[store.ID]bool // by this very request
	busy     map[store.ID]bool // a caller's transaction holds it
	woken    woken
}

// found is what one try to cancel jobs has found and done: state 0 is a job that moved at that moment.
type found struct {
	states map[store.ID]store.State
	ended  map[store.ID]bool
	busy   map[store.ID]bool // somebody else has them
	woken  woken
}

// heldRun is a run whose node will not end it.
type heldRun struct {
	*run
	job  store.Job
	body bool // the job is there
	busy bool // a caller's transaction has what its end needs
}

// rescue is what takes the jobs of dead nodes, and of leases that were given up.
type rescue struct {
	store    *operateStore
	limit    int32
	node     int64 // of the last record that was looked at
	seq      int64
	policies map[int64]map[string]store.Policy

	rescued []store.Rescued
	woken   woken
	freed   bool
}

// statement is one statement of a pipeline, by name. each, if set, is called for every row of its answer.
type statement struct {
	name string
	args []any
	each func(row) error
}

// row is what a query answers with, one at a time.
type row interface{ Scan(dest ...any) error }

// runner runs statements by name inside of a transaction.
type runner interface {
	run(ctx context.Context, name string, each func(row) error, args ...any) error
}

// session is a transaction of ours.
type session struct {
	db *database
	tx pgx.Tx
}

// pgxRunner and sqlRunner run statements in the transaction of a caller.
type pgxRunner struct {
	db *database
	tx pgx.Tx
}

type sqlRunner struct {
	db *database
	tx *sql.Tx
}

// blocked remembers which bodies and keys were found to be held by transactions of callers. What needs
// them is taken out of a batch before it is sent. While such a transaction is known, bodies are asked
// for before a batch waits for them, and keys are waited for no longer than a moment: so the first thing
// that it holds costs the others a short wait, and each further one next to nothing.
type blocked struct {
	mu     sync.Mutex
	bodies map[store.ID]time.Time // since when
	keys   map[string]blockedKey

	bodiesMet, keysMet time.Time // when such a transaction was met last
}

// blockedKey tells when a key was first wanted and last tried in vain.
type blockedKey struct{ since, tried time.Time }

// one runs single statements, each in a transaction of its own.
type one struct{ db *database }

// light is one for statements that only lock: nothing has to reach the disk before their answer.
type light struct{ db *database }

// patience is what is left of it for one Apply, in which many may be waiting: however much a caller's
// transaction holds, it costs them no more than this.
type patience struct {
	wait   time.Duration // for the next lock
	tries  int           // how often in vain, from now on
	waited bool          // it was waited for longer than a transaction of ours takes
}

// laneKey is what a lane stands for. The kind of jobs that are bound to a version is "kind@version", as in store.ClaimParams.
type laneKey struct {
	namespace, queue, kind string
	priority               int32
}

// queueName names a queue.
type queueName struct{ namespace, name string }

// lane is a row of the table lane, with the names of its queue.
type lane struct {
	id, queueID int32
	laneKey
	used bool  // the queue has had a job; it may have one since
	day  int32 // on which it was there, and its row said so; 0: it is not known
}

// laneCache holds the lanes that this process has met. What they stand for never changes. Those that were not used for long are removed, so
// one that was there yesterday is looked for before jobs are put into it. The lanes that were needed last are kept: what was
// found a moment ago is still there, however many others came with it.
type laneCache struct {
	mu         sync.RWMutex
	most       int // 0: maxLanes; only tests change it
	young, old laneTable
}

// laneTable is a set of lanes.
type laneTable struct {
	byKey map[laneKey]lane
	byID  map[int32]lane
	queue map[queueName][]int32 // the lanes of each queue
	used  map[int32]bool        // queues that have had a job
}

// door admits one caller at a time. If that one finds that there is no connection to be had, those that
// wait behind it get the same answer and do not try again.
type door struct {
	mu     sync.Mutex
	inside *visit
}

// visit is that of one of them.
type visit struct {
	over chan struct{}
	err  error // known when it is over
}

// partition is the jobs of one day, by the time in their ids.
type partition struct{ start time.Time }

// days are the partitions that there are, with the tables of each. A program of an earlier version makes fewer tables.
type days map[partition][]string

// notifier sends notifications, each in a statement of its own after the commit that it tells of. Its one goroutine runs only while
// there is something to send.
type notifier struct {
	store *localStore
	ctx   context.Context // ends when the store is closed
	end   context.CancelFunc

	mu      sync.Mutex // guards what follows
	pending map[topic]store.Wake
	late    []late
	sent    map[topic]time.Time // when a topic was sent last, of the last few milliseconds
	running bool
	done    sync.WaitGroup
}

// topic is what wake-ups are merged by.
type topic struct {
	origin           string
	kind             store.WakeKind
	namespace, queue string
}

// message is a wake-up on the wire. Origin is the store that wrote what it is about, or empty if all are to be told.
type message struct {
	Origin    string     `json:"o,omitempty"`
	Probe     string     `json:"p,omitempty"`
	Kind      uint8      `json:"k"`
	Namespace string     `json:"n,omitempty"`
	Queue     string     `json:"q,omitempty"`
	Due       int64      `json:"d,omitempty"`
	Maker     uint16     `json:"m,omitempty"`
	Jobs      []store.ID `json:"j,omitempty"`
	Late      []late     `json:"l,omitempty"`
}

// late is a place in a lane at which jobs were put that claims may have passed: the lane and the run time.
type late [2]int64

// vital is a connection beside the pool for what must not wait until others are done: a node whose
// pool is busy is not dead. It is made when it is needed for the first time.
type vital struct {
	mu   sync.Mutex
	conn *pgx.Conn
}

// body is what is scanned of a job.
type body struct {
	lane                int32
	runAt, createdAt    int64
	lease               int64
	attempt             int32
	maxAttempts, codec  int32
	args, options, tags []byte
	metadata            []byte
	orderingKey         *string
	uniqueKey           []byte
	uniqueStates        *int32
	parent              pgtype.UUID
	link                *int32
	closing             *int64
}

// checkpointRow is what is scanned of a checkpoint, NULL if there is none.
type checkpointRow struct {
	percent   *float64
	message   *string
	value     []byte
	updatedAt *int64
}

// closedParent is a finished job some of whose children may be left.
type closedParent struct {
	id       store.ID
	at       int64
	finished bool
	last     store.ID // of the children that were found
	found    int
}
