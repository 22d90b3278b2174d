package faulttest

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast"
)

// others are the jobs of everybody else: of all sorts, and with nothing to do with what a test
// holds up.
type others struct {
	t        *testing.T
	producer *holdfast.Client
	round    int
}

var (
	otherPlain  = holdfast.NewKind[int, int]("other")
	otherFails  = holdfast.NewKind[int, int]("other that fails once")
	otherHears  = holdfast.NewKind[int, int]("other that hears")
	otherSleeps = holdfast.NewKind[int, int]("other that sleeps")
	otherParent = holdfast.NewKind[int, int]("other with children")
	otherSignal = holdfast.NewSignal[int]("other")
)

// newOthers registers their handlers with the client of a node, which does not run yet. The
// producer enqueues, as does the node's own client.
func newOthers(t *testing.T, hf, producer *holdfast.Client) *others {
	t.Helper()
	again := holdfast.Backoff(time.Millisecond, time.Millisecond)
	register(t, hf, otherPlain, func(_ *holdfast.Run, n int) (int, error) { return n, nil })
	register(t, hf, otherFails, func(run *holdfast.Run, n int) (int, error) {
		if run.Attempt() == 1 {
			return 0, errors.New("not yet")
		}
		return n, nil
	}, again)
	register(t, hf, otherHears, func(run *holdfast.Run, _ int) (int, error) { return otherSignal.Wait(run) })
	register(t, hf, otherSleeps, func(run *holdfast.Run, n int) (int, error) {
		if _, err := holdfast.Step(run, "one", func(context.Context) (int, error) { return n, nil }); err != nil {
			return 0, err
		}
		return n, run.Sleep(80 * time.Millisecond) // long enough to be parked
	})
	register(t, hf, otherParent, func(run *holdfast.Run, n int) (int, error) {
		one, err := otherPlain.Call(run, n)
		if err != nil {
			return 0, err
		}
		results, err := otherPlain.CallAll(run, []int{n, n}, holdfast.FanOut{})
		if err != nil {
			return 0, err
		}
		return one + results[0].Value + results[1].Value, nil
	})
	return &others{t: t, producer: producer}
}

// pass lets hundreds of jobs go by, and reports those that do not finish within the limit, and
// every operation that fails.
func (o *others) pass(hf *holdfast.Client, limit time.Duration) {
	o.t.Helper()
	o.round++
	ctx, cancel := context.WithTimeout(o.t.Context(), limit)
	defer cancel()
	clients := []*holdfast.Client{hf, o.producer}
	sorts := []struct {
		name  string
		times int
		one   func(c *holdfast.Client, i int) error
	}{
		{"plain jobs", 100, func(c *holdfast.Client, i int) error { return finishes(ctx, c, otherPlain, i) }},
		{"unique jobs", 60, func(c *holdfast.Client, i int) error {
			return finishes(ctx, c, otherPlain, i, holdfast.Unique{ByKey: fmt.Sprint("other ", o.round, " ", i)})
		}},
		{"jobs with an id of the caller's", 20, func(c *holdfast.Client, i int) error {
			return finishes(ctx, c, otherPlain, i, holdfast.JobID(holdfast.NewID()))
		}},
		{"jobs with ordering keys", 30, func(c *holdfast.Client, i int) error {
			return finishes(ctx, c, otherPlain, i, holdfast.OrderingKey(strconv.Itoa(i%6)))
		}},
		{"jobs that are retried", 20, func(c *holdfast.Client, i int) error { return finishes(ctx, c, otherFails, i) }},
		{"durable jobs that sleep", 10, func(c *holdfast.Client, i int) error { return finishes(ctx, c, otherSleeps, i) }},
		{"parents of children", 10, func(c *holdfast.Client, i int) error { return finishes(ctx, c, otherParent, i) }},
		{"jobs that get a signal", 20, func(c *holdfast.Client, i int) error {
			job, err := otherHears.Enqueue(ctx, c, i)
			if err != nil {
				return err
			}
			if _, err := otherSignal.Send(ctx, c, job.ID, i); err != nil {
				return err
			}
			_, err = job.Wait(ctx)
			return err
		}},
		{"jobs that are cancelled", 10, func(c *holdfast.Client, i int) error {
			job, err := otherHears.Enqueue(ctx, c, i)
			if err != nil {
				return err
			}
			if err := job.Cancel(ctx, "enough"); err != nil {
				return err
			}
			if _, err = job.Wait(ctx); errors.Is(err, holdfast.ErrCancelled) {
				return nil
			}
			return fmt.Errorf("it was cancelled: %w", err)
		}},
	}
	_ = together(len(sorts), func(n int) error {
		s := sorts[n]
		failed, first := 0, error(nil)
		errs := make([]error, s.times)
		_ = together(s.times, func(i int) error { errs[i] = s.one(clients[i%2], i); return nil })
		for _, err := range errs {
			if err != nil {
				failed++
				first = err
			}
		}
		if failed > 0 {
			o.t.Errorf("%s: %d of %d did not finish, or failed: %v", s.name, failed, s.times, first)
		}
		return nil
	})
}

// finishes enqueues a job and waits for its end.
func finishes[In, Out any](
	ctx context.Context, c *holdfast.Client, kind holdfast.Kind[In, Out], in In, opts ...holdfast.EnqueueOption,
) error {
	job, err := kind.Enqueue(ctx, c, in, opts...)
	if err != nil {
		return err
	}
	_, err = job.Wait(ctx)
	return err
}
