package holdfast

import "github.com/holdfastdev/holdfast/store"

// The records that the client returns are those of the package store, which has their fields: see
// "go doc github.com/holdfastdev/holdfast/store.Record" for those of a record.
type (
	// ID names a job: a UUIDv7, made by the client.
	ID = store.ID
	// State says what a job is doing.
	State = store.State
	// Reason says why an attempt or a job ended as it did.
	Reason = store.Reason
	// Record is all that is known of a job: a Job, which is what was enqueued (ID, Kind, Queue,
	// Args, RunAt, Attempt …), and State, Reason, Error, Result, Lease, FinishedAt, Checkpoint,
	// Wait, Attempts, Actions. See store.Record and store.Job. As JSON it is what "holdfast job get
	// --output json" prints, with payloads as the JSON that they are, and can be read again.
	Record = store.Record
	// Attempt is one run that did not complete its job: Number, Node, StartedAt, EndedAt, Outcome,
	// Reason, Error, Trace. See store.Attempt.
	Attempt = store.Attempt
	// Action is something that a person did to a job: Kind, Actor, At and Reason. See store.Action.
	Action = store.Action
	// Filter selects jobs: by Namespace, States, Queues, Kinds, Tags, Parent. Fields that are empty
	// select everything. See store.Filter.
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
	// Retention says how long finished jobs are kept, by state: 24 h for completed and cancelled
	// ones and 7 days for failed ones where a field is zero, for ever where it is negative. See
	// store.RetainParams.
	Retention = store.RetainParams
	// CancelResult tells what became of one job that was to be cancelled: Job, State and Err. See
	// store.CancelResult.
	CancelResult = store.CancelResult
	// PauseResult tells what became of one job that was to be paused: Job, State and Err. See
	// store.PauseResult.
	PauseResult = store.PauseResult
	// RetryResult tells what became of one job that was to be retried: Job, State and Err. See
	// store.RetryResult.
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
