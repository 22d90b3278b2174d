package engine

import (
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdfastdev/holdfast/internal/commit"
	"github.com/holdfastdev/holdfast/internal/logs"
	"github.com/holdfastdev/holdfast/internal/news"
	"github.com/holdfastdev/holdfast/internal/portion"
	"github.com/holdfastdev/holdfast/internal/replay"
	"github.com/holdfastdev/holdfast/internal/supervise"
	"github.com/holdfastdev/holdfast/store"
)

// Engine is the part of Holdfast that lives in every process that uses it: one store, one committer and one hub of news, however many
// namespaces it is used for. It can enqueue, read and wait as it is; a Runner makes the process a node.
type Engine struct {
	Store store.Store

	cfg    Config
	plain  *slog.Logger // for handlers
	log    *slog.Logger // adds the node, if one runs
	nodeID atomic.Int64 // of the node that runs, if it is the only one; else 0
	lines  *logs.Limiter
	outage *logs.Outage
	guard  *supervise.Guard
	commit *commit.Committer
	loader *loader

	news *news.Hub

	nodes atomic.Pointer[[]*node] // that run in this process; every commit looks at them

	mu      sync.Mutex
	runners map[string]*Runner // by namespace
	closed  bool
}

// Runner runs the jobs of one namespace in this process: it has the handlers, and the node while there is one.
type Runner struct {
	engine    *Engine
	namespace string
	cfg       NodeConfig
	nodeID    atomic.Int64 // of the node, from its join until it has left; 0: none
	log       *slog.Logger // adds the node
	lines     *logs.Limiter

	// Under the lock of the engine.
	handlers map[string]*Handler
	starting bool  // the node is joining
	node     *node // while it runs
}

// node is a running engine: one membership after the other, should it be declared dead in between.
type node struct {
	engine *Engine
	runner *Runner
	store  store.Store
	cfg    NodeConfig
	log    *slog.Logger
	lines  *logs.Limiter
	outage *logs.Outage
	kinds  []string

	policies map[string]store.Policy // of the kinds, for those who rescue the node's jobs

	id    atomic.Int64 // of the present membership
	joins sync.Mutex   // one rejoin at a time

	leader   atomic.Bool
	unserved unserved
	pending  atomic.Int64 // outcomes that wait for their commit

	slots    *slots
	numbers  numbers
	starts   starts
	dispatch *dispatcher
	promote  *promoter
	heart    *heart
	beatNow  chan struct{}

	gone chan error // the database is, why: the node is to stop

	giveUpNow chan struct{} // there are leases that nobody works on

	// What a leader is to do at once.
	rescueNow chan struct{}
	sweepNow  chan struct{}
	closeNow  chan struct{}

	handlers sync.WaitGroup // executions, but for those left behind
	resting  atomic.Int64   // goroutines that wait for a job
	rested   sync.WaitGroup
	rouse    chan store.Claimed // gives them one
	retire   chan struct{}      // closed: they end
	outcomes sync.WaitGroup     // outcomes that wait for their commit
}

// Run is one run of one job, as its handler sees it.
type Run struct {
	claimed store.Claimed
	started time.Time
	node    *node

	execution *execution
	durable   replay.Run
	appending *commit.Call // what the run remembers is written one after the other

	mu         sync.Mutex
	checkpoint store.Checkpoint
	has        bool // there is a checkpoint, in the store or here
	dirty      bool // what is here was not written yet
	flushing   bool // a write of progress is planned
	over       bool // the outcome was decided; nothing more is written
}

// execution is a run that a slot is busy with. It ends once: by its handler, or by being given up as stuck.
type execution struct {
	run     *Run
	handler *Handler
	worker  *worker
}

// worker is a goroutine that runs one handler after the other. Its labels tell its stack in reports of stuck handlers, and the kinds of
// jobs apart in CPU profiles. Whatever a handler starts inherits them.
type worker struct {
	name string
	kind string // of the labels that are set
}

// dispatcher is a node's claim loop. It claims where there may be something and room for it:
// because the node was woken, or the last claim was full; and by an interval that doubles while
// there is nothing to do.
type dispatcher struct {
	node  *node
	woken chan struct{}
	freed chan struct{}
	asks  asks
	last  time.Time
	full  bool // too many outcomes waited for callers' transactions when room was looked for
}

// asks is how many jobs are asked for at once: so many that their bytes arrive in time, as far as can
// be told from those that came before.
type asks struct {
	*portion.Portion
	heavy int // about how many bytes a job is; what was large is remembered for some claims
}

// heart is what a node knows by its beats. Only the beat loop uses it, but for what is under the lock.
type heart struct {
	node     *node
	pulses   pulses
	holdings holdings

	mu   sync.Mutex
	at   time.Time        // of the last beat that got through; the monotonic clock counts
	dead []store.NodeBeat // nodes that were found to be dead, and are to be rescued
	lost []store.Lease    // that nobody here works on, and are to be given up
}

// holdings compares, with each beat, the leases that the node has in the database with what it
// works on. A lease that nobody works on, beat after beat, is given up, so that no job is stuck
// because its node has lost sight of it: after a panic, an outcome or a claim whose answer was lost
// for good, or an error that was taken for the loss of a lease. It is the net below causes that are
// mended where they arise. A lease is named with each beat until it is gone: a call that fails is
// made up for by the next beat.
//
// Only claim records are asked about that are new since the last beat, or had something running then.
type holdings struct {
	patience time.Duration // how long a lease may look as if nobody worked on it: beats may follow each other at once
	node     int64         // whose leases these are
	claims   []int64
	from     int64
	suspects map[store.Lease]time.Time // since when nobody was found to work on them
}

// promoter makes deferred jobs available when they are due. Every node does so: it costs nothing while nothing is due, and
// nothing waits for a leader. It sleeps until the next due time that it knows of, from the store's last answer and from hints.
type promoter struct {
	node  *node
	wakes chan struct{}

	vain time.Duration // how long it waits because the last look moved nothing although something is due

	mu   sync.Mutex
	next time.Time // the earliest due time that a hint told of since the last look; zero: none
}

// starts lets jobs that are enqueued in this process run at once, if the node has room for them and, as far as it knows, nothing is waiting
// for it: their enqueue and their claim are one commit, and nobody looks for them. The store has the last word, since it knows what is
// waiting in their lanes. Room is what it is for a claim: free slots, and what can be claimed ahead of them.
type starts struct {
	node *node

	mu     sync.Mutex
	closed bool // the node stops: what starts now is given back
}

// numbers hands out the numbers of claim records of one membership after the other, and knows which claims are under way.
type numbers struct {
	mu       sync.Mutex
	id, next int64
	underway []int64 // the first numbers of claims whose jobs have not been handed to the slots
}

// unserved is what the leader knows of jobs that no node serves. Only its duty uses it.
type unserved struct {
	seen map[store.Unserved]sighting // without OldestDue
}

// sighting is when jobs were seen last that wait in vain, and when that was said; zero: never.
type sighting struct{ at, said time.Time }
