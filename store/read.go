package store

import "time"

// Record is all that is known of a job.
type Record struct { //nolint:recvcheck // only what writes JSON takes a copy
	Job
	State  State
	Reason Reason // of a finished job
	Error  string // of the last attempt that failed
	Result []byte // of a completed job
	// ResultCodec is that of the result; 0: JSON. Codec is that of the args.
	ResultCodec int
	// Fingerprint of a failed job is the same for failures that are alike; 0: it has none, as
	// before there were any.
	Fingerprint int64

	Lease Lease // of a running job; Number, and Node of a finished one
	// Build is by which program the run is, or was, done that Lease names; only in Get. Zero: it is
	// not known, or there is no such run.
	Build     Build
	ClaimedAt time.Time // of the current or last run, also of one that left no attempt; zero if there was none
	// StartedAt is when the handler of the run that finished the job was called; zero if that was
	// not a run, or did not tell.
	StartedAt time.Time
	// FinishedAt of a finished job.
	FinishedAt time.Time

	Blocked         bool // available, but its ordering key has another job's turn
	CancelRequested bool // running, and asked to stop
	Checkpoint      *Checkpoint
	PauseRequested  bool      // running, and asked to pause
	Wait            *WaitInfo // of a waiting job
	Journal         int64     // how many entries its journal has; only in Get
	Messages        int64     // how many messages were sent to it; only in Get
	Attempts        []Attempt // that did not complete, oldest first; only in Get
	Actions         []Action  // of people, oldest first, the last ActionBound of them; only in Get
	// Predecessors are the jobs that this one waits for, by their ids; only in Get.
	Predecessors []Predecessor
}

// Attempt is one run that ended without completing the job.
type Attempt struct {
	// Number is the attempt as its handler saw it. One that did not count (snoozed, released, or
	// lost with a journal that had grown) shares it with the next.
	Number      int
	LeaseNumber int64
	Node        int64
	Build       Build // by which program it was done; only in Get. Zero: it is not known
	ClaimedAt   time.Time
	StartedAt   time.Time // zero if the handler was not called
	EndedAt     time.Time
	Outcome     State // the state that the job went to
	Reason      Reason
	Error       string
	Trace       string
}

// Obstacles is what keeps a job from being claimed, besides its state.
type Obstacles struct {
	QueuePausedAt time.Time // zero: its queue is not paused
	QueuePausedBy string
	QueueRest     Resting // if it rests now
	// Turn is another job that has the turn of its ordering key; zero if there is none.
	Turn ID
	// HasTurn reports that the job itself has that turn, as one that has failed does which keeps it
	// (Options.KeepTurn).
	HasTurn bool
	// FairAhead is, if the job is available and has a fair key, how many such jobs of its queue,
	// kind and priority are before it in its line, those of keys that share its shard among them.
	// More than MostFairAhead are not counted.
	FairAhead int
}

// MostFairAhead is how far Obstacles count.
const MostFairAhead = 1000

// Ended is the outcome of a finished job, for those who wait for it.
type Ended struct {
	ID     ID
	State  State
	Reason Reason
	Error  string
	Result []byte
	Codec  int // of the result
}
