//go:build soak

package faulttest

import (
	"testing"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/schedule"
	"github.com/holdfastdev/holdfast/store"
)

// everyOverlap lets all jobs run beside each other.
var everyOverlap = schedule.Overlap(schedule.Allow)

// heldBells are schedules of which a caller's transaction holds something, by name: the row itself,
// or the last job, whose unique key the next one needs, or which the next one is to replace.
var heldBells = map[string]store.Overlap{
	"row": schedule.Allow, "skips": schedule.Skip, "buffers one": schedule.BufferOne,
	"cancels": schedule.CancelOther, "terminates": schedule.TerminateOther,
}

// inTime is how late a schedule may be of which nothing is held: far more than the second or so
// that it is, also on a machine that does ten other things, and less than the transaction takes.
const inTime = 40 * time.Second

// TestHeldSchedules keeps a transaction open for 50 seconds that holds a schedule, and jobs that
// the next ones of their schedules need. The other schedules fire in time, and the held ones
// afterwards, each time once.
func TestHeldSchedules(t *testing.T) {
	t.Parallel()
	whileHeld(t, func() story {
		var b *bells
		var free []string
		return story{
			lasts: 50 * time.Second,
			register: func(h *held) {
				if err := ringing(h.hf); err != nil {
					h.t.Fatal(err)
				}
				b = newBells(h.t, h.producer)
				b.hangAll()
				for name := range b.from {
					free = append(free, name)
				}
				for name, policy := range heldBells {
					b.hang(name, mute.Item(1), schedule.Overlap(policy))
				}
			},
			open: func(h *held) {
				b.ring()
				for name, policy := range heldBells {
					if policy == schedule.Allow {
						if _, err := h.sql.Exec(h.t.Context(), "SELECT id FROM holdfast.schedule WHERE name = $1 FOR UPDATE", name); err != nil {
							h.t.Fatal(err)
						}
						continue
					}
					for caught := false; !caught; {
						var last holdfast.ID
						eventually(h.t, name+" fires", func() bool {
							last = b.get(name).Last
							return last != holdfast.ID{} && !get(h.t, h.producer, last).State.Finished()
						})
						results, err := h.producer.CancelTx(h.t.Context(), h.tx, "not needed", last)
						if err != nil {
							h.t.Fatal(err)
						}
						caught = results[0].Err == nil // or it was replaced just then
					}
				}
			},
			after: func(h *held, _ bool) {
				b.verify()
				for name, policy := range heldBells {
					if policy == schedule.CancelOther || policy == schedule.TerminateOther {
						b.replaced(name)
					}
				}
				late, heldLate := b.late(free...), b.late("row", "skips")
				h.t.Logf("late: %v, and %v of what was held", late, heldLate)
				if late > inTime {
					h.t.Errorf("schedules of which nothing was held were %v late", late)
				}
				if heldLate < inTime {
					h.t.Errorf("what was held was at most %v late: nothing was held", heldLate)
				}
			},
		}
	})
}

// TestHeldDatabase keeps a transaction open for half a minute in which a caller writes to a
// database that has one writer. All schedules fire afterwards, each time once.
func TestHeldDatabase(t *testing.T) {
	t.Parallel()
	db := onSQLite(t)
	hf := db.open(t)
	if err := ringing(hf); err != nil {
		t.Fatal(err)
	}
	work(t, hf)
	b := newBells(t, db.open(t))
	b.hangAll()
	b.ring()
	tx, err := db.sqlDB(t).BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	linger(t.Context(), 30*time.Second)
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	b.ring()
	b.verify()
}
