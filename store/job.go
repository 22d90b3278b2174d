package store

import (
	"time"

	"github.com/google/uuid"
)

// ID names a job. It is a UUIDv7 made by the client, so that it is known before the insert, an
// enqueue can be repeated, and ids sort by time of creation.
type ID = uuid.UUID

// Job is a job as it is stored: the body and, as far as the operation that returned it knows, the
// state.
type Job struct { //nolint:recvcheck // only what writes JSON takes a copy
	ID        ID
	Namespace string
	Queue     string
	Kind      string
	Priority  int // 1 (most urgent) to 4

	Args  []byte // the payload as its codec wrote it
	Codec int    // 0: JSON

	CreatedAt   time.Time
	RunAt       time.Time // when the current pointer is or was due; zero while no time wakes the job, such as one that is held
	Attempt     int       // counted attempts; while running, the current one included
	MaxAttempts int       // 0: the handler's
	Options     Options
	Tags        []string
	Metadata    []byte // a JSON object, or nil
	// Attributes are the search attributes that the job has, by name. Records have them, and what
	// is enqueued; jobs that are claimed do not.
	Attributes []Attribute

	LeaseNumber int64 // the last lease number handed out

	// Version of the kind that the job is bound to; "": any. See Outcome.Version and
	// ClaimParams.Kinds.
	Version string

	OrderingKey  string   // "" for none
	UniqueKey    []byte   // nil for none; one space for the whole database, so the caller puts the namespace into it
	UniqueStates StateSet // the states in which the job holds its unique key

	// Closing tells that the end of the job is decided and that what is left of it are
	// compensations, which no lost attempt may skip.
	Closing bool

	// Parent is the job whose run enqueued this one as its child; zero: none.
	Parent ID
	// Batch is the batch to which the job belongs; zero: none. A child belongs to none.
	Batch ID
	// Answers: when the job finishes, a MessageChild is sent to its parent in the same transaction.
	Answers bool
	// OnParentClose is what becomes of the job when its parent finishes first.
	OnParentClose ClosePolicy
}

// ClosePolicy says what becomes of a child when its parent finishes first.
type ClosePolicy uint8

// The policies. The numbers are stored in databases and never change their meaning.
const (
	CancelChild    ClosePolicy = 0 // it is cancelled
	AbandonChild   ClosePolicy = 1 // it goes on
	TerminateChild ClosePolicy = 2 // it is terminated
	// CancelAndWait is CancelChild for a store. The run of a parent that fails or is cancelled
	// cancels such a child by itself, and waits for its end before it compensates and ends.
	CancelAndWait ClosePolicy = 3
)

// Options are the settings of a job that the claim does not look at. The store keeps them as one
// JSON document and does not interpret them, but for Deadline, Key, KeepKey, KeepTurn, Limit,
// LimitKey and FairKey.
type Options struct {
	Timeout   time.Duration `json:"timeout,omitempty"`   // of one attempt; 0: the handler's
	Heartbeat time.Duration `json:"heartbeat,omitempty"` // how long an attempt may go without progress; 0: the handler's
	Deadline  time.Time     `json:"deadline,omitzero"`   // of the whole job; zero: none
	Backoff   Backoff       `json:"backoff,omitzero"`    // of this job; zero: the handler's
	Source    string        `json:"source,omitempty"`    // what enqueued it, such as a schedule's name
	Nominal   time.Time     `json:"nominal,omitzero"`    // of a schedule's job: the time that it is for
	// KeepTurn lets a job that fails keep the turn of its ordering key, if it has it, until a
	// person retries it, cancels or skips it (which leaves it failed, and gives up the turn), or
	// deletes it. Retention leaves it alone as long.
	KeepTurn bool `json:"keep_turn,omitempty"`

	Follows ID `json:"follows,omitzero"` // of a follow-up: the job whose end it follows
	// Called, of a job that was enqueued because a batch has ended, is that batch and how its
	// members have ended.
	Called BatchResult `json:"called,omitzero"`

	Key string `json:"key,omitempty"` // the business key; "": none. See JobKey
	// KeepKey is for how long a finished job holds its business key. 0: not at all; negative
	// (KeepForever): for ever.
	KeepKey time.Duration `json:"keep_key,omitempty"`

	// Limit is the name of the limit per key in which the job counts, and LimitKey its key there;
	// both "": it counts in none.
	Limit    string `json:"limit,omitempty"`
	LimitKey string `json:"limit_key,omitempty"`

	// FairKey is for whom the job is: jobs of different keys are claimed in turn. "": it takes no
	// turns. See FairShards.
	FairKey string `json:"fair_key,omitempty"`

	// TraceParent and TraceState are the headers traceparent and tracestate of W3C Trace Context,
	// of the span in which the job was enqueued; "": it was in none. See CheckTrace.
	TraceParent string `json:"traceparent,omitempty"`
	TraceState  string `json:"tracestate,omitempty"`

	// OfKind are those of MaxAttempts, Backoff, Timeout and Heartbeat that the kind has said when
	// the job was enqueued: the queue and the handler are heard before them. See Policy.Of.
	OfKind Setting `json:"of_kind,omitempty"`
}

// Backoff is an exponential backoff: attempt n waits Base * 2^(n-1), at most Cap, and up to Jitter
// of it more. The zero value means the default of who applies it.
type Backoff struct {
	Base   time.Duration `json:"base,omitempty"`
	Cap    time.Duration `json:"cap,omitempty"`
	Jitter float64       `json:"jitter,omitempty"` // share of the delay, 0 to 1
}

// Lease is the right to write for one run of one job.
type Lease struct {
	Job    ID
	Number int64 // grows with every claim of the job; fence what you write elsewhere with it
	Node   int64 // the node that claimed it
	Claim  int64 // the claim record: unique for the node
	Slot   int   // the job's place in the record, 0 to MaxClaimSlots-1
}

// MaxClaimSlots is how many jobs one claim record holds. A larger claim writes several records.
const MaxClaimSlots = 60

// KeepsTurn reports whether the job keeps the turn of its ordering key if it ends so.
func (j *Job) KeepsTurn(end State) bool {
	return end == Failed && j.Options.KeepTurn && j.OrderingKey != ""
}
