//go:build soak

package faulttest

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/hooks"
	"github.com/holdfastdev/holdfast/store"
)

// jumps calls a function after the clock was set forward by an hour, after it was set back by one,
// and after it was set right again.
func jumps(set func(time.Duration), then func(ahead time.Duration)) {
	for _, ahead := range []time.Duration{time.Hour, -time.Hour, 0} {
		set(ahead)
		then(ahead)
	}
}

// TestHeartbeatsWhenTheClockJumps: who reports progress while the clock of the database is set goes
// on, in a handler and in a step; who does not is found soon. What hooks are told of how long a run
// took has nothing to do with that clock.
func TestHeartbeatsWhenTheClockJumps(t *testing.T) {
	t.Parallel()
	onEachClock(t, func(t *testing.T, db *database, set func(time.Duration)) {
		const limit = 10 * time.Second // more than a busy machine takes between two of the beats below
		var mu sync.Mutex
		longest := time.Duration(0)
		took := func(d time.Duration) {
			mu.Lock()
			defer mu.Unlock()
			longest = max(longest, d)
		}
		hf := db.open(t, holdfast.WithLeases(clockBeat, clockDead), holdfast.WithHooks(hooks.Hooks{
			Finished: func(e hooks.Finished) { took(e.Took) },
			Retried:  func(e hooks.Retried) { took(e.Took) },
		}))
		running := make(chan holdfast.ID, 10)
		over := make(chan struct{})
		works := func(ctx context.Context, run *holdfast.Run, beats bool) error {
			running <- run.ID()
			for {
				select {
				case <-over:
					return nil
				case <-ctx.Done():
					return context.Cause(ctx)
				case <-time.After(limit / 50):
				}
				if beats {
					run.Heartbeat()
				}
			}
		}
		once := holdfast.MaxAttempts(1)
		handler, inStep := holdfast.NewKind[bool, int]("handler", once), holdfast.NewKind[bool, int]("step", once)
		register(t, hf, handler, func(run *holdfast.Run, beats bool) (int, error) { return 1, works(run, run, beats) },
			holdfast.HeartbeatTimeout(limit))
		register(t, hf, inStep, func(run *holdfast.Run, beats bool) (int, error) {
			return holdfast.Step(run, "step", func(ctx context.Context) (int, error) { return 1, works(ctx, run, beats) },
				holdfast.HeartbeatTimeout(limit))
		})
		work(t, hf)
		var live []holdfast.ID
		for _, kind := range []holdfast.Kind[bool, int]{handler, inStep} {
			live = append(live, enqueue(t, hf, kind, true).ID)
			receive(t, "it runs", running)
		}
		jumps(set, func(time.Duration) {
			silent := map[string]holdfast.ID{}
			for _, kind := range []holdfast.Kind[bool, int]{handler, inStep} {
				silent[kind.Name()] = enqueue(t, hf, kind, false).ID
				receive(t, "it runs", running)
			}
			for kind, id := range silent {
				if r := endsWithin(t, soon, hf, id, store.Failed); r.State == store.Failed && r.Reason != store.ReasonHeartbeat &&
					kind == handler.Name() {
					t.Errorf("a handler that reports nothing: %s", told(r))
				}
			}
		})
		close(over)
		for _, id := range live {
			if r := ends(t, hf, id, store.Completed); r.Lease.Number != 1 {
				t.Errorf("who reports progress: %s", told(r))
			}
		}
		mu.Lock()
		defer mu.Unlock()
		if longest == 0 || longest > 30*time.Minute {
			t.Errorf("hooks were told of a run that took %v", longest)
		}
	})
}

// TestKeptKeysWhenTheClockJumps: a key is kept by the clock of the database, which all clients
// share, for a time or for ever. An unfinished job has its key whatever the clock says, and one
// that keeps nothing has none when it has finished.
func TestKeptKeysWhenTheClockJumps(t *testing.T) {
	t.Parallel()
	onEachClock(t, func(t *testing.T, db *database, set func(time.Duration)) {
		hf, people := db.open(t, holdfast.WithLeases(clockBeat, clockDead)), db.open(t)
		kind := holdfast.NewKind[int, int]("kept")
		paid := holdfast.NewSignal[int]("paid")
		register(t, hf, kind, func(run *holdfast.Run, n int) (int, error) {
			if n == 0 {
				return paid.Wait(run)
			}
			return n, nil
		})
		work(t, hf)
		// seen enqueues, and finds, or does not, who holds the key.
		seen := func(what, key string, n int, keep time.Duration, existing bool) *holdfast.Job[int] {
			t.Helper()
			job := enqueue(t, people, kind, n, holdfast.Key(key), holdfast.KeepKey(keep))
			if job.Existing != existing {
				t.Fatalf("%s: key %q exists %t", what, key, job.Existing)
			}
			return job
		}
		open := seen("at first", "open", 0, 0, false)
		for key, keep := range map[string]time.Duration{"half an hour": 30 * time.Minute, "for ever": -1, "not at all": 0} {
			ends(t, people, seen("at first", key, 1, keep, false).ID, store.Completed)
		}
		held := 0
		jumps(set, func(ahead time.Duration) {
			linger(t.Context(), 6*time.Second) // what a client knows of the clock holds for five
			what := "ahead by " + ahead.String()
			if job := seen(what, "open", 0, 0, true); job.ID != open.ID {
				t.Errorf("%s: an unfinished job has lost its key", what)
			}
			seen(what, "for ever", 1, -1, true)
			ends(t, people, seen(what, "not at all", 1, 0, false).ID, store.Completed)
			// It was freed by the first jump, and taken again by who kept it until after the end of
			// the test.
			job := seen(what, "half an hour", 1, 30*time.Minute, ahead <= 0)
			if ahead > 0 {
				ends(t, people, job.ID, store.Completed)
				return
			}
			held++
			_, err := paid.SendOrStart(t.Context(), people, kind.Item(1, holdfast.Key("half an hour")), 1)
			if !errors.Is(err, holdfast.ErrConflict) {
				t.Errorf("%s: a signal to a job that keeps its key: %v", what, err)
			}
		})
		if held != 2 {
			t.Errorf("the key was held %d times", held)
		}
	})
}

// TestRefusalsWhenTheClockJumps: a caller in another process is told that its request was refused,
// and that another one with the same id was not, whatever the clock says meanwhile.
func TestRefusalsWhenTheClockJumps(t *testing.T) {
	t.Parallel()
	onEachClock(t, func(t *testing.T, db *database, set func(time.Duration)) {
		hf, people := db.open(t, holdfast.WithLeases(clockBeat, clockDead)), db.open(t)
		kind := holdfast.NewKind[int, int]("asked")
		ask, over := holdfast.NewUpdate[int, int]("ask"), holdfast.NewSignal[int]("over")
		register(t, hf, kind, func(run *holdfast.Run, _ int) (int, error) {
			err := ask.Handle(run, func(n int) error {
				if n < 0 {
					return errors.New("it is negative")
				}
				return nil
			}, func(_ *holdfast.Run, n int) (int, error) { return n, nil })
			if err != nil {
				return 0, err
			}
			return over.Wait(run)
		})
		work(t, hf)
		job := enqueue(t, people, kind, 0)
		jumps(set, func(ahead time.Duration) {
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			id := holdfast.DedupKey(ahead.String())
			for range 3 {
				_, err := ask.Call(ctx, people, job.ID, -1, id)
				if told, ok := errors.AsType[*holdfast.UpdateError](err); !ok || !told.Refused {
					t.Errorf("a request that is refused: %v", err)
				}
			}
			if n, err := ask.Call(ctx, people, job.ID, 7, id); n != 7 || err != nil {
				t.Errorf("the same id again: %d, %v", n, err)
			}
		})
	})
}
