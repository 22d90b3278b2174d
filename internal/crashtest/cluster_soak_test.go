//go:build soak

package crashtest

import (
	"testing"
)

// newCluster opens the database and starts workers. What it starts ends with the test.
func newCluster(t *testing.T, config workerConfig, workers int) *cluster {
	t.Helper()
	c := prepare(t, config)
	c.client = open(t, config.Database)
	for range workers {
		c.add()
	}
	return c
}
