package holdfasttest_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/holdfasttest"
	"github.com/holdfastdev/holdfast/store"
)

// between is a time at which no safety net of a node looks for a while: they do so once an hour.
const between = 90*time.Minute + 7*time.Second

// kindOf registers a handler of the kind "probe" and starts the node, and lets time pass until no
// safety net will look for a while.
func kindOf[In, Out any](
	env *holdfasttest.Env, handler func(run *holdfast.Run, in In) (Out, error), opts ...holdfast.HandleOption,
) holdfast.Kind[In, Out] {
	env.T.Helper()
	kind := handled(env, "probe", handler, opts...)
	env.Start()
	env.Advance(between)
	return kind
}

func handled[In, Out any](
	env *holdfasttest.Env, name string, handler func(run *holdfast.Run, in In) (Out, error), opts ...holdfast.HandleOption,
) holdfast.Kind[In, Out] {
	env.T.Helper()
	kind := holdfast.NewKind[In, Out](name)
	if err := kind.Handle(env.Client, handler, opts...); err != nil {
		env.T.Fatal(err)
	}
	return kind
}

func enqueue[In, Out any](env *holdfasttest.Env, kind holdfast.Kind[In, Out], in In, opts ...holdfast.EnqueueOption) *holdfast.Job[Out] {
	env.T.Helper()
	job, err := kind.Enqueue(env.T.Context(), env.Client, in, opts...)
	if err != nil {
		env.T.Fatal(err)
	}
	return job
}

// isIn fails the test unless a job is in a state.
func isIn(env *holdfasttest.Env, id holdfast.ID, want store.State) {
	env.T.Helper()
	record, err := env.Client.Get(env.T.Context(), id)
	if err != nil || record.State != want {
		env.T.Fatalf("the job is %v, not %v: %v %s", record.State, want, err, record.Error)
	}
}

// soon fails the test unless as much time has passed since it began, and a moment.
func soon(env *holdfasttest.Env, began time.Time, want time.Duration) {
	env.T.Helper()
	if passed := time.Since(began); passed < want || passed > want+100*time.Millisecond {
		env.T.Errorf("%v have passed, not %v", passed, want)
	}
}

// ends waits for a job, and fails the test unless it comes to that state when it should.
func ends[Out any](env *holdfasttest.Env, job *holdfast.Job[Out], state store.State, after time.Duration) {
	env.T.Helper()
	began := time.Now()
	_, err := job.Wait(env.T.Context())
	failure, failed := errors.AsType[*holdfast.JobError](err)
	if got := store.Completed; failed && failure.State != state || !failed && (err != nil || state != got) {
		env.T.Errorf("the job ends with %v, not %v", err, state)
	}
	soon(env, began, after)
}

func ok[T any](env *holdfasttest.Env) func(T, error) {
	env.T.Helper()
	return func(_ T, err error) {
		env.T.Helper()
		if err != nil {
			env.T.Fatal(err)
		}
	}
}

var stop = holdfast.NewSignal[string]("stop")

// untilTold is a handler that works until its context ends, and tells when that was, and why.
func untilTold(told *time.Time, why *error) func(run *holdfast.Run, _ int) (int, error) {
	return func(run *holdfast.Run, _ int) (int, error) {
		<-run.Done()
		*told, *why = time.Now(), context.Cause(run)
		return 0, run.Err()
	}
}

// untilStopped is a durable function that waits for a signal, and is undone if it fails.
func untilStopped(run *holdfast.Run, _ int) (string, error) {
	err := run.OnFailure("undo", func(run *holdfast.Run) error {
		_, err := holdfast.Step(run, "undo", func(context.Context) (int, error) { return 0, nil })
		return err
	})
	if err != nil {
		return "", err
	}
	return stop.Wait(run)
}

// TestAtOnce: safety nets look once an hour of virtual time, and nothing waits for them.
func TestAtOnce(t *testing.T) {
	t.Parallel()
	for name, story := range map[string]func(env *holdfasttest.Env){
		"a job": func(env *holdfasttest.Env) {
			kind := kindOf(env, func(*holdfast.Run, int) (int, error) { return 1, nil })
			ends(env, enqueue(env, kind, 1), store.Completed, 0)
		},
		"a cancel of a running job": func(env *holdfasttest.Env) {
			var told time.Time
			var why error
			job := enqueue(env, kindOf(env, untilTold(&told, &why)), 1)
			env.Advance(between)
			began := time.Now()
			if err := job.Cancel(env.T.Context(), "enough"); err != nil {
				env.T.Fatal(err)
			}
			ends(env, job, store.Cancelled, 0)
			if told.Sub(began) > 100*time.Millisecond || !errors.Is(why, holdfast.ErrCancelled) {
				env.T.Errorf("told after %v: %v", told.Sub(began), why)
			}
		},
		"the end of a terminated run": func(env *holdfasttest.Env) {
			var told time.Time
			var why error
			job := enqueue(env, kindOf(env, untilTold(&told, &why)), 1)
			env.Advance(between)
			began := time.Now()
			ok[[]store.Result](env)(env.Client.Terminate(env.T.Context(), "now", job.ID))
			ends(env, job, store.Cancelled, 0)
			env.Advance(0)
			if told.Sub(began) > 100*time.Millisecond || !errors.Is(why, holdfast.ErrLeaseLost) {
				env.T.Errorf("told after %v: %v", told.Sub(began), why)
			}
		},
		"a cancel of a parked run, with its compensation": func(env *holdfasttest.Env) {
			job := enqueue(env, kindOf(env, untilStopped), 1)
			env.Advance(between)
			if err := job.Cancel(env.T.Context(), "enough"); err != nil {
				env.T.Fatal(err)
			}
			ends(env, job, store.Cancelled, 0)
			env.RequireJournal(job.ID, "registered", "closing", "step undo", "compensated undo")
		},
		"a pause of a running job, and its end": func(env *holdfasttest.Env) {
			ready := make(chan struct{})
			job := enqueue(env, kindOf(env, func(run *holdfast.Run, _ int) (int, error) {
				<-ready
				return holdfast.Step(run, "step", func(context.Context) (int, error) { return 1, nil })
			}), 1)
			env.Advance(between)
			ok[[]store.Result](env)(env.Client.Pause(env.T.Context(), "wait", job.ID))
			env.Advance(0)
			close(ready)
			env.Advance(0)
			isIn(env, job.ID, store.Waiting)
			env.Advance(between)
			ok[[]store.Result](env)(env.Client.Resume(env.T.Context(), "go on", job.ID))
			ends(env, job, store.Completed, 0)
		},
		"a pause of a parked run, and its end": func(env *holdfasttest.Env) {
			job := enqueue(env, kindOf(env, untilStopped), 1)
			env.Advance(between)
			ok[[]store.Result](env)(env.Client.Pause(env.T.Context(), "wait", job.ID))
			ok[holdfast.SendResult](env)(stop.Send(env.T.Context(), env.Client, job.ID, "now"))
			env.Advance(between)
			isIn(env, job.ID, store.Waiting)
			ok[[]store.Result](env)(env.Client.Resume(env.T.Context(), "go on", job.ID))
			ends(env, job, store.Completed, 0)
		},
		"the end of a queue's pause": func(env *holdfasttest.Env) {
			kind := kindOf(env, func(*holdfast.Run, int) (int, error) { return 1, nil })
			if err := env.Client.PauseQueue(env.T.Context(), "default"); err != nil {
				env.T.Fatal(err)
			}
			job := enqueue(env, kind, 1)
			env.Advance(between)
			isIn(env, job.ID, store.Available)
			if err := env.Client.ResumeQueue(env.T.Context(), "default"); err != nil {
				env.T.Fatal(err)
			}
			ends(env, job, store.Completed, 0)
		},
		"a signal": func(env *holdfasttest.Env) {
			job := enqueue(env, kindOf(env, untilStopped), 1)
			env.Advance(between)
			ok[holdfast.SendResult](env)(stop.Send(env.T.Context(), env.Client, job.ID, "now"))
			ends(env, job, store.Completed, 0)
		},
		"a callback": func(env *holdfasttest.Env) {
			var token string
			job := enqueue(env, kindOf(env, func(run *holdfast.Run, _ int) (answer string, err error) {
				c, err := run.Callback("paid")
				if err != nil {
					return "", err
				}
				token = c.Token
				return answer, c.Wait(run, &answer)
			}), 1)
			env.Advance(between)
			if err := env.Client.CompleteCallback(env.T.Context(), token, "yes"); err != nil {
				env.T.Fatal(err)
			}
			ends(env, job, store.Completed, 0)
		},
		"the ends of children": func(env *holdfasttest.Env) {
			child := handled(env, "child", func(run *holdfast.Run, d time.Duration) (int, error) { return 1, run.Sleep(d) })
			job := enqueue(env, kindOf(env, func(run *holdfast.Run, _ int) (int, error) {
				if _, err := child.Call(run, between); err != nil {
					return 0, err
				}
				results, err := child.CallAll(run, []time.Duration{time.Minute, between, time.Second}, holdfast.FanOut{AtOnce: 1})
				return len(results), err
			}), 1)
			ends(env, job, store.Completed, 2*between+time.Minute+time.Second)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			holdfasttest.Run(t, story)
		})
	}
}

// TestOnTime: what has a time comes at that time.
func TestOnTime(t *testing.T) {
	t.Parallel()
	for name, story := range map[string]func(env *holdfasttest.Env){
		"a delay": func(env *holdfasttest.Env) {
			kind := kindOf(env, func(*holdfast.Run, int) (int, error) { return 1, nil })
			for _, d := range []time.Duration{time.Second, 10 * time.Minute, between, 100 * time.Hour} {
				ends(env, enqueue(env, kind, 1, holdfast.Delay(d)), store.Completed, d)
			}
		},
		"a run time that another enqueue brings forward": func(env *holdfasttest.Env) {
			kind := kindOf(env, func(*holdfast.Run, int) (int, error) { return 1, nil })
			unique := holdfast.Unique{OnConflict: store.Replace}
			job := enqueue(env, kind, 1, holdfast.Delay(100*time.Hour), unique)
			env.Advance(between)
			ok[*holdfast.Job[int]](env)(kind.Enqueue(env.T.Context(), env.Client, 2, holdfast.Delay(time.Minute), unique))
			ends(env, job, store.Completed, time.Minute)
		},
		"retries": func(env *holdfasttest.Env) {
			kind := kindOf(env, func(run *holdfast.Run, _ int) (int, error) {
				if run.Attempt() < 3 {
					return 0, holdfast.RetryAfter(between, errors.New("not yet"))
				}
				return 1, nil
			})
			ends(env, enqueue(env, kind, 1), store.Completed, 2*between)
		},
		"a retry by a person": func(env *holdfasttest.Env) {
			first := true
			job := enqueue(env, kindOf(env, func(*holdfast.Run, int) (int, error) {
				if first {
					first = false
					return 0, holdfast.Fail(errors.New("not yet"))
				}
				return 1, nil
			}), 1)
			ends(env, job, store.Failed, 0)
			env.Advance(between)
			ok[[]store.Result](env)(env.Client.Retry(env.T.Context(), "again", job.ID))
			ends(env, job, store.Completed, 0)
		},
		"a snooze": func(env *holdfasttest.Env) {
			began := time.Now().Add(between)
			kind := kindOf(env, func(*holdfast.Run, int) (int, error) {
				if time.Since(began) < between {
					return 0, holdfast.Snooze(between)
				}
				return 1, nil
			})
			ends(env, enqueue(env, kind, 1), store.Completed, between)
		},
		"a time limit of an attempt": func(env *holdfasttest.Env) {
			var told time.Time
			var why error
			kind := kindOf(env, untilTold(&told, &why), holdfast.Timeout(between), holdfast.MaxAttempts(1))
			ends(env, enqueue(env, kind, 1), store.Failed, between)
			if !errors.Is(why, holdfast.ErrTimeout) {
				env.T.Error(why)
			}
		},
		"a deadline of a parked run": func(env *holdfasttest.Env) {
			kind := kindOf(env, untilStopped)
			ends(env, enqueue(env, kind, 1, holdfast.Deadline(time.Now().Add(between))), store.Failed, between)
		},
		"a time limit of a wait": func(env *holdfasttest.Env) {
			kind := kindOf(env, func(run *holdfast.Run, _ int) (string, error) {
				by, err := stop.Wait(run, holdfast.WaitAtMost(between))
				if errors.Is(err, holdfast.ErrWaitTimeout) {
					return "late", nil
				}
				return by, err
			})
			ends(env, enqueue(env, kind, 1), store.Completed, between)
		},
		"retries and a time limit of a step": func(env *holdfasttest.Env) {
			tries := 0
			kind := kindOf(env, func(run *holdfast.Run, _ int) (int, error) {
				return holdfast.Step(run, "slow", func(ctx context.Context) (int, error) {
					if tries++; tries == 3 {
						return tries, nil
					}
					<-ctx.Done()
					return 0, ctx.Err()
				}, holdfast.Timeout(between), holdfast.RetryIf(func(error) bool { return true }), holdfast.Backoff(time.Second, time.Second))
			})
			job := enqueue(env, kind, 1)
			began := time.Now()
			ok[int](env)(job.Wait(env.T.Context()))
			if passed := time.Since(began); passed < 2*between+2*time.Second || passed > 2*between+3*time.Second {
				env.T.Errorf("%v have passed", passed) // up to a quarter more for each backoff
			}
		},
		"a sleep, and a new beginning": func(env *holdfasttest.Env) {
			var kind holdfast.Kind[int, int]
			kind = kindOf(env, func(run *holdfast.Run, round int) (int, error) {
				if err := run.Sleep(between); err != nil || round == 3 {
					return round, err
				}
				return 0, kind.ContinueAsNew(round + 1)
			})
			ends(env, enqueue(env, kind, 1), store.Completed, 3*between)
		},
		"turns of an ordering key": func(env *holdfasttest.Env) {
			kind := kindOf(env, func(run *holdfast.Run, _ int) (int, error) { return 1, run.Sleep(between) })
			enqueue(env, kind, 1, holdfast.OrderingKey("key"))
			enqueue(env, kind, 2, holdfast.OrderingKey("key"))
			ends(env, enqueue(env, kind, 3, holdfast.OrderingKey("key")), store.Completed, 3*between)
		},
		"the removal of finished jobs": func(env *holdfasttest.Env) {
			job := enqueue(env, kindOf(env, func(*holdfast.Run, int) (int, error) { return 1, nil }), 1)
			ends(env, job, store.Completed, 0)
			env.Advance(23 * time.Hour)
			isIn(env, job.ID, store.Completed)
			env.Advance(2 * time.Hour)
			if _, err := job.Get(env.T.Context()); !errors.Is(err, holdfast.ErrNotFound) {
				env.T.Error(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			holdfasttest.Run(t, story)
		})
	}
}

// TestChildrenOfTheFinished: what the end of a parent does to its children, it does at once.
func TestChildrenOfTheFinished(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		policy store.ClosePolicy
		cause  error
	}{
		"cancelled":  {store.CancelChild, holdfast.ErrCancelled},
		"terminated": {store.TerminateChild, holdfast.ErrLeaseLost},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			holdfasttest.Run(t, func(env *holdfasttest.Env) {
				var told time.Time
				var why error
				running := handled(env, "child.running", untilTold(&told, &why))
				parked := handled(env, "child.parked", untilStopped)
				parent := kindOf(env, func(run *holdfast.Run, _ int) (int, error) {
					if _, err := running.Start(run, 1, holdfast.OnParentClose(c.policy)); err != nil {
						return 0, err
					}
					if _, err := parked.Start(run, 1, holdfast.OnParentClose(c.policy)); err != nil {
						return 0, err
					}
					return 1, run.Sleep(between)
				})
				ends(env, enqueue(env, parent, 1), store.Completed, between)
				began := time.Now()
				ends(env, holdfasttest.RequireEnqueued(env, running)[0], store.Cancelled, 0)
				ends(env, holdfasttest.RequireEnqueued(env, parked)[0], store.Cancelled, 0)
				env.Advance(0)
				if told.Sub(began) > 100*time.Millisecond || !errors.Is(why, c.cause) {
					env.T.Errorf("told after %v: %v", told.Sub(began), why)
				}
			})
		})
	}
}
