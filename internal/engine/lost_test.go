package engine

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast/internal/replay"
	"github.com/holdfastdev/holdfast/store"
)

// refuseOutcomes refuses the first n batches with outcomes with a permanent error, so that their
// leases leak.
func (b *bed) refuseOutcomes(n int64) {
	var times atomic.Int64
	b.st.hook(func(p *probe) {
		p.onApply = func(batch *store.Batch) error {
			if len(batch.Outcomes) > 0 && times.Add(1) <= n {
				return fmt.Errorf("%w: of its own making", store.ErrInvalid)
			}
			return nil
		}
	})
}

// TestLostRunThatGotFurtherIsNotCounted: if its journal has grown, as when its node dies.
func TestLostRunThatGotFurtherIsNotCounted(t *testing.T) {
	inBed(t, Config{}, func(b *bed) {
		var runs atomic.Int64
		h := b.handle("d", func(_ context.Context, r Attempt) ([]byte, error) {
			runs.Add(1)
			s := r.Main()
			for i := range 5 {
				_, err := s.Step(fmt.Sprint("s", i), replay.StepPolicy{}, func(context.Context, int) ([]byte, error) { return []byte(`1`), nil })
				if err != nil {
					return nil, err
				}
			}
			return []byte(`1`), nil
		})
		h.MaxAttempts = 1
		b.refuseOutcomes(1)
		b.run()
		id := b.enqueue(b.job("d"))
		b.expect(b.wait(id), store.Completed, "")
		if n := runs.Load(); n != 2 {
			t.Errorf("it ran %d times", n)
		}
	})
}

// TestCancelOfLostRunComesFirst: before the decision that no attempt is left.
func TestCancelOfLostRunComesFirst(t *testing.T) {
	inBed(t, Config{}, func(b *bed) {
		began := make(chan store.ID)
		h := b.handle("k", func(_ context.Context, r Attempt) ([]byte, error) {
			began <- r.Job().ID
			time.Sleep(time.Second)
			return nil, nil
		})
		h.MaxAttempts = 1
		b.refuseOutcomes(1)
		b.run()
		id := b.enqueue(b.job("k"))
		if _, _, err := b.st.Cancel(t.Context(), store.CancelParams{Jobs: []store.ID{<-began}, Reason: "not needed"}); err != nil {
			t.Fatal(err)
		}
		b.expect(b.wait(id), store.Cancelled, store.ReasonCancelled)
	})
}

// TestManyLostLeasesDoNotSilenceTheHeart: nor does giving them up slowly.
func TestManyLostLeasesDoNotSilenceTheHeart(t *testing.T) {
	const n = 500
	inBed(t, Config{Node: NodeConfig{Slots: n}}, func(b *bed) {
		b.handle("k", func(context.Context, Attempt) ([]byte, error) { time.Sleep(time.Second); return nil, nil })
		most := 0
		b.st.hook(func(p *probe) {
			p.onGet = func() { time.Sleep(100 * time.Millisecond) }
			p.onLost = func(_ context.Context, lost []store.Lease) error {
				most = max(most, len(lost))
				time.Sleep(4 * time.Second)
				return nil
			}
		})
		b.refuseOutcomes(1 << 62)
		b.run()
		jobs := make([]*store.Enqueue, n)
		for i := range jobs {
			jobs[i] = b.job("k")
		}
		b.enqueue(jobs...)
		time.Sleep(3 * time.Second)
		b.refuseOutcomes(0)
		for range 1200 {
			time.Sleep(100 * time.Millisecond)
			if silent := b.runner().Health().Silent; silent > 2*b.e.cfg.Node.Beat {
				b.t.Fatalf("the node was silent for %v", silent)
			}
		}
		for _, q := range jobs {
			b.expect(b.wait(q.Job.ID), store.Completed, "")
		}
		if most > giveUpLimit {
			t.Errorf("%d leases were given up in one call", most)
		}
	})
}

// TestGivingUpIsRepeated: until it succeeds, after an error, a timeout and a panic.
func TestGivingUpIsRepeated(t *testing.T) {
	inBed(t, Config{}, func(b *bed) {
		b.handle("k", ok)
		b.refuseOutcomes(1)
		times := 0
		b.st.hook(func(p *probe) {
			p.onLost = func(ctx context.Context, _ []store.Lease) error {
				switch times++; times {
				case 1:
					return fmt.Errorf("%w: for a moment", store.ErrUnavailable)
				case 2:
					panic("a bug")
				case 3:
					<-ctx.Done()
					return ctx.Err()
				}
				return nil
			}
		})
		b.run()
		b.expect(b.wait(b.enqueue(b.job("k"))), store.Completed, "")
		if times != 4 {
			t.Errorf("it was tried %d times", times)
		}
	})
}

// TestLeaseOfAnEarlierMembershipIsNotGivenUp: leases from before the node was declared dead are no
// longer its own.
func TestLeaseOfAnEarlierMembershipIsNotGivenUp(t *testing.T) {
	inBed(t, Config{}, func(b *bed) {
		b.handle("k", ok)
		b.run()
		n := b.runner().node
		ours := store.Lease{Job: b.job("k").Job.ID, Number: 1, Node: n.id.Load(), Claim: 900}
		theirs := ours
		theirs.Node++
		var mu sync.Mutex
		var asked []store.Lease
		b.st.hook(func(p *probe) {
			p.onLost = func(_ context.Context, lost []store.Lease) error {
				mu.Lock()
				defer mu.Unlock()
				asked = append(asked, lost...)
				return nil
			}
		})
		n.heart.setLost([]store.Lease{theirs, ours})
		time.Sleep(time.Second)
		mu.Lock()
		defer mu.Unlock()
		if len(asked) != 1 || asked[0] != ours {
			t.Errorf("given up: %v", asked)
		}
	})
}

// TestWhatIsInHandIsNotGivenUp: a job may have been claimed again between the beat and the call.
func TestWhatIsInHandIsNotGivenUp(t *testing.T) {
	inBed(t, Config{}, func(b *bed) {
		claimed, began := make(chan store.Claimed, 1), make(chan struct{})
		b.st.hook(func(p *probe) {
			p.onClaim = func(_ store.ClaimParams, jobs []store.Claimed, err error) ([]store.Claimed, error) {
				if len(jobs) > 0 {
					claimed <- jobs[0]
				}
				return jobs, err
			}
			p.onLost = func(_ context.Context, lost []store.Lease) error {
				t.Errorf("given up: %v", lost)
				return nil
			}
		})
		b.handle("k", func(context.Context, Attempt) ([]byte, error) {
			close(began)
			time.Sleep(time.Minute)
			return nil, nil
		})
		b.run()
		id := b.enqueue(b.job("k", func(e *store.Enqueue) { e.Delay = time.Second }))
		<-began // beats ask only about claims whose jobs have reached their slots
		b.runner().node.heart.setLost([]store.Lease{(<-claimed).Lease})
		b.expect(b.wait(id), store.Completed, "")
	})
}
