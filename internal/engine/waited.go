package engine

import (
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// waited is how long a job has waited that starts at a time: since it was due, or was enqueued,
// whichever came later. It is never negative.
func waited(c *store.Claimed, at time.Time) time.Duration {
	since := c.Job.CreatedAt
	if c.Job.RunAt.After(since) {
		since = c.Job.RunAt
	}
	return max(at.Sub(since), 0)
}
