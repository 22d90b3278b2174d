package holdfasttest_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/holdfasttest"
	"github.com/holdfastdev/holdfast/store"
)

// TestAdvance: what is due by the end of an Advance is done after it, and nothing else.
func TestAdvance(t *testing.T) {
	t.Parallel()
	holdfasttest.Run(t, func(env *holdfasttest.Env) {
		kind := kindOf(env, func(run *holdfast.Run, _ int) (int, error) {
			for range 3 {
				if _, err := holdfast.Step(run, "step", func(context.Context) (int, error) { return 1, nil }); err != nil {
					return 0, err
				}
			}
			return 1, nil
		})
		began := time.Now()
		due, late := enqueue(env, kind, 1, holdfast.Delay(time.Hour)), enqueue(env, kind, 1, holdfast.Delay(time.Hour+time.Minute))
		env.Advance(time.Hour)
		soon(env, began, time.Hour)
		isIn(env, due.ID, store.Completed)
		isIn(env, late.ID, store.Scheduled)
		env.Advance(time.Minute)
		isIn(env, late.ID, store.Completed)
	})
}

// TestAdvancePastHandlers: a handler that works for long is not waited for.
func TestAdvancePastHandlers(t *testing.T) {
	t.Parallel()
	holdfasttest.Run(t, func(env *holdfasttest.Env) {
		job := enqueue(env, kindOf(env, func(run *holdfast.Run, _ int) (int, error) {
			for i := range 100 {
				run.Progress(float64(i), "")
				time.Sleep(time.Second)
			}
			return 1, nil
		}), 1)
		env.Advance(10 * time.Second)
		record, err := job.Get(env.T.Context())
		if err != nil || record.State != store.Running || record.Checkpoint == nil || record.Checkpoint.Percent < 8 {
			env.T.Errorf("%v, %+v, %v", record.State, record.Checkpoint, err)
		}
		env.WaitIdle()
		isIn(env, job.ID, store.Completed)
	})
}

// TestWaitIdle: what runs or is due is waited for, on all nodes, and nothing else.
func TestWaitIdle(t *testing.T) {
	t.Parallel()
	holdfasttest.Run(t, func(env *holdfasttest.Env) {
		t := env.T
		worker := env.Open()
		slow := handled(worker, "slow", func(*holdfast.Run, int) (int, error) {
			time.Sleep(time.Hour)
			return 1, nil
		})
		worker.Start()
		kind := kindOf(env, func(run *holdfast.Run, _ int) (int, error) {
			if _, err := slow.Call(run, 1); err != nil {
				return 0, err
			}
			return 1, run.Sleep(time.Hour)
		})
		env.WaitIdle()
		unserved := enqueue(env, holdfast.NewKind[int, int]("nobody"), 1)
		held := enqueue(env, kind, 1, holdfast.Queue("paused"))
		if err := env.Client.PauseQueue(t.Context(), "paused"); err != nil {
			t.Fatal(err)
		}
		later := enqueue(env, kind, 1, holdfast.Delay(100*time.Hour))
		first, second := enqueue(env, kind, 1, holdfast.OrderingKey("key")), enqueue(env, kind, 1, holdfast.OrderingKey("key"))
		began := time.Now()
		env.WaitIdle()
		soon(env, began, time.Hour)
		for id, want := range map[holdfast.ID]store.State{
			unserved.ID: store.Available, held.ID: store.Available, later.ID: store.Scheduled, first.ID: store.Waiting, second.ID: store.Available,
		} {
			isIn(env, id, want)
		}
		env.Advance(time.Hour)
		isIn(env, first.ID, store.Completed)
		env.WaitIdle()
		isIn(env, second.ID, store.Waiting)
	})
}

// TestWaitIdleWithoutWrites: a job that stops to be due without a run of it is noticed.
func TestWaitIdleWithoutWrites(t *testing.T) {
	t.Parallel()
	holdfasttest.Run(t, func(env *holdfasttest.Env) {
		ready := make(chan struct{})
		job := enqueue(env, kindOf(env, func(*holdfast.Run, int) (int, error) {
			<-ready
			return 1, nil
		}), 1)
		env.After(time.Hour, func() {
			if _, err := env.Client.Terminate(env.T.Context(), "now", job.ID); err != nil {
				env.T.Error(err)
			}
			close(ready)
		})
		env.WaitIdle()
		isIn(env, job.ID, store.Cancelled)
	})
}

// TestWhatNoNodeServes: the log tells of jobs that no node serves, and not every hour again.
func TestWhatNoNodeServes(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	holdfasttest.Run(t, func(env *holdfasttest.Env) {
		kindOf(env, nothing)
		enqueue(env, holdfast.NewKind[int, int]("served.elsewhere"), 1)
		env.Advance(30 * 24 * time.Hour)
	}, holdfast.WithLogger(slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn}))))
	if text := log.String(); strings.Count(text, "\n") != 1 || !strings.Contains(text, "no node serves them") {
		t.Error(text)
	}
}

// TestStartAgain: after its end a process is started as another one.
func TestStartAgain(t *testing.T) {
	t.Parallel()
	holdfasttest.Run(t, func(env *holdfasttest.Env) {
		t := env.T
		job := enqueue(env, kindOf(env, untilStopped, holdfast.Version("1")), 1)
		env.Advance(time.Hour)
		if err := env.Client.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := job.Wait(t.Context()); !errors.Is(err, holdfast.ErrClosed) {
			t.Errorf("%v", err)
		}
		next := env.Open()
		kind := handled(next, "probe", func(run *holdfast.Run, n int) (string, error) {
			by, err := untilStopped(run, n)
			return by + " and the new code", err
		}, holdfast.Version("2", "1"))
		next.Start()
		if _, err := stop.Send(t.Context(), next.Client, job.ID, "ada"); err != nil {
			t.Fatal(err)
		}
		if got, err := kind.Job(next.Client, job.ID).Wait(t.Context()); got != "ada and the new code" || err != nil {
			t.Errorf("%q, %v", got, err)
		}
	})
}
