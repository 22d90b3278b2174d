package engine

import (
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdfastdev/holdfast/internal/commit"
	"github.com/holdfastdev/holdfast/internal/facts"
	"github.com/holdfastdev/holdfast/internal/grants"
	"github.com/holdfastdev/holdfast/internal/holdings"
	"github.com/holdfastdev/holdfast/internal/hookqueue"
	"github.com/holdfastdev/holdfast/internal/loader"
	"github.com/holdfastdev/holdfast/internal/logs"
	"github.com/holdfastdev/holdfast/internal/news"
	"github.com/holdfastdev/holdfast/internal/ping"
	"github.com/holdfastdev/holdfast/internal/portion"
	"github.com/holdfastdev/holdfast/internal/promoter"
	"github.com/holdfastdev/holdfast/internal/pulse"
	"github.com/holdfastdev/holdfast/internal/replay"
	"github.com/holdfastdev/holdfast/internal/runlog"
	"github.com/holdfastdev/holdfast/internal/scheduler"
	"github.com/holdfastdev/holdfast/internal/searched"
	"github.com/holdfastdev/holdfast/internal/slots"
	"github.com/holdfastdev/holdfast/internal/stopwatch"
	"github.com/holdfastdev/holdfast/internal/supervise"
	"github.com/holdfastdev/holdfast/internal/tail"
	"github.com/holdfastdev/holdfast/internal/tuning"
	"github.com/holdfastdev/holdfast/internal/turns"
	"github.com/holdfastdev/holdfast/store"
)

// Engine is the part of Holdfast that every process has that uses it: one store, one committer and
// one hub of news, for all namespaces. It can enqueue, read and wait; with a Runner the process is
// a node as well.
type Engine struct {
	Store store.Store

	cfg    Config
	plain  *slog.Logger // for handlers
	log    *slog.Logger // adds the id of the node, if one runs
	nodeID atomic.Int64 // of the only node that runs; 0: none or several
	serves atomic.Int32 // how many namespaces have handlers
	lines  *logs.Limiter
	outage *logs.Outage
	Prober *ping.Prober // of the database, for probes
	guard  *supervise.Guard
	commit *commit.Committer

	journals *loader.Loader[jobOf, store.Journal] // of runs that begin at the same moment in one query
	updates  *loader.Loader[store.UpdatesAfter, []store.Update]
	news     *news.Hub
	logs     *runlog.Keeper
	Feed     *tail.Tail         // for all who read the feed of changes
	Declared *searched.Registry // what namespaces have declared of search attributes
	hooks    *hookqueue.Queue   // nil: none are to be told
	lacking  logs.Seldom

	unobserved func() // ends what the observer does

	nodes atomic.Pointer[[]*node] // running in this process; read by every commit

	mu      sync.Mutex
	runners map[string]*Runner // by namespace
	closed  bool
}

// Runner runs the jobs of one namespace in this process: it has the handlers, and the node while
// one runs.
type Runner struct {
	engine    *Engine
	namespace string
	cfg       NodeConfig
	nodeID    atomic.Int64 // of the node, from its join until it has left; 0: none
	log       *slog.Logger // adds the id of the node
	lines     *logs.Limiter

	// Guarded by the lock of the engine.
	handlers map[string]*Handler
	starting bool  // the node is joining
	node     *node // while it runs
}

// node is a running engine. If it is declared dead it joins again under a new membership.
type node struct {
	engine *Engine
	runner *Runner
	store  store.Store
	cfg    NodeConfig
	log    *slog.Logger
	lines  *logs.Limiter
	outage *logs.Outage
	kinds  []string

	gathers bool // some kinds gather their runs

	policies map[string]store.Policy // by kind, for rescues of the node's jobs

	id    atomic.Int64 // of the current membership
	joins sync.Mutex   // one rejoin at a time

	leader   atomic.Bool
	watches  atomic.Bool // jobs may end without a note for those that come after them
	counts   atomic.Bool // there are closed batches that were not called back
	turns    turns.Turns
	unserved unserved
	died     atomic.Int64 // nodes that this one has declared dead
	pending  atomic.Int64 // outcomes that may still hold up a slot

	slots    *slots.Slots
	numbers  numbers
	starts   starts
	dispatch *dispatcher
	promote  *promoter.Loop
	schedule *scheduler.Loop
	grants   *grants.Loop
	tuning   *tuning.Table
	heart    *heart
	facts    *facts.Keeper // nil: none
	factsNow chan struct{}
	beatNow  chan struct{}

	mode mode

	gone chan error // why the database is gone: the node must stop

	giveUpNow chan struct{} // there are leaked leases

	// Duties that a leader must run at once.
	rescueNow chan struct{}
	sweepNow  chan struct{}
	closeNow  chan struct{}
	countNow  chan struct{}

	handlers sync.WaitGroup // executions, except abandoned ones
	resting  atomic.Int64   // idle goroutines
	rests    sync.Map       // the name of a queue → askedRest
	rested   sync.WaitGroup
	wakeIdle chan store.Claimed // gives an idle goroutine a job
	endIdle  chan struct{}      // closed: idle goroutines end
	outcomes sync.WaitGroup     // outcomes not yet stored or given up, and starts in progress: the node leaves after them
}

// mode is what people want of a node, as far as the node knows: what its beats have told. The wish
// is in the node's row; here is what follows from it.
type mode struct {
	mu      sync.Mutex
	is      store.NodeMode
	lost    int64         // the membership that was lost last: what its beats told may be out of date
	unsure  bool          // the node joins again, and no beat has told yet what is wanted of it
	drained chan struct{} // closed: the node is to stop
}

// Run is one run of one job, as its handler sees it.
type Run struct {
	claimed store.Claimed
	started time.Time // by the clock of the database
	began   stopwatch.Began
	node    *node

	execution *execution
	replay    replay.Run
	appending *commit.Call // needs appends one at a time, as replay makes them: Append fills it without a lock

	mu         sync.Mutex
	checkpoint *store.Checkpoint // that the store has, or that is to be written; nil: there is none
	dirty      bool              // it is not written yet
	flushing   bool              // a write of progress is scheduled
	over       bool              // the outcome is decided; nothing more is written
	logged     *runlog.Run       // nil: it has logged nothing
	lacks      error             // the key that this node lacks for what the run remembers; nil: none
}

// execution is a run in a slot. It ends once: when its handler returns, or when it is given up as
// stuck. An execution is the slot's view of a run, a Run the handler's, and a replay.Run the
// journal's: there is one of each.
type execution struct {
	run     *Run
	handler *Handler
	worker  *worker
}

// worker is a goroutine that runs one handler after the other. Its pprof labels find its stack in
// reports of stuck handlers, and tell kinds apart in CPU profiles. Goroutines that a handler starts
// inherit them.
type worker struct {
	name string
	kind string // value of the kind label
}

// dispatcher is a node's claim loop. It claims when there may be jobs and room for them: after a
// wake-up or a full claim, and by a poll interval that doubles while there are no jobs.
type dispatcher struct {
	node  *node
	woken chan struct{}
	freed chan struct{}
	asks  asks
	last  time.Time
	full  bool // claiming is suspended: see slots.Slots.Aside

	began    time.Time
	looked   time.Duration // since then, when it was found out last which queues have jobs
	nextLook time.Duration // when it may be again

	// passed is what claims have passed over since it was told, and sweep has promotion look for
	// it.
	passed store.Passed
	sweep  func(time.Time)
}

// asks is the limit of claims: as many jobs as are expected to arrive in time, by the size of the
// previous ones.
type asks struct {
	*portion.Portion
	heavy int // estimated bytes of a job; a large one is remembered for some claims
}

// heart is the state of the heartbeat. Only the beat loop uses it, except what the mutex guards.
type heart struct {
	node     *node
	pulses   pulse.Detector
	holdings holdings.Holdings
	failures int64     // of calls to the database, before the last beat
	fullAt   time.Time // the last beat at which there was nothing to claim for

	mu   sync.Mutex
	at   time.Time        // when the last beat succeeded, by the monotonic clock
	took time.Duration    // how long that beat took
	dead []store.NodeBeat // nodes found dead, to be rescued
	lost []store.Lease    // leaked leases, to be given up
}

// starts is the fast path of an enqueue: if the node has room for the job and knows of no other job
// that could use it, the enqueue and the claim are one commit. The store has the last word, because
// it knows what waits in the lanes. Room is the same as for a claim: free slots and prefetch.
type starts struct {
	node *node

	mu     sync.Mutex
	closed bool // the node stops: jobs started from now on are given back
}

// numbers hands out the numbers of claim records of a membership, and tracks which claims are in
// progress.
type numbers struct {
	mu       sync.Mutex
	id, next int64
	underway []int64 // first numbers of claims whose jobs have not reached the slots
}

// unserved is what the leader knows of jobs that no node serves. Only its duty uses it.
type unserved struct {
	seen map[store.Unserved]sighting // the keys have no OldestDue
}

// sighting is when unserved jobs were last seen, and last logged; zero: never.
type sighting struct{ at, said time.Time }
