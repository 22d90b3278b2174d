//go:build soak

package faulttest

import (
	"testing"
	"time"

	"github.com/holdfastdev/holdfast"
)

// TestSchedulesWhenTheClockJumps sets the clock of the database forward by more than what is not
// missed, back by less, and forward again, while schedules fire each second. What was decided is
// not decided again, and what was jumped over is dealt with as each schedule says.
func TestSchedulesWhenTheClockJumps(t *testing.T) {
	t.Parallel()
	onEachClock(t, func(t *testing.T, db *database, set func(time.Duration)) {
		leases := holdfast.WithLeases(clockBeat, clockDead)
		people := db.open(t)
		for range 2 {
			hf := db.open(t, leases)
			if err := ringing(hf); err != nil {
				t.Fatal(err)
			}
			work(t, hf)
		}
		b := newBells(t, people)
		b.hangAll()
		for name, missed := range missing {
			b.hang(name, mute.Item(1), missed, everyOverlap)
		}
		b.ring()
		for _, ahead := range []time.Duration{90 * time.Second, 70 * time.Second, 95 * time.Second} {
			set(ahead)
			b.ring()
			linger(t.Context(), 3*time.Second)
		}
		b.ring()
		b.verify()
		for name := range missing {
			if n := len(b.runs(name)); n < 90 {
				t.Errorf("%s: only %d seconds, of more than 90", name, n)
			}
		}
	})
}
