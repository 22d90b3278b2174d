package engine

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// slowLine is a line to the database on which so many bytes travel in a second. What has not arrived
// when the caller's time is over has not happened.
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

// carry is the way of a batch to the database.
func (l slowLine) carry(ctx context.Context, b *store.Batch) error {
	return l.travel(ctx, weightOfBatch(b))
}

func weightOfBatch(b *store.Batch) int {
	n := weightOf(b.Enqueues)
	for _, o := range b.Outcomes {
		n += (&op{outcome: o}).weight()
	}
	for _, a := range b.Appends {
		n += (&op{remembered: a}).weight()
	}
	for _, c := range b.Checkpoints {
		n += (&op{checkpoint: c}).weight()
	}
	return n
}

// TestLargeResultsOverASlowLine: they are stored although all of them at once take longer than a call may,
// and what is small goes on.
func TestLargeResultsOverASlowLine(t *testing.T) {
	for _, rate := range []int{500 << 10, 60 << 10, 8 << 10} { // a result alone takes 0.4 s, 3 s, 25 s
		t.Run(fmt.Sprint(rate>>10, " KiB per second"), func(t *testing.T) {
			inBed(t, Config{}, func(b *bed) {
				const jobs = 40
				gate := make(chan struct{})
				b.handle("large", func(context.Context, *Run) ([]byte, error) {
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
				// No more than twice as long as the bytes themselves take, and a few tries that were too large.
				took, least := time.Since(began), time.Duration(jobs*200<<10)*time.Second/time.Duration(rate)
				if took > 2*least+4*storeTimeout {
					t.Errorf("it took %v; the line alone takes %v", took, least)
				}
				if most > wholePortion+4<<10 {
					t.Errorf("a batch of %d bytes", most)
				}
			})
		})
	}
}

// enqueueAnyhow enqueues a job again and again until the database takes it.
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

// TestResultThatTheLineCannotCarryHoldsUpNoOthers for good: a call is over before it is there.
func TestResultThatTheLineCannotCarryHoldsUpNoOthers(t *testing.T) {
	inBed(t, Config{}, func(b *bed) {
		b.handle("large", func(context.Context, *Run) ([]byte, error) { return make([]byte, 400<<10), nil })
		b.handle("small", func(context.Context, *Run) ([]byte, error) { return make([]byte, 100), nil })
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

func TestPortionShrinksAndGrows(t *testing.T) {
	p := newPortion(1000, 3*time.Second)
	ops := make([]*op, 1000)
	for i := range ops {
		ops[i] = &op{outcome: &store.Outcome{Result: make([]byte, 10<<10)}}
	}
	if n := p.fit(ops); n < 90 || n > 110 {
		t.Errorf("%d of 10 KiB fit", n)
	}
	if p.tried(ops[:100], time.Millisecond, store.ErrUnavailable); !p.isWhole() {
		t.Error("a failure that came at once made it smaller")
	}
	for range 20 {
		n := p.fit(ops)
		p.tried(ops[:n], storeTimeout, store.ErrUnavailable)
	}
	if n := p.fit(ops); n != 1 {
		t.Errorf("%d at once after many failures", n)
	}
	for range 20 {
		n := p.fit(ops)
		p.tried(ops[:n], time.Millisecond, nil)
	}
	if !p.isWhole() {
		t.Errorf("after all went well: %+v", p)
	}
	// A database that takes its time whatever the size is given more at once, not less.
	p.tried(ops[:100], storeTimeout, store.ErrUnavailable)
	light := make([]*op, 1000)
	for i := range light {
		light[i] = &op{outcome: &store.Outcome{}}
	}
	for range 20 {
		p.tried(light[:p.fit(light)], 10*time.Second, nil)
	}
	if n := p.fit(light); n < 150 {
		t.Errorf("%d at once where each try takes long", n)
	}
}
