package store

import (
	"context"
	"fmt"
	"time"
)

// Copies moves jobs as wholes, and schedules, from one database to another, whatever the two are. A
// Store that is a database implements it beside Store.
//
// A copy takes a database in which nothing works: no node lives, and no job runs. What was enqueued
// meanwhile is found by reading on; what people did and sent meanwhile is told by the Origin, which
// then is another one. The target has a note of the copy (CopyNote), so that one that was
// interrupted goes on, and no other one begins there. No node joins the target before the copy is
// complete.
type Copies interface {
	// Survey tells what a copy has to know of a database, in one snapshot. It counts all jobs.
	Survey(ctx context.Context) (Survey, error)
	// Export returns a page of whole jobs of all namespaces, by id; behind them, pages of business
	// keys, and then of signals that were sent along with enqueues, both of which may outlive their
	// jobs; and then of schedules, of their runs, of batches, and of stubs. It changes nothing. A
	// job that runs is ErrConflict.
	Export(ctx context.Context, params ExportParams) (Exported, error)
	// Import writes a page of whole jobs, as they are, in one transaction, with the note of the
	// copy. A job that is there already is left as it is, so a page may be imported again. A
	// schedule, and a batch, becomes what the page says.
	//
	// The first one needs a database without jobs, schedules, limits, batches and living nodes, all
	// of them the note of the same copy, which is not Done, and that no node has joined since; else
	// nothing is written and the error is ErrConflict.
	Import(ctx context.Context, params ImportParams) error
}

// Survey is what a copy has to know of a database.
type Survey struct {
	Origin Origin
	// Counts are the jobs of all namespaces by their state. A job that is in none of the states
	// (which none is) is not counted.
	Counts map[State]int64
	// IDs is made of the ids of all jobs, in any order: another set of jobs has, as good as
	// certainly, another one. See AddID.
	IDs       uint64
	Schedules ScheduleSums
	Batches   BatchSums
	Queues    []QueueSettings
	Limits    []Limit // all, by namespace and name, without IDs and holders
	Classes   []RetentionClass
	// Attributes are the search attributes of all namespaces, by namespace and name.
	Attributes []NamespaceAttribute
	// Note is what is known of a copy into this database; nil if there was none.
	Note *CopyNote
}

// Jobs is how many jobs there are.
func (s *Survey) Jobs() (n int64) {
	for _, c := range s.Counts {
		n += c
	}
	return n
}

// AddID adds a job to IDs: the halves of its id, of which databases can make sums themselves, as
// they count.
func (s *Survey) AddID(high, low uint64) { s.IDs += high*idFactor + low }

// idFactor tells the halves of ids apart.
const idFactor = 0x9E3779B97F4A7C15

// Origin tells databases apart, and whether one was worked on: it is another one after a node has
// joined, a person did something to a job or a queue, or a job was sent something.
type Origin struct {
	Database string `json:"database"` // its id, drawn when it was made
	Nodes    int64  `json:"nodes"`    // the last id of a node
	Actions  int64  `json:"actions"`  // the number of the last action
	Messages int64  `json:"messages"` // how many messages and requests there are
}

// QueueSettings are what is kept of a queue beside its jobs.
type QueueSettings struct {
	Namespace string
	Name      string
	CreatedAt time.Time
	PausedAt  time.Time // zero: it is not paused
	PausedBy  string
	Rest      Resting
	Attempts  QueueAttempts
	DeletedAt time.Time // zero: it was not deleted
}

// CopyNote is what a database knows of the copy into it.
type CopyNote struct {
	From Origin `json:"from"`
	// Nodes is the last id of a node of this database when the copy began. It is not below that of
	// the origin, so that no id means two nodes.
	Nodes int64 `json:"nodes"`
	// Last is the greatest id up to which jobs were copied, and Done that all were.
	Last ID   `json:"last"`
	Done bool `json:"done"`
}

// NamespaceAttribute is a search attribute that a namespace has declared.
type NamespaceAttribute struct {
	DeclaredAttribute

	Namespace string
}

// KeyHold is a business key and the job that has it, or had it last.
type KeyHold struct {
	Namespace string
	Kind      string
	Key       string
	Job       ID
	Keep      time.Duration // for which a finished job holds it; negative: for ever
	// Until is when the key is free, as the database knows it; zero: not before its job is removed.
	Until time.Time
	Args  []byte // a hash of the args that the job was enqueued with
}

// SentAlong is a signal that was sent along with an enqueue (Enqueue.Send), by which that is
// recognised when it is repeated.
type SentAlong struct {
	ID        ID // of the enqueue, with its namespace
	Namespace string
	Job       ID        // that the signal has reached
	Seq       int64     // of the message there
	Differs   bool      // that of EnqueueResult
	At        time.Time // when it was sent; it is remembered for SentKept
}

// ScheduleSums are by what it is told whether two databases have the same schedules.
type ScheduleSums struct {
	Schedules int64 // how many there are
	Versions  int64 // how often they were changed in all: the sum of what their versions have grown by
	Runs      int64 // how many runs they have
}

// BatchSums are by what it is told whether two databases have the same batches.
type BatchSums struct {
	Batches  int64 // how many there are
	Versions int64 // how often they were changed in all: the sum of their versions
}

// ScheduleName is the name of a schedule.
type ScheduleName struct {
	Namespace string
	Name      string
}

// CopiedRun is a run of a schedule.
type CopiedRun struct {
	ScheduleRun

	Schedule ScheduleName
	Number   int64 // of the schedule in the database from which the run comes: pages go by it
}

// Place is where a page begins: after a job, or within one; or, behind all jobs, after a business
// key; or, behind all of those, after a signal that was sent along with an enqueue, after a
// schedule, after a run of one, after a batch, or after a stub.
type Place struct {
	Job ID
	// Within: the job itself follows, with its entries after one Seq and its messages after
	// another.
	Within         bool
	Entry, Message int64
	// Keys: a page of business keys follows, after this one.
	Keys bool
	Key  KeyHold
	// Signals: a page of signals that were sent along with enqueues follows, after this one.
	Signals bool
	Signal  SentAlong
	// Schedules: a page of schedules follows, after this one.
	Schedules bool
	Schedule  ScheduleName
	// Runs: a page of runs of schedules follows, after this one.
	Runs bool
	Run  CopiedRun
	// Batches: a page of batches follows, after this one.
	Batches bool
	Batch   ID
	// Stubs: a page of stubs of archived jobs follows, after this one.
	Stubs bool
	Stub  ID
}

// ExportParams is a page of jobs.
type ExportParams struct {
	After Place // the zero value: from the beginning
	// Limit bounds the jobs of a page, and its entries and messages together. 1 to 1000.
	Limit int
	// Bytes is how large the page becomes, about, with one job or one entry at least.
	Bytes int
}

// Exported is a page of whole jobs, of business keys, of signals that were sent along with
// enqueues, of schedules, of runs of schedules, of batches, or of stubs.
type Exported struct {
	Jobs      []Whole
	Builds    []NodeBuild // of the nodes that the jobs name, as far as they are known
	Keys      []KeyHold
	Signals   []SentAlong
	Schedules []Schedule
	Runs      []CopiedRun
	Batches   []JobBatch
	Stubs     []Stub
	Next      Place
	End       bool // there is no further page
}

// ImportParams is a page to write.
type ImportParams struct {
	From    Origin // of the database that is copied
	Queues  []QueueSettings
	Limits  []Limit          // all that there are to be; nil: those that are there stay
	Classes []RetentionClass // the same of classes of retention
	// Attributes are search attributes, which come before the jobs that have them, and take the
	// place of those of their names. Values of others are dropped.
	Attributes []NamespaceAttribute
	Jobs       []Whole
	Builds     []NodeBuild // of nodes that the jobs name; what is known of one already stays
	Keys       []KeyHold
	Signals    []SentAlong
	Schedules  []Schedule
	Runs       []CopiedRun // of schedules that are there
	Batches    []JobBatch
	Stubs      []Stub // what is known of one already stays
	// Last is what CopyNote.Last becomes, if it is greater than that.
	Last ID
	Done bool // the copy is complete
}

// Check reports why a database does not take a page of a copy, an ErrConflict: nodes is the last id
// of a node there.
func (n *CopyNote) Check(from Origin, nodes int64) error {
	switch {
	case n.From.Database != from.Database:
		return fmt.Errorf("%w: the target holds the copy of another database", ErrConflict)
	case n.Nodes != nodes:
		return fmt.Errorf("%w: a node has joined the target since the copy began", ErrConflict)
	case n.From != from:
		return fmt.Errorf("%w: the source was worked on, or sent to, since the copy began", ErrConflict)
	case n.Done:
		return fmt.Errorf("%w: the copy is complete", ErrConflict)
	}
	return nil
}

// Whole is all that a database keeps of one job. It says what the rows mean, not how they are
// stored: another kind of database makes its own rows of it, and the job goes on there. What
// belongs to a job must be in it; see Copies.
type Whole struct {
	// Job is the body as it is stored: LeaseNumber, Attempt and RunAt do not count the run that
	// finished the job, which End tells. RunAt of a job that is held is the run time that it had
	// before; zero: no time.
	Job
	// State is where the pointer of the job is. It is never Running.
	State State
	// Decided is the Seq of the entry with which the end of a closing job was decided.
	Decided int64
	// Durable tells that the job has a journal.
	Durable bool
	// RanAt is the ClaimedAt of the last run that did not finish the job; zero: none, or unknown.
	RanAt time.Time

	HoldsKey bool // it holds its unique key
	HasTurn  bool // it has the turn of its ordering key
	// Closes tells of a finished job that its children are still to be closed.
	Closes bool

	Parked *Parked   // of a waiting job
	Awaits []Awaited // the jobs for which it waits, by their ids
	End    *WholeEnd // of a finished one

	Checkpoint *Checkpoint
	// CheckpointLease is the number of the lease under which the checkpoint was written.
	CheckpointLease int64

	// Cancel and Pause are what people asked for and no run has answered yet.
	Cancel, Pause *Request

	Attempts []WholeAttempt // that did not complete, oldest first
	Updates  []Update       // requests to its runs with their answers, by Seq, which they keep
	Actions  []Action       // of people, oldest first, all of them
	Logs     []LogChunk     // what its runs have logged, in the order of Logs.Logs

	// Entries are a portion of the journal, by Seq, with what has stayed of before the job last
	// continued as new; Messages are a portion of what was sent to it, by Seq.
	Entries  []Entry
	Messages []KeyedMessage
	// Unfinished tells that more entries or messages follow, on the next page. The job is not there
	// before the last portion is.
	Unfinished bool
}

// Awaited is a job for which another one waits.
type Awaited struct {
	Dependency
	// Told is how it has ended, as the other one knows, which waits for a person; 0: it does not.
	Told State
}

// Parked is how a job waits.
type Parked struct {
	Wait
	Since  time.Time
	Reason Reason // why it is held
	Error  string
	// Was is the state of a held job before it was held, and WasDue when it was due then; zero: at
	// once.
	Was    State
	WasDue time.Time
}

// WholeEnd is how a job finished. LeaseNumber, Node and ClaimedAt are those of the run that
// finished it; zero if it did not run.
type WholeEnd struct {
	Reason      Reason
	Error       string
	Result      []byte
	Codec       int // of the result
	Fingerprint int64
	LeaseNumber int64
	Node        int64
	ClaimedAt   time.Time
	StartedAt   time.Time
	FinishedAt  time.Time
}

// WholeAttempt is an attempt, and whether its run was lost with its node, by which Filter.LostFrom
// finds the job.
type WholeAttempt struct {
	Attempt

	Lost bool
}

// Request is what a person asked of a job.
type Request struct {
	At     time.Time
	Reason string
	Actor  string
	Seen   bool // a run knew of it when it ended. SQLite has other means to tell, and does not keep it
}

// KeyedMessage is a message with the key under which it was sent; "": none.
type KeyedMessage struct {
	Message

	Key string
}

// Size is about how many bytes the schedule takes.
func (s *Schedule) Size() int { return 500 + len(s.Job.Args) + len(s.Job.Metadata) + len(s.Declared) }

// Size is about how many bytes the job takes.
func (w *Whole) Size() int {
	n := 500 + len(w.Args) + len(w.Metadata) + 40*len(w.Awaits)
	if w.End != nil {
		n += len(w.End.Result) + len(w.End.Error)
	}
	if w.Checkpoint != nil {
		n += len(w.Checkpoint.Value)
	}
	for i := range w.Updates {
		u := &w.Updates[i]
		if n += 100 + len(u.Data); u.Answer != nil {
			n += len(u.Answer.Data)
		}
	}
	for i := range w.Attempts {
		n += len(w.Attempts[i].Error) + len(w.Attempts[i].Trace)
	}
	for i := range w.Attributes {
		n += 50 + len(w.Attributes[i].Name) + len(w.Attributes[i].Value.Data)
	}
	for i := range w.Logs {
		n += 50 + len(w.Logs[i].Lines)
	}
	return n
}
