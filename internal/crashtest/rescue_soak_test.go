//go:build soak

package crashtest

import (
	"testing"
	"time"
)

// TestRescueWithinDefaultSettings kills a node while another one lives. Nobody can know that it is
// dead, but by its silence. That it takes 25 seconds at the most is shown in virtual time, by the
// engine's tests; here it is written down.
func TestRescueWithinDefaultSettings(t *testing.T) {
	t.Parallel()
	const dead = 20 * time.Second
	c := newCluster(t, workerConfig{Database: newPostgres(t), Slots: 2}, 1)
	c.hold()
	c.add()
	c.joined()
	c.kill(0)
	if d := c.rescued(); d.silence < dead-blink {
		t.Errorf("the node was declared dead after a silence of %v", d.silence)
	}
}

// TestRescueAtOnce kills a node on SQLite and starts its program again. Processes on one machine
// know at once that another is dead: its silence would tell nobody before the test is over.
func TestRescueAtOnce(t *testing.T) {
	t.Parallel()
	c := newCluster(t, workerConfig{Database: newSQLite(t), Slots: 2, Beat: 5 * time.Second, Dead: time.Hour}, 1)
	c.hold()
	c.kill(0)
	c.start(0)
	if d := c.rescued(); d.silence >= c.config.Dead {
		t.Errorf("the node was declared dead after a silence of %v", d.silence)
	}
}
