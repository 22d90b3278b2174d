package replay

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdfastdev/holdfast/internal/heartbeat"
	"github.com/holdfastdev/holdfast/internal/unsaid"
	"github.com/holdfastdev/holdfast/store"
)

// Run is one run of a durable function: one attempt of its job. It costs next to nothing until the
// function uses one of its operations.
type Run struct {
	host    Host
	claimed *store.Claimed

	main Strand // of the handler itself
	life Contexts

	untime func()           // ends what watches the time of the handler's context; nil: it does not end by itself
	watch  *heartbeat.Watch // over the progress of the handler; nil: none

	remembering sync.Mutex
	state       atomic.Pointer[replayState] // of a run that asked for it
	ending      error                       // it is ending, as its claim told
	pausing     atomic.Bool                 // a pause of it was requested
	said        unsaid.Slot                 // of its job, and to be stored with the next write
	undoing     atomic.Bool                 // compensations run
}

// replayState is what a durable run remembers: its journal and its inbox, as they were read when it
// first asked, and what it has added since; and who of its strands goes on and who waits. A run
// that never asks has none of it.
type replayState struct {
	run   *Run
	fault fault // of the handler's strands

	mu      sync.Mutex
	flushed sync.Cond // told when a write of entries has ended

	byPath   map[string][]*store.Entry
	last     map[string]int // of each strand's prefix the highest place that the journal held at the start
	visited  map[string]bool
	messages []store.Message
	unread   bool           // the inbox was not read: it is the first run, which finds no journal, and seldom messages
	taken    map[int64]bool // messages that were received
	answers  map[store.ID]*store.Message
	closed   *store.Entry // the EntryClosing, if the end is decided
	end      *store.Entry // the EntryEnded, if an earlier run has written one
	own      *ownEnd      // this run has
	children bool         // there are children that the end of the run may have to close

	stored    int64         // Seq of the last entry in the database
	entries   int64         // how many there are, those to be stored included
	bytes     int64         // what the entries weigh, those to be stored included
	warned    bool          // that they are many
	pending   []store.Entry // what is to be stored with the next write
	enqueues  []*store.Enqueue
	flushing  bool          // a write, or a transaction of the user's, is under way
	said      *unsaid.Words // what the write says of the job
	unwritten bool          // a write has failed, or was not waited for: it is unknown what the journal holds
	tx        *openTx       // what is being written is in a transaction of the user's

	abandoned []*Future // strands that have panicked and were not awaited yet
	concluded bool      // and will not be

	strands     int       // goroutines that Go has started and that have not ended
	strandEnded sync.Cond // told when one of them ends, and when the run exits
	active      int       // strands that do not wait
	blocked     map[*Strand]*block
	held        bool // a pause was requested
	pausesHere  bool // and the run ends because of that

	// How a run comes to its end: ending, by a cancel or a timeout; decided, then ending anyway,
	// and hopeless; closed, if there is something to undo; at last exiting and concluded, when its
	// journal is finished. A run that parks, or whose life is over, is exiting at once.
	ending   error          // no further operation begins, because of this
	hopeless bool           // the run is ending, and all of its strands wait for each other
	exiting  bool           // every strand ends its goroutine at its next operation
	outcome  *store.Outcome // of a run that exits; nil: there is nothing to write
	decided  *store.Outcome // how the run ends when its strands have ended, unless there is something to undo

	undos     []undo // what OnFailure registered
	randoms   map[string]uint64
	patches   map[string]bool
	lingering *time.Timer
}

// block is a strand that waits.
type block struct {
	pause blockedOn
	wake  chan struct{}
}

// Strand is one line of control of a durable run: the handler itself, a function that it started
// with Go, a compensation. Its operations are numbered in their order, which is how they are found
// again in the journal; so what two strands do at the same time never mixes. A strand is used by
// one goroutine.
type Strand struct {
	run    *Run
	prefix string // of the paths of its operations: "" or "3."
	place  int    // of the last operation
	undos  int    // compensations registered

	// What tells a misuse, see misuseError. The state's lock is held for all but over.
	doing   operation   // what is under way
	fault   *fault      // of the strands that fail together
	over    atomic.Bool // its function has returned
	misused bool        // while something was under way: that is not remembered

	undo bool // it compensates, and so goes on while the run is ending

	watch atomic.Pointer[heartbeat.Watch] // over the progress of the step under way; nil: none
}

// operation is an operation of a strand as the code names it, for messages.
type operation struct {
	verb string // such as "run.Sleep"
	name string // such as that of a step; may be empty
}

// fault is what spoiled the strands that fail together: those of the handler, or those of one call
// of a compensation.
type fault struct{ err error }

// blockedOn is what a strand waits for.
type blockedOn struct {
	until    time.Time // zero: no time limit
	kinds    store.MessageSet
	count    int64
	failures bool
	strand   bool   // another strand may end it
	what     string // for people, such as "signal approved"
}

// endsWithin reports whether only another strand of the run can end it.
func (p *blockedOn) endsWithin() bool {
	return p.strand && p.until.IsZero() && p.kinds == 0 && p.count == 0 && !p.failures
}

// Awaitable is something that a strand can wait for.
type Awaitable interface {
	ready(m *replayState, now time.Time) bool
	pause(m *replayState) blockedOn
	// madeBy reports whether a run may wait for it. It may be nil.
	madeBy(r *Run) bool
	// describe names it in messages. It may be nil.
	describe() string
}

// undo is a compensation: what is to be done if the run fails or is cancelled.
type undo struct {
	path string // "~1", or "~3/1" of the strand that the third operation began: the same on every replay
	name string
	f    func(*Strand) error
}

// openTx is a transaction of the user's in which a strand is, and with which an entry of the run is
// to be stored.
type openTx struct {
	wrote bool // the entry: whether it is there the end of the transaction tells
	ends  bool // the entry is the end of the job
	left  bool // the run has ended meanwhile, and no longer waits for it: nothing is to be written in it any more
}

// Future is the result of a strand, once it has returned.
type Future struct {
	run   *Run
	name  string
	done  bool
	value any
	err   error
}
