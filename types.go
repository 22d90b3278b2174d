package holdfast

import "github.com/holdfastdev/holdfast/store"

// The client returns the records of package store, which documents their fields: for a Record, see
// "go doc github.com/holdfastdev/holdfast/store.Record".
type (
	// ID names a job: a UUIDv7, made by the client.
	ID = store.ID
	// State is the state of a job.
	State = store.State
	// Reason says why an attempt or a job ended as it did.
	Reason = store.Reason
	// Record is everything known about a job: a Job, as it was enqueued (ID, Kind, Queue, Args,
	// RunAt, Attempt …), and State, Reason, Error, Result, Lease, FinishedAt, Checkpoint, Wait,
	// Attempts, Actions. See store.Record and store.Job. Its JSON is what "holdfast job get
	// --output json" prints, with payloads as JSON values, and can be decoded again.
	Record = store.Record
	// Attempt is one run that did not complete its job: Number, Node, StartedAt, EndedAt, Outcome,
	// Reason, Error, Trace. See store.Attempt.
	Attempt = store.Attempt
	// Action is something that a person did to a job: Kind, Actor, At and Reason. See store.Action.
	Action = store.Action
	// Filter selects jobs: by Namespace, States, Queues, Kinds, Tags, Parent. Empty fields select
	// everything. See store.Filter.
	Filter = store.Filter
	// Page is a page of jobs: Jobs, and Next, the cursor of the page after it, "" at the end. See
	// store.Page.
	Page = store.Page
	// QueueInfo is a queue and a bounded look at what is in it: Name, PausedAt, PausedBy, Counts,
	// OldestDue. See store.Queue.
	QueueInfo = store.Queue
	// NodeInfo is a node as others see it: ID, Info, Running, Leader, StartedAt, BeatAt, DeadAt.
	// See store.Node.
	NodeInfo = store.Node
	// Lease is the right to write for one run of one job: Job, Number, Node. See store.Lease.
	Lease = store.Lease
	// Retention says how long finished jobs are kept, by state. If a field is zero, completed and
	// cancelled jobs are kept for 24 h and failed ones for 7 days; if it is negative, for ever. See
	// store.RetainParams.
	Retention = store.RetainParams
	// CancelResult is the outcome of a cancel for one job: Job, State and Err. See store.CancelResult.
	CancelResult = store.CancelResult
	// PauseResult is the outcome of a pause for one job: Job, State and Err. See store.PauseResult.
	PauseResult = store.PauseResult
	// RetryResult is the outcome of a retry for one job: Job, State and Err. See store.RetryResult.
	RetryResult = store.RetryResult
)

// The states of a job.
const (
	Scheduled = store.Scheduled
	Available = store.Available
	Running   = store.Running
	Retryable = store.Retryable
	Waiting   = store.Waiting
	Completed = store.Completed
	Failed    = store.Failed
	Cancelled = store.Cancelled
)

// ParseState returns the state of that name.
func ParseState(name string) (State, error) { return store.ParseState(name) }
