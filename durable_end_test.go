package holdfast_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/store"
)

// TestEndOfARunThatFails: a run that fails by its own code, not in an operation, ends and
// compensates what it did: at once or, if it fails during the replay, as soon as that is over.
func TestEndOfARunThatFails(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		failsEarly int64
		deadline   bool
	}{
		"cancelled, after what it did": {0, false}, "cancelled, before it comes to that": {2, false},
		"too late, after what it did": {0, true}, "too late, before it comes to that": {2, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inFlow(t, func(t *testing.T, f *flow) {
				var over, undone atomic.Bool
				var early atomic.Int64
				kind := holdfast.NewKind[int, int]("flow")
				err := kind.Handle(f.hf, func(run *holdfast.Run, _ int) (int, error) {
					if over.Load() && early.Add(1) <= c.failsEarly {
						return 0, errors.New("the weather")
					}
					if _, err := holdfast.Step(run, "charge", func(context.Context) (int, error) { return 1, nil }); err != nil {
						return 0, err
					}
					if err := run.OnFailure("refund", func(*holdfast.Run) error { undone.Store(true); return nil }); err != nil {
						return 0, err
					}
					return 0, errors.New("a bug")
				})
				if err != nil {
					t.Fatal(err)
				}
				f.run()
				var options []holdfast.EnqueueOption
				if c.deadline {
					options = append(options, holdfast.Deadline(time.Now().Add(time.Minute)))
				}
				job, err := kind.Enqueue(t.Context(), f.hf, 0, options...)
				if err != nil {
					t.Fatal(err)
				}
				time.Sleep(30 * time.Second)
				over.Store(true)
				if !c.deadline {
					if err := job.Cancel(t.Context(), "enough"); err != nil {
						t.Fatal(err)
					}
				}
				began := time.Now()
				_, err = job.Wait(t.Context())
				if errors.Is(err, holdfast.ErrCancelled) == c.deadline || !undone.Load() {
					t.Errorf("it ended with %v, undone: %t", err, undone.Load())
				}
				record, err := f.hf.Get(t.Context(), job.ID)
				if err != nil || c.deadline && record.Reason != store.ReasonDeadline {
					t.Errorf("it is %v, %v, %v", record.State, record.Reason, err)
				}
				if took := time.Since(began); took > 2*time.Hour {
					t.Errorf("it took %v", took)
				}
			})
		})
	}
}

// TestValuesOfGenerations: random values differ after continuing as new, and are the same on every
// replay.
func TestValuesOfGenerations(t *testing.T) {
	t.Parallel()
	inFlow(t, func(t *testing.T, f *flow) {
		var drawn []string
		job := begin(f, 0, func(run *holdfast.Run, n int) (int, error) {
			id, err := run.UUID()
			if err != nil {
				return 0, err
			}
			random, err := run.Random()
			if err != nil {
				return 0, err
			}
			drawn = append(drawn, fmt.Sprint(id, random.Int64()))
			if err := run.Sleep(time.Hour); err != nil {
				return 0, err
			}
			if n < 2 {
				return 0, continueAsNew(run, n+1)
			}
			return 0, nil
		})
		_ = result(f, job)
		if len(drawn) != 6 {
			t.Fatalf("%d runs", len(drawn))
		}
		for i, one := range drawn {
			for k, other := range drawn[:i] {
				if same := i/2 == k/2; same != (one == other) {
					t.Errorf("runs %d and %d drew %s and %s", k, i, other, one)
				}
			}
		}
	})
}

// TestWhatComesAfterTheEndWasDecided: it is not received: a run that resumes its compensations
// undoes exactly what was done when its end was decided.
func TestWhatComesAfterTheEndWasDecided(t *testing.T) {
	t.Parallel()
	said, nobody := holdfast.NewSignal[int]("said"), holdfast.NewSignal[int]("nobody")
	for name, c := range map[string]struct {
		wait   func(run *holdfast.Run) error
		before bool // the awaited message comes before the cancel
	}{
		"a signal": {wait: func(run *holdfast.Run) error {
			_, err := said.Wait(run)
			return err
		}},
		"a signal in time": {wait: func(run *holdfast.Run) error {
			_, err := said.Wait(run, holdfast.WaitAtMost(time.Hour))
			return err
		}},
		"the first of two": {wait: func(run *holdfast.Run) error {
			var a, b int
			_, err := holdfast.Select(run, nobody.Into(&a), said.Into(&b))
			return err
		}},
		"a timer": {wait: func(run *holdfast.Run) error { return run.Sleep(time.Minute) }},
		"a time limit": {wait: func(run *holdfast.Run) error {
			if _, err := nobody.Wait(run, holdfast.WaitAtMost(time.Minute)); !errors.Is(err, holdfast.ErrWaitTimeout) {
				return err
			}
			return nil
		}},
		"a signal, before": {before: true, wait: func(run *holdfast.Run) error {
			_, err := said.Wait(run)
			return err
		}},
		"a timer, before": {before: true, wait: func(run *holdfast.Run) error { return run.Sleep(time.Second) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inFlow(t, func(t *testing.T, f *flow) {
				var undone []string
				job := begin(f, 0, func(run *holdfast.Run, _ int) (int, error) {
					err := run.OnFailure("slow", func(run *holdfast.Run) error {
						err := run.Sleep(time.Hour)
						undone = append(undone, "slow")
						return err
					})
					if err != nil {
						return 0, err
					}
					if err := c.wait(run); err != nil {
						return 0, err
					}
					err = run.OnFailure("late", func(*holdfast.Run) error {
						undone = append(undone, "late")
						return nil
					})
					if err != nil {
						return 0, err
					}
					_, err = nobody.Wait(run)
					return 0, err
				})
				say := func() {
					if _, err := said.Send(t.Context(), f.hf, job.ID, 1); err != nil {
						t.Fatal(err)
					}
				}
				if c.before {
					say()
				}
				time.Sleep(10 * time.Second)
				if err := job.Cancel(t.Context(), "enough"); err != nil {
					t.Fatal(err)
				}
				time.Sleep(10 * time.Second)
				if !c.before {
					say()
				}
				if _, err := job.Wait(t.Context()); !errors.Is(err, holdfast.ErrCancelled) {
					t.Error(err)
				}
				want := "[slow]"
				if c.before {
					want = "[late slow]"
				}
				if got := fmt.Sprint(undone); got != want {
					t.Errorf("undone: %s, not %s", got, want)
				}
			})
		})
	}
}

// TestCancelOfARunThatIsAboutToPark: it ends, and does not wait for what it was about to wait for.
func TestCancelOfARunThatIsAboutToPark(t *testing.T) {
	t.Parallel()
	onDatabases(t, func(t *testing.T, source store.Source) {
		hf := openOn(t, source)
		kind, nobody := holdfast.NewKind[int, int]("late"), holdfast.NewSignal[int]("nobody")
		err := kind.Handle(hf, func(run *holdfast.Run, _ int) (int, error) {
			if _, err := run.Now(); err != nil {
				return 0, err
			}
			if run.Lease().Number == 1 {
				if err := cancel(run.Client(), run.ID()); err != nil {
					return 0, err
				}
				<-run.Done()
			}
			_, err := nobody.Wait(run)
			return 0, err
		})
		if err != nil {
			t.Fatal(err)
		}
		run(t, hf)
		for range 20 {
			job, err := kind.Enqueue(t.Context(), hf, 1)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := job.Wait(t.Context()); !errors.Is(err, holdfast.ErrCancelled) {
				t.Fatal(err)
			}
		}
	})
}
