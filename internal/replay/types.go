package replay

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdfastdev/holdfast/internal/await"
	"github.com/holdfastdev/holdfast/internal/blocked"
	"github.com/holdfastdev/holdfast/internal/crowd"
	"github.com/holdfastdev/holdfast/internal/heartbeat"
	"github.com/holdfastdev/holdfast/internal/host"
	"github.com/holdfastdev/holdfast/internal/lifetime"
	"github.com/holdfastdev/holdfast/internal/memory"
	"github.com/holdfastdev/holdfast/internal/misuse"
	"github.com/holdfastdev/holdfast/internal/unsaid"
	"github.com/holdfastdev/holdfast/store"
)

// Host is that of package host.
type (
	Host = host.Host
	// JournalLimit is that of package host.
	JournalLimit = host.JournalLimit
)

// Run is one run of a durable function: one attempt of its job. It costs next to nothing until the
// function uses one of its operations.
type Run struct {
	host    Host
	claimed *store.Claimed

	main Strand // of the handler itself
	life lifetime.Contexts

	untime func()           // ends what watches the time of the handler's context; nil: it does not end by itself
	watch  *heartbeat.Watch // over the progress of the handler; nil: none

	remembering sync.Mutex
	state       atomic.Pointer[replayState] // of a run that asked for it
	ending      error                       // it is ending, as its claim told
	said        unsaid.Slot                 // of its job, and to be stored with the next write
	senders     senders                     // of the messages that it has received
	pausing     atomic.Bool                 // a pause of it was requested
	undoing     atomic.Bool                 // compensations run
	sawCancel   atomic.Bool                 // its end was decided with regard to a request to cancel it
}

// replayState is what a durable run remembers: its journal and its inbox, as they were read when it
// first asked, and what it has added since; and who of its strands goes on and who waits. A run
// that never asks has none of it.
type replayState struct {
	run   *Run
	fault fault // of the handler's strands

	mu      sync.Mutex
	flushed sync.Cond // told when a write of entries has ended

	memory.Memory
	crowd.Crowd[*Strand]

	own *ownEnd // what this run has ended its job with

	evaluated sync.Cond // told when a condition was looked at

	unread    bool          // the inbox was not read: it is the first run, which finds no journal, and seldom messages
	warned    bool          // that the entries are many
	flushing  bool          // a write, or a transaction of the user's, is under way
	unwritten bool          // a write has failed, or was not waited for: it is unknown what the journal holds
	said      *unsaid.Words // what the write under way says of the job
	tx        *openTx       // what is being written is in a transaction of the user's

	abandoned []*await.Future // strands that have panicked and were not awaited yet
	concluded bool            // and will not be

	strands     int       // goroutines that Go has started and that have not ended
	strandEnded sync.Cond // told when one of them ends, and when the run exits
	first       *Strand   // of those that have a goroutine
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
	lingering *time.Timer
}

// block is a strand that waits.
type block struct {
	on   blocked.On
	wake chan struct{}
}

// Strand is one line of control of a durable run: the handler itself, a function that it started
// with Go, a compensation. Its operations are numbered in their order, which is how they are found
// again in the journal; so what two strands do at the same time never mixes. A strand is used by
// one goroutine.
type Strand struct {
	run    *Run
	prefix string // of the paths of its operations: "" or "3."
	place  int32  // of the last operation
	undos  int32  // compensations registered

	unplaced int32                     // waits without a place since the last one that has one
	served   int32                     // requests handled in the wait that is under way
	handlers map[string]*UpdateHandler // by the names of the requests
	inner    *Strand                   // handles one

	next, before *Strand // of the run's

	// What tells a misuse, see misuse.Error. The state's lock is held for all but over.
	doing   misuse.Operation // what is under way
	fault   *fault           // of the strands that fail together
	refused *error           // why a child was not started, which is not remembered; nil: none was refused
	over    atomic.Bool      // its function has returned
	misused bool             // while something was under way: that is not remembered either

	undo        bool // it compensates, and so goes on while the run is ending
	conditional bool // it waits for a condition

	fresh atomic.Bool // it does what no earlier run has done

	watch atomic.Pointer[heartbeat.Watch] // over the progress of the step under way; nil: none
}

// fault is what spoiled the strands that fail together: those of the handler, or those of one call
// of a compensation.
type fault struct{ err error }

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

// maxSenders bounds how many spans a run tells of. It is less than what SDKs keep of links.
const maxSenders = 100

// senders are the spans in which those messages were sent that a run has received, and that no
// earlier run had.
type senders struct {
	mu   sync.Mutex
	list []string
}

func (s *senders) note(traceParent string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.list) < maxSenders && !slices.Contains(s.list, traceParent) {
		s.list = append(s.list, traceParent)
	}
}

// Senders returns in which spans those messages were sent that this run has received, as headers
// traceparent, each once and at most 100: not those that an earlier run had received.
func (s *Strand) Senders() []string {
	list := &s.run.senders
	list.mu.Lock()
	defer list.mu.Unlock()
	return slices.Clone(list.list)
}
