package workers

import (
	"slices"
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
			asked := h.ask(map[store.Lease]string{repeated[0]: "its token"})
			if slices.ContainsFunc(asked.Claims, func(c int64) bool { return c >= asked.From }) {
				t.Fatalf("of claims from %d on, which it asks for, it names %v", asked.From, asked.Claims)
			}
			if asked.From > first {
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

// TestHoldingsAskForWhatEndedOfLate: the end of a long run may be lost, if the database fails over
// to a standby that lags. Its job is then found to have a lease that no worker lists.
func TestHoldingsAskForWhatEndedOfLate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var h holdings
		long := store.Lease{Claim: 1 << pollBits}
		beat := func(held ...store.Lease) (asked store.HeldParams, lost []store.Lease) {
			time.Sleep(2 * time.Second) //nolint:forbidigo // the time is virtual
			asked = h.ask(nil)
			return asked, h.see(held, func(store.Lease) bool { return len(held) == 0 }, time.Second)
		}
		asksFor := func(asked store.HeldParams) bool {
			return slices.Contains(asked.Claims, long.Claim) || asked.From <= long.Claim
		}
		for began := time.Now(); time.Since(began) < 3*late; {
			h.ask(map[store.Lease]string{long: "its token"})
			h.see([]store.Lease{long}, func(store.Lease) bool { return true }, time.Second)
			time.Sleep(2 * time.Second) //nolint:forbidigo // the time is virtual
		}
		if asked, _ := beat(); !asksFor(asked) {
			t.Fatalf("it has ended, and is not asked for: %+v", asked)
		}
		if asked, _ := beat(); !asksFor(asked) {
			t.Fatalf("it has ended, and is asked for no more: %+v", asked)
		}
		beat(long)
		if _, lost := beat(long); len(lost) != 1 || lost[0] != long {
			t.Errorf("given up are %v, not %v", lost, long)
		}
		for began := time.Now(); time.Since(began) < 2*late; {
			beat()
		}
		if asked, _ := beat(); asksFor(asked) {
			t.Errorf("it is asked for long after its end: %+v", asked)
		}
	})
}
