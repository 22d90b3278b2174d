package holdfasttest_test

import (
	"errors"
	"strconv"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/holdfasttest"
	"github.com/holdfastdev/holdfast/limit"
	"github.com/holdfastdev/holdfast/store"
)

// TestProcesses: what one process does, the others see at once, though their safety nets look once
// an hour. env has no node, worker has one.
func TestProcesses(t *testing.T) {
	t.Parallel()
	for name, story := range map[string]func(env, worker *holdfasttest.Env){
		"a job, now and later": func(env, worker *holdfasttest.Env) {
			kind := kindOf(worker, func(*holdfast.Run, int) (int, error) { return 1, nil })
			for _, d := range []time.Duration{0, time.Second, 10 * time.Minute, between} {
				ends(env, enqueue(env, kind, 1, holdfast.Delay(d)), store.Completed, d)
			}
		},
		"many waits": func(env, worker *holdfasttest.Env) {
			kind := kindOf(worker, func(run *holdfast.Run, _ int) (int, error) { return 1, run.Sleep(between) })
			ended := make(chan error)
			began := time.Now()
			for range 50 {
				job := enqueue(env, kind, 1)
				go func() {
					_, err := job.Wait(env.T.Context())
					ended <- err
				}()
			}
			for range 50 {
				if err := <-ended; err != nil {
					env.T.Error(err)
				}
			}
			soon(env, began, between)
		},
		"a cancel and a termination": func(env, worker *holdfasttest.Env) {
			var told time.Time
			var why error
			kind := kindOf(worker, untilTold(&told, &why))
			job := enqueue(env, kind, 1)
			env.Advance(between)
			if err := job.Cancel(env.T.Context(), "enough"); err != nil {
				env.T.Fatal(err)
			}
			ends(env, job, store.Cancelled, 0)
			if !errors.Is(why, holdfast.ErrCancelled) {
				env.T.Error(why)
			}
			job = enqueue(env, kind, 1)
			env.Advance(between)
			ok[[]store.Result](env)(env.Client.Terminate(env.T.Context(), "now", job.ID))
			began := time.Now()
			env.Advance(0)
			if told.Sub(began) > 100*time.Millisecond || !errors.Is(why, holdfast.ErrLeaseLost) {
				env.T.Errorf("told after %v: %v", told.Sub(began), why)
			}
		},
		"a pause, its end, and a signal": func(env, worker *holdfasttest.Env) {
			job := enqueue(env, kindOf(worker, untilStopped), 1)
			env.Advance(between)
			ok[[]store.Result](env)(env.Client.Pause(env.T.Context(), "wait", job.ID))
			ok[[]store.Result](env)(env.Client.Resume(env.T.Context(), "go on", job.ID))
			env.Advance(between)
			ok[holdfast.SendResult](env)(stop.Send(env.T.Context(), env.Client, job.ID, "now"))
			ends(env, job, store.Completed, 0)
		},
		"what a run publishes": func(env, worker *holdfasttest.Env) {
			kind := kindOf(worker, func(run *holdfast.Run, rounds int) (int, error) {
				for i := range rounds {
					if err := errors.Join(run.Sleep(between), run.Publish("round", i), run.Append("rounds", i)); err != nil {
						return 0, err
					}
				}
				return rounds, nil
			})
			job := enqueue(env, kind, 3)
			item, err := env.Client.WaitPublished(env.T.Context(), job.ID, "round", 0)
			if err != nil || string(item.Value) != "0" {
				env.T.Fatalf("%s, %v", item.Value, err)
			}
			began, seen := time.Now(), 0
			for item, err := range env.Client.Follow(env.T.Context(), job.ID, "rounds", 0) {
				if err != nil || string(item.Value) != strconv.Itoa(seen) {
					env.T.Fatalf("%s, %v", item.Value, err)
				}
				soon(env, began, time.Duration(seen)*between)
				seen++
			}
			soon(env, began, 2*between)
		},
		"the work of a process that stops": func(env, worker *holdfasttest.Env) {
			kind := kindOf(worker, untilStopped)
			job := enqueue(env, kind, 1)
			env.Advance(between)
			if err := kind.Handle(env.Client, untilStopped); err != nil {
				env.T.Fatal(err)
			}
			env.Start()
			if err := worker.Client.Stop(env.T.Context()); err != nil {
				env.T.Fatal(err)
			}
			ok[holdfast.SendResult](env)(stop.Send(env.T.Context(), env.Client, job.ID, "now"))
			ends(env, job, store.Completed, 0)
		},
		"the lead of a process that stops": func(env, worker *holdfasttest.Env) {
			child := handled(worker, "child", untilStopped)
			parent := func(run *holdfast.Run, _ int) (string, error) {
				_, err := child.Start(run, 1)
				by, stopped := stop.Wait(run)
				return by, errors.Join(err, stopped)
			}
			kind := kindOf(worker, parent)
			other := env.Open()
			if err := errors.Join(child.Handle(other.Client, untilStopped), kind.Handle(other.Client, parent)); err != nil {
				env.T.Fatal(err)
			}
			other.Start()
			job := enqueue(env, kind, 1)
			env.Advance(time.Minute)
			if err := worker.Client.Close(env.T.Context()); err != nil {
				env.T.Fatal(err)
			}
			ok[holdfast.SendResult](env)(stop.Send(env.T.Context(), env.Client, job.ID, "now"))
			ends(env, holdfasttest.RequireEnqueued(env, child)[0], store.Cancelled, 0)
			ends(env, job, store.Completed, 0)
		},
		"another namespace": func(env, worker *holdfasttest.Env) {
			there := worker.In("billing")
			kind := kindOf(there, func(run *holdfast.Run, _ int) (int, error) { return 1, run.Sleep(between) })
			kindOf(worker, func(*holdfast.Run, int) (int, error) { return 1, nil })
			ends(env, enqueue(env.In("billing"), kind, 1), store.Completed, between)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			holdfasttest.Run(t, func(env *holdfasttest.Env) { story(env, env.Open()) })
		})
	}
}

// TestSlotsMoveBetweenProcesses: the slot of a limit comes to the process that has the next job, at
// once, though the safety nets of both look once an hour.
func TestSlotsMoveBetweenProcesses(t *testing.T) {
	t.Parallel()
	holdfasttest.Run(t, func(env *holdfasttest.Env) {
		processes := []*holdfasttest.Env{env, env.Open()}
		var kinds []holdfast.Kind[int, int]
		for i, p := range processes {
			kinds = append(kinds, holdfast.NewKind[int, int]("kind"+strconv.Itoa(i)))
			if err := kinds[i].Handle(p.Client, func(_ *holdfast.Run, n int) (int, error) { return n, nil }); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := limit.Set(t.Context(), env.Client, "one", limit.Capacity(1), limit.Kinds("kind0", "kind1")); err != nil {
			t.Fatal(err)
		}
		for _, p := range processes {
			p.Start()
		}
		env.Advance(time.Second)
		for i := range 6 {
			ends(env, enqueue(env, kinds[i%2], i), store.Completed, 0)
		}
	})
}
