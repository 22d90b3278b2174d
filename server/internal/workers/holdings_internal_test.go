package workers

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfastdev/holdfast/server/internal/api"
	"github.com/holdfastdev/holdfast/store"
)

// TestHoldingsAskForWhatALatePollClaims: a poll whose connection has died without a word may claim
// until it ends, with numbers below those of its repeat at this server. What it has claimed no
// worker lists, so it has to be asked for as long.
func TestHoldingsAskForWhatALatePollClaims(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const first = 1 << pollBits // of the poll
		var h holdings
		repeated := []store.Lease{{Claim: later(1)}}
		beat := func() { time.Sleep(2 * time.Second) } //nolint:forbidigo // the time is virtual
		known := func(l store.Lease) bool { return l == repeated[0] }
		for began := time.Now(); time.Since(began) < maxWait+api.CallTimeout+claimTimeout; beat() {
			if asked := h.ask(map[store.Lease]string{repeated[0]: "its token"}); asked.From > first {
				t.Fatalf("after %v claims from %d on are asked for, and the poll may claim %d", time.Since(began), asked.From, first)
			}
			h.see(repeated, known, time.Second)
		}
		claimed := store.Lease{Claim: first}
		var lost []store.Lease
		for range 3 {
			h.ask(nil)
			lost = h.see(append(repeated, claimed), known, time.Second)
			beat()
		}
		if len(lost) != 1 || lost[0] != claimed {
			t.Errorf("given up are %v, not %v", lost, claimed)
		}
		for range 200 {
			h.see(repeated, known, time.Second)
			beat()
		}
		if asked := h.ask(nil); asked.From <= first {
			t.Errorf("claims from %d on are asked for, long after the poll", asked.From)
		}
	})
}
