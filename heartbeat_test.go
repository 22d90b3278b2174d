package holdfast_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/store"
)

// hang waits for the end of a context, and says how long that took and why it came.
func hang(ctx context.Context) (time.Duration, error) {
	began := time.Now()
	<-ctx.Done()
	return time.Since(began), context.Cause(ctx)
}

// TestSilentHandlerIsRetried: a handler that hangs is found after its limit, and tried again by its
// backoff until no attempt is left.
func TestSilentHandlerIsRetried(t *testing.T) {
	t.Parallel()
	inFlow(t, func(t *testing.T, f *flow) {
		var found []time.Duration
		var cause error
		job := begin(f, 0, func(run *holdfast.Run, _ int) (int, error) {
			var after time.Duration
			after, cause = hang(run)
			found = append(found, after)
			return 0, errors.New("it hung")
		}, holdfast.HeartbeatTimeout(30*time.Second), holdfast.MaxAttempts(2))
		var ended *holdfast.JobError
		if _, err := job.Wait(t.Context()); !errors.As(err, &ended) || ended.Reason != store.ReasonHeartbeat || ended.Message != "it hung" {
			t.Errorf("it ended with %v", err)
		}
		if !errors.Is(cause, holdfast.ErrHeartbeat) || !errors.Is(cause, holdfast.ErrTimeout) {
			t.Errorf("the cause is %v", cause)
		}
		for _, after := range found {
			if after < 30*time.Second || after > 31*time.Second {
				t.Errorf("it was found after %v", after)
			}
		}
		record, err := job.Get(t.Context())
		if err != nil || len(record.Attempts) != 2 || record.Attempts[0].Reason != store.ReasonHeartbeat || len(found) != 2 {
			t.Errorf("%d runs, attempts %+v, %v", len(found), record.Attempts, err)
		}
	})
}

// TestProgressIsNoSilence: each sort of progress keeps the attempt alive, however long it takes,
// and so does parking.
func TestProgressIsNoSilence(t *testing.T) {
	t.Parallel()
	step := func(context.Context) (int, error) { time.Sleep(9 * time.Second); return 1, nil }
	for name, progress := range map[string]func(run *holdfast.Run) error{
		"heartbeat": func(run *holdfast.Run) error {
			time.Sleep(9 * time.Second)
			run.Heartbeat()
			return nil
		},
		"progress": func(run *holdfast.Run) error {
			time.Sleep(9 * time.Second)
			run.Progress(1, "on the way")
			return nil
		},
		"checkpoint": func(run *holdfast.Run) error {
			time.Sleep(9 * time.Second)
			return run.SaveCheckpoint(1)
		},
		"steps": func(run *holdfast.Run) error {
			_, err := holdfast.Step(run, "step", step)
			return err
		},
		"a step that beats": func(run *holdfast.Run) error {
			_, err := holdfast.Step(run, "step", func(context.Context) (int, error) {
				for range 5 {
					time.Sleep(9 * time.Second)
					run.Heartbeat()
				}
				return 1, nil
			})
			return err
		},
		"a strand": func(run *holdfast.Run) error {
			future, err := holdfast.Go(run, "strand", func(run *holdfast.Run) (int, error) { return holdfast.Step(run, "step", step) })
			if err != nil {
				return err
			}
			_, err = future.Wait(run)
			return err
		},
		"sleep": func(run *holdfast.Run) error { return run.Sleep(time.Hour) },
		"wait": func(run *holdfast.Run) error {
			_, err := holdfast.NewSignal[int]("s").Wait(run, holdfast.WaitAtMost(time.Hour))
			if errors.Is(err, holdfast.ErrWaitTimeout) {
				return nil
			}
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inFlow(t, func(t *testing.T, f *flow) {
				job := begin(f, 0, func(run *holdfast.Run, _ int) (int, error) {
					for range 4 {
						if err := progress(run); err != nil {
							return 0, err
						}
					}
					return 7, nil
				}, holdfast.HeartbeatTimeout(10*time.Second), holdfast.MaxAttempts(1))
				if got := result(f, job); got != 7 {
					t.Error(got)
				}
			})
		})
	}
}

// TestHeartbeatTimeoutOfTheJob: that of the enqueue overrides that of the handler.
func TestHeartbeatTimeoutOfTheJob(t *testing.T) {
	t.Parallel()
	inFlow(t, func(t *testing.T, f *flow) {
		kind := holdfast.NewKind[int, time.Duration]("flow")
		handle := func(run *holdfast.Run, _ int) (time.Duration, error) {
			after, _ := hang(run)
			return after, nil // it may finish all the same
		}
		if err := kind.Handle(f.hf, handle, holdfast.HeartbeatTimeout(time.Minute)); err != nil {
			t.Fatal(err)
		}
		f.run()
		for _, c := range []struct {
			opts []holdfast.EnqueueOption
			want time.Duration
		}{{nil, time.Minute}, {[]holdfast.EnqueueOption{holdfast.HeartbeatTimeout(7 * time.Second)}, 7 * time.Second}} {
			job, err := kind.Enqueue(t.Context(), f.hf, 0, c.opts...)
			if err != nil {
				t.Fatal(err)
			}
			if got := result(f, job); got != c.want {
				t.Errorf("it was found after %v, want %v", got, c.want)
			}
		}
	})
}

// TestSilentHandlerThatIgnoresIt is left behind, as one that ignores its timeout: its job and its
// slot go on.
func TestSilentHandlerThatIgnoresIt(t *testing.T) {
	t.Parallel()
	inFlow(t, func(t *testing.T, f *flow) {
		leave := make(chan struct{})
		defer close(leave)
		began := time.Now()
		job := begin(f, 0, func(run *holdfast.Run, _ int) (time.Duration, error) {
			if run.Attempt() == 1 {
				<-leave
			}
			return time.Since(began), nil
		}, holdfast.HeartbeatTimeout(30*time.Second), holdfast.Backoff(time.Second, time.Second))
		if after := result(f, job); after < 41*time.Second || after > 43*time.Second {
			t.Errorf("the second attempt began after %v", after)
		}
		record, err := job.Get(t.Context())
		if err != nil || len(record.Attempts) != 1 || record.Attempts[0].Reason != store.ReasonHeartbeat ||
			!strings.Contains(record.Attempts[0].Error, "no heartbeat") {
			t.Errorf("attempts %+v, %v", record.Attempts, err)
		}
	})
}

// TestSilentStepIsRetried: by its own policy, and its last failure is a timeout. The handler's
// attempt goes on.
func TestSilentStepIsRetried(t *testing.T) {
	t.Parallel()
	inFlow(t, func(t *testing.T, f *flow) {
		var tries atomic.Int64
		job := begin(f, 0, func(run *holdfast.Run, _ int) (string, error) {
			_, err := holdfast.Step(run, "hangs", func(ctx context.Context) (int, error) {
				tries.Add(1)
				after, cause := hang(ctx)
				if after != 20*time.Second || !errors.Is(cause, holdfast.ErrHeartbeat) {
					t.Errorf("it was found after %v, %v", after, cause)
				}
				return 0, cause
			}, holdfast.HeartbeatTimeout(20*time.Second), holdfast.MaxAttempts(3), holdfast.Backoff(time.Minute, time.Minute))
			var failed *holdfast.StepError
			if !errors.As(err, &failed) || !failed.TimedOut || failed.Attempts != 3 {
				t.Errorf("the step failed with %+v", err)
			}
			return failed.Message, nil
		})
		if text := result(f, job); text != "no heartbeat for 20s" || tries.Load() != 3 {
			t.Errorf("%q after %d tries", text, tries.Load())
		}
		if record, err := job.Get(t.Context()); err != nil || len(record.Attempts) != 0 {
			t.Errorf("the job's attempts: %+v, %v", record.Attempts, err)
		}
	})
}

// TestBeatsOfTheStepAlone: a step is kept alive by the progress of its strand, and not by that of
// others.
func TestBeatsOfTheStepAlone(t *testing.T) {
	t.Parallel()
	inFlow(t, func(t *testing.T, f *flow) {
		beats := func(run *holdfast.Run, name string, beat func()) (*holdfast.Future[int], error) {
			return holdfast.Go(run, name, func(own *holdfast.Run) (int, error) {
				return holdfast.Step(own, name, func(ctx context.Context) (int, error) {
					for i := range 20 {
						select {
						case <-time.After(time.Second):
						case <-ctx.Done():
							return i, context.Cause(ctx)
						}
						if beat != nil {
							beat()
						} else {
							own.Heartbeat()
						}
					}
					return 20, nil
				}, holdfast.HeartbeatTimeout(5*time.Second))
			})
		}
		job := begin(f, 0, func(run *holdfast.Run, _ int) (string, error) {
			alive, err := beats(run, "alive", nil)
			if err != nil {
				return "", err
			}
			silent, err := beats(run, "silent", func() {})
			if err != nil {
				return "", err
			}
			if n, err := alive.Wait(run); err != nil || n != 20 {
				return "", err
			}
			_, err = silent.Wait(run)
			var failed *holdfast.StepError
			if !errors.As(err, &failed) {
				return "", err
			}
			return failed.Message, nil
		})
		if got := result(f, job); !strings.HasPrefix(got, "no heartbeat for 5s") {
			t.Error(got)
		}
	})
}

// TestSilentStepThatIgnoresIt: its function holds up the strand, so the attempt ends with it, and
// its goroutine is left behind.
func TestSilentStepThatIgnoresIt(t *testing.T) {
	t.Parallel()
	for name, late := range map[string]time.Duration{"for good": 0, "for a while": 5 * time.Second} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inFlow(t, func(t *testing.T, f *flow) {
				leave := make(chan struct{})
				defer close(leave)
				job := begin(f, 0, func(run *holdfast.Run, _ int) (int, error) {
					return holdfast.Step(run, "ignores", func(context.Context) (int, error) {
						if run.Attempt() > 1 {
							return run.Attempt(), nil
						}
						if late > 0 {
							time.Sleep(20*time.Second + late)
							return 0, errors.New("late")
						}
						<-leave
						return 0, nil
					}, holdfast.HeartbeatTimeout(20*time.Second))
				})
				if got := result(f, job); got != 2 {
					t.Error(got)
				}
				want := store.ReasonHeartbeat
				if late > 0 {
					want = store.ReasonError // of the step, which returned in time
				}
				record, err := job.Get(t.Context())
				if err != nil || len(record.Attempts) != 1 || record.Attempts[0].Reason != want {
					t.Errorf("attempts %+v, %v", record.Attempts, err)
				}
				synctest.Wait()
			})
		})
	}
}

// TestSilenceOnDatabases: a handler that hangs is tried again, and so is a step, which is told
// which attempt it is.
func TestSilenceOnDatabases(t *testing.T) {
	t.Parallel()
	onDatabases(t, func(t *testing.T, source store.Source) {
		hf := openOn(t, source)
		again := holdfast.Backoff(time.Millisecond, time.Millisecond)
		handler := holdfast.NewKind[int, int]("handler", holdfast.HeartbeatTimeout(50*time.Millisecond), again)
		err := handler.Handle(hf, func(run *holdfast.Run, _ int) (int, error) {
			if run.Attempt() > 1 {
				return run.Attempt(), nil
			}
			_, err := hang(run)
			if !errors.Is(err, holdfast.ErrHeartbeat) {
				t.Errorf("the handler ends because of %v", err)
			}
			return 0, err
		})
		if err != nil {
			t.Fatal(err)
		}
		// Its handler has no limit: a step that is tried again and again takes long on a busy
		// machine.
		step := holdfast.NewKind[int, string]("step")
		err = step.Handle(hf, func(run *holdfast.Run, _ int) (string, error) {
			var attempts []int
			_, err := holdfast.Step(run, "hangs", func(ctx context.Context) (int, error) {
				attempts = append(attempts, holdfast.StepAttempt(ctx))
				_, err := hang(ctx)
				if !errors.Is(err, holdfast.ErrHeartbeat) {
					t.Errorf("the step ends because of %v", err)
				}
				return 0, err
			}, holdfast.HeartbeatTimeout(20*time.Millisecond), again, holdfast.MaxAttempts(3))
			var failed *holdfast.StepError
			if !errors.As(err, &failed) || !failed.TimedOut || failed.Attempts != 3 {
				t.Errorf("the step fails with %v", err)
			}
			return fmt.Sprint(attempts), nil
		})
		if err != nil {
			t.Fatal(err)
		}
		run(t, hf)
		steps, err := step.Enqueue(t.Context(), hf, 0)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := steps.Wait(t.Context()); got != "[1 2 3]" || err != nil {
			t.Errorf("the attempts of the step are %s, %v", got, err)
		}
		job, err := handler.Enqueue(t.Context(), hf, 0)
		if err != nil {
			t.Fatal(err)
		}
		got, err := job.Wait(t.Context())
		if err != nil || got < 2 {
			t.Errorf("the handler: %d, %v", got, err)
		}
		// If the machine is so busy that the second attempt has no time either there are more.
		record, err := job.Get(t.Context())
		if err != nil || len(record.Attempts) != got-1 || record.Attempts[0].Reason != store.ReasonHeartbeat {
			t.Errorf("attempts %+v, %v", record.Attempts, err)
		}
	})
}

// TestHeartbeatTimeoutIsStored: with the job, and as the reason of its attempts.
func TestHeartbeatTimeoutIsStored(t *testing.T) {
	t.Parallel()
	onDatabases(t, func(t *testing.T, source store.Source) {
		hf, err := holdfast.Open(t.Context(), source)
		if err != nil {
			t.Fatal(err)
		}
		defer hf.Close(context.Background())
		kind := holdfast.NewKind[int, int]("hang", holdfast.HeartbeatTimeout(50*time.Millisecond), holdfast.MaxAttempts(1))
		err = kind.Handle(hf, func(run *holdfast.Run, _ int) (int, error) {
			_, err := hang(run)
			return 0, err
		})
		if err != nil {
			t.Fatal(err)
		}
		run(t, hf)
		job, err := kind.Enqueue(t.Context(), hf, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := job.Wait(t.Context()); !errors.Is(err, holdfast.ErrFailed) {
			t.Error(err)
		}
		record, err := job.Get(t.Context())
		if err != nil || record.Reason != store.ReasonHeartbeat || record.Options.Heartbeat != 50*time.Millisecond ||
			len(record.Attempts) != 1 || record.Attempts[0].Reason != store.ReasonHeartbeat {
			t.Errorf("%+v, %v", record, err)
		}
	})
}
