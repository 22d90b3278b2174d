package holdfast_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/hooks"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/model"
)

// jumping is a world of virtual time in which the clock of the database can be set.
type jumping struct {
	flow

	ahead atomic.Int64
	mu    sync.Mutex
	told  []string // how long runs took, say hooks
}

func (j *jumping) set(ahead time.Duration) { j.ahead.Store(int64(ahead)) }

func (j *jumping) note(event any, took time.Duration) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.told = append(j.told, fmt.Sprintf("%T %v", event, took))
}

// whenTheClockJumps runs a test with a clock that is set forward by an hour, and back by one.
func whenTheClockJumps(t *testing.T, test func(t *testing.T, j *jumping, by time.Duration)) {
	t.Helper()
	for _, by := range []time.Duration{time.Hour, -time.Hour} {
		t.Run(by.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				j := &jumping{}
				j.t, j.st = t, model.New(func() time.Time { return time.Now().Add(time.Duration(j.ahead.Load())) })
				j.open(holdfast.WithHooks(hooks.Hooks{
					Retried:  func(e hooks.Retried) { j.note(e, e.Took) },
					Parked:   func(e hooks.Parked) { j.note(e, e.Took) },
					Finished: func(e hooks.Finished) { j.note(e, e.Took) },
				}))
				defer j.close()
				test(t, j, by)
			})
		})
	}
}

// TestDurationsWhenTheClockJumps: how long a run and a step took is what it took, whatever the
// clock of the database says.
func TestDurationsWhenTheClockJumps(t *testing.T) {
	t.Parallel()
	whenTheClockJumps(t, func(t *testing.T, j *jumping, by time.Duration) {
		job := begin(&j.flow, 0, func(run *holdfast.Run, _ int) (int, error) {
			if run.Attempt() == 1 {
				time.Sleep(time.Second)
				j.set(by)
				return 0, errors.New("later")
			}
			_, err := holdfast.Step(run, "step", func(context.Context) (int, error) {
				time.Sleep(2 * time.Second)
				j.set(2 * by)
				return 1, nil
			})
			if err == nil {
				_, err = flowSignal.Wait(run)
			}
			if err != nil {
				return 0, err
			}
			time.Sleep(3 * time.Second)
			j.set(by)
			return 1, nil
		})
		time.Sleep(3 * time.Hour)
		if _, err := flowSignal.Send(t.Context(), j.hf, job.ID, 1); err != nil {
			t.Fatal(err)
		}
		result(&j.flow, job)
		synctest.Wait()
		j.mu.Lock()
		defer j.mu.Unlock()
		if !slices.Equal(j.told, []string{"hooks.Retried 1s", "hooks.Parked 2s", "hooks.Finished 3s"}) {
			t.Errorf("hooks were told %v", j.told)
		}
		entries, err := j.hf.JournalEntries(t.Context(), job.ID, 0, 10)
		if err != nil || len(entries) == 0 || entries[0].Took != 2*time.Second {
			t.Errorf("the step: %+v, %v", entries, err)
		}
	})
}

// TestHeartbeatsWhenTheClockJumps: who reports progress goes on, and who does not is found in time,
// in a handler and in a step.
func TestHeartbeatsWhenTheClockJumps(t *testing.T) {
	t.Parallel()
	whenTheClockJumps(t, func(t *testing.T, j *jumping, by time.Duration) {
		const limit = 10 * time.Second
		// beats goes on for a minute with the clock set in the middle, and reports progress or not.
		beats := func(ctx context.Context, run *holdfast.Run, beat bool) error {
			for i := range 20 {
				if beat {
					run.Heartbeat()
				}
				switch i {
				case 2:
					j.set(by)
				case 12:
					j.set(0)
				}
				select {
				case <-ctx.Done():
					return context.Cause(ctx)
				case <-time.After(3 * time.Second):
				}
			}
			return nil
		}
		var lasted [2]time.Duration
		handler := holdfast.NewKind[bool, int]("handler", holdfast.MaxAttempts(1))
		inStep := holdfast.NewKind[bool, int]("step", holdfast.MaxAttempts(1))
		err := errors.Join(handler.Handle(j.hf, func(run *holdfast.Run, beat bool) (int, error) {
			began := time.Now()
			defer func() { lasted[0] = time.Since(began) }()
			return 1, beats(run, run, beat)
		}, holdfast.HeartbeatTimeout(limit)), inStep.Handle(j.hf, func(run *holdfast.Run, beat bool) (int, error) {
			return holdfast.Step(run, "step", func(ctx context.Context) (int, error) {
				began := time.Now()
				defer func() { lasted[1] = time.Since(began) }()
				return 1, beats(ctx, run, beat)
			}, holdfast.HeartbeatTimeout(limit))
		}))
		if err != nil {
			t.Fatal(err)
		}
		j.run()
		for _, beat := range []bool{true, false} {
			for i, kind := range []holdfast.Kind[bool, int]{handler, inStep} {
				job, err := kind.Enqueue(t.Context(), j.hf, beat)
				if err != nil {
					t.Fatal(err)
				}
				_, err = job.Wait(t.Context())
				want := limit
				if beat {
					want = time.Minute
				}
				if failed := err != nil; failed == beat || lasted[i] < want || lasted[i] > want+time.Second {
					t.Errorf("a %s that reports progress (%t) lasted %v, and ended with %v", kind.Name(), beat, lasted[i], err)
				}
			}
		}
	})
}

// TestKeptKeysWhenTheClockJumps: a key is kept by the clock of the database, and neither longer nor
// shorter; a job that has not finished holds its key, whatever the clock says.
func TestKeptKeysWhenTheClockJumps(t *testing.T) {
	t.Parallel()
	whenTheClockJumps(t, func(t *testing.T, j *jumping, by time.Duration) {
		kind := holdfast.NewKind[int, int]("kept")
		if err := kind.Handle(j.hf, func(run *holdfast.Run, n int) (int, error) {
			if n == 0 {
				return 0, run.Sleep(3 * time.Hour)
			}
			return n, nil
		}); err != nil {
			t.Fatal(err)
		}
		j.run()
		enqueue := func(key string, n int, keep time.Duration, existing bool) *holdfast.Job[int] {
			t.Helper()
			job, err := kind.Enqueue(t.Context(), j.hf, n, holdfast.Key(key), holdfast.KeepKey(keep))
			if err != nil || job.Existing != existing {
				t.Fatalf("key %q: %+v, %v; want one that exists: %t", key, job, err, existing)
			}
			return job
		}
		ended := func(job *holdfast.Job[int]) {
			t.Helper()
			if _, err := job.Wait(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		enqueue("open", 0, 0, false)
		ended(enqueue("kept", 1, 30*time.Minute, false))
		ended(enqueue("for ever", 1, -1, false))
		ended(enqueue("not kept", 1, 0, false))
		j.set(by)
		enqueue("open", 0, 0, true)
		enqueue("for ever", 1, -1, true)
		enqueue("not kept", 1, 0, false)
		over := by > 0
		if !over {
			enqueue("kept", 1, 30*time.Minute, true)
			time.Sleep(by.Abs() + 29*time.Minute)
			enqueue("kept", 1, 30*time.Minute, true)
			time.Sleep(2 * time.Minute)
		}
		second := enqueue("kept", 1, 30*time.Minute, false)
		ended(second)
		j.set(0) // from forward it goes back, and from back forward
		if over {
			if again := enqueue("kept", 1, 30*time.Minute, true); again.ID != second.ID {
				t.Errorf("the key is held by %s, want %s", again.ID, second.ID)
			}
			if _, err := flowSignal.SendOrStart(t.Context(), j.hf, kind.Item(1, holdfast.Key("kept")), 1); !errors.Is(err, holdfast.ErrConflict) {
				t.Errorf("a signal to the job that keeps the key: %v", err)
			}
		}
		enqueue("open", 0, 0, true)
		enqueue("for ever", 1, -1, true)
	})
}

// TestRefusalsWhenTheClockJumps: a caller is told that its request was refused, also when the clock
// says that this was long ago before the caller has heard of it, and retention has forgotten it.
func TestRefusalsWhenTheClockJumps(t *testing.T) {
	t.Parallel()
	whenTheClockJumps(t, func(t *testing.T, j *jumping, by time.Duration) {
		var refusals atomic.Int64
		job := begin(&j.flow, 0, func(run *holdfast.Run, _ int) (int, error) {
			err := addUp.Handle(run, func(n int) error {
				if n < 0 {
					refusals.Add(1)
					return errors.New("it is negative")
				}
				return nil
			}, func(_ *holdfast.Run, n int) (string, error) { return strconv.Itoa(n), nil })
			if err == nil {
				_, err = flowSignal.Wait(run)
			}
			return 0, err
		})
		blind := &forgetful{Store: j.st, before: func() { j.set(by) }}
		caller, err := holdfast.Open(t.Context(), memorySource{blind})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = caller.Close(context.Background()) }()
		for _, n := range []int{-1, 7} {
			answer, err := addUp.Call(t.Context(), caller, job.ID, n, holdfast.DedupKey("one id"))
			told, isTold := errors.AsType[*holdfast.UpdateError](err)
			if n < 0 && (!isTold || !told.Refused || told.Message != "it is negative") || n > 0 && (err != nil || answer != "7") {
				t.Errorf("%d: %q, %v", n, answer, err)
			}
			j.set(0)
		}
		if by > 0 && refusals.Load() != 2 {
			t.Errorf("it was refused %d times, so that nothing was forgotten", refusals.Load())
		}
		if _, err := flowSignal.Send(t.Context(), j.hf, job.ID, 1); err != nil {
			t.Fatal(err)
		}
		result(&j.flow, job)
	})
}

// forgetful is a caller's view of a store which has retained before the caller looks at an answer,
// the first time that there is one.
type forgetful struct {
	store.Store

	before   func()
	retained atomic.Bool
}

func (s *forgetful) GetUpdate(ctx context.Context, namespace string, job store.ID, key string) (store.Update, error) {
	u, err := s.Store.GetUpdate(ctx, namespace, job, key)
	if err == nil && u.Answer != nil && !s.retained.Swap(true) {
		s.before()
		if _, err := s.Retain(ctx, store.Retention{Limit: 100}); err != nil {
			return u, err
		}
		return s.Store.GetUpdate(ctx, namespace, job, key)
	}
	return u, err
}
