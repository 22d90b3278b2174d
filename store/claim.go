package store

import (
	"strings"
	"time"
)

// ClaimParams says what a node can take now.
type ClaimParams struct {
	Node int64
	// Seq is the number of the first claim record; the store uses Seq, Seq+1, … for as many records
	// as it writes (Limit/MaxClaimSlots rounded up at the most). The node never uses a number
	// twice, but to Repeat.
	Seq       int64
	Namespace string
	// Queues are the queues to serve and how many jobs of each may be taken. Nil means every queue
	// of the namespace, each up to Limit; empty but not nil takes nothing. Paused queues are passed
	// over. A store may take fewer than Limit. One of which none may be taken just now belongs here
	// too, with 0: a store may remember where claims go on. Of each name and kind there is one at
	// the most.
	Queues []QueueDemand
	// Kinds are the kinds that the node handles. Jobs of other kinds are left alone. Empty takes
	// nothing. "kind" is for jobs that are bound to no version, "kind@version" for those bound to
	// that one.
	Kinds []string
	Limit int
	// Aging is the wait after which a job counts as one priority more urgent, again and again up to
	// 1; 0: never.
	Aging time.Duration
	// Repeat says that a claim with this Seq was sent and its answer was lost. If it had happened,
	// its jobs that are not done are returned and nothing new is claimed.
	Repeat bool
	// Sent, of a repeated claim, is the largest Limit that was sent with this Seq, where Limit is
	// smaller by now, because the answer was too large to arrive in time. Of a claim that had
	// happened at most Limit jobs are returned then, and After asks for those that follow.
	Sent int
	// Passed, if it is not nil, is set by the store.
	Passed *Passed
	// After, of a repeated claim that is known to have happened, is the lease of the last job that
	// arrived. Nothing is claimed.
	After Lease
}

// Passed is what a claim has passed over because limits per key are reached.
type Passed struct {
	// Jobs is how many jobs wait since this claim. A store looks for those that may go on when a
	// run ends, but may miss some then: Promote finds them, from SweepAfter on.
	Jobs int
	// More: they were so many that the store has given up looking for others. There may be some.
	More bool
	// Due is when the next of those that wait for the rate of their key may start: Promote lets it
	// go then. Zero: none is known.
	Due time.Time
}

// Waits notes when a job may start.
func (p *Passed) Waits(due time.Time) {
	if p.Due.IsZero() || due.Before(p.Due) {
		p.Due = due
	}
}

// SweepAfter is when to call Promote after a claim has passed over jobs.
const SweepAfter = 250 * time.Millisecond

// Records is how many claim records there may be from Seq on.
func (p *ClaimParams) Records() int { return ClaimRecords(max(p.Limit, p.Sent)) }

// ClaimRecords is how many claim records so many jobs take.
func ClaimRecords(jobs int) int { return (jobs + MaxClaimSlots - 1) / MaxClaimSlots }

// Before reports whether a lease of the same node comes before another one in the order of their
// claims.
func (l Lease) Before(other Lease) bool {
	return l.Claim < other.Claim || l.Claim == other.Claim && l.Slot < other.Slot
}

// QueueDemand is how many jobs a node takes of a queue, or of one kind of its jobs. A job counts in
// the demand for its queue and kind, or else for its queue, or else for its kind, or else for
// everything; without any of these it is not taken.
type QueueDemand struct {
	Name  string // "": all queues
	Kind  string // one of ClaimParams.Kinds; "": all of them
	Limit int
}

// Claimed is a job with its lease. Job.Attempt counts the attempt that now starts.
type Claimed struct {
	Job       Job
	Lease     Lease
	ClaimedAt time.Time
	// Durable tells that the job has a journal.
	Durable bool
	// HasSuccessors tells that other jobs may come after this one. One that began to while it ran,
	// or at this moment, may not be told of.
	HasSuccessors bool
	// CancelRequested is set if a cancel was requested before this run, and CancelReason is its
	// reason.
	CancelRequested bool
	CancelReason    string
	// Checkpoint is what earlier attempts left, or nil.
	Checkpoint *Checkpoint
}

// Outcome returns an outcome of the run in the given state, with all that it carries of the claim.
// The caller adds how the run ended.
func (c *Claimed) Outcome(state State) *Outcome {
	o := &Outcome{State: state}
	o.Carry(c)
	return o
}

// Carry sets all that an outcome carries of the claim of its run.
func (o *Outcome) Carry(c *Claimed) {
	o.Lease, o.Durable, o.HasSuccessors = c.Lease, c.Durable, c.HasSuccessors
	o.Answers, o.Parent = c.Job.Answers, c.Job.Parent
	o.Namespace, o.Queue = c.Job.Namespace, c.Job.Queue
	o.HasKey = c.Job.Options.Key != ""
	o.HasUnique, o.HasOrdering, o.Gate = c.Job.UniqueKey != nil, c.Job.OrderingKey != "", c.Job.Gate()
}

// Checkpoint is what a run leaves for people and for its next attempt. It stays with the job until
// retention removes both.
type Checkpoint struct {
	Percent   float64 // 0 to 100
	Message   string
	Value     []byte // JSON, or nil
	UpdatedAt time.Time
}

// IsOwnKind reports that a kind is one of Holdfast's own, whose jobs nodes run without a handler of
// the program. Where people are told which kinds there are it is left out.
func IsOwnKind(kind string) bool { return strings.HasPrefix(kind, "holdfast.") }

// ClaimKind is the kind of the job as ClaimParams.Kinds names it.
func (j *Job) ClaimKind() string {
	if j.Version == "" {
		return j.Kind
	}
	return j.Kind + "@" + j.Version
}
