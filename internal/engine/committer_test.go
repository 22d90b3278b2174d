package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfastdev/holdfast/internal/usercode"
	"github.com/holdfastdev/holdfast/store"
)

func TestConcurrentWritesShareACommit(t *testing.T) {
	inBed(t, Config{}, func(b *bed) {
		// While the first commit is in progress, the others queue.
		b.st.hook(func(p *probe) { p.onApply = func(*store.Batch) error { time.Sleep(time.Millisecond); return nil } })
		var callers sync.WaitGroup
		for range 500 {
			callers.Go(func() { b.enqueue(b.job("k")) })
		}
		callers.Wait()
		if n := b.st.applies.Load(); n > 3 {
			t.Errorf("500 concurrent enqueues made %d commits", n)
		}
	})
}

func TestEnqueueRidesThroughAnOutageAndHappensOnce(t *testing.T) {
	inBed(t, Config{}, func(b *bed) {
		tries := 0
		b.st.hook(func(p *probe) {
			p.onApply = func(batch *store.Batch) error {
				if tries++; tries <= 3 {
					// It was committed, but the answer is lost.
					if err := store.ApplyEach(context.Background(), b.st.Store, batch); err != nil {
						return err
					}
					return store.ErrUnavailable
				}
				return nil
			}
		})
		e := b.job("k")
		b.enqueue(e)
		page, err := b.st.List(b.t.Context(), store.ListParams{Filter: store.Filter{Namespace: "default"}, Limit: 10})
		if err != nil || len(page.Jobs) != 1 || tries != 4 {
			t.Errorf("%d jobs after %d tries: %v", len(page.Jobs), tries, err)
		}
	})
}

func TestEnqueueGivesUpAfterItsPatience(t *testing.T) {
	inBed(t, Config{EnqueuePatience: 3 * time.Second}, func(b *bed) {
		b.st.hook(func(p *probe) {
			p.onApply = func(*store.Batch) error { return fmt.Errorf("%w: no route", store.ErrUnavailable) }
		})
		began := time.Now()
		err := b.e.Enqueue(b.t.Context(), []*store.Enqueue{b.job("k")})
		if !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("error is %v", err)
		}
		if took := time.Since(began); took < 3*time.Second || took > 5*time.Second {
			t.Errorf("gave up after %v", took)
		}
	})
}

func TestEnqueueOnAFullDiskFailsAtOnceAndOutcomesWait(t *testing.T) {
	inBed(t, Config{}, func(b *bed) {
		b.handle("k", ok)
		b.run()
		full := false
		b.st.hook(func(p *probe) {
			p.onApply = func(batch *store.Batch) error {
				if full || len(batch.Outcomes) > 0 {
					full = true
					return fmt.Errorf("%w: no space left", store.ErrFull)
				}
				return nil
			}
		})
		id := b.enqueue(b.job("k"))
		synctest.Wait()
		began := time.Now()
		if err := b.e.Enqueue(b.t.Context(), []*store.Enqueue{b.job("k")}); !errors.Is(err, store.ErrFull) {
			t.Errorf("error is %v", err)
		}
		if took := time.Since(began); took > 2*time.Second {
			t.Errorf("the caller learnt of the full disk after %v", took)
		}
		b.st.hook(func(p *probe) { p.onApply = nil })
		b.expect(b.wait(id), store.Completed, "")
	})
}

func TestCallerWhoLeavesDoesNotWait(t *testing.T) {
	inBed(t, Config{}, func(b *bed) {
		release := make(chan struct{})
		b.st.hook(func(p *probe) { p.onApply = func(*store.Batch) error { <-release; return nil } })
		ctx, cancel := context.WithTimeout(b.t.Context(), time.Second)
		defer cancel()
		err := b.e.Enqueue(ctx, []*store.Enqueue{b.job("k")})
		if !errors.Is(err, store.ErrUnavailable) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error is %v", err)
		}
		close(release)
	})
}

func TestOneRefusedBatchDoesNotTakeTheOthersWithIt(t *testing.T) {
	inBed(t, Config{}, func(b *bed) {
		b.st.hook(func(p *probe) {
			p.onApply = func(batch *store.Batch) error {
				time.Sleep(time.Millisecond)
				for _, e := range batch.Enqueues {
					if e.Job.Kind == "poison" {
						return fmt.Errorf("%w: poison", store.ErrInvalid)
					}
				}
				return nil
			}
		})
		var callers sync.WaitGroup
		for i := range 20 {
			callers.Go(func() {
				kind := "k"
				if i == 7 {
					kind = "poison"
				}
				err := b.e.Enqueue(b.t.Context(), []*store.Enqueue{b.job(kind)})
				if (err != nil) != (i == 7) {
					t.Errorf("enqueue %d of kind %s: %v", i, kind, err)
				}
			})
		}
		callers.Wait()
	})
}

func TestOutcomesSurviveLostAnswers(t *testing.T) {
	inBed(t, Config{}, func(b *bed) {
		runs := map[store.ID]int{}
		b.handle("k", func(_ context.Context, r Attempt) ([]byte, error) {
			runs[r.Job().ID]++
			if err := r.SaveCheckpoint(context.Background(), r.Main(), []byte(`1`)); err != nil {
				return nil, err
			}
			if runs[r.Job().ID] == 1 {
				return nil, errBoom
			}
			return nil, nil
		})
		n := 0
		b.st.hook(func(p *probe) {
			p.onApply = func(batch *store.Batch) error {
				if n++; n%3 == 0 {
					_ = store.ApplyEach(context.Background(), b.st.Store, batch)
					return store.ErrUnavailable
				}
				if n%3 == 1 {
					return store.ErrUnavailable
				}
				return nil
			}
		})
		b.run()
		for range 20 {
			id := b.enqueue(b.job("k"))
			b.expect(b.wait(id), store.Completed, "")
			if runs[id] != 2 {
				t.Fatalf("a job that fails once ran %d times", runs[id])
			}
			if rec := b.get(id); rec.Attempt != 2 || len(rec.Attempts) != 1 {
				t.Fatalf("attempt %d, %d attempts recorded", rec.Attempt, len(rec.Attempts))
			}
		}
	})
}

func TestProgressIsWrittenSeldomAndSurvivesARetry(t *testing.T) {
	inBed(t, Config{}, func(b *bed) {
		var first *store.Checkpoint
		b.handle("k", func(_ context.Context, r Attempt) ([]byte, error) {
			if r.Job().Attempt == 2 {
				first = r.Checkpoint()
				return nil, nil
			}
			for i := range 100 {
				r.Progress(float64(i), "working")
				time.Sleep(20 * time.Millisecond)
			}
			r.Progress(99.5, "nearly")
			return nil, errBoom
		})
		b.run()
		before := b.st.applies.Load()
		id := b.enqueue(b.job("k"))
		time.Sleep(1900 * time.Millisecond)
		if c := b.get(id).Checkpoint; c == nil || c.Message != "working" {
			t.Errorf("progress while it runs: %+v", c)
		}
		if n := b.st.applies.Load() - before; n > 6 {
			t.Errorf("%d commits for two seconds of progress", n)
		}
		b.expect(b.wait(id), store.Completed, "")
		if first == nil || first.Percent != 99.5 || first.Message != "nearly" {
			t.Errorf("the second attempt found %+v", first)
		}
	})
}

func TestBackoffGrowsToItsCap(t *testing.T) {
	b := store.Backoff{Base: time.Second, Cap: time.Minute}
	for attempt, want := range map[int]time.Duration{
		1: time.Second, 2: 2 * time.Second, 6: 32 * time.Second, 7: time.Minute, 1000: time.Minute,
	} {
		if got := b.Delay(attempt); got != want {
			t.Errorf("attempt %d waits %v, not %v", attempt, got, want)
		}
	}
	b.Jitter = 0.5
	for range 100 {
		if d := b.Delay(1); d < time.Second || d > 1500*time.Millisecond {
			t.Errorf("jitter made a second %v", d)
		}
	}
}

func TestTextsAreCutAndValid(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"plain", "plain"},
		{"nul\x00 and \xff", "nul\uFFFD and \uFFFD"},
	} {
		if got := usercode.Cut(c.in, 100); got != c.want {
			t.Errorf("%q became %q", c.in, got)
		}
	}
	long := usercode.Cut("äöüäöüäöüäöüäöüäöüäöüäöü", 20)
	if len(long) > 20 || usercode.ValidText(long) != long {
		t.Errorf("cut to %q, %d bytes", long, len(long))
	}
}

func TestCheckpointWhoseCallerLeftIsNotLookedAt(t *testing.T) {
	inBed(t, Config{}, func(b *bed) {
		release := make(chan struct{})
		saved := make(chan error, 1)
		b.handle("k", func(ctx context.Context, r Attempt) ([]byte, error) {
			saved <- r.SaveCheckpoint(ctx, r.Main(), []byte(`1`))
			return nil, nil
		}).Timeout = time.Second
		b.st.hook(func(p *probe) {
			p.onApply = func(batch *store.Batch) error {
				if len(batch.Checkpoints) > 0 {
					<-release
				}
				return nil
			}
		})
		b.run()
		id := b.enqueue(b.job("k"))
		if err := <-saved; !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("error is %v", err)
		}
		close(release)
		b.expect(b.wait(id), store.Completed, "")
	})
}

// TestEnqueueThatWasTriedIsUnavailable: a caller that leaves after a try whose answer was lost gets
// ErrUnavailable, because it may have happened.
func TestEnqueueThatWasTriedIsUnavailable(t *testing.T) {
	inBed(t, Config{}, func(b *bed) {
		for range 20 { // either the caller or the committer notices first
			ctx, cancel := context.WithCancel(context.Background())
			b.st.hook(func(p *probe) {
				p.onApply = func(*store.Batch) error {
					cancel()
					return store.ErrUnavailable
				}
			})
			if err := b.e.Enqueue(ctx, []*store.Enqueue{b.job("k")}); !errors.Is(err, store.ErrUnavailable) {
				t.Errorf("the error is %v", err)
			}
			b.st.hook(func(p *probe) { p.onApply = nil })
		}
	})
}

// TestCheckpointAfterTheEndOfTheContext: a handler that is told to stop can still save its
// position.
func TestCheckpointAfterTheEndOfTheContext(t *testing.T) {
	inBed(t, Config{}, func(b *bed) {
		b.handle("k", func(ctx context.Context, r Attempt) ([]byte, error) {
			if c := r.Checkpoint(); c != nil {
				return c.Value, nil
			}
			<-ctx.Done()
			return nil, errors.Join(r.SaveCheckpoint(ctx, r.Main(), []byte(`"here"`)), ctx.Err())
		}).Timeout = time.Second
		b.run()
		ended := b.wait(b.enqueue(b.job("k")))
		b.expect(ended, store.Completed, "")
		if string(ended.Result) != `"here"` {
			t.Errorf("the next attempt found %s", ended.Result)
		}
	})
}

// TestPlaceWithItsJobs: a place that comes with jobs is never written without them. After an error
// the next attempt finds the place before, and both are written once.
func TestPlaceWithItsJobs(t *testing.T) {
	inBed(t, Config{}, func(b *bed) {
		refused, told := false, b.job("told")
		b.handle("k", func(ctx context.Context, r Attempt) ([]byte, error) {
			run, _ := r.(*Run)
			if r.Checkpoint() == nil {
				if err := r.SaveCheckpoint(ctx, r.Main(), []byte(`1`)); err != nil {
					return nil, err
				}
			}
			if c := r.Checkpoint(); string(c.Value) != `1` {
				t.Errorf("an attempt begins at %s", c.Value)
			}
			told.KnownID = true
			if err := run.SaveWith(ctx, r.Main(), []byte(`2`), []*store.Enqueue{told}); err != nil {
				return nil, err
			}
			return r.Checkpoint().Value, nil
		})
		b.st.hook(func(p *probe) {
			p.onApply = func(batch *store.Batch) error {
				if len(batch.Checkpoints) > 0 && len(batch.Enqueues) > 0 && !refused {
					refused = true
					return store.ErrReadOnly
				}
				return nil
			}
		})
		b.run()
		ended := b.wait(b.enqueue(b.job("k")))
		b.expect(ended, store.Completed, "")
		if string(ended.Result) != `2` || !refused {
			t.Errorf("it ends with %s; refused: %t", ended.Result, refused)
		}
		if r, err := b.st.Get(context.Background(), told.Job.Namespace, told.Job.ID); err != nil {
			t.Errorf("the job is not there: %v %+v", err, r)
		}
	})
}

// TestJoiningHoldsUpNobody: while a node joins a database that does not answer, the process can
// enqueue.
func TestJoiningHoldsUpNobody(t *testing.T) {
	inBed(t, Config{}, func(b *bed) {
		b.handle("k", ok)
		joining := make(chan struct{})
		b.st.hook(func(p *probe) { p.onJoin = func() { close(joining); <-time.After(10 * time.Second) } })
		go b.run()
		<-joining
		began := time.Now()
		id := b.enqueue(b.job("k"))
		if took := time.Since(began); took > time.Second {
			t.Errorf("the enqueue took %v", took)
		}
		b.expect(b.wait(id), store.Completed, "")
	})
}

// TestAMessageWhoseAnswerIsLost arrives once, although it has no key and the committer repeats it.
func TestAMessageWhoseAnswerIsLost(t *testing.T) {
	inBed(t, Config{}, func(b *bed) {
		id := b.enqueue(b.job("k", func(q *store.Enqueue) { q.Delay = time.Hour }))
		lost := false
		b.st.hook(func(p *probe) {
			p.onApply = func(batch *store.Batch) error {
				if len(batch.Sends) == 0 || lost {
					return nil
				}
				lost = true
				if err := store.ApplyEach(context.Background(), b.st.Store, batch); err != nil {
					t.Error(err)
				}
				batch.Reset()
				return store.ErrUnavailable
			}
		})
		q := &store.Send{Job: id, Message: store.Message{Kind: store.MessageSignal, Name: "go"}}
		if err := b.e.Send(b.t.Context(), []*store.Send{q}); err != nil || q.Err != nil || q.Result.Duplicate {
			t.Errorf("Send: %v, %v, %+v", err, q.Err, q.Result)
		}
		messages, err := b.st.Messages(b.t.Context(), store.InboxParams{Job: id, Limit: 10})
		if err != nil || len(messages) != 1 || !lost {
			t.Errorf("the job has %d messages (%v), want 1", len(messages), err)
		}
	})
}
