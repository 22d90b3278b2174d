package engine

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// ran records which jobs ran, in order.
type ran struct {
	mu   sync.Mutex
	jobs []store.ID
}

func (r *ran) run(_ context.Context, run Attempt) ([]byte, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.jobs = append(r.jobs, run.Job().ID)
	return nil, nil
}

func (r *ran) times(id store.ID) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := 0
	for _, job := range r.jobs {
		if job == id {
			n++
		}
	}
	return n
}

// countClaims counts the claims that returned jobs.
func (b *bed) countClaims() *int {
	n := new(int)
	b.st.hook(func(p *probe) {
		p.onClaim = func(_ store.ClaimParams, jobs []store.Claimed, err error) ([]store.Claimed, error) {
			if len(jobs) > 0 {
				*n++
			}
			return jobs, err
		}
	})
	return n
}

func TestJobStartsWithItsEnqueue(t *testing.T) {
	inBed(t, Config{}, func(b *bed) {
		r := &ran{}
		b.handle("k", r.run)
		claims := b.countClaims()
		b.run()
		before := b.st.applies.Load()
		for range 10 {
			b.expect(b.wait(b.enqueue(b.job("k"))), store.Completed, "")
		}
		if *claims != 0 {
			t.Errorf("%d claims for jobs that could start as they were enqueued", *claims)
		}
		if commits := b.st.applies.Load() - before; commits != 20 {
			t.Errorf("%d commits for 10 jobs, want 20: one to enqueue and one to end each", commits)
		}
	})
}

func TestOnlyAsManyStartAsThereAreFreeSlots(t *testing.T) {
	inBed(t, Config{Node: NodeConfig{
		Slots: 5, Queues: []store.QueueDemand{{Name: "default"}, {Name: "few", Limit: 2}},
	}}, func(b *bed) {
		release := make(chan struct{})
		var mu sync.Mutex
		now, most := map[string]int{}, map[string]int{}
		b.handle("k", func(_ context.Context, r Attempt) ([]byte, error) {
			queue := r.Job().Queue
			mu.Lock()
			now[queue]++
			most[queue] = max(most[queue], now[queue])
			mu.Unlock()
			<-release
			mu.Lock()
			now[queue]--
			mu.Unlock()
			return nil, nil
		})
		b.run()
		var jobs []*store.Enqueue
		for range 20 {
			jobs = append(jobs, b.job("k", func(q *store.Enqueue) { q.Job.Queue = "few" }))
		}
		b.enqueue(jobs...)
		synctest.Wait()
		for range 20 {
			jobs = append(jobs, b.job("k"))
		}
		b.enqueue(jobs[20:]...)
		synctest.Wait()
		mu.Lock()
		if now["few"] != 2 || now["default"] != 3 {
			t.Errorf("of 5 slots, 2 at the most for one queue: %v run", now)
		}
		mu.Unlock()
		close(release)
		for _, q := range jobs {
			b.expect(b.wait(q.Job.ID), store.Completed, "")
		}
		if most["few"] > 2 || most["default"] > 5 {
			t.Errorf("ran at once: %v", most)
		}
		synctest.Wait()
		if n := b.runner().node.slots.Running(); n != 0 {
			t.Errorf("%d slots are taken when nothing runs", n)
		}
	})
}

func TestNothingStartsBeforeWhatWaits(t *testing.T) {
	inBed(t, Config{Node: NodeConfig{Slots: 1}}, func(b *bed) {
		r := &ran{}
		b.handle("k", r.run)
		b.run()
		// A job that the node does not know of: its wake-up was lost.
		first := b.job("k")
		if err := store.ApplyEach(b.t.Context(), b.st.Store, &store.Batch{Enqueues: []*store.Enqueue{first}}); err != nil {
			t.Fatal(err)
		}
		var want []store.ID
		want = append(want, first.Job.ID)
		for range 5 {
			jobs := []*store.Enqueue{b.job("k"), b.job("k"), b.job("k")}
			b.enqueue(jobs...)
			for _, q := range jobs {
				want = append(want, q.Job.ID)
			}
		}
		b.wait(want[len(want)-1])
		for i, id := range want {
			if r.jobs[i] != id {
				t.Fatalf("run %d is not that of job %d", i, i)
			}
		}
	})
}

// TestStartWhoseAnswerIsLost: the node finds out whether the commit happened.
func TestStartWhoseAnswerIsLost(t *testing.T) {
	inBed(t, Config{}, func(b *bed) {
		r := &ran{}
		b.handle("k", r.run)
		n, lost := 0, 0
		b.st.hook(func(p *probe) {
			p.onApply = func(batch *store.Batch) error {
				if batch.Start == nil {
					return nil
				}
				switch n++; n % 3 {
				case 0:
					if err := store.ApplyEach(context.Background(), b.st.Store, batch); err != nil {
						t.Error(err)
					}
					lost += len(batch.Start.Claimed)
					batch.Start.Claimed = nil
					return store.ErrUnavailable
				case 1:
					return store.ErrUnavailable
				default:
					return nil
				}
			}
		})
		b.run()
		for range 20 {
			id := b.enqueue(b.job("k"), b.job("k"))
			b.expect(b.wait(id), store.Completed, "")
			if n := r.times(id); n != 1 {
				t.Fatalf("a job ran %d times", n)
			}
			synctest.Wait()
		}
		if lost == 0 {
			t.Error("no answer with jobs was lost")
		}
	})
}

// TestStartWhoseCallerLeaves: the caller learns that it may have happened; it has, and the job
// runs.
func TestStartWhoseCallerLeaves(t *testing.T) {
	inBed(t, Config{}, func(b *bed) {
		r := &ran{}
		b.handle("k", r.run)
		away := true
		b.st.hook(func(p *probe) {
			p.onApply = func(batch *store.Batch) error {
				if !away {
					return nil
				}
				if batch.Start != nil && batch.Start.Claimed == nil {
					if err := store.ApplyEach(context.Background(), b.st.Store, batch); err != nil {
						t.Error(err)
					}
				}
				return store.ErrUnavailable
			}
		})
		b.run()
		ctx, cancel := context.WithTimeout(b.t.Context(), time.Minute)
		defer cancel()
		q := b.job("k")
		if err := b.e.Enqueue(ctx, []*store.Enqueue{q}); !errors.Is(err, store.ErrUnavailable) {
			t.Fatalf("the enqueue answers %v", err)
		}
		b.st.hook(func(*probe) { away = false })
		b.expect(b.wait(q.Job.ID), store.Completed, "")
		if n := r.times(q.Job.ID); n != 1 {
			t.Errorf("the job ran %d times", n)
		}
	})
}

func TestRefusedBatchGivesTheSlotsBack(t *testing.T) {
	inBed(t, Config{Node: NodeConfig{Slots: 2}}, func(b *bed) {
		b.handle("k", ok)
		b.st.hook(func(p *probe) {
			p.onApply = func(batch *store.Batch) error {
				if batch.Start != nil {
					return store.ErrInvalid
				}
				return nil
			}
		})
		b.run()
		if err := b.e.Enqueue(b.t.Context(), []*store.Enqueue{b.job("k")}); !errors.Is(err, store.ErrInvalid) {
			t.Fatalf("the enqueue answers %v", err)
		}
		synctest.Wait()
		if n := b.runner().node.slots.Running(); n != 0 {
			t.Errorf("%d slots are taken when nothing runs", n)
		}
	})
}

func TestWhatStartsWhileTheNodeStopsIsGivenBack(t *testing.T) {
	inBed(t, Config{}, func(b *bed) {
		r := &ran{}
		b.handle("k", r.run)
		committing := make(chan struct{}, 1)
		b.st.hook(func(p *probe) {
			p.onApply = func(batch *store.Batch) error {
				if batch.Start != nil {
					committing <- struct{}{}
					time.Sleep(time.Second) // a slow disk
				}
				return nil
			}
		})
		b.run()
		q := b.job("k")
		answered := make(chan error, 1)
		go func() { answered <- b.e.Enqueue(b.t.Context(), []*store.Enqueue{q}) }()
		<-committing
		b.halt()
		if err := <-answered; err != nil {
			t.Fatal(err)
		}
		if rec := b.get(q.Job.ID); rec.State != store.Available || rec.Attempt != 0 || r.times(q.Job.ID) != 0 {
			t.Errorf("the job is %v, attempt %d, and ran %d times", rec.State, rec.Attempt, r.times(q.Job.ID))
		}
	})
}

// TestStartsKeepTheOrderOfAQueueThatWasFull: jobs that waited while their queue was full run first,
// whatever their priority.
func TestStartsKeepTheOrderOfAQueueThatWasFull(t *testing.T) {
	inBed(t, Config{Node: NodeConfig{Slots: 10, Queues: []store.QueueDemand{{Name: "default", Limit: 1}, {Name: "other"}}}}, func(b *bed) {
		r, busy, first := &ran{}, make(chan struct{}), true
		b.handle("k", func(ctx context.Context, run Attempt) ([]byte, error) {
			if first {
				first = false
				<-busy
			}
			return r.run(ctx, run)
		})
		b.run()
		jobs := []store.ID{b.enqueue(b.job("k"))}
		synctest.Wait()
		jobs = append(jobs, b.enqueue(b.job("k")))
		b.enqueue(b.job("k", func(q *store.Enqueue) { q.Job.Queue = "other" })) // a claim that leaves nothing behind
		synctest.Wait()
		time.Sleep(time.Minute)
		if n := b.runner().node; !n.slots.Demand(n.store.Now()).Waits {
			t.Error("the node believes that nothing waits in the queue")
		}
		close(busy)
		// In a lane of its own, so that only the node knows of the other.
		jobs = append(jobs, b.enqueue(b.job("k", func(q *store.Enqueue) { q.Job.Priority = 3 })))
		b.wait(jobs[2])
		if r.times(jobs[1]) != 1 {
			t.Error("the job of the lower priority went first")
		}
	})
}

func TestJobWhoseRunTimeHasPassedStarts(t *testing.T) {
	inBed(t, Config{}, func(b *bed) {
		b.handle("k", ok)
		claims := b.countClaims()
		b.run()
		past := b.job("k", func(q *store.Enqueue) { q.Job.RunAt = time.Now().Add(-time.Minute) })
		b.enqueue(past, b.job("k"), b.job("k", func(q *store.Enqueue) { q.Delay = time.Second }))
		b.expect(b.wait(past.Job.ID), store.Completed, "")
		if *claims != 0 {
			t.Errorf("%d claims", *claims)
		}
	})
}

// TestRefusedStartDoesNotHappenLater: a full disk is an answer. The caller may enqueue another job
// instead.
func TestRefusedStartDoesNotHappenLater(t *testing.T) {
	inBed(t, Config{}, func(b *bed) {
		r := &ran{}
		b.handle("k", r.run)
		full := true
		b.st.hook(func(p *probe) {
			p.onApply = func(*store.Batch) error {
				if full {
					return store.ErrFull
				}
				return nil
			}
		})
		b.run()
		q := b.job("k")
		if err := b.e.Enqueue(b.t.Context(), []*store.Enqueue{q}); !errors.Is(err, store.ErrFull) {
			t.Fatalf("the enqueue answers %v", err)
		}
		b.st.hook(func(*probe) { full = false })
		time.Sleep(time.Minute)
		if _, err := b.st.Get(b.t.Context(), "", q.Job.ID); !errors.Is(err, store.ErrNotFound) || len(r.jobs) != 0 {
			t.Errorf("a job whose enqueue was refused is there (%v) and ran %d times", err, len(r.jobs))
		}
		if n := b.runner().node; n.slots.Demand(n.store.Now()).Limit != n.cfg.Slots {
			t.Errorf("there is room for %d jobs only: some is reserved for jobs that never come", n.slots.Demand(n.store.Now()).Limit)
		}
	})
}

// TestNumbersOfAPastMembership: who read the node's id before it joined again takes no number that
// the new membership may use, and does not make it begin at 1 again.
func TestNumbersOfAPastMembership(t *testing.T) {
	t.Parallel()
	var c numbers
	c.begin(7)
	c.take(7, 1)
	c.begin(8)
	seen := map[int64]bool{}
	for _, id := range []int64{8, 7, 8, 7, 8} {
		first := c.take(id, 61) // two records
		for _, n := range []int64{first, first + 1} {
			if seen[n] {
				t.Errorf("number %d was given twice", n)
			}
			seen[n] = true
		}
		c.settle(id, first)
	}
	if got := c.settled(8); got != 11 {
		t.Errorf("the low-water mark is %d, want 11", got)
	}
}
