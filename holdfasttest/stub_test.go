package holdfasttest_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/holdfasttest"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/sqlite"
)

// pay is a step that must not run in a test.
func pay(run *holdfast.Run, opts ...holdfast.StepOption) (string, error) {
	return holdfast.Step(run, "pay", func(context.Context) (string, error) {
		panic("the real thing")
	}, opts...)
}

// TestStub: the result of a stub is remembered as that of the step would be, and a replay does not
// call it again.
func TestStub(t *testing.T) {
	t.Parallel()
	holdfasttest.Run(t, func(env *holdfasttest.Env) {
		t := env.T
		calls := 0
		holdfasttest.Stub(env, "pay", func(ctx context.Context) (string, error) {
			calls++
			return fmt.Sprint("receipt ", calls), ctx.Err()
		})
		kind := kindOf(env, func(run *holdfast.Run, _ int) (string, error) {
			receipt, err := pay(run)
			if err != nil {
				return "", err
			}
			return receipt, run.Sleep(time.Hour) // after which it replays
		})
		job := enqueue(env, kind, 1)
		if got, err := job.Wait(t.Context()); got != "receipt 1" || err != nil || calls != 1 {
			t.Errorf("%q, %v, after %d calls", got, err, calls)
		}
		env.RequireJournal(job.ID, "step pay", "timer")
		if entry := env.Journal(job.ID).Entries[0]; string(entry.Data) != `"receipt 1"` {
			t.Errorf("%s", entry.Data)
		}
	})
}

// TestStubFails: a stub fails as a step does, and is retried as its options say.
func TestStubFails(t *testing.T) {
	t.Parallel()
	holdfasttest.Run(t, func(env *holdfasttest.Env) {
		t := env.T
		calls := 0
		holdfasttest.Stub(env, "pay", func(context.Context) (string, error) {
			if calls++; calls < 3 {
				return "", errors.New("no answer")
			}
			return "receipt", nil
		})
		retried := handled(env, "retried", func(run *holdfast.Run, _ int) (string, error) {
			return pay(run, holdfast.MaxAttempts(3), holdfast.Backoff(time.Hour, time.Hour))
		})
		kind := kindOf(env, func(run *holdfast.Run, _ int) (string, error) {
			_, err := pay(run)
			failure, failed := errors.AsType[*holdfast.StepError](err)
			if !failed || failure.Message != "declined" {
				return "", fmt.Errorf("the step returned %w", err)
			}
			return "declined", nil
		})
		job := enqueue(env, retried, 1)
		if got, err := job.Wait(t.Context()); got != "receipt" || err != nil || calls != 3 {
			t.Errorf("%q, %v, after %d calls", got, err, calls)
		}
		env.RequireJournal(job.ID, "step retry pay", "step retry pay", "step pay")

		holdfasttest.Stub(env, "pay", func(context.Context) (string, error) { return "", holdfast.Fail(errors.New("declined")) })
		job = enqueue(env, kind, 1)
		if got, err := job.Wait(t.Context()); got != "declined" || err != nil {
			t.Errorf("%q, %v", got, err)
		}
		env.RequireJournal(job.ID, "step failed pay")
	})
}

// TestStubEverywhere: stubs work in strands and in compensations, and for a step in a transaction.
func TestStubEverywhere(t *testing.T) {
	t.Parallel()
	holdfasttest.Run(t, func(env *holdfasttest.Env) {
		t := env.T
		var called []string
		stub := func(name string) {
			holdfasttest.Stub(env, name, func(context.Context) (int, error) {
				called = append(called, name)
				return len(called), nil
			})
		}
		for _, name := range []string{"in a strand", "in a compensation", "in a transaction"} {
			stub(name)
		}
		step := func(run *holdfast.Run, name string) (int, error) {
			return holdfast.Step(run, name, func(context.Context) (int, error) { panic("the real thing") })
		}
		kind := kindOf(env, func(run *holdfast.Run, _ int) (int, error) {
			if err := run.OnFailure("undo", func(run *holdfast.Run) error {
				_, err := step(run, "in a compensation")
				return err
			}); err != nil {
				return 0, err
			}
			future, err := holdfast.Go(run, "strand", func(run *holdfast.Run) (int, error) { return step(run, "in a strand") })
			if err != nil {
				return 0, err
			}
			if _, err := future.Wait(run); err != nil {
				return 0, err
			}
			n, err := holdfast.StepTx(run, "in a transaction", sqlite.Begin(nil), func(context.Context, *sql.Tx) (int, error) {
				panic("the real thing")
			})
			if err != nil {
				return 0, err
			}
			return 0, holdfast.Fail(fmt.Errorf("after %d steps", n))
		})
		job := enqueue(env, kind, 1)
		want := []string{"in a strand", "in a transaction", "in a compensation"}
		if _, err := job.Wait(t.Context()); err == nil || !slices.Equal(called, want) {
			t.Errorf("%v, %q", err, called)
		}
		isIn(env, job.ID, store.Failed)
		env.RequireJournal(job.ID, "step in a strand", "step in a transaction", "closing", "step in a compensation", "compensated undo")
	})
}

// TestStubDo: a step without a result needs none in its stub.
func TestStubDo(t *testing.T) {
	t.Parallel()
	holdfasttest.Run(t, func(env *holdfasttest.Env) {
		kind := kindOf(env, func(run *holdfast.Run, _ int) (int, error) {
			_, err := holdfast.Step(run, "mail", func(context.Context) (struct{}, error) { panic("the real thing") },
				holdfast.MaxAttempts(2), holdfast.Backoff(time.Nanosecond, time.Nanosecond))
			return 1, err
		})
		calls := 0
		holdfasttest.StubDo(env, "mail", func(context.Context) error {
			if calls++; calls == 1 {
				return errors.New("no such mailbox")
			}
			return nil
		})
		ends(env, enqueue(env, kind, 1), store.Completed, 0)
		if calls != 2 {
			env.T.Errorf("%d calls", calls)
		}
	})
}

// TestStubOfAKind: a stub of one kind goes before one of all.
func TestStubOfAKind(t *testing.T) {
	t.Parallel()
	holdfasttest.Run(t, func(env *holdfasttest.Env) {
		handler := func(run *holdfast.Run, _ int) (string, error) { return pay(run) }
		one, other := handled(env, "one", handler), handled(env, "other", handler)
		holdfasttest.StubOf(env, one, "pay", func(context.Context) (string, error) { return "of one", nil })
		holdfasttest.Stub(env, "pay", func(context.Context) (string, error) { return "of all", nil })
		worker := env.Open()
		if err := one.Handle(worker.In("elsewhere").Client, handler); err != nil {
			env.T.Fatal(err)
		}
		env.Start()
		worker.In("elsewhere").Start()
		for _, c := range []struct {
			job  *holdfast.Job[string]
			want string
		}{
			{enqueue(env, one, 1), "of one"}, {enqueue(env, other, 1), "of all"}, {enqueue(env.In("elsewhere"), one, 1), "of one"},
		} {
			if got, err := c.job.Wait(env.T.Context()); got != c.want || err != nil {
				env.T.Errorf("%q, %v, and not %q", got, err, c.want)
			}
		}
	})
}
