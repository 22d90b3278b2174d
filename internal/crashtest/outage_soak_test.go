//go:build soak

package crashtest

import (
	"testing"
	"time"

	"github.com/holdfastdev/holdfast/internal/crashtest/process"
	"github.com/holdfastdev/holdfast/internal/pgtest"
)

// brisk are nodes of a database that goes away.
func brisk(database string) workerConfig {
	return workerConfig{Database: database, Slots: 8, Beat: 300 * time.Millisecond, Dead: 3 * time.Second, Outages: true}
}

// outlive has nodes work while something happens to the database in front of them, again and
// again, and looks whether all that was confirmed is done, once for each lease.
func outlive(t *testing.T, config workerConfig, times int, happens func(c *cluster, n int)) {
	t.Helper()
	random := newRandom(t)
	c := newCluster(t, config, 3)
	l := newLoad(c, random())
	c.joined()
	reader, producer := l.read(), l.produce(random())
	for n := range times {
		records := c.counted() + 150
		c.until("the workers work", func() bool { return c.counted() >= records })
		happens(c, n)
	}
	records := c.counted() + 150
	c.until("the workers work again", func() bool { return c.counted() >= records })
	producer.stop()
	h := l.finish()
	problems, figures := verify(h)
	t.Logf("%v; %d batches were repeated, %d breaks of the feed; slow nodes: %v", figures, producer.repeats, reader.breaks, h.slowNodes())
	report(t, problems)
	reader.verify(c, h)
}

// TestPoolerDies kills PgBouncer, and nodes behind it, again and again while they work.
func TestPoolerDies(t *testing.T) {
	t.Parallel()
	pooler := pgtest.Private(t).Pooler(t)
	start := func() *process.Process {
		p, err := process.Start(pooler.Command())
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	running := start()
	t.Cleanup(func() { running.Kill() })
	pooler.Answers(t)
	outlive(t, brisk(pooler.URL), 4, func(c *cluster, n int) {
		running.Kill()
		if n%2 == 1 {
			c.end(n % len(c.workers))
			c.start(n % len(c.workers))
		}
		_ = spend(t.Context(), time.Duration(n)*700*time.Millisecond) // at last for longer than a beat
		running = start()
	})
}

// TestFailover kills PostgreSQL, whose standby is synchronous and takes over: nothing that was
// confirmed is lost, and no lease is given twice.
func TestFailover(t *testing.T) {
	t.Parallel()
	primary := pgtest.Private(t)
	standby := primary.Standby(t, "second")
	primary.Set(t, "synchronous_standby_names", "second")
	outlive(t, brisk(pgtest.Either(primary, standby)), 1, func(*cluster, int) {
		if sync := primary.Query(t, "SELECT sync_state FROM pg_stat_replication"); sync != "sync" {
			t.Fatalf("the standby is %q", sync)
		}
		primary.Kill(t)
		standby.Promote(t)
	})
}
