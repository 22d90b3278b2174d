package engine

import (
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// waited is how long a job had been waiting when it started: since it was due, or was enqueued if
// that was later.
func waited(c *store.Claimed, at time.Time) time.Duration {
	since := c.Job.RunAt
	if c.Job.CreatedAt.After(since) {
		since = c.Job.CreatedAt
	}
	if since.IsZero() {
		return 0
	}
	return max(at.Sub(since), 0)
}
