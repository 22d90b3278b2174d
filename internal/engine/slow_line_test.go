package engine

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfastdev/holdfast/internal/portion"
	"github.com/holdfastdev/holdfast/store"
)

// slowLine is a connection to the database with a limited rate in bytes per second. What has not
// arrived when the call times out has not happened.
type slowLine struct{ rate int }

func (l slowLine) travel(ctx context.Context, bytes int) error {
	timer := time.NewTimer(time.Duration(bytes) * time.Second / time.Duration(l.rate))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%w: the line is slow: %w", store.ErrUnavailable, ctx.Err())
	}
}

// carry sends a batch to the database.
func (l slowLine) carry(ctx context.Context, b *store.Batch) error {
	return l.travel(ctx, weightOfBatch(b))
}

// weightOfBatch is about how many bytes a batch has.
func weightOfBatch(b *store.Batch) int {
	const row = 200
	n := 0
	for _, q := range b.Enqueues {
		n += row + len(q.Job.Args)
	}
	for _, o := range b.Outcomes {
		n += row + len(o.Result) + len(o.Error)
	}
	for _, a := range b.Appends {
		for i := range a.Entries {
			n += row + len(a.Entries[i].Data)
		}
	}
	for _, c := range b.Checkpoints {
		n += row + len(c.Checkpoint.Value)
	}
	return n
}

// TestLargeResultsOverASlowLine: they are stored although all of them together take longer than a
// call's time limit, and small writes go on.
func TestLargeResultsOverASlowLine(t *testing.T) {
	for _, rate := range []int{500 << 10, 60 << 10, 8 << 10} { // one result takes 0.4 s, 3 s, 25 s
		t.Run(fmt.Sprint(rate>>10, " KiB per second"), func(t *testing.T) {
			inBed(t, Config{}, func(b *bed) {
				const jobs = 40
				gate := make(chan struct{})
				b.handle("large", func(context.Context, Attempt) ([]byte, error) {
					<-gate
					return make([]byte, 200<<10), nil
				})
				b.handle("small", ok)
				b.run()
				var ids []store.ID
				for range jobs {
					ids = append(ids, b.enqueue(b.job("large")))
				}
				synctest.Wait()
				most := 0
				b.st.hook(func(p *probe) {
					p.carry = func(ctx context.Context, batch *store.Batch) error {
						most = max(most, weightOfBatch(batch))
						return slowLine{rate}.carry(ctx, batch)
					}
				})
				close(gate)
				began := time.Now()
				time.Sleep(time.Second)
				small := b.enqueueAnyhow("small")
				for _, id := range append(ids, small) {
					b.expect(b.wait(id), store.Completed, "")
				}
				// At most twice the time of the bytes, and a few tries that were too large.
				took, least := time.Since(began), time.Duration(jobs*200<<10)*time.Second/time.Duration(rate)
				if took > 2*least+4*store.CallTimeout {
					t.Errorf("it took %v; the line alone takes %v", took, least)
				}
				if most > portion.Whole+4<<10 {
					t.Errorf("a batch of %d bytes", most)
				}
			})
		})
	}
}

// enqueueAnyhow retries an enqueue until the database accepts it.
func (b *bed) enqueueAnyhow(kind string) store.ID {
	b.t.Helper()
	e := b.job(kind)
	for {
		err := b.e.Enqueue(b.t.Context(), []*store.Enqueue{e})
		if err == nil && e.Err == nil {
			return e.Job.ID
		}
		if !errors.Is(err, store.ErrUnavailable) {
			b.t.Fatal(err, e.Err)
		}
	}
}

// TestResultThatTheLineCannotCarryHoldsUpNoOthers: a result too large for any call to complete.
func TestResultThatTheLineCannotCarryHoldsUpNoOthers(t *testing.T) {
	inBed(t, Config{}, func(b *bed) {
		b.handle("large", func(context.Context, Attempt) ([]byte, error) { return make([]byte, 400<<10), nil })
		b.handle("small", func(context.Context, Attempt) ([]byte, error) { return make([]byte, 100), nil })
		b.run()
		var rate atomic.Int64
		rate.Store(10 << 10)
		b.st.hook(func(p *probe) {
			p.carry = func(ctx context.Context, batch *store.Batch) error {
				return slowLine{int(rate.Load())}.carry(ctx, batch)
			}
		})
		large := b.enqueueAnyhow("large")
		for range 20 {
			b.expect(b.wait(b.enqueueAnyhow("small")), store.Completed, "")
		}
		if rec := b.get(large); rec.State != store.Running {
			t.Errorf("the large one is %v", rec.State)
		}
		rate.Store(1 << 20)
		b.expect(b.wait(large), store.Completed, "")
	})
}
