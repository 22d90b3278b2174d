//go:build soak

package crashtest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/holdfastdev/holdfast/internal/pgtest"
)

// TestFlows plays flows, and errands beside them, while processes are killed and frozen, PostgreSQL
// crashes, and operators ask for whatever comes to their minds. A round has a plan and a database
// of its own.
func TestFlows(t *testing.T) {
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		rounds(t, func(t *testing.T) []string { return weather(t, newSQLite(t), nil, nil, raging) })
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		server := pgtest.Private(t)
		rounds(t, func(t *testing.T) []string { return weather(t, server.Database(t), server, nil, raging) })
	})
}

// mostRounds is how many rounds are played until together they have met all that a storm is there
// for. One is enough, but on a machine that has other work.
const mostRounds = 4

// rounds plays rounds until together they have missed nothing. A round returns what it has missed.
func rounds(t *testing.T, play func(t *testing.T) (missed []string)) {
	t.Helper()
	var missed []string
	for n := 1; n == 1 || len(missed) > 0 && n <= mostRounds; n++ {
		t.Run(fmt.Sprintf("round %d", n), func(t *testing.T) {
			now := play(t)
			if n == 1 {
				missed = now
			}
			missed = slices.DeleteFunc(missed, func(what string) bool { return !slices.Contains(now, what) })
		})
	}
	if len(missed) > 0 {
		t.Errorf("the storms met too little to mean something: no %v", strings.Join(missed, ", no "))
	}
}
