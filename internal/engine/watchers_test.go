package engine

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast/internal/replay"
	"github.com/holdfastdev/holdfast/store"
)

// TestWatchersAreTold: of each thing that a run writes only those are told who watch it, here and
// elsewhere; others who follow it or wait for it are not, and without watchers nothing is sent.
func TestWatchersAreTold(t *testing.T) {
	inTown(t, func(t *testing.T, w *town) {
		a, b, c := w.move(), w.move(), w.move()
		more := make(chan struct{})
		a.serve(func(_ context.Context, r Attempt) ([]byte, error) {
			strand := r.Main()
			for i := range 6 {
				<-more
				step := func(context.Context, int) ([]byte, error) { return []byte("1"), nil }
				if _, err := strand.Step("s"+strconv.Itoa(i), replay.StepPolicy{}, step); err != nil {
					return nil, err
				}
			}
			return nil, nil
		})
		id := a.enqueue("k", 1)[0]
		const here, there, follower = 101, 102, 103
		ctx, leave := context.WithCancel(t.Context())
		go func() { _ = a.e.Watch(ctx, "", id, w.counting(here)) }()
		go func() { _ = b.e.Watch(ctx, "", id, w.counting(there)) }()
		go func() { _ = c.e.Follow(ctx, "", id, w.counting(follower)) }()
		time.Sleep(time.Second)
		for i := range 5 {
			h, th, f := w.toldOf(here), w.toldOf(there), w.toldOf(follower)
			more <- struct{}{}
			time.Sleep(2 * time.Millisecond)
			if h, th := w.toldOf(here)-h, w.toldOf(there)-th; h != 1 || th != 1 {
				t.Errorf("entry %d: who watches here was told %d times, elsewhere %d", i, h, th)
			}
			if f := w.toldOf(follower) - f; f != 0 {
				t.Errorf("entry %d: who follows what is published was told %d times", i, f)
			}
			time.Sleep(100 * time.Millisecond)
		}
		leave()
		time.Sleep(time.Minute) // what others watch is forgotten by then
		sent := w.toldOf(store.WakeDetail)
		more <- struct{}{}
		time.Sleep(time.Second)
		if n := w.toldOf(store.WakeDetail) - sent; n != 0 {
			t.Errorf("nobody watches, and %d are told", n)
		}
	})
}
