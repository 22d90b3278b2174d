//go:build soak

package faulttest

import (
	"context"
	"fmt"
	"testing"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/store"
)

// TestHeldLaneOfSQL keeps an enqueue from SQL open that makes a lane and a queue, and is the first
// of the day in another lane.
func TestHeldLaneOfSQL(t *testing.T) {
	t.Parallel()
	whileHeld(t, func() story {
		sent := holdfast.NewKind[int, int]("sent")
		var known, fresh string // jobs of the transaction
		var into [10]*holdfast.Job[int]
		return story{
			register: func(h *held) {
				register(h.t, h.hf, sent, func(_ *holdfast.Run, n int) (int, error) { return n, nil })
			},
			open: func(h *held) {
				endsAs(h, enqueue(h.t, h.producer, sent, 1), 1)
				execute(h.t, h.pool, "UPDATE holdfast.lane SET used_on = used_on - 1 WHERE kind = 'sent'")
				known = value[string](h.t, h.sql, "SELECT id::text FROM holdfast.enqueue('sent', 2)")
				fresh = value[string](h.t, h.sql, "SELECT id::text FROM holdfast.enqueue('sent', 3, queue => 'fresh', unique_by => '{args}')")
				// Those who do not know the lane of before yet note the day as well, and need not
				// wait.
				for range 3 {
					endsAs(h, enqueue(h.t, h.db.open(h.t), sent, 4), 4)
				}
				// Those who need the new lane may have to.
				for i := range into {
					c := []*holdfast.Client{h.hf, h.producer}[i%2]
					h.waits(fmt.Sprint("enqueue ", i, " into the new lane"), func(ctx context.Context) (err error) {
						into[i], err = sent.Enqueue(ctx, c, 10+i, holdfast.Queue("fresh"))
						return err
					})
				}
			},
			after: func(h *held, committed bool) {
				for i, job := range into {
					if job != nil { // or its error is told already
						endsAs(h, job, 10+i)
					}
				}
				for _, text := range []string{known, fresh} {
					var id holdfast.ID
					if err := id.UnmarshalText([]byte(text)); err != nil {
						h.t.Fatal(err)
					}
					if _, err := h.producer.Get(h.t.Context(), id); (err == nil) != committed {
						h.t.Errorf("the transaction committed: %v, and job %s: %v", committed, id, err)
					}
					if committed {
						ends(h.t, h.producer, id, store.Completed)
					}
				}
			},
		}
	})
}
