//go:build soak

package faulttest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/store"
)

// TestHeldSend keeps a SendTx open to jobs that are parked, that run and are about to park, to
// fail and to complete.
func TestHeldSend(t *testing.T) {
	t.Parallel()
	whileHeld(t, func() story {
		listens := holdfast.NewKind[bool, int]("listens")
		ends := holdfast.NewKind[bool, int]("ends")
		note := holdfast.NewSignal[int]("note")
		gate := make(chan struct{})
		running := make(chan struct{}, 3)
		var parked, parks, fails, completes *holdfast.Job[int]
		hold := func(run *holdfast.Run, holds bool) {
			if holds && run.Lease().Number == 1 {
				running <- struct{}{}
				select {
				case <-gate:
				case <-run.Done():
				}
			}
		}
		return story{
			register: func(h *held) {
				register(h.t, h.hf, listens, func(run *holdfast.Run, holds bool) (int, error) {
					hold(run, holds)
					one, err := note.Wait(run)
					if err != nil {
						return 0, err
					}
					two, err := note.Wait(run)
					return one + two, err
				})
				register(h.t, h.hf, ends, func(run *holdfast.Run, fails bool) (int, error) {
					hold(run, true)
					if fails && run.Attempt() == 1 {
						return 0, errors.New("not yet")
					}
					return 1, nil
				}, holdfast.Backoff(time.Millisecond, time.Millisecond))
			},
			open: func(h *held) {
				parked, parks = enqueue(h.t, h.producer, listens, false), enqueue(h.t, h.producer, listens, true)
				fails, completes = enqueue(h.t, h.producer, ends, true), enqueue(h.t, h.producer, ends, false)
				eventually(h.t, "it is parked", func() bool { return get(h.t, h.producer, parked.ID).State == store.Waiting })
				for range 3 {
					receive(h.t, "the others run", running)
				}
				for _, job := range []*holdfast.Job[int]{parked, parks, fails, completes} {
					if _, err := note.SendTx(h.t.Context(), h.producer, h.tx, job.ID, 1); err != nil {
						h.t.Fatal(err)
					}
				}
				close(gate)
				for _, c := range []*holdfast.Client{h.hf, h.producer} {
					h.waits("a send to the parked job", func(ctx context.Context) error {
						_, err := note.Send(ctx, c, parked.ID, 2, holdfast.DedupKey("two"))
						return err
					})
					h.waits("a send to the job that parks", func(ctx context.Context) error {
						_, err := note.Send(ctx, c, parks.ID, 2, holdfast.DedupKey("two"))
						return err
					})
				}
			},
			after: func(h *held, committed bool) {
				for _, job := range []*holdfast.Job[int]{parked, parks} {
					if !committed {
						if _, err := note.Send(h.t.Context(), h.producer, job.ID, 1, holdfast.DedupKey("one")); err != nil {
							h.t.Error(err)
						}
					}
					endsAs(h, job, 3)
				}
				endsAs(h, fails, 1)
				endsAs(h, completes, 1)
			},
		}
	})
}
