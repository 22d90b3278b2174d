package write

import (
	"time"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres/internal/keys"
	"github.com/holdfastdev/holdfast/store/postgres/internal/local"
	"github.com/holdfastdev/holdfast/store/postgres/internal/updates"
)

// batch is a store.Batch on its way.
type batch struct {
	now         int64
	requests    []*store.KeyedRequest
	checkpoints []*store.CheckpointWrite // the last one of each lease
	replaced    map[*store.CheckpointWrite]*store.CheckpointWrite
	appends     []*appending
	sends       []*store.Send
	runs        []*Run // the first one of each lease
	twins       []*Run // later ones, that are repeated
	invalid     []*Run
	entries     []*Entry
	fires       []*store.Fire
	calls       []*store.BatchCall
	overlooks   bool     // one of their schedules is held: none is waited for
	recheck     []*Entry // whose keys were held by transactions of callers, and perhaps are no more
	patient     bool     // no other batch waits behind it
	alone       bool     // there is nothing but these, so that nothing waits with them, either
	slow        bool     // the fast path cannot answer it
	patience    patience

	// What the slow path has found to be open.
	liveCheckpoints []*store.CheckpointWrite
	openAppends     []*appending
	liveRuns        []*Run

	woken Woken

	start    *store.Start // nil if nothing is to run at once
	starting int          // how many enqueues are to

	// What the fast path found of the entries with keys.
	unique []*Entry // those with business keys first
	won    []bool
	met    []*keys.Obstacle
}

// Run is one run that writes or ends, with what the statements of finish.sql need of it. outcome is
// nil if the run itself does not report its end: because its node left, died, or gave its lease
// up, or because the job was terminated. Then there is only what the job shall become.
type Run struct {
	Lease   store.Lease
	outcome *store.Outcome
	invalid error // why it is no outcome
	twin    *Run  // the run before it in the batch under the same lease
	Place   int   // among the outcomes of the batch: in this order parents are told
	known   bool  // it is repeated, and was applied before
	freed   bool  // jobs wait at the gate of one of the runs that were completed with it

	State                store.State
	RunAt                int64
	Reason, Error, trace string
	result               []byte
	startedAt            *int64
	Traits               int32
	version              string
	wait                 *wait           // of a run that parks
	next                 *store.Continue // of one that starts over
	Answers              bool            // to its parent, if it ends
	Parent               store.ID

	told        told        // what its parent was sent
	Final       store.State // what became of it
	FinalReason store.Reason
	FinalRunAt  int64
	Lane        int32
}

// appending is an append on its way.
type appending struct {
	*store.Append
	entries []*Entry // its enqueues
}

// Entry is an enqueue on its way.
type Entry struct {
	*store.Enqueue
	Lane          local.Lane
	RunAt         int64
	options, tags *string
	appended      bool  // by an append, not by the batch itself
	kept          bool  // the holder of its business key has finished
	early         bool  // it comes after a later one
	replaced      int32 // lane of the job that it was put on; 0: none
	// awaits tells that jobs of its batch are yet to wait for others: those it must not replace.
	// later does what it is then to do, nil: nothing.
	awaits    bool
	later     func() error
	followUps []*Entry
}

// wait is a store.Wait as it is stored.
type wait struct {
	seen     int64
	enough   *int64
	until    *int64
	kinds    int32
	waitsFor *string
}

// WakeCandidates are jobs that may have to be woken, with the number of messages that were not
// looked at before.
type WakeCandidates struct {
	jobs     []pgtype.UUID
	numbers  []int64
	Children []pgtype.UUID // whose parents are not known: these have one more each
	parked   updates.Parked
}

// Woken are jobs that waited and became available.
type Woken map[store.ID]WokenJob

// WokenJob says of a job that woke where it is.
type WokenJob struct {
	Lane int32
	seq  int64 // of the message that woke it; 0: an update did
}

// told is the message that a child has answered with.
type told struct {
	parent store.ID
	seq    int64
}

// patience is what is left of it for one Apply, in which many may be waiting: however much a
// caller's transaction holds, it costs them no more than this.
type patience struct {
	wait   time.Duration // for the next lock
	tries  int           // how often in vain, from now on
	waited bool          // it was waited for longer than a transaction of ours takes
}
