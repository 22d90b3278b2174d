package crashtest

import (
	"testing"
	"time"

	"github.com/holdfastdev/holdfast/internal/pgtest"
)

// TestStorm is a short storm for each commit, on both databases at once: processes that run flows
// are killed and frozen, operators ask for whatever comes to their minds, and everything that is
// left is compared with what was told. How much a storm has met depends on the machine, so that is
// not asked here.
func TestStorm(t *testing.T) {
	t.Parallel()
	for name, database := range map[string]func(t *testing.T) string{
		"sqlite":   newSQLite,
		"postgres": func(t *testing.T) string { return pgtest.Shared(t).Database(t) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			weather(t, database(t), nil, nil, 6*time.Second)
		})
	}
}
