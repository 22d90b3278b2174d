package store

import (
	"context"
	"fmt"
	"time"
)

// CallTimeout is how long callers that have no reason of their own let one call of a store take.
const CallTimeout = 30 * time.Second

// Store is a database that keeps jobs. All methods may be called by many goroutines at once.
//
// What makes jobs available, or due at some time, answers with wake-ups (Wake): WakeReady for each
// queue that has something to claim because of it, in the namespace of the jobs, and WakeDeferred
// for the earliest time at which a job is due, or an ordering key may have a turn to hand on. The
// caller passes them on, to its own nodes and with Notify to others. They may come with an error,
// too: a part may have happened. Those of Apply tell what the results of its operations do not
// (Batch.Woken).
type Store interface { //nolint:interfacebloat // interfaces by concern, and a few methods
	Writer
	Claims
	Nodes
	Operators
	Editors
	Callers
	Queues
	Reader
	Keys
	Attributes
	Runs
	Plans
	Limits
	Rates
	Feed
	Facts
	Retentions
	Descriptors
	Access
	Maintenance

	// Traits tells what kind of store this is. It may change while the store is open.
	Traits() Traits
	// Now returns the store's clock.
	Now() time.Time
	// Watch calls wake for each wake-up until ctx ends, from one goroutine at a time. It reconnects
	// by itself and calls wake with WakeAll when some may have been lost.
	//
	// Of what this very Store value wrote it reports what callers' transactions committed, and
	// nothing else: of that the answers tell.
	//
	// It returns nil when ctx ends, and ErrDatabaseGone if it finds that the database was deleted
	// or replaced.
	Watch(ctx context.Context, wake func(Wake)) error
	// Notify tells other processes. No other method does, but for what callers' transactions
	// commit. It is cheap, never blocks for the database, and may be lost.
	Notify(wakes ...Wake)
	// Close releases everything. It is not called while other calls are in flight. A second call
	// does nothing.
	Close() error
}

// Runs is what runs leave beside the states of their jobs.
type Runs interface {
	Journals
	Updates
	Logs
}

// Access is where people and programs may work, and where they are told of it.
type Access interface {
	Namespaces
	APIKeys
	Endpoints
	Audits
}

// Plans is what enqueues jobs by itself: by the clock, and when others have ended.
type Plans interface {
	Schedules
	JobBatches
}

// Writer is what producers and runs write.
type Writer interface {
	// Apply commits a batch in one transaction, all of it or nothing, and sets each operation's
	// result. A *RefusedError means that nothing was written, because of the operations that have
	// an Err; any other error that the transaction did not commit, or, if it is ErrUnavailable,
	// that it may have: repeat it with Repeat set on its outcomes.
	Apply(ctx context.Context, batch *Batch) error
	// EnqueueTx writes the enqueues into the caller's transaction. They happen if and when it
	// commits. An Enqueue.Err leaves the transaction usable; an error does not.
	EnqueueTx(ctx context.Context, tx Tx, enqueues []*Enqueue) error
	// SendTx does the same with messages. Other senders to the same jobs wait until the transaction
	// ends.
	SendTx(ctx context.Context, tx Tx, sends []*Send) error
	// AppendTx writes an append into the caller's transaction, fenced by its lease until that ends:
	// the job cannot be taken meanwhile. An Append.Err leaves the transaction usable; the caller
	// then rolls it back.
	AppendTx(ctx context.Context, tx Tx, a *Append) error
	// AwaitTx returns when no transaction of a caller is open any more that wrote to the job by
	// AppendTx or SendTx before the call, so that what the journal then says is what became of it.
	// It waits as long as ctx lasts.
	AwaitTx(ctx context.Context, job ID) error
}

// Tx is a transaction of the caller, wrapped by the package of its store: sqlite.Tx, postgres.Tx,
// postgres.SQLTx.
type Tx interface {
	// StoreName is the name of the store that the transaction belongs to.
	StoreName() string
}

// Claims hands jobs to nodes.
type Claims interface {
	// Claim takes due jobs for a node, best first, in one transaction. It fails with ErrNodeDead if
	// the node is not alive. No jobs is not an error. The order of the jobs is the order in which
	// they should start. A process whose claims find no job that counts in a limit per key may
	// forget that there are any until it enqueues, or finds, one; and it may not know yet of those
	// that have a fair key. A claim may leave such jobs alone then if it takes others, or is
	// repeated: the next one does not.
	Claim(ctx context.Context, params ClaimParams) ([]Claimed, error)
	// Busy returns the queues of a namespace in which jobs may be claimed, by kind, each once and
	// in any order. Those that are paused or rest are left out. It may name one whose jobs all turn
	// out to wait for others of their key. It costs by the queues, of all namespaces, in which
	// there is something to claim, and the priorities and kinds of their jobs.
	Busy(ctx context.Context, namespace string) (queues []BusyQueue, err error)
}

// BusyQueue is a queue in which jobs of a kind may be claimed.
type BusyQueue struct {
	Name string
	Kind string // as in ClaimParams.Kinds
}

// Nodes keeps the register of nodes.
type Nodes interface {
	// Join registers a node and returns its id, which was never used before. It fails with
	// ErrConflict while a copy into the database is not complete (see Copies).
	Join(ctx context.Context, info NodeInfo) (int64, error)
	// Beat says that the node lives. It fails with ErrNodeDead if it was declared dead or left.
	Beat(ctx context.Context, params BeatParams) (Beat, error)
	// Leave gives back every job that the node still holds (Available, not counted, reason
	// released) and ends the node and its leader lease. Leaving twice, or after having been
	// declared dead, does nothing.
	Leave(ctx context.Context, node int64) ([]Wake, error)
	// Nodes lists the nodes: those alive, then those that ended within the last day.
	Nodes(ctx context.Context) ([]Node, error)
	// AskNode asks a node for a mode, and records who asked. The errors are ErrNotFound for a node
	// that is not known (any more), ErrNodeDead for one that has left or was declared dead, and
	// ErrConflict for one that drains and is asked for anything else.
	AskNode(ctx context.Context, params AskNodeParams) error
}

// Operators is what people do to jobs.
type Operators interface {
	// Cancel cancels jobs that do not run and asks those that do. It answers for each job in the
	// order given.
	Cancel(ctx context.Context, params CancelParams) ([]Result, []Wake, error)
	// Retry makes jobs run again at once: failed and cancelled ones from the first attempt,
	// scheduled and retryable ones with the attempts that they have. It answers for each job in the
	// order given, and records who asked. Of those that want one unique key the first gets it.
	Retry(ctx context.Context, params RetryParams) ([]Result, []Wake, error)
	// PauseJobs pauses jobs. It answers for each in the order given, and records who asked.
	PauseJobs(ctx context.Context, params PauseJobsParams) ([]Result, []Wake, error)
	// Resume lets a job go on, or start over, and records who asked and why. It returns the state
	// in which the job is then. The errors are ErrNotFound, a *UniqueError, and ErrConflict for a
	// job that is not held, failed or cancelled, or whose journal has changed.
	Resume(ctx context.Context, params ResumeParams) (State, []Wake, error)
	// Fork makes a new job out of the beginning of another one's journal, and records who asked and
	// why. The errors are ErrNotFound and ErrInvalid.
	Fork(ctx context.Context, params ForkParams) ([]Wake, error)
}

// Editors is what people do to jobs besides letting them run or not.
type Editors interface {
	// Edit changes a job, and returns the state in which it is then. The errors are ErrNotFound,
	// ErrInvalid, ErrConflict for what the job does not let be changed, and ErrBusy.
	Edit(ctx context.Context, params EditParams) (State, []Wake, error)
	// Depend lets a job come after others, and returns the state in which it is then: Waiting,
	// unless all of them let it go on and it waited for none. The errors are ErrNotFound, a
	// *DependencyError, ErrInvalid, as for a child, ErrBusy, and ErrConflict if it has started.
	Depend(ctx context.Context, params DependParams) (State, []Wake, error)
	// Delete removes finished jobs. It answers for each in the order given. One after whose end
	// others come that were not told of it yet is ErrBusy.
	Delete(ctx context.Context, params DeleteParams) ([]Result, []Wake, error)
}

// Queues is what people do to queues, and ask about them.
type Queues interface {
	// Pause pauses or resumes a queue, which is created if it does not exist, and records who
	// asked. Doing it twice is no error.
	Pause(ctx context.Context, params PauseParams) error
	// Rest lets a queue rest until a time, which it answers. Resuming the queue ends that.
	Rest(ctx context.Context, params RestParams) (Resting, error)
	// SetQueue changes what is set of the attempts of a queue's jobs, and how long they are kept,
	// and returns what is then. Nodes take it from AttemptsOfQueues; Rescue goes by it at once. A
	// change is recorded. Deleting the queue unsets all. The errors are ErrInvalid, ErrNotFound for
	// a class of retention that is not there, and *ChangedError.
	SetQueue(ctx context.Context, params SetQueueParams) (QueueAttempts, error)
	// AttemptsOfQueues returns what is set, by the name of the queue, of those queues of a
	// namespace of which something is. It costs the same however many other queues there are.
	AttemptsOfQueues(ctx context.Context, namespace string) (map[string]QueueAttempts, error)
	// DeleteQueue takes a queue off the list. The errors are ErrNotFound and ErrConflict.
	DeleteQueue(ctx context.Context, params DeleteQueueParams) error
	// Queues lists the queues of a namespace by name.
	Queues(ctx context.Context, namespace string) ([]Queue, error)
	// Unserved tells what waits in vain: kinds of jobs of which some are available, in queues that
	// are not paused and do not rest, and that no living node claims there, as NodeInfo.Claims
	// says; at most limit, first those whose jobs wait longest. Jobs that wait for the turn of
	// their ordering key are not told of. Its cost does not grow with the number of jobs that wait.
	Unserved(ctx context.Context, limit int) ([]Unserved, error)
}

// Reader answers questions about jobs. Jobs are looked for in a namespace, "" for any; those of
// others are not there. It never blocks writers, nor does whatever else only reads.
type Reader interface {
	// Get returns all that is known of a job of a namespace, or ErrNotFound; of one that was
	// archived and has left a stub, an *ArchivedError.
	Get(ctx context.Context, namespace string, id ID) (Record, error)
	// List returns a page of jobs.
	List(ctx context.Context, params ListParams) (Page, error)
	// Count counts jobs, of which it looks at a bounded number: see Counted.
	Count(ctx context.Context, params CountParams) (Counted, error)
	// WaitingOfKeys counts the jobs of each key that are available, scheduled or to be retried, in
	// at most two queries. Where only Few of the limits are, these are looked at; else the jobs of
	// each key are, the newest first, until Most are, those that have finished among them.
	WaitingOfKeys(ctx context.Context, params WaitingOfKeysParams) ([]int, error)
	// StuckKeys returns the ordering keys of a queue that a failed job keeps the turn of, in an
	// order of the store's. It looks at a bounded number of the keys that have a job, and reads
	// neither other jobs nor other queues. The error is ErrInvalid.
	StuckKeys(ctx context.Context, params StuckKeysParams) (StuckPage, error)
	// DeadGroups returns a page of the groups of dead letters of a namespace. It finds one group
	// after the other, however many jobs these have, and counts a bounded number of those on the
	// page. The error is ErrInvalid.
	DeadGroups(ctx context.Context, params DeadParams) (DeadPage, error)
	// Obstacles returns what keeps a job from being claimed whatever nodes there are, or
	// ErrNotFound. It costs the same however many jobs wait.
	Obstacles(ctx context.Context, namespace string, id ID) (Obstacles, error)
	// Ended returns those of the jobs that have finished; unknown ids are returned with State 0.
	Ended(ctx context.Context, namespace string, ids []ID) ([]Ended, error)
}

// Keys answers for business keys.
type Keys interface {
	// Find returns the job that holds a business key, or, if no job does, the one that held it
	// last, as long as that is there. A job that keeps its key may have been removed: its id is
	// returned. The error is ErrNotFound.
	Find(ctx context.Context, key JobKey) (ID, error)
}

// Journals reads what jobs remember, what they published, and what was sent to them.
type Journals interface {
	// Journals returns what jobs remember and what was sent to them, in the order given, in one
	// query for all. A job that is not there has neither.
	Journals(ctx context.Context, namespace string, ids []ID) ([]Journal, error)
	// Entries returns a page of one job's journal, or of what it published and streamed. A job that
	// is not there has none.
	Entries(ctx context.Context, params JournalParams) ([]Entry, error)
	// Messages returns a page of what was sent to one job.
	Messages(ctx context.Context, params InboxParams) ([]Message, error)
}

// Updates has the requests to runs. They come with Send, and are answered with Append.
type Updates interface {
	// OpenUpdates returns the open requests to jobs after a number, those of each job in the order
	// of their arrival, at most UpdateBound of them, in one query for all. A job that is not there
	// has none.
	OpenUpdates(ctx context.Context, of []UpdatesAfter) ([][]Update, error)
	// GetUpdate returns a request to a job of a namespace, "" for any, or ErrNotFound.
	GetUpdate(ctx context.Context, namespace string, job ID, key string) (Update, error)
	// ForgetUpdate removes a request that was refused, since its caller has heard of it. Any other,
	// and one that is not there, is left alone, without an error.
	ForgetUpdate(ctx context.Context, namespace string, job ID, key string) error
}

// Maintenance is what the engine does by the clock.
type Maintenance interface {
	// Promote makes up to limit deferred jobs that are due available, and gives ordering keys that
	// are free to the next job that waits for them. Any node may call it at any time.
	Promote(ctx context.Context, limit int) (Promoted, error)
	// Rescue declares nodes dead and takes the jobs of all that are, or those of leases that a
	// living node gives up. A job that cannot be put back does not hold up the others.
	Rescue(ctx context.Context, params RescueParams) (Rescued, error)
	// SweepCancels applies cancel requests whose job is no longer running, and forgets those of
	// finished jobs. It closes the gap between a request and a job that moved at the same moment.
	// What was asked of a job with a journal stays until that has finished; its runs see to it, and
	// one that had its chance is not made available again.
	SweepCancels(ctx context.Context) (Swept, error)
	// CloseChildren does for up to limit children of jobs that have finished what their
	// OnParentClose says. Finishing a job that may have such children makes a note of it in the
	// same transaction, so that nothing is forgotten. So does what ends a job in a caller's
	// transaction and has yet to answer its parent: CloseChildren delivers those answers, too. And
	// it tells jobs that come after others of the ends of these (Enqueue.After), each of which
	// counts: those that wait for nothing more go on, and those whose policy says so are
	// cancelled.
	CloseChildren(ctx context.Context, limit int) (Closed, error)
	// Retain removes what is over: finished jobs, with everything that belongs to them, nodes that
	// ended long ago, records of what people did, requests that were refused more than RefusedKept
	// ago, and queues that have been without a job for so long that nothing refers to them. The
	// jobs of a queue that names a class are kept as that says (Retentions), and what is removed is
	// counted, in the same transaction.
	Retain(ctx context.Context, params Retention) (Retained, error)
}

// Source says where a store is and how to open it. sqlite.File, postgres.URL, postgres.Pool and
// postgres.DB return one. A program links only the databases whose packages it imports.
type Source interface {
	// Open opens the store, bringing its schema up to date first unless the source was told not to.
	Open(ctx context.Context) (Store, error)
	// Migrate brings the schema up to date. Any number of processes may do so at once.
	Migrate(ctx context.Context) (Schema, error)
	// Schema tells which version the database has. It changes nothing.
	Schema(ctx context.Context) (Schema, error)
	// Migrations returns the migrations as SQL that a person can review and run, in order. It opens
	// nothing.
	Migrations() []Migration
	// String describes the source for people, without its password.
	String() string
}

// Resets starts a database over. A Source whose database outlives its stores implements it beside
// Source.
type Resets interface {
	// Reset removes all that Holdfast has in the database, jobs and tables, and makes the tables
	// again as Migrate does, in one transaction: all of it happens or nothing. What is not of
	// Holdfast's stays; if it depends on a table of Holdfast's, the error is ErrConflict where the
	// database tells. So it is while a node lives. Without a schema, or with a newer one, the error
	// is ErrSchema. No store may be open: it would go on with what it knows.
	Reset(ctx context.Context) (Schema, error)
}

// Migration is one numbered step of the schema. Both stores use the same numbers and names.
type Migration struct {
	Version int
	Name    string
	SQL     string
}

// Schema is the state of a database.
type Schema struct {
	Version int // applied; 0: nothing of ours is there
	Latest  int // that this program knows
	// Serves is told where Version is later than Latest: programs that know this version, or a
	// later one, work with the database as they do with their own. 0: only those that know Version.
	Serves int
}

// IsServed reports whether this program may work with the database as it is. If its version is
// later than the program's, the steps in between say whether they serve the program.
func (s Schema) IsServed() bool {
	return s.Version == s.Latest || s.Version > s.Latest && s.Serves > 0 && s.Serves <= s.Latest
}

// Check returns an ErrSchema that says what to do, unless the program is served.
func (s Schema) Check() error {
	switch {
	case s.IsServed():
		return nil
	case s.Version < s.Latest:
		return fmt.Errorf("%w: the database has version %d, this program needs %d; run holdfast migrate up", ErrSchema, s.Version, s.Latest)
	case s.Serves > 0:
		return fmt.Errorf("%w: the database has version %d, which serves programs from version %d on, "+
			"and this one has %d; use a newer version of it",
			ErrSchema, s.Version, s.Serves, s.Latest)
	}
	return s.CheckSame()
}

// CheckSame is Check for what has to know all of the database, such as a copy: a later version is
// an ErrSchema even if it serves the program.
func (s Schema) CheckSame() error {
	if s.Version > s.Latest {
		return fmt.Errorf("%w: the database has version %d, this program supports up to %d; use a newer version of it",
			ErrSchema, s.Version, s.Latest)
	}
	return nil
}
