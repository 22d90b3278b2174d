package holdfasttest_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/holdfasttest"
	"github.com/holdfastdev/holdfast/store"
)

// TestEnqueued: what was enqueued is told, by the test, by handlers and as children, whatever has
// become of it.
func TestEnqueued(t *testing.T) {
	t.Parallel()
	holdfasttest.Run(t, func(env *holdfasttest.Env) {
		t := env.T
		mail := handled(env, "mail", func(*holdfast.Run, order) (string, error) { return "sent", nil })
		pack := handled(env, "pack", func(run *holdfast.Run, o order) (int, error) {
			_, err := mail.Enqueue(run, run.Client(), o, holdfast.Delay(time.Hour))
			return 1, err
		})
		never := holdfast.NewKind[order, int]("never")
		kind := kindOf(env, func(run *holdfast.Run, _ int) (int, error) {
			results, err := pack.CallAll(run, []order{{"a", 1}, {"b", 2}}, holdfast.FanOut{AtOnce: 1})
			return len(results), err
		})
		holdfasttest.RequireNotEnqueued(env, mail)
		enqueue(env, mail, order{"a", 1}, holdfast.Queue("urgent"))
		enqueue(env, kind, 1)
		env.WaitIdle()

		if got := holdfasttest.Enqueued(env, mail); !slices.Equal(got, []order{{"a", 1}, {"a", 1}, {"b", 2}}) {
			t.Errorf("%v", got)
		}
		holdfasttest.RequireEnqueued(env, pack, order{"b", 2}, order{"a", 1})
		holdfasttest.RequireEnqueued(env, mail, order{"a", 1}, order{"a", 1})
		holdfasttest.RequireNotEnqueued(env, mail, order{"a", 2}, order{"c", 1})
		holdfasttest.RequireNotEnqueued(env, never)
		if got := len(holdfasttest.RequireEnqueued(env, mail)); got != 3 {
			t.Errorf("%d jobs", got)
		}
		job := holdfasttest.RequireEnqueued(env, mail, order{"b", 2})[0]
		isIn(env, job.ID, store.Scheduled)
		if got, err := job.Wait(t.Context()); got != "sent" || err != nil {
			t.Errorf("%q, %v", got, err)
		}

		env.Advance(100 * time.Hour) // they are removed
		holdfasttest.RequireEnqueued(env, mail, order{"b", 2})
	})
}

// TestTask: what takes a kind takes a task as it is.
func TestTask(t *testing.T) {
	t.Parallel()
	holdfasttest.Run(t, func(env *holdfasttest.Env) {
		t := env.T
		mail := holdfast.NewTask[int64]("mail")
		err := mail.Handle(env.Client, func(run *holdfast.Run, _ int64) error {
			return holdfast.Do(run, "send", func(context.Context) error { return errors.New("not in a test") })
		})
		if err != nil {
			t.Fatal(err)
		}
		holdfasttest.StubOf(env, mail, "send", func(context.Context) (struct{}, error) { return struct{}{}, nil })
		holdfasttest.RequireNotEnqueued(env, mail)
		if _, err := mail.Enqueue(t.Context(), env.Client, 7); err != nil {
			t.Fatal(err)
		}
		job := holdfasttest.RequireEnqueued(env, mail, 7)[0]
		holdfasttest.RequireNotEnqueued(env, mail, 8)
		if worked := holdfasttest.WorkOne(env, mail); worked.ID != job.ID || worked.State != store.Completed || worked.Args != 7 {
			t.Errorf("%+v", worked)
		}
		if got := holdfasttest.Enqueued(env, mail); !slices.Equal(got, []int64{7}) {
			t.Errorf("%v", got)
		}
	})
}

// TestEnqueuedOnce: a job that was there already is not told again, and one that was replaced has
// its new args.
func TestEnqueuedOnce(t *testing.T) {
	t.Parallel()
	holdfasttest.Run(t, func(env *holdfasttest.Env) {
		kind := holdfast.NewKind[int, int]("probe")
		id := enqueue(env, kind, 1).ID
		enqueue(env, kind, 1, holdfast.JobID(id))
		unique := holdfast.Unique{OnConflict: store.Replace}
		enqueue(env, kind, 2, holdfast.Delay(time.Hour), unique)
		enqueue(env, kind, 3, holdfast.Delay(time.Hour), unique)
		enqueue(env.In("billing"), kind, 4)
		if got := holdfasttest.Enqueued(env, kind); !slices.Equal(got, []int{1, 3}) {
			env.T.Errorf("%v", got)
		}
		if got := holdfasttest.Enqueued(env.In("billing"), kind); !slices.Equal(got, []int{4}) {
			env.T.Errorf("%v", got)
		}
	})
}
