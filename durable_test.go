package holdfast_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/model"
)

// memorySource is a database in memory, the same for every open.
type memorySource struct{ st store.Store }

func (m memorySource) Open(context.Context) (store.Store, error) { return keptOpen{m.st}, nil }
func (memorySource) Migrate(context.Context) (store.Schema, error) {
	return store.Schema{}, nil
}
func (memorySource) Schema(context.Context) (store.Schema, error) { return store.Schema{}, nil }
func (memorySource) Migrations() []store.Migration                { return nil }
func (memorySource) String() string                               { return "memory" }

// keptOpen ignores Close.
type keptOpen struct{ store.Store }

func (keptOpen) Close() error { return nil }

// flow is a client with a node, in virtual time.
type flow struct {
	t  *testing.T
	st store.Store
	hf *holdfast.Client
	wg sync.WaitGroup
}

// inFlow runs a test in a bubble of virtual time: waiting takes no real time.
func inFlow(t *testing.T, test func(t *testing.T, f *flow)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		f := &flow{t: t, st: model.New(time.Now)}
		f.open()
		defer f.close() // also when the test fails
		test(t, f)
	})
}

func (f *flow) open(opts ...holdfast.Option) {
	f.t.Helper()
	hf, err := holdfast.Open(f.t.Context(), memorySource{f.st}, append(opts, holdfast.WithStopTimeout(time.Second))...)
	if err != nil {
		f.t.Fatal(err)
	}
	f.hf = hf
}

func (f *flow) run() {
	hf := f.hf
	f.wg.Go(func() {
		if err := hf.Run(context.WithoutCancel(f.t.Context())); err != nil {
			f.t.Error(err)
		}
	})
	synctest.Wait()
}

func (f *flow) close() {
	f.t.Helper()
	if err := f.hf.Close(context.WithoutCancel(f.t.Context())); err != nil {
		f.t.Error(err)
	}
	f.wg.Wait()
}

// begin registers a handler, starts the node and enqueues one job.
func begin[In, Out any](f *flow, in In, h func(*holdfast.Run, In) (Out, error), opts ...holdfast.HandleOption) *holdfast.Job[Out] {
	f.t.Helper()
	kind := holdfast.NewKind[In, Out]("flow")
	if err := kind.Handle(f.hf, h, opts...); err != nil {
		f.t.Fatal(err)
	}
	f.run()
	job, err := kind.Enqueue(f.t.Context(), f.hf, in)
	if err != nil {
		f.t.Fatal(err)
	}
	return job
}

func result[Out any](f *flow, job *holdfast.Job[Out]) Out {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(f.t.Context(), 240*time.Hour)
	defer cancel()
	out, err := job.Wait(ctx)
	if err != nil {
		record, _ := job.Get(f.t.Context())
		f.t.Fatalf("%v; the job is %v (%s: %s), %+v", err, record.State, record.Reason, record.Error, record.Wait)
	}
	return out
}

// kinds lists the entries of a journal.
func (f *flow) kinds(id holdfast.ID) string {
	f.t.Helper()
	j, err := f.hf.Journal(f.t.Context(), id)
	if err != nil {
		f.t.Fatal(err)
	}
	var list []string
	for i, e := range j.Entries {
		if e.Seq != int64(i+1) {
			f.t.Errorf("entry %d has number %d", i+1, e.Seq)
		}
		list = append(list, strings.TrimSpace(e.Kind+" "+e.Path))
	}
	return strings.Join(list, ", ")
}

func count(n *atomic.Int64) func(context.Context) (int64, error) {
	return func(context.Context) (int64, error) { return n.Add(1), nil }
}

func TestStepsRunOnce(t *testing.T) {
	t.Parallel()
	inFlow(t, func(t *testing.T, f *flow) {
		var first, second atomic.Int64
		fails := true
		job := begin(f, "x", func(run *holdfast.Run, _ string) (string, error) {
			a, err := holdfast.Step(run, "first", count(&first))
			if err != nil {
				return "", err
			}
			if fails {
				fails = false
				return "", errors.New("later")
			}
			b, err := holdfast.Step(run, "second", count(&second))
			return fmt.Sprint(a, b), err
		})
		if got := result(f, job); got != "1 1" || first.Load() != 1 {
			t.Errorf("%q, the first step ran %d times", got, first.Load())
		}
		if got := f.kinds(job.ID); got != "step 1, step 2" {
			t.Error(got)
		}
	})
}

func TestSleepParks(t *testing.T) {
	t.Parallel()
	inFlow(t, func(t *testing.T, f *flow) {
		var runs atomic.Int64
		job := begin(f, 0, func(run *holdfast.Run, _ int) (time.Duration, error) {
			runs.Add(1)
			from, err := run.Now()
			if err != nil {
				return 0, err
			}
			if err := run.Sleep(7 * time.Hour); err != nil {
				return 0, err
			}
			to, err := run.Now()
			return to.Sub(from), err
		})
		time.Sleep(time.Hour)
		record, err := job.Get(t.Context())
		if err != nil || record.State != store.Waiting || record.Wait == nil {
			t.Fatalf("%v %+v, %v", record.State, record.Wait, err)
		}
		if slept := result(f, job); slept < 7*time.Hour || slept > 7*time.Hour+time.Second {
			t.Errorf("slept %v", slept)
		}
		if runs.Load() != 2 {
			t.Errorf("the handler was called %d times", runs.Load())
		}
	})
}

func TestSignals(t *testing.T) {
	t.Parallel()
	approved := holdfast.NewSignal[string]("approved")
	inFlow(t, func(t *testing.T, f *flow) {
		job := begin(f, 0, func(run *holdfast.Run, _ int) ([]string, error) {
			var all []string
			for range 3 {
				s, err := approved.Wait(run)
				if err != nil {
					return nil, err
				}
				all = append(all, s)
			}
			_, err := approved.Wait(run, holdfast.WaitAtMost(time.Hour))
			if !errors.Is(err, holdfast.ErrWaitTimeout) {
				return nil, fmt.Errorf("the fourth: %w", err)
			}
			return all, nil
		})
		for i, text := range []string{"a", "b", "b", "c"} {
			time.Sleep(time.Minute)
			key := text
			want := holdfast.SendResult{Job: job.ID, Message: []int64{1, 2, 2, 3}[i], Duplicate: i == 2}
			if sent, err := approved.Send(t.Context(), f.hf, job.ID, text, holdfast.DedupKey(key)); err != nil || sent != want {
				t.Fatalf("%d: %+v, %v", i, sent, err)
			}
		}
		if got := strings.Join(result(f, job), ""); got != "abc" {
			t.Error(got)
		}
		if _, err := approved.Send(t.Context(), f.hf, job.ID, "late"); !errors.Is(err, holdfast.ErrConflict) {
			t.Errorf("a signal to a finished job: %v", err)
		}
		if _, err := approved.Send(t.Context(), f.hf, holdfast.NewID(), "x"); !errors.Is(err, holdfast.ErrNotFound) {
			t.Errorf("a signal to nobody: %v", err)
		}
	})
}

func TestHandledFailureReplaysAsTheSame(t *testing.T) {
	t.Parallel()
	inFlow(t, func(t *testing.T, f *flow) {
		var calls atomic.Int64
		job := begin(f, 0, func(run *holdfast.Run, _ int) (string, error) {
			_, err := holdfast.Step(run, "charge", func(context.Context) (int, error) {
				calls.Add(1)
				return 0, errors.New("card refused")
			}, holdfast.MaxAttempts(3), holdfast.Backoff(time.Minute, time.Hour))
			var failure *holdfast.StepError
			if !errors.As(err, &failure) || failure.Attempts != 3 {
				return "", fmt.Errorf("not a step's error: %w", err)
			}
			if err := run.Sleep(time.Hour); err != nil {
				return "", err
			}
			return failure.Error(), nil
		})
		if got := result(f, job); got != "step charge: card refused" || calls.Load() != 3 {
			t.Errorf("%q after %d calls", got, calls.Load())
		}
	})
}

func TestUnhandledFailureRetriesTheStep(t *testing.T) {
	t.Parallel()
	inFlow(t, func(t *testing.T, f *flow) {
		var calls atomic.Int64
		job := begin(f, 0, func(run *holdfast.Run, _ int) (int, error) {
			return holdfast.Step(run, "flaky", func(context.Context) (int, error) {
				if n := calls.Add(1); n < 4 {
					return 0, errors.New("not yet")
				}
				return 7, nil
			})
		})
		if got := result(f, job); got != 7 {
			t.Error(got)
		}
	})
}

func TestChildren(t *testing.T) {
	t.Parallel()
	inFlow(t, func(t *testing.T, f *flow) {
		double := holdfast.NewKind[int, int]("double")
		err := double.Handle(f.hf, func(run *holdfast.Run, n int) (int, error) {
			if n < 0 {
				return 0, holdfast.Fail(errors.New("negative"))
			}
			return 2 * n, run.Sleep(time.Duration(n) * time.Second)
		})
		if err != nil {
			t.Fatal(err)
		}
		var runs atomic.Int64
		job := begin(f, 200, func(run *holdfast.Run, n int) (int, error) {
			runs.Add(1)
			one, err := double.Call(run, 21)
			if err != nil || one != 42 {
				return 0, fmt.Errorf("call: %d, %w", one, err)
			}
			_, err = double.Call(run, -1)
			var failed *holdfast.JobError
			if !errors.As(err, &failed) || !errors.Is(err, holdfast.ErrFailed) {
				return 0, fmt.Errorf("a child that fails: %w", err)
			}
			ins := make([]int, n)
			for i := range ins {
				ins[i] = i
			}
			results, err := double.CallAll(run, ins, holdfast.FanOut{})
			if err != nil {
				return 0, err
			}
			sum := 0
			for _, r := range results {
				if r.Err != nil {
					return 0, r.Err
				}
				sum += r.Value
			}
			return sum, nil
		})
		if got := result(f, job); got != 200*199 {
			t.Error(got)
		}
		if n := runs.Load(); n > 8 {
			t.Errorf("the parent ran %d times", n)
		}
	})
}

func TestFanOutInWindows(t *testing.T) {
	t.Parallel()
	inFlow(t, func(t *testing.T, f *flow) {
		var now, most atomic.Int64
		work := holdfast.NewKind[int, int]("work")
		err := work.Handle(f.hf, func(_ *holdfast.Run, n int) (int, error) {
			most.Store(max(most.Load(), now.Add(1)))
			defer now.Add(-1)
			time.Sleep(time.Second)
			if n%10 == 3 {
				return 0, holdfast.Fail(errors.New("three"))
			}
			return n, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		var runs atomic.Int64
		job := begin(f, 0, func(run *holdfast.Run, _ int) (int, error) {
			runs.Add(1)
			results, err := work.CallAll(run, make([]int, 100), holdfast.FanOut{AtOnce: 10})
			done := 0
			for _, r := range results {
				if r.Err == nil {
					done++
				}
			}
			return done, err
		})
		if got := result(f, job); got != 100 {
			t.Errorf("%d children completed", got)
		}
		if most.Load() > 10 {
			t.Errorf("%d children ran at once", most.Load())
		}
		if runs.Load() > 40 {
			t.Errorf("the parent ran %d times", runs.Load())
		}
	})
}

func TestStrandsAndSelect(t *testing.T) {
	t.Parallel()
	stop := holdfast.NewSignal[int]("stop")
	inFlow(t, func(t *testing.T, f *flow) {
		job := begin(f, 0, func(run *holdfast.Run, _ int) (string, error) {
			slow, err := holdfast.Go(run, "slow", func(run *holdfast.Run) (int, error) {
				if err := run.Sleep(3 * time.Hour); err != nil {
					return 0, err
				}
				return holdfast.Step(run, "one", func(context.Context) (int, error) { return 1, nil })
			})
			if err != nil {
				return "", err
			}
			fast, err := holdfast.Go(run, "fast", func(run *holdfast.Run) (int, error) {
				return 2, run.Sleep(time.Hour)
			})
			if err != nil {
				return "", err
			}
			timer, err := run.Timer(10 * time.Hour)
			if err != nil {
				return "", err
			}
			var got int
			var order []string
			for range 3 {
				i, err := holdfast.Select(run, stop.Into(&got), timer, fast)
				if err != nil {
					return "", err
				}
				order = append(order, strconv.Itoa(i))
				if i == 2 {
					i, err := holdfast.Select(run, stop.Into(&got), timer)
					if err != nil {
						return "", err
					}
					order = append(order, fmt.Sprint(i, "=", got))
					break
				}
			}
			one, err := slow.Wait(run)
			return fmt.Sprint(strings.Join(order, " "), " ", one), err
		})
		time.Sleep(2 * time.Hour)
		if _, err := stop.Send(t.Context(), f.hf, job.ID, 5); err != nil {
			t.Fatal(err)
		}
		if got := result(f, job); got != "2 0=5 1" {
			t.Errorf("%q", got)
		}
	})
}

func TestCallbacks(t *testing.T) {
	t.Parallel()
	inFlow(t, func(t *testing.T, f *flow) {
		tokens := make(chan string, 10)
		job := begin(f, 0, func(run *holdfast.Run, _ int) (string, error) {
			c, err := run.Callback("payment")
			if err != nil {
				return "", err
			}
			if _, err := holdfast.Step(run, "hand out", func(context.Context) (int, error) { tokens <- c.Token; return 0, nil }); err != nil {
				return "", err
			}
			var paid string
			if err := c.Wait(run, &paid, holdfast.WaitAtMost(time.Hour)); err != nil {
				return "", err
			}
			return paid, nil
		})
		token := <-tokens
		for range 5 {
			time.Sleep(40 * time.Minute)
			if err := f.hf.HeartbeatCallback(t.Context(), token); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(time.Minute)
		record, err := job.Get(t.Context())
		if err != nil || record.Wait == nil || !strings.Contains(string(record.Wait.For), `"callback payment"`) {
			t.Errorf("%+v, %v: it does not say for which callback it waits", record.Wait, err)
		}
		if err := f.hf.CompleteCallback(t.Context(), token, "12.50"); err != nil {
			t.Fatal(err)
		}
		if err := f.hf.CompleteCallback(t.Context(), token, "13"); !errors.Is(err, holdfast.ErrConflict) {
			t.Errorf("the second answer: %v", err)
		}
		if got := result(f, job); got != "12.50" {
			t.Error(got)
		}
	})
}

func TestCompensation(t *testing.T) {
	t.Parallel()
	inFlow(t, func(t *testing.T, f *flow) {
		var undone []string
		job := begin(f, 0, func(run *holdfast.Run, _ int) (int, error) {
			for _, name := range []string{"a", "b"} {
				if _, err := holdfast.Step(run, name, func(context.Context) (int, error) { return 1, nil }); err != nil {
					return 0, err
				}
				err := run.OnFailure("undo "+name, func(run *holdfast.Run) error {
					if err := run.Sleep(time.Hour); err != nil {
						return err
					}
					_, err := holdfast.Step(run, "undo", func(context.Context) (int, error) { undone = append(undone, name); return 0, nil })
					return err
				})
				if err != nil {
					return 0, err
				}
			}
			return 0, run.Sleep(100 * time.Hour)
		})
		time.Sleep(time.Hour)
		if err := job.Cancel(t.Context(), "changed my mind"); err != nil {
			t.Fatal(err)
		}
		_, err := job.Wait(t.Context())
		if !errors.Is(err, holdfast.ErrCancelled) || !strings.Contains(err.Error(), "changed my mind") {
			t.Errorf("it ended with %v", err)
		}
		if got := strings.Join(undone, ""); got != "ba" {
			t.Errorf("undone: %q", got)
		}
	})
}

func TestChildrenHaveNoKeysAndIDsOfTheirOwn(t *testing.T) {
	t.Parallel()
	child := holdfast.NewKind[int, int]("child")
	for name, opt := range map[string]holdfast.EnqueueOption{
		"a unique key": holdfast.Unique{ByKey: "k"}, "an id": holdfast.JobID(holdfast.NewID()),
	} {
		for verb, start := range map[string]func(*holdfast.Run) error{
			"Start": func(run *holdfast.Run) error {
				_, err := child.Start(run, 0, opt)
				return err
			},
			"CallAll": func(run *holdfast.Run) error {
				_, err := child.CallAll(run, []int{0}, holdfast.FanOut{}, opt)
				return err
			},
		} {
			inFlow(t, func(t *testing.T, f *flow) {
				job := begin(f, 0, func(run *holdfast.Run, _ int) (bool, error) {
					return errors.Is(start(run), holdfast.ErrInvalid), nil
				})
				if refused := result(f, job); !refused {
					t.Errorf("%s of %s for a child is not refused", verb, name)
				}
			})
		}
	}
}

func TestContinueAsNew(t *testing.T) {
	t.Parallel()
	tick := holdfast.NewSignal[int]("tick")
	inFlow(t, func(t *testing.T, f *flow) {
		type state struct{ Round, Sum int }
		job := begin(f, state{}, func(run *holdfast.Run, s state) (int, error) {
			n, err := tick.Wait(run)
			if err != nil {
				return 0, err
			}
			s.Round, s.Sum = s.Round+1, s.Sum+n
			if s.Round == 4 {
				return s.Sum, nil
			}
			return 0, continueAsNew(run, s)
		})
		for n := range 4 {
			if _, err := tick.Send(t.Context(), f.hf, job.ID, n+1); err != nil {
				record, _ := job.Get(t.Context())
				t.Fatalf("%v: %v (%s), %+v", err, record.State, record.Error, record.Attempts)
			}
			if n > 1 {
				time.Sleep(time.Second)
			}
		}
		if got := result(f, job); got != 10 {
			t.Error(got)
		}
	})
}

func TestNondeterminismWaitsForAPerson(t *testing.T) {
	t.Parallel()
	inFlow(t, func(t *testing.T, f *flow) {
		var name atomic.Value
		name.Store("old")
		job := begin(f, 0, func(run *holdfast.Run, _ int) (int, error) {
			v, err := holdfast.Step(run, fmt.Sprint(name.Load()), func(context.Context) (int, error) { return 1, nil })
			if err != nil {
				return 0, err
			}
			return v, run.Sleep(time.Hour)
		})
		time.Sleep(time.Minute)
		name.Store("new")
		time.Sleep(2 * time.Hour)
		record, err := job.Get(t.Context())
		if err != nil || record.State != store.Waiting || record.Wait == nil || !record.Wait.Held {
			t.Fatalf("%v, %+v, %v", record.State, record.Wait, err)
		}
		for _, want := range []string{`"new"`, `"old"`, "place 1", "entry 1"} {
			if !strings.Contains(record.Wait.Error, want) {
				t.Errorf("%q does not say %s", record.Wait.Error, want)
			}
		}
		name.Store("old")
		if _, err := f.hf.Resume(t.Context(), "the old code is back", job.ID); err != nil {
			t.Fatal(err)
		}
		if got := result(f, job); got != 1 {
			t.Error(got)
		}
	})
}

func TestPatched(t *testing.T) {
	t.Parallel()
	inFlow(t, func(t *testing.T, f *flow) {
		var patched atomic.Bool
		handler := func(run *holdfast.Run, _ int) (string, error) {
			if _, err := holdfast.Step(run, "a", func(context.Context) (int, error) { return 1, nil }); err != nil {
				return "", err
			}
			way := "old"
			if patched.Load() {
				in, err := run.Patched("better")
				if err != nil {
					return "", err
				}
				if in {
					way = "new"
				}
			}
			step := map[string]string{"old": "b", "new": "c"}[way]
			if _, err := holdfast.Step(run, step, func(context.Context) (int, error) { return 1, nil }); err != nil {
				return "", err
			}
			return way, run.Sleep(time.Hour)
		}
		kind := holdfast.NewKind[int, string]("flow")
		if err := kind.Handle(f.hf, handler); err != nil {
			t.Fatal(err)
		}
		f.run()
		before, err := kind.Enqueue(t.Context(), f.hf, 0)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		patched.Store(true)
		after, err := kind.Enqueue(t.Context(), f.hf, 0)
		if err != nil {
			t.Fatal(err)
		}
		if a, b := result(f, before), result(f, after); a != "old" || b != "new" {
			t.Errorf("%s %s", a, b)
		}
	})
}

func TestPublishAndStream(t *testing.T) {
	t.Parallel()
	inFlow(t, func(t *testing.T, f *flow) {
		job := begin(f, 0, func(run *holdfast.Run, _ int) (int, error) {
			for i := range 5 {
				if err := run.Publish("done", i); err != nil {
					return 0, err
				}
				if err := run.Append("tokens", fmt.Sprint("t", i)); err != nil {
					return 0, err
				}
				if err := run.Sleep(time.Minute); err != nil {
					return 0, err
				}
			}
			return 0, nil
		})
		var got []string
		for item, err := range f.hf.Follow(t.Context(), job.ID, "tokens", 0) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, string(item.Value))
		}
		if strings.Join(got, " ") != `"t0" "t1" "t2" "t3" "t4"` {
			t.Error(got)
		}
		item, ok, err := f.hf.Published(t.Context(), job.ID, "done")
		if err != nil || !ok || string(item.Value) != "4" {
			t.Errorf("%s %v %v", item.Value, ok, err)
		}
		if _, err := f.hf.WaitPublished(t.Context(), job.ID, "done", item.Offset); !errors.Is(err, holdfast.ErrNotFound) {
			t.Errorf("nothing newer will come: %v", err)
		}
		if _, _, err := f.hf.Published(t.Context(), job.ID, ""); !errors.Is(err, holdfast.ErrInvalid) {
			t.Errorf("no key is any key: %v", err)
		}
		if _, err := f.hf.Stream(t.Context(), job.ID, "", 0, 1); !errors.Is(err, holdfast.ErrInvalid) {
			t.Errorf("no stream is any stream: %v", err)
		}
	})
}
