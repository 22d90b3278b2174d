package views

import (
	"testing"

	"github.com/holdfastdev/holdfast/store"
)

// TestEventRowTellsTheGroup: what a table says of the arrival in a state.
func TestEventRowTellsTheGroup(t *testing.T) {
	for want, c := range map[string]store.Change{
		"running":                            {State: store.Running},
		"cancelled (cancelled)":              {State: store.Cancelled, Reason: store.ReasonCancelled},
		"failed (crash_loop)":                {State: store.Failed, Reason: store.ReasonCrashLoop},
		"failed (terminal) fffffffffffffffb": {State: store.Failed, Reason: store.ReasonTerminal, Fingerprint: -5},
	} {
		if row := EventRow(&c); row[len(row)-1] != want {
			t.Errorf("%q, want %q", row[len(row)-1], want)
		}
	}
}
