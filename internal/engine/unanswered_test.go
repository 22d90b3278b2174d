package engine

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfastdev/holdfast/internal/await"
	"github.com/holdfastdev/holdfast/internal/replay"
	"github.com/holdfastdev/holdfast/store"
)

// charges is a durable handler with a step, and what undoes it.
func charges(undone *int) func(context.Context, Attempt) ([]byte, error) {
	return func(_ context.Context, r Attempt) ([]byte, error) {
		s := r.Main()
		if err := s.OnFailure("refund", func(*replay.Strand) error { *undone++; return nil }); err != nil {
			return nil, err
		}
		charge := func(context.Context, int) ([]byte, error) { return []byte(`1`), nil }
		if _, err := s.Step("charge", replay.StepPolicy{}, charge); err != nil {
			return nil, err
		}
		return nil, s.Sleep(await.Limit{Within: time.Hour, Set: true})
	}
}

// TestAStepWhoseAppendIsOnItsWayIsUndone: a node stops while the first entries of a run are on
// their way to the database, and its job is cancelled. They arrive, so the job must not be
// cancelled without a run that undoes what they remember.
func TestAStepWhoseAppendIsOnItsWayIsUndone(t *testing.T) {
	for name, early := range map[string]bool{"a cancel, and then the stop": true, "a stop, and then the cancel": false} {
		t.Run(name, func(t *testing.T) {
			inBed(t, Config{Node: NodeConfig{StopTimeout: time.Second}}, func(b *bed) {
				undone, arrive := 0, make(chan struct{})
				b.handle("k", charges(&undone))
				b.st.hook(func(p *probe) {
					p.onApply = func(batch *store.Batch) error {
						if len(batch.Appends) > 0 {
							<-arrive
						}
						return nil
					}
				})
				b.run()
				id := b.enqueue(b.job("k"))
				synctest.Wait()
				if early {
					b.cancel(id, false)
				}
				time.AfterFunc(5*time.Second, func() { // the handler is told of the stop after a second
					if !early {
						b.cancel(id, false)
					}
					close(arrive)
				})
				b.halt()
				if n := len(b.journal(id)); n != 1 {
					t.Fatalf("the journal has %d entries", n)
				}
				b.run()
				b.expect(b.wait(id), store.Cancelled, store.ReasonCancelled)
				if undone != 1 {
					t.Errorf("it was undone %d times", undone)
				}
			})
		})
	}
}

// TestAStepWhoseAppendIsUnclearIsUndone: the store writes the entries of a run, and panics. The run
// does not know whether they are there.
func TestAStepWhoseAppendIsUnclearIsUndone(t *testing.T) {
	inBed(t, Config{}, func(b *bed) {
		undone, panicked := 0, false
		b.handle("k", charges(&undone))
		b.st.hook(func(p *probe) {
			p.instead = func(batch *store.Batch) error {
				if len(batch.Appends) == 0 || panicked {
					return nil
				}
				if err := p.Store.Apply(b.t.Context(), batch); err != nil {
					return err
				}
				b.cancel(batch.Appends[0].Lease.Job, false)
				panicked = true
				panic("after the commit")
			}
		})
		b.run()
		b.expect(b.wait(b.enqueue(b.job("k"))), store.Cancelled, store.ReasonCancelled)
		if undone != 1 || !panicked {
			t.Errorf("it was undone %d times", undone)
		}
	})
}
