package crashtest

import (
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// hold enqueues a job whose first run does not end by itself, and waits for that run.
func (c *cluster) hold() {
	c.t.Helper()
	c.enqueue(c.client, []work{{N: 1, Holds: true}})
	c.until("the job runs", func() bool { return c.counted() > 0 })
}

// rescued waits until the job of a killed node runs again, and returns what the database says of
// the node.
func (c *cluster) rescued() death {
	c.t.Helper()
	killed := time.Now()
	c.until("the job runs again", func() bool { return c.counted() > 1 })
	c.t.Logf("the job of the killed node ran again after %v", time.Since(killed).Round(time.Millisecond))
	c.settled()
	first, second := c.effects(0)[0], c.effects(0)[1]
	for id, r := range c.records() {
		if r.State != store.Completed || r.Lease.Number != 2 || len(r.Attempts) != 1 ||
			r.Attempts[0].Reason != store.ReasonNodeLost || r.Attempts[0].Node != first.Node {
			c.t.Errorf("job %s: %+v", id, r)
		}
	}
	if second.Event != eventStart || second.Lease != 2 || second.By == first.By {
		c.t.Errorf("the second run began as %+v", second)
	}
	d, ok := c.deaths()[first.Node]
	if !ok {
		c.t.Fatalf("node %d is not dead", first.Node)
	}
	return d
}
