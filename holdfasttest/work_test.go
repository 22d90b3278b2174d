package holdfasttest_test

import (
	"bytes"
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/holdfasttest"
	"github.com/holdfastdev/holdfast/store"
)

// TestWorkOne: one job is worked at a time, in order, and only of its kind.
func TestWorkOne(t *testing.T) {
	t.Parallel()
	holdfasttest.Run(t, func(env *holdfasttest.Env) {
		t := env.T
		var worked []string
		child := handled(env, "child", func(_ *holdfast.Run, name string) (string, error) {
			worked = append(worked, name)
			return "child " + name, nil
		})
		kind := handled(env, "probe", func(run *holdfast.Run, name string) (string, error) {
			worked = append(worked, name)
			_, err := child.Enqueue(run, run.Client(), "of "+name)
			if name == "first" {
				_, again := holdfast.NewKind[string, string]("probe").Enqueue(run, run.Client(), "third")
				err = errors.Join(err, again)
			}
			return "done " + name, err
		})
		enqueue(env, kind, "later", holdfast.Delay(time.Hour))
		enqueue(env, kind, "second")
		enqueue(env, kind, "first", holdfast.Priority(1), holdfast.Queue("other"))
		for _, want := range []string{"first", "second", "third"} {
			w := holdfasttest.WorkOne(env, kind)
			if w.State != store.Completed || w.Args != want || w.Result != "done "+want || w.Err != nil || len(worked) != 1 || worked[0] != want {
				t.Errorf("%v, %q, %q, %v; worked %q", w.State, w.Args, w.Result, w.Err, worked)
			}
			worked = nil
		}
		env.Advance(time.Hour)
		if w := holdfasttest.WorkOne(env, kind); w.Args != "later" {
			t.Errorf("%+v", w)
		}
		if w := holdfasttest.WorkOne(env, child); w.Result != "child of first" {
			t.Errorf("%+v", w)
		}
		env.Start() // works the rest
		env.WaitIdle()
		if slices.Sort(worked); !slices.Equal(worked, []string{"later", "of first", "of later", "of second", "of third"}) {
			t.Errorf("%q", worked)
		}
	}, holdfast.WithSlots(1))
}

// TestWorkOneOfADurableRun: each part of a run is worked for itself: until it parks, fails or ends.
func TestWorkOneOfADurableRun(t *testing.T) {
	t.Parallel()
	holdfasttest.Run(t, func(env *holdfasttest.Env) {
		t := env.T
		tries := 0
		child := handled(env, "child", func(*holdfast.Run, int) (int, error) {
			if tries++; tries == 1 {
				return 0, holdfast.RetryAfter(0, errors.New("not yet"))
			}
			return tries, nil
		})
		kind := handled(env, "probe", func(run *holdfast.Run, _ int) (string, error) {
			if _, err := child.Call(run, 1); err != nil {
				return "", err
			}
			if _, err := holdfast.Step(run, "pay", func(context.Context) (int, error) { return 1, nil }); err != nil {
				return "", err
			}
			if err := run.Sleep(48 * time.Hour); err != nil {
				return "", err
			}
			return untilStopped(run, 1)
		})
		job := enqueue(env, kind, 1)
		parked := func(what string) {
			t.Helper()
			if w := holdfasttest.WorkOne(env, kind); w.State != store.Waiting || !strings.Contains(string(w.Wait.For), what) || w.Err != nil {
				t.Fatalf("%v, %+v, %v", w.State, w.Wait, w.Err)
			}
		}
		parked("(child)")
		if w := holdfasttest.WorkOne(env, child); w.State != store.Retryable || w.Error != "not yet" || w.Attempt != 1 {
			t.Errorf("%v, %q, attempt %d", w.State, w.Error, w.Attempt)
		}
		if w := holdfasttest.WorkOne(env, child); w.State != store.Completed || w.Result != 2 {
			t.Errorf("%v, %d", w.State, w.Result)
		}
		parked("timer")
		env.Advance(48 * time.Hour)
		parked("signal stop")
		if err := job.Cancel(t.Context(), "the customer left"); err != nil {
			t.Fatal(err)
		}
		w := holdfasttest.WorkOne(env, kind)
		if failure, ok := errors.AsType[*holdfast.JobError](w.Err); w.State != store.Cancelled || !ok || failure.Message != "the customer left" {
			t.Errorf("%v, %v", w.State, w.Err)
		}
		if journal := env.Journal(job.ID).Entries; journal[len(journal)-1].Kind != "compensated" {
			t.Errorf("%+v", journal)
		}
	})
}

// TestWorkOneClosesChildren: what the end of a run makes due is done when WorkOne returns.
func TestWorkOneClosesChildren(t *testing.T) {
	t.Parallel()
	holdfasttest.Run(t, func(env *holdfasttest.Env) {
		child := handled(env, "child", untilStopped)
		kind := handled(env, "probe", func(run *holdfast.Run, _ int) (int, error) {
			_, err := child.Start(run, 1)
			return 1, err
		})
		enqueue(env, kind, 1)
		holdfasttest.WorkOne(env, kind)
		isIn(env, holdfasttest.RequireEnqueued(env, child)[0].ID, store.Cancelled)
	})
}

// TestWorkOneIsTold: a run that WorkOne works hears of a cancel, a pause and a termination, also
// from another process, and works on its own time limits.
func TestWorkOneIsTold(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		ask  func(c *holdfast.Client, id holdfast.ID) error
		want store.State
	}{
		"cancelled": {func(c *holdfast.Client, id holdfast.ID) error {
			_, err := c.Cancel(context.Background(), "enough", id)
			return err
		}, store.Cancelled},
		"terminated": {func(c *holdfast.Client, id holdfast.ID) error {
			_, err := c.Terminate(context.Background(), "enough", id)
			return err
		}, store.Cancelled},
		"paused": {func(c *holdfast.Client, id holdfast.ID) error {
			_, err := c.Pause(context.Background(), "wait", id)
			return err
		}, store.Waiting},
		"too late": {func(*holdfast.Client, holdfast.ID) error { return nil }, store.Failed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			holdfasttest.Run(t, func(env *holdfasttest.Env) {
				kind := handled(env, "probe", func(run *holdfast.Run, _ int) (int, error) {
					for {
						if _, err := holdfast.Step(run, "step", func(ctx context.Context) (int, error) {
							select {
							case <-ctx.Done():
							case <-time.After(time.Second):
							}
							return 0, ctx.Err()
						}); err != nil {
							return 0, err
						}
					}
				}, holdfast.Timeout(2*between), holdfast.MaxAttempts(1))
				for _, client := range []*holdfast.Client{env.Client, env.Open().Client} {
					id, began := enqueue(env, kind, 1).ID, time.Now()
					env.After(between, func() {
						if err := c.ask(client, id); err != nil {
							env.T.Error(err)
						}
					})
					w := holdfasttest.WorkOne(env, kind)
					limit := between
					if c.want == store.Failed {
						limit *= 2
					}
					if passed := time.Since(began); w.State != c.want || passed < limit || passed > limit+1100*time.Millisecond {
						env.T.Errorf("%v after %v: %v", w.State, passed, w.Err)
					}
				}
			})
		})
	}
}

// TestWorkOneLeavesNothingBehind: no goroutine, and no node.
func TestWorkOneLeavesNothingBehind(t *testing.T) { //nolint:paralleltest // it counts goroutines
	holdfasttest.Run(t, func(env *holdfasttest.Env) {
		t := env.T
		kind := handled(env, "probe", func(run *holdfast.Run, _ int) (int, error) {
			future, err := holdfast.Go(run, "strand", func(run *holdfast.Run) (int, error) { return 1, run.Sleep(time.Hour) })
			if err != nil {
				return 0, err
			}
			return future.Wait(run)
		})
		enqueue(env, kind, 1)
		before, _ := goroutines()
		for range 2 {
			holdfasttest.WorkOne(env, kind)
			if now, stacks := goroutines(); now != before {
				t.Errorf("%d goroutines, and %d before:\n%s", now, before, stacks)
			}
			env.Advance(time.Hour)
		}
		nodes, err := env.Client.Nodes(t.Context())
		if err != nil || len(nodes) != 2 || nodes[0].DeadAt.IsZero() || nodes[1].DeadAt.IsZero() {
			t.Errorf("%+v, %v", nodes, err)
		}
		if health := env.Client.Health(); health.Node != 0 {
			t.Errorf("%+v", health)
		}
	})
}

// goroutines counts those of the test, without the runtime's, once they have come to rest.
func goroutines() (n int, stacks []byte) {
	synctest.Wait()
	stacks = make([]byte, 1<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	return bytes.Count(stacks, []byte(", synctest bubble ")), stacks
}
