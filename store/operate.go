package store

// CancelParams asks jobs to stop.
type CancelParams struct {
	Jobs   []ID
	Reason string // for people; kept with the job
	Actor  string // who asked
}

// CancelResult tells what became of one request.
type CancelResult struct {
	Job ID
	// State is Cancelled if the job did not run; Running if it runs and its node is told; a finished state if the job
	// had finished before, in which case nothing was changed.
	State State
	Err   error // ErrNotFound
}

// RetryParams makes finished jobs run again: failed or cancelled ones from the first attempt, retryable and scheduled
// ones at once.
type RetryParams struct {
	Jobs  []ID
	Actor string
}

// RetryResult tells what became of one request.
type RetryResult struct {
	Job   ID
	State State // in which the job is now
	// Err is ErrNotFound, a *UniqueError, or ErrConflict for a job that is running, waiting or completed. An available
	// one is left as it is, without an error.
	Err error
}

// PauseParams pauses or resumes a queue. Running jobs go on.
type PauseParams struct {
	Namespace string
	Queue     string
	Paused    bool
	Actor     string
}
