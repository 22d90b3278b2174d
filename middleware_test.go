package holdfast_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/hooks"
	"github.com/holdfastdev/holdfast/store"
)

// counts is a metric: how often runs ended, and how.
type counts struct {
	mu sync.Mutex
	of map[string]int
}

func (c *counts) add(what string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.of == nil {
		c.of = map[string]int{}
	}
	c.of[what]++
}

func (c *counts) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []string
	for _, what := range slices.Sorted(maps.Keys(c.of)) {
		all = append(all, fmt.Sprint(what, " ", c.of[what]))
	}
	return strings.Join(all, ", ")
}

// measure is the middleware that counts.
func (c *counts) measure(run *holdfast.Run, next func(*holdfast.Run) error) error {
	err := next(run)
	switch {
	case err == nil:
		c.add("ok")
	case errors.Is(err, holdfast.ErrParked):
		c.add("parked")
	case errors.Is(err, holdfast.ErrShutdown):
		c.add("shutdown")
	case errors.Is(err, holdfast.ErrLeaseLost):
		c.add("lease lost")
	default:
		c.add("error")
	}
	return err
}

// TestAMetricCountsAnEndOnce: whatever a run parks, and once for each attempt that fails.
func TestAMetricCountsAnEndOnce(t *testing.T) {
	t.Parallel()
	onDatabases(t, func(t *testing.T, source store.Source) {
		var c counts
		var calls atomic.Int64 // a sleep that is over before the run could park parks nothing
		hf := openOn(t, source, holdfast.WithMiddleware(c.measure))
		kind := holdfast.NewKind[string, string]("park", holdfast.Backoff(time.Millisecond, time.Millisecond))
		err := kind.Handle(hf, func(run *holdfast.Run, in string) (string, error) {
			calls.Add(1)
			for range 5 {
				if err := run.Sleep(60 * time.Millisecond); err != nil {
					return "", err
				}
			}
			if run.Attempt() < 3 {
				return "", errors.New("not yet")
			}
			return in, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		run(t, hf)
		job, err := kind.Enqueue(t.Context(), hf, "done")
		if err != nil {
			t.Fatal(err)
		}
		if out, err := job.Wait(t.Context()); err != nil || out != "done" {
			t.Errorf("%q, %v", out, err)
		}
		if got, want := c.String(), fmt.Sprintf("error 2, ok 1, parked %d", calls.Load()-3); got != want || calls.Load() < 4 {
			t.Errorf("it counts %s, want %s", got, want)
		}
	})
}

// TestEachEndIsCountedOnce: what returns to go on later is no end, whatever way it asks for that,
// and an end without the handler is told by the hook alone.
func TestEachEndIsCountedOnce(t *testing.T) {
	t.Parallel()
	parks := func(run *holdfast.Run) error { return run.Sleep(time.Hour) }
	once := func(first func(run *holdfast.Run) error) func(*holdfast.Run) error { // and completes then
		called := false
		return func(run *holdfast.Run) error {
			if called {
				return nil
			}
			called = true
			return first(run)
		}
	}
	for name, c := range map[string]struct {
		handle  func(run *holdfast.Run) error
		outside func(hf *holdfast.Client, id holdfast.ID) error // a minute later; nil: nothing
		want    string                                          // by the middleware
		ends    string                                          // by the hook
	}{
		"complete": {func(*holdfast.Run) error { return nil }, nil, "ok 1", "completed 1"},
		"fail":     {func(*holdfast.Run) error { return holdfast.Fail(errors.New("boom")) }, nil, "error 1", "failed 1"},
		"retry":    {once(func(*holdfast.Run) error { return errors.New("boom") }), nil, "error 1, ok 1", "completed 1"},
		"retry after": {
			once(func(*holdfast.Run) error { return holdfast.RetryAfter(time.Minute, nil) }), nil, "error 1, ok 1", "completed 1",
		},
		"park":   {parks, nil, "ok 1, parked 1", "completed 1"},
		"snooze": {once(func(*holdfast.Run) error { return holdfast.Snooze(time.Hour) }), nil, "ok 1, parked 1", "completed 1"},
		"snooze, with a reason": {
			once(func(*holdfast.Run) error { return fmt.Errorf("not yet: %w", holdfast.Snooze(time.Hour)) }), nil, "ok 1, parked 1", "completed 1",
		},
		"hand over": {
			once(func(*holdfast.Run) error { return holdfast.HandOver(time.Hour) }), nil, "ok 1, parked 1", "completed 1",
		},
		"hand over and complete": {
			func(*holdfast.Run) error { return holdfast.HandOver(0) },
			func(hf *holdfast.Client, id holdfast.ID) error { return hf.Complete(context.Background(), id, nil) },
			"parked 1", "completed 1",
		},
		"continue as new": {
			once(func(run *holdfast.Run) error { return continueAsNew(run, 1) }), nil, "ok 1, parked 1", "completed 1",
		},
		"cancelled by its handler": {func(*holdfast.Run) error { return holdfast.Cancel("enough") }, nil, "error 1", "cancelled 1"},
		"cancelled while it runs": {
			func(run *holdfast.Run) error { <-run.Done(); return context.Cause(run) }, cancel, "error 1", "cancelled 1",
		},
		"cancelled while it is snoozed": {
			func(*holdfast.Run) error { return holdfast.Snooze(time.Hour) }, cancel, "parked 1", "cancelled 1",
		},
		"terminated while it waits": {
			parks,
			func(hf *holdfast.Client, id holdfast.ID) error {
				_, err := hf.Terminate(context.Background(), "enough", id)
				return err
			},
			"parked 1", "cancelled 1",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inFlow(t, func(t *testing.T, f *flow) {
				var m, ends counts
				f.close()
				f.open(holdfast.WithHooks(hooks.Hooks{Finished: func(e hooks.Finished) { ends.add(e.State.String()) }}))
				job := begin(f, 0, func(run *holdfast.Run, _ int) (struct{}, error) { return struct{}{}, c.handle(run) },
					holdfast.WithMiddleware(m.measure))
				<-time.After(time.Minute)
				if c.outside != nil {
					if err := c.outside(f.hf, job.ID); err != nil {
						t.Fatal(err)
					}
				}
				if _, err := job.Wait(t.Context()); err != nil && !errors.Is(err, holdfast.ErrFailed) && !errors.Is(err, holdfast.ErrCancelled) {
					t.Fatal(err)
				}
				synctest.Wait()
				if m.String() != c.want || ends.String() != c.ends {
					t.Errorf("the middleware counts %s, want %s; the hook %s, want %s", &m, c.want, &ends, c.ends)
				}
			})
		})
	}
}

func cancel(hf *holdfast.Client, id holdfast.ID) error {
	_, err := hf.Cancel(context.Background(), "enough", id)
	return err
}

// TestOnlyWhatGoesOnIsParked: an error that looks like one of a job which goes on later is none if
// the job ends, or the attempt fails. And an end that was decided is told once, however often the
// run comes back to undo what it has done.
func TestOnlyWhatGoesOnIsParked(t *testing.T) {
	t.Parallel()
	other := holdfast.NewKind[int, int]("other")
	compensated := func(end func(*holdfast.Run) error) func(*holdfast.Run) error {
		return func(run *holdfast.Run) error {
			// A sleep that is over by the time that it is stored does not park.
			err := run.OnFailure("undo", func(run *holdfast.Run) error { return run.Sleep(time.Second) })
			if err != nil {
				return err
			}
			return end(run)
		}
	}
	cancelled := func(run *holdfast.Run) error { // in its first run
		if run.Lease().Number > 1 {
			return nil
		}
		if err := cancel(run.Client(), run.ID()); err != nil {
			return err
		}
		<-run.Done()
		return nil
	}
	cases := map[string]struct {
		handle func(run *holdfast.Run) error
		opts   []holdfast.HandleOption
		want   string // by the middleware
		ends   store.State
	}{
		"continues as another kind": {func(*holdfast.Run) error { return other.ContinueAsNew(1) }, nil, "error 1", store.Failed},
		"fails because of a snooze": {
			func(*holdfast.Run) error { return holdfast.Fail(holdfast.Snooze(time.Hour)) }, nil, "error 1", store.Failed,
		},
		"cancels itself and snoozes": {func(*holdfast.Run) error {
			return errors.Join(holdfast.Snooze(time.Hour), holdfast.Cancel("enough"))
		}, nil, "error 1", store.Cancelled},
		"is cancelled and snoozes": {func(run *holdfast.Run) error {
			return errors.Join(cancelled(run), holdfast.Snooze(time.Hour))
		}, nil, "error 1", store.Cancelled},
		"is cancelled and continues as new": {func(run *holdfast.Run) error {
			return errors.Join(cancelled(run), continueAsNew(run, 1))
		}, nil, "error 1", store.Cancelled},
		"is late and continues as new": {
			func(run *holdfast.Run) error { <-run.Done(); return continueAsNew(run, 1) },
			[]holdfast.HandleOption{holdfast.Timeout(10 * time.Millisecond), holdfast.MaxAttempts(1)},
			"error 1", store.Failed,
		},
		"returns ErrParked": {
			func(*holdfast.Run) error { return fmt.Errorf("mine: %w", holdfast.ErrParked) },
			[]holdfast.HandleOption{holdfast.MaxAttempts(1)},
			"error 1", store.Failed,
		},
		"misuses its run and snoozes": {func(run *holdfast.Run) error {
			_ = holdfast.Do(run, "step", func(context.Context) error { _, err := run.Now(); return err })
			return holdfast.Snooze(time.Hour)
		}, []holdfast.HandleOption{holdfast.MaxAttempts(1)}, "error 1", store.Failed},
		"parks while it compensates a failure": {
			compensated(func(*holdfast.Run) error { return holdfast.Fail(errors.New("boom")) }), nil, "error 1, parked 1", store.Failed,
		},
		"parks while it compensates a cancel": {
			compensated(func(run *holdfast.Run) error { return errors.Join(cancelled(run), run.Sleep(time.Hour)) }),
			nil, "error 1, parked 1", store.Cancelled,
		},
		"parks while it compensates, and completes on a replay": {
			compensated(func(run *holdfast.Run) error {
				if run.Lease().Number > 1 {
					return nil
				}
				return holdfast.Fail(errors.New("boom"))
			}), nil, "error 1, parked 1", store.Failed,
		},
	}
	onDatabases(t, func(t *testing.T, source store.Source) {
		hf := openOn(t, source)
		measures, kinds := map[string]*counts{}, map[string]holdfast.Kind[int, struct{}]{}
		for name, c := range cases {
			m := &counts{}
			measures[name], kinds[name] = m, holdfast.NewKind[int, struct{}](strings.ReplaceAll(name, " ", "-"))
			err := kinds[name].Handle(hf, func(run *holdfast.Run, _ int) (struct{}, error) { return struct{}{}, c.handle(run) },
				append(c.opts, holdfast.WithMiddleware(m.measure, m.pass))...)
			if err != nil {
				t.Fatal(err)
			}
		}
		run(t, hf)
		for name, c := range cases {
			job, err := kinds[name].Enqueue(t.Context(), hf, 1)
			if err != nil {
				t.Fatal(err)
			}
			ended, _ := hf.WaitAll(t.Context(), job.ID) // the error is that the job did not complete
			if got := measures[name].String(); len(ended) != 1 || ended[0].State != c.ends || got != c.want {
				t.Errorf("%s: %+v; it counts %s, want %s", name, ended, got, c.want)
			}
		}
	})
}

// pass is a middleware between measure and the handler.
func (*counts) pass(run *holdfast.Run, next func(*holdfast.Run) error) error {
	if err := next(run); err != nil {
		return fmt.Errorf("passed on: %w", err)
	}
	return nil
}

// TestMiddlewareInItsOrder: the first is outermost, and those of the client are outside those of
// the kind. Each sees the error of what is inside, and values reach the handler and its steps.
func TestMiddlewareInItsOrder(t *testing.T) {
	t.Parallel()
	onDatabases(t, func(t *testing.T, source store.Source) {
		var trace strings.Builder // one run, and its goroutines follow one another
		named := func(name string) holdfast.Middleware {
			return func(run *holdfast.Run, next func(*holdfast.Run) error) error {
				fmt.Fprint(&trace, name, " ")
				before, _ := run.Value(customerKey{}).(string)
				err := next(run.WithContext(context.WithValue(run, customerKey{}, before+name)))
				fmt.Fprint(&trace, name, " ", err, "; ")
				return fmt.Errorf("%s: %w", name, err)
			}
		}
		hf := openOn(t, source, holdfast.WithMiddleware(named("a"), named("b")), holdfast.WithMiddleware(named("c")))
		kind := holdfast.NewKind[int, int]("order", holdfast.MaxAttempts(1))
		err := kind.Handle(hf, func(run *holdfast.Run, _ int) (int, error) {
			fmt.Fprint(&trace, "handler ", run.Value(customerKey{}), " ")
			return 1, holdfast.Do(run, "step", func(ctx context.Context) error {
				fmt.Fprint(&trace, "step ", ctx.Value(customerKey{}), " ")
				return errors.New("boom")
			})
		}, holdfast.WithMiddleware(named("d")), holdfast.WithMiddleware(named("e")))
		if err != nil {
			t.Fatal(err)
		}
		run(t, hf)
		job, err := kind.Enqueue(t.Context(), hf, 1)
		if err != nil {
			t.Fatal(err)
		}
		_, err = job.Wait(t.Context())
		var failed *holdfast.JobError
		if !errors.As(err, &failed) || failed.Message != "a: b: c: d: e: step step: boom" {
			t.Errorf("the job failed with %v", err)
		}
		want := "a b c d e handler abcde step abcde e step step: boom; d e: step step: boom; c d: e: step step: boom; " +
			"b c: d: e: step step: boom; a b: c: d: e: step step: boom; "
		if got := trace.String(); got != want {
			t.Errorf("it went\n%s\nnot\n%s", got, want)
		}
	})
}

// TestMiddlewareDecides: what it returns is what the handler returned.
func TestMiddlewareDecides(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		mw     holdfast.Middleware
		handle func(run *holdfast.Run) (string, error) // nil: it must not be called
		result string
		says   string // of a failure; "": it completes
	}{
		"next": {
			func(run *holdfast.Run, next func(*holdfast.Run) error) error { return next(run) },
			func(*holdfast.Run) (string, error) { return "fine", nil }, "fine", "",
		},
		"no next": {
			func(*holdfast.Run, func(*holdfast.Run) error) error { return nil }, nil, "", "",
		},
		"no next and an error": {
			func(*holdfast.Run, func(*holdfast.Run) error) error {
				return holdfast.Fail(errors.New("not on Sundays"))
			}, nil, "", "not on Sundays",
		},
		"next twice": {
			func(run *holdfast.Run, next func(*holdfast.Run) error) error {
				return errors.Join(next(run), next(run))
			},
			func(*holdfast.Run) (string, error) { return "fine", nil }, "", "next was called twice",
		},
		"next with no run": {
			func(_ *holdfast.Run, next func(*holdfast.Run) error) error { return next(nil) }, nil, "", "another run",
		},
		"an error that it takes away": {
			func(run *holdfast.Run, next func(*holdfast.Run) error) error { _ = next(run); return nil },
			func(*holdfast.Run) (string, error) { return "", errors.New("boom") }, "", "",
		},
		"an error that it adds": {
			func(run *holdfast.Run, next func(*holdfast.Run) error) error {
				return errors.Join(next(run), errors.New("after"))
			},
			func(*holdfast.Run) (string, error) { return "fine", nil }, "", "after",
		},
		"a panic of the handler": {
			func(run *holdfast.Run, next func(*holdfast.Run) error) error { return next(run) },
			func(*holdfast.Run) (string, error) { panicsHere(); return "", nil }, "", "panic: here",
		},
		"a panic that it makes an error": {
			func(run *holdfast.Run, next func(*holdfast.Run) error) (err error) {
				defer func() {
					if p, ok := recover().(error); ok {
						err = fmt.Errorf("caught %w", p)
					}
				}()
				return next(run)
			},
			func(*holdfast.Run) (string, error) { panicsHere(); return "", nil }, "", "caught panic: here",
		},
		"a panic of its own": {
			func(*holdfast.Run, func(*holdfast.Run) error) error { panicsHere(); return nil }, nil, "", "panic: here",
		},
		"a panic of its own after next": {
			func(run *holdfast.Run, next func(*holdfast.Run) error) error { defer panicsHere(); return next(run) },
			func(*holdfast.Run) (string, error) { return "fine", nil }, "", "panic: here",
		},
		"a handler that ends its goroutine": {
			func(run *holdfast.Run, next func(*holdfast.Run) error) error { return next(run) },
			func(*holdfast.Run) (string, error) { runtime.Goexit(); return "", nil }, "", "runtime.Goexit",
		},
		"a middleware that ends its goroutine": {
			func(*holdfast.Run, func(*holdfast.Run) error) error { runtime.Goexit(); return nil }, nil, "", "runtime.Goexit",
		},
		"next in another goroutine": {
			func(run *holdfast.Run, next func(*holdfast.Run) error) error {
				go func() { _ = next(run) }() // which it does not wait for, though it may have been called by then
				runtime.Gosched()
				return errors.New("impatient")
			},
			func(*holdfast.Run) (string, error) { return "fine", nil }, "", "impatient",
		},
	}
	onDatabases(t, func(t *testing.T, source store.Source) {
		hf := openOn(t, source)
		kinds := map[string]holdfast.Kind[int, string]{}
		for name, c := range cases {
			kinds[name] = holdfast.NewKind[int, string](name, holdfast.MaxAttempts(1))
			err := kinds[name].Handle(hf, func(run *holdfast.Run, _ int) (string, error) {
				if c.handle == nil {
					t.Errorf("%s: the handler was called", name)
					return "", nil
				}
				return c.handle(run)
			}, holdfast.WithMiddleware(c.mw))
			if err != nil {
				t.Fatal(err)
			}
		}
		run(t, hf)
		for name, c := range cases {
			job, err := kinds[name].Enqueue(t.Context(), hf, 1)
			if err != nil {
				t.Fatal(err)
			}
			out, err := job.Wait(t.Context())
			var failed *holdfast.JobError
			switch errors.As(err, &failed); {
			case out != c.result:
				t.Errorf("%s: the result is %q", name, out)
			case failed == nil && (err != nil || c.says != ""), failed != nil && (c.says == "" || !strings.Contains(failed.Message, c.says)):
				t.Errorf("%s: it ended with %v", name, err)
			}
			if record, err := job.Get(t.Context()); err != nil ||
				strings.HasPrefix(c.says, "panic") && !strings.Contains(record.Attempts[0].Trace, "panicsHere") {
				t.Errorf("%s: the stack does not say where: %+v, %v", name, record.Attempts, err)
			}
		}
	})
}

//go:noinline
func panicsHere() { panic("here") }

// TestMiddlewareIsToldHowARunIsInterrupted: by a node that stops, and by the loss of its lease.
func TestMiddlewareIsToldHowARunIsInterrupted(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		interrupt func(t *testing.T, f *flow, id holdfast.ID) error
		want      string
	}{
		"shutdown": {func(t *testing.T, f *flow, _ holdfast.ID) error { return f.hf.Stop(t.Context()) }, "shutdown 1"},
		"terminate": {func(t *testing.T, f *flow, id holdfast.ID) error {
			_, err := f.hf.Terminate(t.Context(), "enough", id)
			return err
		}, "lease lost 1"},
		"pause": {func(t *testing.T, f *flow, id holdfast.ID) error {
			_, err := f.hf.Pause(t.Context(), "look first", id)
			return err
		}, "parked 1"},
		"cancel": {func(t *testing.T, f *flow, id holdfast.ID) error {
			_, err := f.hf.Cancel(t.Context(), "enough", id)
			return err
		}, "error 1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inFlow(t, func(t *testing.T, f *flow) {
				var m counts
				job := begin(f, 0, func(run *holdfast.Run, _ int) (int, error) {
					for {
						err := holdfast.Do(run, "step", func(ctx context.Context) error {
							select {
							case <-ctx.Done():
							case <-time.After(time.Second):
							}
							return ctx.Err()
						})
						if err != nil {
							return 0, err
						}
					}
				}, holdfast.WithMiddleware(m.measure))
				<-time.After(1500 * time.Millisecond)
				if err := c.interrupt(t, f, job.ID); err != nil {
					t.Fatal(err)
				}
				<-time.After(10 * time.Second)
				synctest.Wait()
				if got := m.String(); got != c.want {
					t.Errorf("it counts %s, want %s", got, c.want)
				}
			})
		})
	}
}

// TestOperationsInMiddleware: a middleware is code of the run like its handler: what it does is
// remembered, and if it waits, what is around it is told.
func TestOperationsInMiddleware(t *testing.T) {
	t.Parallel()
	onDatabases(t, func(t *testing.T, source store.Source) {
		var c, steps counts
		hf := openOn(t, source, holdfast.WithMiddleware(c.measure))
		kind := holdfast.NewKind[int, int]("operations")
		step := func(run *holdfast.Run, name string) error {
			return holdfast.Do(run, name, func(context.Context) error { steps.add(name); return nil })
		}
		around := func(run *holdfast.Run, next func(*holdfast.Run) error) error {
			if err := errors.Join(step(run, "before"), run.Sleep(60*time.Millisecond)); err != nil {
				return err
			}
			err := next(run)
			if errors.Is(err, holdfast.ErrParked) {
				_ = step(run, "while it is parked") // ends the goroutine: the run is over here
				t.Error("an operation of a parked run has returned")
			}
			return errors.Join(err, step(run, "after"), run.Sleep(60*time.Millisecond))
		}
		err := kind.Handle(hf, func(run *holdfast.Run, n int) (int, error) { return n, run.Sleep(time.Second) },
			holdfast.WithMiddleware(around))
		if err != nil {
			t.Fatal(err)
		}
		run(t, hf)
		job, err := kind.Enqueue(t.Context(), hf, 7)
		if err != nil {
			t.Fatal(err)
		}
		if n, err := job.Wait(t.Context()); err != nil || n != 7 {
			t.Errorf("%d, %v", n, err)
		}
		// A sleep that is over before its run would be parked parks nothing: on a machine that
		// stalls there are fewer runs. Each but the last was parked.
		is, err := hf.Get(t.Context(), job.ID)
		if err != nil {
			t.Fatal(err)
		}
		if want := fmt.Sprintf("ok 1, parked %d", is.Lease.Number-1); c.String() != want || steps.String() != "after 1, before 1" {
			t.Errorf("it counts %s, and the steps %s", c.String(), steps.String())
		}
	})
}

// TestAPanicAfterTheEndChangesNothing: the run is parked by then, and goes on later.
func TestAPanicAfterTheEndChangesNothing(t *testing.T) {
	t.Parallel()
	inFlow(t, func(t *testing.T, f *flow) {
		panics := func(run *holdfast.Run, next func(*holdfast.Run) error) error {
			if err := next(run); !errors.Is(err, holdfast.ErrParked) {
				return err
			}
			panic("while it is parked")
		}
		job := begin(f, 0, func(run *holdfast.Run, _ int) (int, error) { return 7, run.Sleep(time.Hour) },
			holdfast.WithMiddleware(panics), holdfast.MaxAttempts(1))
		if got := result(f, job); got != 7 {
			t.Error(got)
		}
	})
}

// TestCompensationsAreOutside: a middleware around the handler is not around what undoes it.
func TestCompensationsAreOutside(t *testing.T) {
	t.Parallel()
	inFlow(t, func(t *testing.T, f *flow) {
		var trace strings.Builder
		around := func(run *holdfast.Run, next func(*holdfast.Run) error) error {
			defer trace.WriteString("out ")
			trace.WriteString("in ")
			return next(run)
		}
		job := begin(f, 0, func(run *holdfast.Run, _ int) (int, error) {
			if err := run.OnFailure("undo", func(*holdfast.Run) error { trace.WriteString("undo "); return nil }); err != nil {
				return 0, err
			}
			return 0, holdfast.Fail(errors.New("boom"))
		}, holdfast.WithMiddleware(around))
		if _, err := job.Wait(t.Context()); !errors.Is(err, holdfast.ErrFailed) {
			t.Error(err)
		}
		if got := trace.String(); got != "in out undo " {
			t.Error(got)
		}
	})
}

// TestNextIsCalledInItsMiddleware: a late call of next does not call the handler, and the run of
// another job is refused.
func TestNextIsCalledInItsMiddleware(t *testing.T) {
	t.Parallel()
	inFlow(t, func(t *testing.T, f *flow) {
		var late func(*holdfast.Run) error
		var other *holdfast.Run
		var calls int
		kind := holdfast.NewKind[int, int]("flow", holdfast.MaxAttempts(1))
		err := kind.Handle(f.hf, func(*holdfast.Run, int) (int, error) { calls++; return 1, nil },
			holdfast.WithMiddleware(func(run *holdfast.Run, next func(*holdfast.Run) error) error {
				if other == nil {
					other, late = run, next
					return nil
				}
				if err := late(other); !errors.Is(err, holdfast.ErrInvalid) {
					t.Errorf("next after its function has returned: %v", err)
				}
				if err := next(other); !errors.Is(err, holdfast.ErrInvalid) {
					t.Errorf("next with the run of another job: %v", err)
				}
				return next(run)
			}))
		if err != nil {
			t.Fatal(err)
		}
		f.run()
		for i := range 2 {
			job, err := kind.Enqueue(t.Context(), f.hf, 0)
			if err != nil {
				t.Fatal(err)
			}
			if got := result(f, job); got != i {
				t.Errorf("job %d: %d", i, got)
			}
		}
		if calls != 1 {
			t.Errorf("the handler was called %d times", calls)
		}
	})
}

// TestNoMiddleware: nil is refused where it is given.
func TestNoMiddleware(t *testing.T) {
	t.Parallel()
	hf := open(t)
	err := holdfast.NewKind[int, int]("k").Handle(hf, func(*holdfast.Run, int) (int, error) { return 0, nil }, holdfast.WithMiddleware(nil))
	_, opened := holdfast.Open(t.Context(), memory{}, holdfast.WithMiddleware(nil))
	if !errors.Is(err, holdfast.ErrInvalid) || !errors.Is(opened, holdfast.ErrInvalid) {
		t.Errorf("%v, %v", err, opened)
	}
}
