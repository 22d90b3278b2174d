package store

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"
)

// Policy is how jobs of a kind are attempted: what its handler says, and what a person has set of
// their queue.
type Policy struct {
	MaxAttempts int     `json:"max_attempts,omitempty"` // 0: the handler does not say
	Backoff     Backoff `json:"backoff,omitzero"`       // zero: the handler does not say
	// Delays, if there are any, replace Backoff: the waits after the first attempts. The last one
	// holds for all later attempts.
	Delays    []time.Duration `json:"delays,omitempty"`
	Timeout   time.Duration   `json:"timeout,omitempty"`   // 0: the handler does not say
	Heartbeat time.Duration   `json:"heartbeat,omitempty"` // 0: the handler does not say

	Queue AttemptSettings `json:"-"` // that a person has set of the queue; see In
}

// DefaultMaxAttempts is how often a job is tried if it is not said anywhere.
const DefaultMaxAttempts = 25

// DefaultBackoff is the backoff of jobs of which it is not said anywhere: 1 s, 2 s, 4 s … up to an
// hour, and up to a quarter more by chance so that jobs that failed together do not come back
// together.
var DefaultBackoff = Backoff{Base: time.Second, Cap: time.Hour, Jitter: 0.25}

// SaidBy is who has said how a job is attempted.
type SaidBy string

// Who may have said it.
const (
	ByJob     SaidBy = "job"     // its enqueue, or a person who has edited it
	ByQueue   SaidBy = "queue"   // a person, of its queue
	ByHandler SaidBy = "handler" // of its kind
	ByKind    SaidBy = "kind"    // its kind, when it was enqueued
	ByDefault SaidBy = "default" // it is not said anywhere
)

// whose is what counts of one setting, the first that is set, and who has said it: what the enqueue
// of the job says, then what a person has set of its queue, then what the handler says, and then
// what the kind has said when the job was enqueued (ofKind).
func whose[T comparable](job T, ofKind bool, queue, handler T) (T, SaidBy) {
	var none T
	switch {
	case job != none && !ofKind:
		return job, ByJob
	case queue != none:
		return queue, ByQueue
	case handler != none:
		return handler, ByHandler
	case job != none:
		return job, ByKind
	}
	return none, ByDefault
}

// Authors are who has said how a job is attempted.
type Authors struct{ MaxAttempts, Backoff, Timeout, Heartbeat SaidBy }

// In is the policy for jobs of a queue of which a person has set something.
func (p Policy) In(queue AttemptSettings) Policy {
	p.Queue = queue
	return p
}

// Of is how a job is attempted, and who says so. If the Backoff is that of the handler and there
// are Delays, these count; Delay looks at both.
func (p Policy) Of(job *Job) (a AttemptSettings, from Authors) {
	own, ofKind, backoff := &job.Options, job.Options.OfKind, p.Backoff
	if len(p.Delays) > 0 {
		backoff = DefaultBackoff // so that the handler has said something
	}
	a.MaxAttempts, from.MaxAttempts = whose(job.MaxAttempts, ofKind&SettingMaxAttempts != 0, p.Queue.MaxAttempts, p.MaxAttempts)
	a.Backoff, from.Backoff = whose(own.Backoff, ofKind&SettingBackoff != 0, p.Queue.Backoff, backoff)
	a.Timeout, from.Timeout = whose(own.Timeout, ofKind&SettingTimeout != 0, p.Queue.Timeout, p.Timeout)
	a.Heartbeat, from.Heartbeat = whose(own.Heartbeat, ofKind&SettingHeartbeat != 0, p.Queue.Heartbeat, p.Heartbeat)
	if from.MaxAttempts == ByDefault {
		a.MaxAttempts = DefaultMaxAttempts
	}
	if from.Backoff == ByDefault {
		a.Backoff = DefaultBackoff
	}
	return a, from
}

// Attempts is how often the job is tried at the most.
func (p Policy) Attempts(job *Job) int {
	a, _ := p.Of(job)
	return a.MaxAttempts
}

// Delay is the wait after the failure of the job's given attempt, 1 being the first.
func (p Policy) Delay(job *Job, attempt int) time.Duration {
	a, from := p.Of(job)
	if from.Backoff == ByHandler && len(p.Delays) > 0 {
		return max(p.Delays[min(max(attempt, 1), len(p.Delays))-1], 0)
	}
	return a.Backoff.Delay(attempt)
}

// Lost says what becomes of a job whose run was lost with its node, Job.Attempt being the one that
// was lost: it is retried after the delay, or not at all. The first attempt that is lost is
// repeated at once, since that is seldom the job's fault; from then on there is the backoff, so
// that a job that kills its nodes does not do so quickly. A job that is closing is retried however
// often that takes.
func (p Policy) Lost(job *Job) (delay time.Duration, retry bool) {
	if job.Attempt >= p.Attempts(job) && !job.Closing {
		return 0, false
	}
	if job.Attempt <= 1 {
		return 0, true
	}
	return p.Delay(job, job.Attempt-1), true
}

// Delay is the wait after the failure of the given attempt, 1 being the first. What is not set is
// that of DefaultBackoff.
func (b Backoff) Delay(attempt int) time.Duration {
	b = b.filled()
	delay := min(b.Base, b.Cap)
	for n := 1; n < attempt && delay < b.Cap; n++ {
		delay = min(2*delay, b.Cap)
	}
	if b.Jitter > 0 {
		more := time.Duration(rand.Float64() * min(b.Jitter, 1) * float64(delay))
		delay += min(more, math.MaxInt64-delay)
	}
	return delay
}

// filled has what is not set.
func (b Backoff) filled() Backoff {
	if b.Base <= 0 {
		b.Base = DefaultBackoff.Base
		if b.Jitter == 0 {
			b.Jitter = DefaultBackoff.Jitter
		}
	}
	if b.Cap <= 0 {
		b.Cap = DefaultBackoff.Cap
	}
	return b
}

// String is the backoff as people write it, such as "1s to 1h0m0s".
func (b Backoff) String() string {
	b = b.filled()
	return fmt.Sprintf("%v to %v", b.Base, b.Cap)
}
