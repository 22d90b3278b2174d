package crashtest

import (
	"testing"
	"time"

	"github.com/holdfastdev/holdfast"
)

// TestRescueWithinDefaultSettings kills a node while another one lives. Nobody can know that it is dead, but by its silence.
func TestRescueWithinDefaultSettings(t *testing.T) {
	t.Parallel()
	c := newCluster(t, workerConfig{Database: newPostgres(t), Slots: 2}, 1)
	c.hold()
	c.workers = append(c.workers, &worker{})
	c.start(1)
	c.joined()
	took := c.rescued(0, false)
	t.Logf("the job of the killed node ran again after %v", took.Round(time.Millisecond))
	if took > 25*time.Second {
		t.Error("that is more than 25 s")
	}
}

// TestRescueAtOnce kills a node on SQLite and starts its program again. Processes on one machine know at once that another is dead.
func TestRescueAtOnce(t *testing.T) {
	t.Parallel()
	c := newCluster(t, workerConfig{Database: newSQLite(t), Slots: 2}, 1)
	c.hold()
	took := c.rescued(0, true)
	t.Logf("the job of the killed node ran again after %v", took.Round(time.Millisecond))
	if took > 5*time.Second {
		t.Error("that is more than 5 s")
	}
}

// hold enqueues a job whose first run does not end by itself, and waits for that run.
func (c *cluster) hold() {
	c.t.Helper()
	c.enqueue(c.client, []work{{N: 1, Holds: true}})
	until(c.t, "the job runs", func() bool { return c.counted() > 0 })
}

// rescued kills the process at a place, starts it again if asked, and returns how long it took until its job ran again.
func (c *cluster) rescued(place int, again bool) time.Duration {
	c.t.Helper()
	c.kill(place)
	killed := time.Now()
	if again {
		c.start(place)
	}
	until(c.t, "the job runs again", func() bool { return c.counted() > 1 })
	took := time.Since(killed)
	for id, record := range c.finished(10 * time.Second) {
		if record.State != holdfast.Completed || record.Lease.Number != 2 || len(record.Attempts) != 1 {
			c.t.Errorf("job %s: %+v", id, record)
		}
	}
	if e := c.effects(0)[1]; e.Event != eventStart || e.Lease != 2 || e.By == c.effects(0)[0].By {
		c.t.Errorf("the second run began as %+v", e)
	}
	return took
}
