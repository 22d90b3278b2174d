package engine

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfastdev/holdfast/internal/await"
	"github.com/holdfastdev/holdfast/internal/replay"
	"github.com/holdfastdev/holdfast/internal/usercode"
	"github.com/holdfastdev/holdfast/store"
)

// TestEndsReachStrandsThatWait: a waiting strand learns at once that the run ends, even while
// another strand is busy and ignores it.
func TestEndsReachStrandsThatWait(t *testing.T) {
	for name, c := range map[string]struct {
		end   func(b *bed, r *Run)
		cause error // the error that the wait returns; nil: it ends its goroutine
	}{
		"cancel": {func(b *bed, r *Run) {
			if _, err := b.e.Cancel(b.t.Context(), store.CancelParams{Jobs: []store.ID{r.Job().ID}}); err != nil {
				b.t.Error(err)
			}
		}, usercode.ErrCancelled},
		"timeout":    {func(*bed, *Run) { time.Sleep(time.Minute) }, usercode.ErrTimeout},
		"shutdown":   {func(_ *bed, r *Run) { r.replay.Cancel(usercode.ErrShutdown) }, nil},
		"lease lost": {func(_ *bed, r *Run) { r.replay.Cancel(store.ErrLeaseLost) }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			inBed(t, Config{}, func(b *bed) {
				s := &strands{leave: make(chan struct{}), woken: make(chan error, 1)}
				b.handle("k", s.run).Timeout = time.Minute
				b.run()
				b.enqueue(b.job("k"))
				synctest.Wait()
				c.end(b, s.first)
				synctest.Wait()
				select {
				case err := <-s.woken:
					if !errors.Is(err, c.cause) {
						t.Errorf("the wait returned %v, not %v", err, c.cause)
					}
				default:
					t.Error("the strand that waits was not woken")
				}
				close(s.leave)
			})
		})
	}
}

// strands is a handler with one busy strand and one that waits. Later runs return at once.
type strands struct {
	first *Run
	leave chan struct{} // ends the busy one
	woken chan error    // what the wait returned; nil: it did not return
}

func (s *strands) run(_ context.Context, r Attempt) ([]byte, error) {
	if s.first != nil {
		return nil, nil
	}
	s.first = onNode(r)
	main := r.Main()
	busy, err := main.Go("busy", func(*replay.Strand) (any, error) { <-s.leave; return nil, nil })
	if err != nil {
		return nil, err
	}
	waiting, err := main.Go("waiting", func(strand *replay.Strand) (_ any, err error) {
		defer func() { s.woken <- err }()
		_, err = strand.Receive(&await.Signal{Name: "go"}, await.Limit{})
		return nil, err
	})
	if err != nil {
		return nil, err
	}
	if _, err := main.Await(waiting); err != nil {
		return nil, err
	}
	_, err = main.Await(busy)
	return nil, err
}
