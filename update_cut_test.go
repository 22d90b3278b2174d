package holdfast_test

import (
	"context"
	"errors"
	"strconv"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast"
)

// TestUpdatesOfRunsThatAreCutShort: a request that was accepted is being handled when the time of
// its attempt is over, or its job is cancelled. What its handler returns because of that is no
// answer: the next attempt handles it, or there is none.
func TestUpdatesOfRunsThatAreCutShort(t *testing.T) {
	t.Parallel()
	const jobs = 100 // how soon a run hears that its context has ended is up to the scheduler
	inFlow(t, func(t *testing.T, f *flow) {
		kind := holdfast.NewKind[bool, int]("cut short", holdfast.Backoff(time.Second, time.Second))
		err := kind.Handle(f.hf, func(run *holdfast.Run, _ bool) (int, error) {
			served := false
			err := addUp.Handle(run, nil, func(run *holdfast.Run, n int) (string, error) {
				return holdfast.Step(run, "add", func(ctx context.Context) (string, error) {
					if run.Attempt() == 1 {
						<-ctx.Done()
						return "", context.Cause(ctx)
					}
					served = true
					return strconv.Itoa(n), nil
				})
			})
			if err != nil {
				return 0, err
			}
			return 0, run.WaitUntil("served", func() bool { return served })
		}, holdfast.Timeout(time.Minute))
		if err != nil {
			t.Fatal(err)
		}
		f.run()
		type told struct {
			answer string
			err    error
		}
		ask := func(ids []holdfast.ID) []chan told {
			answers := make([]chan told, len(ids))
			for i, id := range ids {
				answers[i] = make(chan told, 1)
				go func() {
					answer, err := addUp.Call(t.Context(), f.hf, id, i)
					answers[i] <- told{answer, err}
				}()
			}
			return answers
		}
		enqueue := func() []holdfast.ID {
			all, err := kind.EnqueueMany(t.Context(), f.hf, make([]bool, jobs))
			if err != nil {
				t.Fatal(err)
			}
			ids := make([]holdfast.ID, jobs)
			for i, job := range all {
				ids[i] = job.ID
			}
			return ids
		}
		for i, answer := range ask(enqueue()) {
			if got := <-answer; got.err != nil || got.answer != strconv.Itoa(i) {
				t.Fatalf("a request that was handled by the second attempt: %q, %v", got.answer, got.err)
			}
		}
		ids := enqueue()
		answers := ask(ids)
		time.Sleep(30 * time.Second)
		if _, err := f.hf.Cancel(t.Context(), "", ids...); err != nil {
			t.Fatal(err)
		}
		for _, answer := range answers {
			if got := <-answer; !errors.Is(got.err, holdfast.ErrConflict) {
				t.Fatalf("a request to a job that was cancelled: %q, %v", got.answer, got.err)
			}
		}
	})
}
