package store

import (
	"math"
	"math/rand/v2"
	"time"
)

// Policy is what a kind promises of its attempts, as its handler says. It holds for jobs that do
// not say themselves.
type Policy struct {
	MaxAttempts int     `json:"max_attempts,omitempty"` // 0: DefaultMaxAttempts
	Backoff     Backoff `json:"backoff,omitzero"`
	// Delays, if there are any, replace Backoff: the waits after the first attempts. The last one
	// holds for all later attempts.
	Delays []time.Duration `json:"delays,omitempty"`
}

// DefaultMaxAttempts is how often a job is tried if neither its enqueue nor its handler says.
const DefaultMaxAttempts = 25

// DefaultBackoff is the backoff of jobs whose enqueue and handler say nothing: 1 s, 2 s, 4 s … up
// to an hour, and up to a quarter more by chance so that jobs that failed together do not come back
// together.
var DefaultBackoff = Backoff{Base: time.Second, Cap: time.Hour, Jitter: 0.25}

// Attempts is how often the job is tried at the most.
func (p Policy) Attempts(job *Job) int {
	switch {
	case job.MaxAttempts > 0:
		return job.MaxAttempts
	case p.MaxAttempts > 0:
		return p.MaxAttempts
	}
	return DefaultMaxAttempts
}

// Delay is the wait after the failure of the job's given attempt, 1 being the first.
func (p Policy) Delay(job *Job, attempt int) time.Duration {
	switch {
	case job.Options.Backoff != (Backoff{}):
		return job.Options.Backoff.Delay(attempt)
	case len(p.Delays) > 0:
		return max(p.Delays[min(max(attempt, 1), len(p.Delays))-1], 0)
	}
	return p.Backoff.Delay(attempt)
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
	if b.Base <= 0 {
		b.Base = DefaultBackoff.Base
		if b.Jitter == 0 {
			b.Jitter = DefaultBackoff.Jitter
		}
	}
	if b.Cap <= 0 {
		b.Cap = DefaultBackoff.Cap
	}
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
