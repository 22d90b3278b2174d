package holdfast_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/store"
)

type customerKey struct{}

// seen collects what places in the code find in their contexts.
type seen struct {
	mu    sync.Mutex
	lines []string
}

// note adds what a context holds: the tenant, whether the run is there, and the attempt of a step.
func (s *seen) note(ctx context.Context, place string, want *holdfast.Run) {
	derived, stop := context.WithTimeout(ctx, time.Hour)
	defer stop()
	found, ok := holdfast.RunFrom(derived)
	s.mu.Lock()
	defer s.mu.Unlock()
	finds := ok && found.ID() == want.ID()
	s.lines = append(s.lines, fmt.Sprint(place, " ", derived.Value(customerKey{}), " ", finds, " ", holdfast.StepAttempt(derived)))
}

func (s *seen) all() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	slices.Sort(s.lines)
	return strings.Join(slices.Compact(s.lines), "\n")
}

// TestValuesReachEverything: values given to the run once are in the contexts of all that it
// begins, also after it was parked, and of what undoes it.
func TestValuesReachEverything(t *testing.T) {
	t.Parallel()
	onDatabases(t, func(t *testing.T, source store.Source) {
		hf := openOn(t, source)
		var s seen
		kind := holdfast.NewKind[string, int]("values", holdfast.MaxAttempts(1))
		err := kind.Handle(hf, func(run *holdfast.Run, tenant string) (int, error) {
			s.note(run, "handler before", run)
			run = run.WithContext(context.WithValue(run, customerKey{}, tenant))
			s.note(run, "handler", run)
			err := run.OnFailure("undo", func(run *holdfast.Run) error {
				s.note(run, "compensation", run)
				return holdfast.Do(run, "undo step", func(ctx context.Context) error {
					s.note(ctx, "step of a compensation", run)
					return nil
				})
			})
			if err != nil {
				return 0, err
			}
			err = holdfast.Do(run, "retried", func(ctx context.Context) error {
				s.note(ctx, "retried step", run)
				if holdfast.StepAttempt(ctx) == 1 {
					return errors.New("again")
				}
				return nil
			}, holdfast.Backoff(time.Millisecond, time.Millisecond))
			if err != nil {
				return 0, err
			}
			err = holdfast.Do(run, "timed", func(ctx context.Context) error {
				s.note(ctx, "step with a timeout", run)
				return nil
			}, holdfast.Timeout(time.Hour))
			if err != nil {
				return 0, err
			}
			future, err := holdfast.Go(run, "strand", func(own *holdfast.Run) (int, error) {
				s.note(own, "strand", own)
				own = own.WithContext(context.WithValue(context.Background(), customerKey{}, "of the strand"))
				return 1, holdfast.Do(own, "step of a strand", func(ctx context.Context) error {
					s.note(ctx, "step of a strand", own)
					return nil
				})
			})
			if err != nil {
				return 0, err
			}
			if _, err := future.Wait(run); err != nil {
				return 0, err
			}
			if err := run.Sleep(60 * time.Millisecond); err != nil {
				return 0, err
			}
			s.note(run, "handler after", run)
			return 0, holdfast.Fail(errors.New("undo it"))
		})
		if err != nil {
			t.Fatal(err)
		}
		run(t, hf)
		job, err := kind.Enqueue(t.Context(), hf, "acme")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := job.Wait(t.Context()); !errors.Is(err, holdfast.ErrFailed) {
			t.Error(err)
		}
		want := strings.Join([]string{
			"compensation acme true 0", "handler acme true 0", "handler after acme true 0", "handler before <nil> true 0",
			"retried step acme true 1", "retried step acme true 2", "step of a compensation acme true 1",
			"step of a strand of the strand true 1", "step with a timeout acme true 1", "strand acme true 0",
		}, "\n")
		if got := s.all(); got != want {
			t.Errorf("the contexts hold\n%s\nnot\n%s", got, want)
		}
	})
}

// TestValuesOfMiddlewareReachEverything: also what handles requests to the run.
func TestValuesOfMiddlewareReachEverything(t *testing.T) {
	t.Parallel()
	onDatabases(t, func(t *testing.T, source store.Source) {
		gives := func(run *holdfast.Run, next func(*holdfast.Run) error) error {
			return next(run.WithContext(context.WithValue(context.Background(), customerKey{}, "acme")))
		}
		hf := openOn(t, source, holdfast.WithMiddleware(gives))
		var s seen
		kind := holdfast.NewKind[int, int]("values", holdfast.MaxAttempts(1))
		ask := holdfast.NewUpdate[int, int]("ask")
		in := func(place string, run *holdfast.Run) error { // notes what is found here, and in a step
			s.note(run, place, run)
			return holdfast.Do(run, "in "+place, func(ctx context.Context) error { s.note(ctx, "step of "+place, run); return nil })
		}
		err := kind.Handle(hf, func(run *holdfast.Run, _ int) (int, error) {
			if err := run.OnFailure("undo", func(run *holdfast.Run) error { return in("compensation", run) }); err != nil {
				return 0, err
			}
			asked := false
			err := ask.Handle(run, nil, func(run *holdfast.Run, n int) (int, error) { asked = true; return n, in("update", run) })
			if err == nil {
				err = in("handler", run)
			}
			if err != nil {
				return 0, err
			}
			future, err := holdfast.Go(run, "strand", func(run *holdfast.Run) (int, error) { return 1, in("strand", run) })
			if err != nil {
				return 0, err
			}
			if _, err := future.Wait(run); err != nil {
				return 0, err
			}
			if err := run.WaitUntil("asked", func() bool { return asked }); err != nil {
				return 0, err
			}
			return 0, holdfast.Fail(errors.New("undo it"))
		})
		if err != nil {
			t.Fatal(err)
		}
		run(t, hf)
		job, err := kind.Enqueue(t.Context(), hf, 0)
		if err != nil {
			t.Fatal(err)
		}
		if n, err := ask.Call(t.Context(), hf, job.ID, 7); n != 7 || err != nil {
			t.Errorf("%d, %v", n, err)
		}
		if _, err := job.Wait(t.Context()); !errors.Is(err, holdfast.ErrFailed) {
			t.Error(err)
		}
		var want []string
		for _, place := range []string{"compensation", "handler", "strand", "update"} {
			want = append(want, place+" acme true 0", "step of "+place+" acme true 1")
		}
		slices.Sort(want)
		if got := s.all(); got != strings.Join(want, "\n") {
			t.Errorf("the contexts hold\n%s\nnot\n%s", got, strings.Join(want, "\n"))
		}
	})
}

// TestContextsEndAsBefore: values change nothing about the end of a run's contexts, and contexts
// that are made from them need no goroutine of their own.
func TestContextsEndAsBefore(t *testing.T) {
	t.Parallel()
	inFlow(t, func(t *testing.T, f *flow) {
		over, stop := context.WithCancel(t.Context())
		stop() // its end means nothing to the run
		job := begin(f, 0, func(run *holdfast.Run, _ int) (string, error) {
			run = run.WithContext(context.WithValue(over, customerKey{}, "acme"))
			if err := run.Err(); err != nil {
				t.Errorf("the run has ended: %v", err)
			}
			var text string
			err := holdfast.Do(run, "step", func(ctx context.Context) error {
				before := runtime.NumGoroutine()
				for _, parent := range []context.Context{ctx, run} {
					for range 100 {
						_, stop := context.WithCancelCause(parent)
						defer stop(nil)
					}
				}
				if more := runtime.NumGoroutine() - before; more > 50 {
					t.Errorf("200 contexts take %d goroutines", more)
				}
				derived, stop := context.WithTimeout(ctx, time.Hour)
				defer stop()
				<-derived.Done()
				text = fmt.Sprint(context.Cause(derived), ", ", context.Cause(ctx), ", ", context.Cause(run), ", ", ctx.Err())
				return ctx.Err()
			})
			if err == nil {
				t.Error("the step did not fail")
			}
			return text, nil
		})
		<-time.After(time.Second)
		if _, err := f.hf.Cancel(t.Context(), "enough", job.ID); err != nil {
			t.Fatal(err)
		}
		cancelled := holdfast.ErrCancelled.Error() + ": enough"
		if got := result(f, job); got != strings.Repeat(cancelled+", ", 3)+context.Canceled.Error() {
			t.Error(got)
		}
	})
}

// TestNoRun: a context of nothing has neither a run nor an attempt.
func TestNoRun(t *testing.T) {
	t.Parallel()
	if run, ok := holdfast.RunFrom(t.Context()); ok || run != nil || holdfast.StepAttempt(t.Context()) != 0 {
		t.Errorf("%v, %t", run, ok)
	}
}
