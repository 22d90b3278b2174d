package store

import "time"

// NodeInfo is what a node tells of itself when it joins.
type NodeInfo struct {
	Name    string // host name and process, for people
	Version string
	Queues  []string // empty: all
	Kinds   []string
	Slots   int
}

// Node is a node as others see it.
type Node struct {
	ID        int64
	Info      NodeInfo
	StartedAt time.Time
	BeatAt    time.Time
	DeadAt    time.Time // zero while it lives; when it left or was declared dead
	Running   int       // jobs under its leases
	Leader    bool      // holds the maintenance lease
}

// Beat is the answer to a heartbeat.
type Beat struct {
	// Cancels are the jobs of this node that somebody asked to cancel, all of them, each time.
	Cancels []CancelRequest
	// Pauses are the jobs of this node that somebody asked to pause, all of them, each time.
	Pauses []ID
	// Leader tells whether the node holds the leader lease until the next beat or so; Epoch grows with each holder.
	Leader bool
	Epoch  int64
	// Work is what there may be to do for a node that leads and said DeadAfter.
	Work Work
}

// Work names the duties of Maintenance that fall to the node that leads. What is not set needs nobody at that moment; what is set
// may turn out to be nothing.
type Work struct {
	Rescue        bool
	SweepCancels  bool
	CloseChildren bool
}

// CancelRequest asks a running job to stop.
type CancelRequest struct {
	Job    ID
	Reason string
	Actor  string
	At     time.Time
}

// BeatParams is a heartbeat.
type BeatParams struct {
	Node int64
	// LeaderTTL: if positive the node also tries to get or keep the leader lease for that long.
	LeaderTTL time.Duration
	// DeadAfter: if positive a node that leads is told what there is to do, by that measure of RescueParams.
	DeadAfter time.Duration
}

// RescueParams says which nodes are dead and what becomes of their jobs.
type RescueParams struct {
	// DeadAfter: a node that has not beaten for so long is dead. SQLite also knows at once that a node on the same
	// machine was killed.
	DeadAfter time.Duration
	// Limit is that of claim records in one transaction; 0: the store chooses. Ask again until nothing is rescued.
	Limit int
	// Decide says what becomes of a job whose run is lost: retry after delay (Retryable, ReasonNodeLost), or not (Failed,
	// ReasonCrashLoop). The lost run is counted, and Job.Attempt includes it, unless the job's journal grew under its lease, whose number
	// its last entry then has: a job that gets further each time does not use up its attempts. A requested cancel comes first
	// (Cancelled), then a deadline that is over by the next attempt (Failed, ReasonDeadline), then a requested pause. A job with a
	// journal is treated as Outcome says of a Durable one.
	// It must be a plain function of the job: it is called inside the transaction, and perhaps again. The job has its options,
	// attempt, names and Closing; args, codec, metadata, tags and unique key may be missing.
	Decide func(Job) (delay time.Duration, retry bool)
}

// Rescued is one job that was taken from a dead node.
type Rescued struct {
	Job    ID
	Node   int64
	State  State // Retryable, Failed or Cancelled
	Reason Reason
	Queue  string
	RunAt  time.Time
}
