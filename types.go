package holdfast

import "github.com/holdfastdev/holdfast/store"

// The records that the client returns are those of the store.
type (
	// ID names a job: a UUIDv7, made by the client.
	ID = store.ID
	// State says what a job is doing.
	State = store.State
	// Reason says why an attempt or a job ended as it did.
	Reason = store.Reason
	// Record is all that is known of a job.
	Record = store.Record
	// Attempt is one run that did not complete its job.
	Attempt = store.Attempt
	// Action is something that a person did to a job: what, who, when and why.
	Action = store.Action
	// Filter selects jobs.
	Filter = store.Filter
	// Page is a page of jobs.
	Page = store.Page
	// QueueInfo is a queue and a bounded look at what is in it.
	QueueInfo = store.Queue
	// NodeInfo is a node as others see it.
	NodeInfo = store.Node
	// Lease is the right to write for one run of one job.
	Lease = store.Lease
	// Retention says how long finished jobs are kept, by state: 24 h for completed and cancelled ones and 7 days for failed
	// ones where a field is zero, for ever where it is negative.
	Retention = store.RetainParams
	// CancelResult tells what became of one job that was to be cancelled.
	CancelResult = store.CancelResult
	// PauseResult tells what became of one job that was to be paused.
	PauseResult = store.PauseResult
	// RetryResult tells what became of one job that was to be retried.
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
