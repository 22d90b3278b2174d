package engine

import (
	"math/rand/v2"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// DefaultBackoff is the backoff of jobs whose enqueue and handler say nothing: 1 s, 2 s, 4 s … up to an hour, and up to
// a quarter more by chance so that jobs that failed together do not come back together.
var DefaultBackoff = store.Backoff{Base: time.Second, Cap: time.Hour, Jitter: 0.25}

// Delay returns the wait after the failure of the given attempt, 1 being the first.
func Delay(b store.Backoff, attempt int) time.Duration {
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
		delay += time.Duration(rand.Float64() * min(b.Jitter, 1) * float64(delay))
	}
	return delay
}

// lostDelay is the wait of a job that died with its node: none the first time, which is seldom the job's fault, and from
// then on its backoff, so that a job that kills its nodes does not do so quickly.
func (h *Handler) lostDelay(job store.Job) time.Duration {
	if job.Attempt <= 1 {
		return 0
	}
	job.Attempt--
	return h.backoff(job)
}
