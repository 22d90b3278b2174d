package many_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/holdfasttest"
	"github.com/holdfastdev/holdfast/many"
	"github.com/holdfastdev/holdfast/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var double = holdfast.NewKind[int, int]("double")

type run = many.Run[int, int]

// book notes the batches that a handler has got, by their args.
type book struct {
	mu      sync.Mutex
	batches [][]int
}

func (b *book) note(runs []*run) {
	b.mu.Lock()
	defer b.mu.Unlock()
	var args []int
	for _, r := range runs {
		args = append(args, r.Args)
	}
	slices.Sort(args)
	b.batches = append(b.batches, args)
}

func (b *book) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return fmt.Sprint(b.batches)
}

func handle(env *holdfasttest.Env, most int, wait time.Duration, h func([]*run) error, opts ...holdfast.HandleOption) {
	env.T.Helper()
	if err := many.Handle(env.Client, double, most, wait, h, opts...); err != nil {
		env.T.Fatal(err)
	}
}

// enqueue enqueues a job for each of the numbers up to n, in one transaction.
func enqueue(env *holdfasttest.Env, n int, opts ...holdfast.EnqueueOption) []*holdfast.Job[int] {
	env.T.Helper()
	args := make([]int, n)
	for i := range args {
		args[i] = i
	}
	jobs, err := double.EnqueueMany(env.T.Context(), env.Client, args, opts...)
	if err != nil {
		env.T.Fatal(err)
	}
	return jobs
}

// each waits for the jobs.
func each(env *holdfasttest.Env, jobs []*holdfast.Job[int], check func(i, out int, err error)) {
	env.T.Helper()
	for i, job := range jobs {
		out, err := job.Wait(env.T.Context())
		check(i, out, err)
	}
}

func get(env *holdfasttest.Env, job *holdfast.Job[int]) store.Record {
	env.T.Helper()
	record, err := job.Get(env.T.Context())
	if err != nil {
		env.T.Fatal(err)
	}
	return record
}

// TestEachHasItsOwnOutcome: jobs that were claimed together come together, and what becomes of one
// is not what becomes of another.
func TestEachHasItsOwnOutcome(t *testing.T) {
	holdfasttest.Run(t, func(env *holdfasttest.Env) {
		t := env.T
		b := &book{}
		handle(env, 10, 0, func(runs []*run) error {
			b.note(runs)
			for _, r := range runs {
				switch {
				case r.Args == 3:
					r.Fail(holdfast.Fail(errors.New("three")))
				case r.Args == 4 && r.Attempt() < 3:
					r.Fail(holdfast.RetryAfter(time.Minute, errors.New("not yet")))
				case r.Args == 5:
				case r.Args == 6 && r.Attempt() == 1:
					r.Return(0, errors.New("again"))
				default:
					r.Return(2*r.Args, nil)
				}
			}
			return nil
		})
		jobs := enqueue(env, 10)
		env.Start()
		each(env, jobs, func(i, out int, err error) {
			want, attempt := 2*i, 1
			switch i {
			case 3:
				if err == nil || !strings.Contains(err.Error(), "three") {
					t.Errorf("job 3: %v", err)
				}
				return
			case 4:
				attempt = 3
			case 5:
				want = 0 // its outcome is that of the handler
			case 6:
				attempt = 2
			}
			if r := get(env, jobs[i]); err != nil || out != want || r.Attempt != attempt {
				t.Errorf("job %d: %d, %v, attempt %d", i, out, err, r.Attempt)
			}
		})
		if got := b.String(); got != "[[0 1 2 3 4 5 6 7 8 9] [6] [4] [4]]" {
			t.Errorf("the batches are %s", got)
		}
	})
}

// TestErrorsAndPanicsAreOfAllJobs: but for those that have an outcome of their own. Each counts its
// attempt.
func TestErrorsAndPanicsAreOfAllJobs(t *testing.T) {
	for name, c := range map[string]struct {
		end  func() error
		text string
	}{
		"error":  {func() error { return errors.New("no database") }, "no database"},
		"panic":  {func() error { panic("at the disco") }, "at the disco"},
		"Goexit": {func() error { runtime.Goexit(); return nil }, "Goexit"},
		"Fail":   {func() error { return holdfast.Fail(errors.New("no use")) }, "no use"},
	} {
		t.Run(name, func(t *testing.T) {
			holdfasttest.Run(t, func(env *holdfasttest.Env) {
				t := env.T
				b := &book{}
				handle(env, 10, 0, func(runs []*run) error {
					b.note(runs)
					for _, r := range runs {
						if r.Args == 1 {
							r.Return(7, nil)
						}
					}
					return c.end()
				}, holdfast.MaxAttempts(2))
				jobs := enqueue(env, 3)
				env.Start()
				each(env, jobs, func(i, out int, err error) {
					r := get(env, jobs[i])
					if i == 1 {
						if err != nil || out != 7 || r.Attempt != 1 {
							t.Errorf("the job with its own outcome: %d, %v", out, err)
						}
						return
					}
					attempts := 2
					if name == "Fail" {
						attempts = 1
					}
					if err == nil || !strings.Contains(err.Error(), c.text) || r.Attempt != attempts {
						t.Errorf("job %d: %v, attempt %d", i, err, r.Attempt)
					}
					if name == "panic" && !strings.Contains(r.Attempts[0].Trace, "TestErrorsAndPanics") {
						t.Errorf("the stack is %s", r.Attempts[0].Trace)
					}
				})
				if got := b.String(); !strings.HasPrefix(got, "[[0 1 2]") {
					t.Errorf("the batches are %s", got)
				}
			})
		})
	}
}

// TestWaitForMore: a batch begins when it is full, or when its first job has waited long enough.
func TestWaitForMore(t *testing.T) {
	holdfasttest.Run(t, func(env *holdfasttest.Env) {
		t := env.T
		b := &book{}
		handle(env, 3, time.Minute, func(runs []*run) error { b.note(runs); return nil })
		env.Start()
		began := time.Now()
		var jobs []*holdfast.Job[int]
		for i := range 5 {
			job, err := double.Enqueue(t.Context(), env.Client, i)
			if err != nil {
				t.Fatal(err)
			}
			jobs = append(jobs, job)
			time.Sleep(time.Second)
		}
		each(env, jobs[:3], func(i, _ int, err error) {
			if err != nil {
				t.Errorf("job %d: %v", i, err)
			}
		})
		if took := time.Since(began); took > 6*time.Second {
			t.Errorf("a full batch has waited: %v", took)
		}
		each(env, jobs[3:], func(i, _ int, err error) {
			if err != nil {
				t.Errorf("job %d: %v", i+3, err)
			}
		})
		if took := time.Since(began); took < 63*time.Second || took > 65*time.Second {
			t.Errorf("the rest has waited until %v after the beginning", took)
		}
		if got := b.String(); got != "[[0 1 2] [3 4]]" {
			t.Errorf("the batches are %s", got)
		}
	})
}

// TestPrefetchedJobsComeTogether: the slots of a batch are passed on one by one, and what they
// bring is a batch again.
func TestPrefetchedJobsComeTogether(t *testing.T) {
	holdfasttest.Run(t, func(env *holdfasttest.Env) {
		t := env.T
		b := &book{}
		handle(env, 10, 0, func(runs []*run) error {
			b.note(runs)
			time.Sleep(time.Millisecond)
			return nil
		})
		jobs := enqueue(env, 500)
		env.Start()
		each(env, jobs, func(i, _ int, err error) {
			if err != nil {
				t.Errorf("job %d: %v", i, err)
			}
		})
		if n := len(b.batches); n > 60 {
			t.Errorf("%d jobs came in %d batches: %s", len(jobs), n, b)
		}
	}, holdfast.WithSlots(20))
}

// TestCancelOfOneJob: before its batch begins it is not in it; in a batch its context ends, and the
// others go on.
func TestCancelOfOneJob(t *testing.T) {
	holdfasttest.Run(t, func(env *holdfasttest.Env) {
		t := env.T
		b := &book{}
		handle(env, 10, time.Minute, func(runs []*run) error {
			b.note(runs)
			ended := make(chan *run, len(runs)) // all end, when the batch is over
			for _, r := range runs {
				context.AfterFunc(r, func() { ended <- r })
			}
			r := <-ended
			r.Fail(context.Cause(r))
			for _, r := range runs {
				if r.Err() == nil {
					r.Return(1, nil)
				}
			}
			return nil
		})
		env.Start()
		jobs := enqueue(env, 4)
		time.Sleep(time.Second)
		cancel := func(i int) {
			if err := jobs[i].Cancel(t.Context(), "not needed"); err != nil {
				t.Fatal(err)
			}
		}
		cancel(0)
		synctest.Wait()
		if s := get(env, jobs[0]).State; s != store.Cancelled {
			t.Errorf("before the batch begins the job is %v", s)
		}
		time.Sleep(time.Minute)
		cancel(2)
		each(env, jobs, func(i, out int, err error) {
			var failed *holdfast.JobError
			if is := errors.As(err, &failed); is != (i == 0 || i == 2) || is && failed.State != store.Cancelled || !is && out != 1 {
				t.Errorf("job %d: %d, %v", i, out, err)
			}
		})
		if got := b.String(); got != "[[1 2 3]]" {
			t.Errorf("the batches are %s", got)
		}
	})
}

// TestTimeoutIsEachJobsOwn: and begins with its run, so that waiting for others is a part of it.
func TestTimeoutIsEachJobsOwn(t *testing.T) {
	holdfasttest.Run(t, func(env *holdfasttest.Env) {
		t := env.T
		handle(env, 10, time.Minute, func(runs []*run) error {
			time.Sleep(10 * time.Second)
			for _, r := range runs {
				r.Return(1, context.Cause(r))
			}
			return nil
		}, holdfast.MaxAttempts(1))
		env.Start()
		short := enqueue(env, 1, holdfast.Timeout(30*time.Second))[0]
		middle := enqueue(env, 1, holdfast.Timeout(65*time.Second))[0]
		long := enqueue(env, 1, holdfast.Timeout(75*time.Second))[0]
		for job, reason := range map[*holdfast.Job[int]]store.Reason{short: store.ReasonTimeout, middle: store.ReasonTimeout, long: ""} {
			_, err := job.Wait(t.Context())
			if r := get(env, job); (err == nil) != (reason == "") || len(r.Attempts) > 0 && r.Attempts[0].Reason != reason {
				t.Errorf("a job that should end for %q: %v, %+v", reason, err, r.Attempts)
			}
		}
	})
}

// TestStopDoesNotWaitForMore: no more jobs come then.
func TestStopDoesNotWaitForMore(t *testing.T) {
	holdfasttest.Run(t, func(env *holdfasttest.Env) {
		t := env.T
		handle(env, 10, time.Hour, func([]*run) error { return nil })
		env.Start()
		jobs := enqueue(env, 3)
		synctest.Wait()
		began := time.Now()
		if err := env.Client.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took > time.Second {
			t.Errorf("the stop took %v", took)
		}
		for i, job := range jobs {
			if s := get(env, job).State; s != store.Completed {
				t.Errorf("job %d is %v", i, s)
			}
		}
	})
}

// TestStuckHandlerCostsTheJobThatWasCancelled: it is taken from the handler, which goes on with the
// others; what it says of that job later does not count.
func TestStuckHandlerCostsTheJobThatWasCancelled(t *testing.T) {
	holdfasttest.Run(t, func(env *holdfasttest.Env) {
		t := env.T
		handle(env, 10, 0, func(runs []*run) error {
			time.Sleep(time.Minute)
			for _, r := range runs {
				r.Return(1, nil)
			}
			return nil
		})
		jobs := enqueue(env, 3)
		env.Start()
		synctest.Wait()
		if err := jobs[1].Cancel(t.Context(), ""); err != nil {
			t.Fatal(err)
		}
		time.Sleep(20 * time.Second)
		if s := get(env, jobs[1]).State; s != store.Cancelled {
			t.Errorf("the job is %v", s)
		}
		each(env, jobs, func(i, out int, err error) {
			if (err == nil && out == 1) != (i != 1) {
				t.Errorf("job %d: %d, %v", i, out, err)
			}
		})
		// The group still works.
		each(env, enqueue(env, 3), func(i, out int, err error) {
			if err != nil || out != 1 {
				t.Errorf("later job %d: %d, %v", i, out, err)
			}
		})
	}, holdfast.WithStuckAfter(10*time.Second))
}

// TestWhatDoesNotComeHoldsUpNobody: args that do not decode, and a middleware that takes its time.
func TestWhatDoesNotComeHoldsUpNobody(t *testing.T) {
	holdfasttest.Run(t, func(env *holdfasttest.Env) {
		t := env.T
		b := &book{}
		seen := map[int]error{}
		slow := func(run *holdfast.Run, next func(*holdfast.Run) error) error {
			if slices.Contains(run.Tags(), "slow") {
				time.Sleep(time.Minute)
			}
			err := next(run)
			b.mu.Lock()
			defer b.mu.Unlock()
			seen[len(seen)] = err
			return err
		}
		handle(env, 10, 0, func(runs []*run) error {
			b.note(runs)
			return nil
		}, holdfast.WithMiddleware(slow))
		jobs := enqueue(env, 2)
		late := enqueue(env, 1, holdfast.Tags("slow"))
		wrong, err := holdfast.NewKind[string, int]("double").Enqueue(t.Context(), env.Client, "two")
		if err != nil {
			t.Fatal(err)
		}
		env.Start()
		began := time.Now()
		each(env, jobs, func(i, _ int, err error) {
			if err != nil {
				t.Errorf("job %d: %v", i, err)
			}
		})
		if took := time.Since(began); took < time.Second || took > 2*time.Second {
			t.Errorf("the others have waited for %v", took)
		}
		if _, err := wrong.Wait(t.Context()); err == nil || !strings.Contains(err.Error(), "cannot decode the args") {
			t.Errorf("args of another type: %v", err)
		}
		each(env, late, func(_, _ int, err error) {
			if err != nil {
				t.Errorf("the late job: %v", err)
			}
		})
		if got := b.String(); got != "[[0 1] [0]]" {
			t.Errorf("the batches are %s", got)
		}
		if len(seen) != 4 {
			t.Errorf("the middleware was called for %d jobs", len(seen))
		}
	})
}

// TestRunIsNoHoldfastRun: operations of durable functions find none; what plain runs have is there.
func TestRunIsNoHoldfastRun(t *testing.T) {
	holdfasttest.Run(t, func(env *holdfasttest.Env) {
		t := env.T
		type key struct{}
		values := func(run *holdfast.Run, next func(*holdfast.Run) error) error {
			return next(run.WithContext(context.WithValue(t.Context(), key{}, "trace")))
		}
		handle(env, 10, 0, func(runs []*run) error {
			for _, r := range runs {
				if _, is := holdfast.RunFrom(r); is {
					t.Error("a run is found in the context")
				}
				var was string
				found, err := r.LoadCheckpoint(&was)
				if r.Value(key{}) != "trace" || r.Queue() != "mail" || r.ID() == (holdfast.ID{}) || r.Lease().Number != int64(r.Attempt()) ||
					!slices.Equal(r.Tags(), []string{"x"}) || string(r.Metadata()) != `{"a":1}` || r.EnqueuedAt().IsZero() ||
					r.Logger(nil) == nil || err != nil || found != (r.Attempt() == 2) || found && was != "half" {
					t.Errorf("a run is %+v, %q, %v", r, was, err)
				}
				r.Heartbeat()
				r.Progress(50, "half")
				if err := r.SaveCheckpoint("half"); err != nil {
					t.Error(err)
				}
				if r.Attempt() == 1 {
					r.Fail(holdfast.RetryAfter(time.Second, nil))
				}
			}
			return nil
		}, holdfast.WithMiddleware(values))
		env.Start()
		jobs := enqueue(env, 2, holdfast.Queue("mail"), holdfast.Tags("x"), holdfast.Metadata(map[string]int{"a": 1}))
		each(env, jobs, func(i, _ int, err error) {
			if err != nil {
				t.Errorf("job %d: %v", i, err)
			}
		})
	})
}

// TestWorkOne: a batch of one, which waits for no other.
func TestWorkOne(t *testing.T) {
	holdfasttest.Run(t, func(env *holdfasttest.Env) {
		t := env.T
		handle(env, 10, time.Hour, func(runs []*run) error {
			for _, r := range runs {
				r.Return(2*r.Args, nil)
			}
			return nil
		})
		enqueue(env, 2)
		began := time.Now()
		for i := range 2 {
			if worked := holdfasttest.WorkOne(env, double); worked.State != store.Completed || worked.Result != 2*i {
				t.Errorf("worked: %+v", worked)
			}
		}
		if took := time.Since(began); took > time.Second {
			t.Errorf("it has waited for %v", took)
		}
	})
}

func TestMistakes(t *testing.T) {
	holdfasttest.Run(t, func(env *holdfasttest.Env) {
		t := env.T
		good := func([]*run) error { return nil }
		for what, err := range map[string]error{
			"no handler":      many.Handle[int, int](env.Client, double, 1, 0, nil),
			"batches of none": many.Handle(env.Client, double, 0, 0, good),
			"a negative wait": many.Handle(env.Client, double, 1, -1, good),
			"a wrong option":  many.Handle(env.Client, double, 1, 0, good, holdfast.MaxAttempts(-1)),
		} {
			if !errors.Is(err, holdfast.ErrInvalid) {
				t.Errorf("%s: %v", what, err)
			}
		}
	})
}
