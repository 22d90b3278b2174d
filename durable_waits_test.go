package holdfast_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfastdev/holdfast"
)

// countdown is a kind whose jobs last as many seconds as their args say, and fail if that is odd.
func countdown(f *flow) holdfast.Kind[int, string] {
	f.t.Helper()
	kind := holdfast.NewKind[int, string]("countdown", holdfast.MaxAttempts(1))
	err := kind.Handle(f.hf, func(run *holdfast.Run, seconds int) (string, error) {
		select {
		case <-time.After(time.Duration(seconds) * time.Second):
		case <-run.Done():
			return "", run.Err()
		}
		if seconds%2 == 1 {
			return "", fmt.Errorf("%d is odd", seconds)
		}
		return strconv.Itoa(seconds), nil
	})
	if err != nil {
		f.t.Fatal(err)
	}
	f.run()
	return kind
}

func enqueueAll(f *flow, kind holdfast.Kind[int, string], seconds ...int) []holdfast.ID {
	f.t.Helper()
	jobs, err := kind.EnqueueMany(f.t.Context(), f.hf, seconds)
	if err != nil {
		f.t.Fatal(err)
	}
	ids := make([]holdfast.ID, len(jobs))
	for i, job := range jobs {
		ids[i] = job.ID
	}
	return ids
}

func TestWaitAll(t *testing.T) {
	t.Parallel()
	inFlow(t, func(t *testing.T, f *flow) {
		ids := enqueueAll(f, countdown(f), 6, 2, 3, 1, 4)
		ids = append(ids, ids[1])
		ended, err := f.hf.WaitAll(t.Context(), ids...)
		var failed *holdfast.JobError
		if !errors.As(err, &failed) || failed.ID != ids[2] {
			t.Errorf("the first that failed is %s, and the error %v", ids[2], err)
		}
		var got []string
		for i := range ended {
			if ended[i].ID != ids[i] {
				t.Errorf("number %d is %s, not %s", i, ended[i].ID, ids[i])
			}
			got = append(got, fmt.Sprint(ended[i].State, string(ended[i].Result), ended[i].Error, ended[i].Err() == nil))
		}
		want := `[completed"6"true completed"2"true failed3 is oddfalse failed1 is oddfalse completed"4"true completed"2"true]`
		if fmt.Sprint(got) != want {
			t.Errorf("got  %v\nwant %s", got, want)
		}
		if ended, err := f.hf.WaitAll(t.Context(), ids[0], ids[4]); err != nil || len(ended) != 2 {
			t.Errorf("of those that completed: %v, %v", ended, err)
		}
		if ended, err := f.hf.WaitAll(t.Context()); err != nil || len(ended) != 0 {
			t.Errorf("of none: %v, %v", ended, err)
		}
		missing := holdfast.NewID()
		time.Sleep(time.Minute)
		if ended, err := f.hf.WaitAll(t.Context(), ids[0], missing); !errors.Is(err, holdfast.ErrNotFound) || ended != nil {
			t.Errorf("of one that is not there: %v, %v", ended, err)
		}
	})
}

func TestEndsComeAsJobsEnd(t *testing.T) {
	t.Parallel()
	inFlow(t, func(t *testing.T, f *flow) {
		missing := holdfast.NewID()
		time.Sleep(time.Minute)
		ids := enqueueAll(f, countdown(f), 30, 20, 10, 15)
		began := time.Now()
		var order []string
		for ended, err := range f.hf.Ends(t.Context(), append(ids, missing, ids[2])...) {
			if (ended.ID == missing) != errors.Is(err, holdfast.ErrNotFound) {
				t.Errorf("%s: %v", ended.ID, err)
			}
			order = append(order, fmt.Sprint(time.Since(began).Round(time.Second), ended.State))
		}
		want := "[0s state(0) 10s completed 10s completed 15s failed 20s completed 30s completed]"
		if got := fmt.Sprint(order); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	})
}

func TestEndsStop(t *testing.T) {
	t.Parallel()
	inFlow(t, func(t *testing.T, f *flow) {
		ids := enqueueAll(f, countdown(f), 2, 4, 1000)
		seen := 0
		for _, err := range f.hf.Ends(t.Context(), ids...) {
			if seen++; err != nil || seen == 2 {
				break
			}
		}
		if seen != 2 {
			t.Errorf("%d were seen before it was broken off", seen)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		var last error
		for _, err := range f.hf.Ends(ctx, ids...) {
			last = err
		}
		if !errors.Is(last, context.DeadlineExceeded) {
			t.Errorf("it ended with %v", last)
		}
		if _, err := f.hf.WaitAll(ctx, ids...); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("WaitAll: %v", err)
		}
		waiting := make(chan error, 1)
		go func() { waiting <- f.hf.Wait(context.WithoutCancel(t.Context()), ids[2]) }()
		synctest.Wait()
		f.close()
		if err := <-waiting; err != nil && !errors.Is(err, holdfast.ErrClosed) {
			t.Errorf("a wait on a client that is closed: %v", err)
		}
	})
}

// TestTimeoutNamesWhatWasWaitedFor: once, and in the same words when it is replayed.
func TestTimeoutNamesWhatWasWaitedFor(t *testing.T) {
	t.Parallel()
	paid, limit := holdfast.NewSignal[bool]("paid"), holdfast.WaitAtMost(time.Minute)
	for want, wait := range map[string]func(run *holdfast.Run) error{
		`holdfast: wait timed out: signal "paid"`: func(run *holdfast.Run) error {
			_, err := paid.Wait(run, limit)
			return err
		},
		`holdfast: wait timed out: callback "bank"`: func(run *holdfast.Run) error {
			c, err := run.Callback("bank")
			if err != nil {
				return err
			}
			return c.Wait(run, nil, limit)
		},
		`holdfast: wait timed out: condition "all are there"`: func(run *holdfast.Run) error {
			return run.WaitUntil("all are there", func() bool { return false }, limit)
		},
	} {
		inFlow(t, func(t *testing.T, f *flow) {
			runs := 0
			job := begin(f, 0, func(run *holdfast.Run, _ int) (int, error) {
				err := wait(run)
				if !errors.Is(err, holdfast.ErrWaitTimeout) || err.Error() != want {
					return 0, fmt.Errorf("the wait: %w", err)
				}
				if err := run.Sleep(time.Hour); err != nil { // after which the wait is replayed
					return 0, err
				}
				runs++
				return 0, holdfast.Fail(err)
			})
			var failed *holdfast.JobError
			if _, err := job.Wait(t.Context()); !errors.As(err, &failed) || failed.Message != want || runs != 1 {
				t.Errorf("%v in %d runs, want %s", err, runs, want)
			}
		})
	}
}
