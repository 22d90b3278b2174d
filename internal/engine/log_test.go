package engine

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfastdev/holdfast/internal/logs/logstest"
	"github.com/holdfastdev/holdfast/internal/replay"
	"github.com/holdfastdev/holdfast/internal/usercode"
	"github.com/holdfastdev/holdfast/store"
)

// TestFailuresAreLogged: at INFO, every failure is logged with the attributes needed, and nothing
// else is.
func TestFailuresAreLogged(t *testing.T) {
	var log logstest.Book
	inBed(t, Config{Logger: log.Logger(t, slog.LevelInfo), Node: NodeConfig{StuckAfter: time.Second}}, func(b *bed) {
		once := func(f func() ([]byte, error)) func(context.Context, Attempt) ([]byte, error) {
			return func(_ context.Context, r Attempt) ([]byte, error) {
				if r.Job().Attempt > 1 {
					return nil, nil
				}
				return f()
			}
		}
		b.handle("fails", once(func() ([]byte, error) { return nil, &usercode.RetryError{Delay: 4 * time.Second, Err: errBoom} }))
		b.handle("panics", once(func() ([]byte, error) { panic("a hiccup") }))
		b.handle("gives up", once(func() ([]byte, error) { return nil, &usercode.FailError{Err: errBoom} }))
		b.handle("last", func(context.Context, Attempt) ([]byte, error) { return nil, errBoom }).MaxAttempts = 1
		b.handle("last panics", func(context.Context, Attempt) ([]byte, error) { panic("a hiccup") }).MaxAttempts = 1
		deaf := b.handle("deaf", once(func() ([]byte, error) { time.Sleep(time.Minute); return nil, nil }))
		deaf.Timeout = time.Second
		b.handle("fine", ok)
		b.handle("snoozes", once(func() ([]byte, error) { return nil, &usercode.SnoozeError{Delay: time.Hour} }))
		b.handle("cancels", once(func() ([]byte, error) { return nil, &usercode.CancelError{Reason: "enough"} }))
		b.run()
		ids := map[string]store.ID{}
		for kind := range b.runner().handlers {
			ids[kind] = b.enqueue(b.job(kind))
		}
		time.Sleep(30 * time.Minute)
		for kind, lines := range map[string][]struct {
			level, msg string
			want       map[string]string
		}{
			"fails": {{"WARN", "attempt failed; the job will be retried", map[string]string{"error": "boom", "reason": "error"}}},
			"panics": {{
				"ERROR", "attempt panicked; the job will be retried", map[string]string{"error": "panic: a hiccup", "stack": "log_test.go"},
			}},
			"gives up":    {{"ERROR", "job failed", map[string]string{"error": "boom", "reason": "terminal"}}},
			"last":        {{"ERROR", "job failed", map[string]string{"error": "boom", "reason": "attempts_exhausted"}}},
			"last panics": {{"ERROR", "job failed", map[string]string{"error": "panic: a hiccup", "stack": "log_test.go"}}},
			"deaf": {
				{"WARN", "attempt failed; the job will be retried", map[string]string{"error": "ignored the end of its context", "reason": "timeout"}},
				{"ERROR", "handler is stuck", map[string]string{"cause": "timed out"}},
			},
		} {
			for _, line := range lines {
				of := log.OfKind(t, kind)
				i := slices.IndexFunc(of, func(e logstest.Entry) bool { return strings.HasPrefix(e.Text("msg"), line.msg) })
				if i < 0 || len(of) != len(lines) {
					t.Errorf("%s: no line %q among %v", kind, line.msg, of)
					continue
				}
				e := of[i]
				e.Whose(t, ids[kind], kind, 1)
				for key, part := range line.want {
					if e.Text("level") != line.level || !strings.Contains(e.Text(key), part) {
						t.Errorf("%s: not %s with %q in %s: %v", kind, line.level, part, key, e)
					}
				}
			}
		}
		if wait := log.OfKind(t, "fails")[0].Again(t); wait != 4*time.Second {
			t.Errorf("it is to be tried again after %v", wait)
		}
		for _, kind := range []string{"fine", "snoozes", "cancels"} {
			if of := log.OfKind(t, kind); len(of) > 0 {
				t.Errorf("all is well with %q: %v", kind, of)
			}
		}
		log.Only(t, "INFO", "node started", map[string]string{"node": "1", "slots": "100"})
		b.halt()
		log.Only(t, "INFO", "node stopped", map[string]string{"node": "1"})
	})
}

// TestDurableFailuresAreLogged: failures of steps, of compensations, and of code that contradicts
// its journal.
func TestDurableFailuresAreLogged(t *testing.T) {
	var log logstest.Book
	inBed(t, Config{Logger: log.Logger(t, slog.LevelInfo)}, func(b *bed) {
		twice := replay.StepPolicy{Attempts: 2, Backoff: store.Backoff{Base: 3 * time.Second}}
		tries := 0
		b.handle("steps", func(_ context.Context, r Attempt) ([]byte, error) {
			return r.Main().Step("charge", twice, func(context.Context, int) ([]byte, error) {
				if tries++; tries == 1 {
					return nil, errBoom
				}
				return nil, nil
			})
		})
		undos := 0
		b.handle("undoes", func(_ context.Context, r Attempt) ([]byte, error) {
			s := r.Main()
			err := s.OnFailure("refund", func(*replay.Strand) error {
				if undos++; undos == 1 {
					panic("no money")
				}
				return errBoom
			})
			if err != nil {
				return nil, err
			}
			return nil, &usercode.CancelError{Reason: "enough"}
		})
		runs := 0
		b.handle("changes", func(_ context.Context, r Attempt) ([]byte, error) {
			runs++
			if _, err := r.Main().Step(fmt.Sprint("step", runs), replay.StepPolicy{}, nothingStep); err != nil {
				return nil, err
			}
			return nil, errBoom
		})
		b.run()
		id := b.enqueue(b.job("steps"))
		b.expect(b.wait(id), store.Completed, "")
		synctest.Wait() // for the pen to write
		e := log.Only(t, "WARN", "step failed", map[string]string{"step": "charge", "tries": "1", "error": "boom"})
		e.Whose(t, id, "steps", 1)
		if e.Again(t) != 3*time.Second {
			t.Errorf("it is tried again after %v", e.Again(t))
		}
		id = b.enqueue(b.job("undoes"))
		b.expect(b.wait(id), store.Cancelled, store.ReasonCancelled)
		synctest.Wait() // for the pen to write
		undone := log.Lines(t, "compensation failed")
		if len(undone) != 10-1 || undone[0].Text("level") != "ERROR" ||
			!strings.Contains(undone[0].Text("stack"), "log_test.go") || undone[1].Text("level") != "WARN" ||
			undone[1].Text("compensation") != "refund" {
			t.Errorf("%d lines of failed compensations: %v", len(undone), undone)
		}
		log.Only(t, "ERROR", "compensation given up", map[string]string{"compensation": "refund", "tries": "10", "error": "boom"}).
			Whose(t, id, "undoes", 1)
		id = b.enqueue(b.job("changes"))
		time.Sleep(time.Minute)
		log.Only(t, "ERROR", "run held", map[string]string{"reason": "nondeterminism", "error": `the code asks for step "step2"`}).
			Whose(t, id, "changes", 2)
	})
}

// TestDebugTellsOfEachRun: with its attributes.
func TestDebugTellsOfEachRun(t *testing.T) {
	var log logstest.Book
	inBed(t, Config{Logger: log.Logger(t, slog.LevelDebug)}, func(b *bed) {
		b.handle("k", func(_ context.Context, r Attempt) ([]byte, error) {
			time.Sleep(12 * time.Millisecond)
			if r.Job().Attempt == 1 {
				return nil, &usercode.RetryError{Delay: 2 * time.Second, Err: errBoom}
			}
			r.Logger(r.Main(), nil).Info("said by the handler")
			return nil, nil
		})
		b.run()
		id := b.enqueue(b.job("k"))
		b.expect(b.wait(id), store.Completed, "")
		synctest.Wait()
		began, ended := log.Lines(t, "job started"), log.Lines(t, "job ended")
		if len(began) != 2 || len(ended) != 2 {
			t.Fatalf("%v, %v", began, ended)
		}
		for i := range 2 {
			began[i].Whose(t, id, "k", i+1)
			ended[i].Whose(t, id, "k", i+1)
			if took, _ := ended[i]["took"].(float64); time.Duration(took) != 12*time.Millisecond {
				t.Errorf("it took %v", ended[i]["took"])
			}
		}
		if e := ended[0]; e.Text("state") != "retryable" || e.Text("error") != "boom" || e.Again(t) != 2*time.Second {
			t.Errorf("the first attempt: %v", e)
		}
		if e := ended[1]; e.Text("state") != "completed" || e["error"] != nil || e["retry_at"] != nil {
			t.Errorf("the second attempt: %v", e)
		}
		log.Only(t, "INFO", "said by the handler", nil).Whose(t, id, "k", 2)
	})
}

// TestJobsOfADeadNodeAreLogged: at ERROR if the job has failed.
func TestJobsOfADeadNodeAreLogged(t *testing.T) {
	var log logstest.Book
	inBed(t, Config{Logger: log.Logger(t, slog.LevelInfo)}, func(b *bed) {
		ctx := b.t.Context()
		other, err := b.st.Join(ctx, store.NodeInfo{Name: "other", Kinds: []string{"k"}})
		if err != nil {
			b.t.Fatal(err)
		}
		last := b.enqueue(b.job("k", func(e *store.Enqueue) { e.Job.MaxAttempts = 1 }))
		next := b.enqueue(b.job("k"))
		jobs, err := b.st.Claim(ctx, store.ClaimParams{
			Node: other, Seq: 1, Namespace: "default", Kinds: []string{"k"}, Limit: 10,
		})
		if err != nil || len(jobs) != 2 {
			b.t.Fatalf("%d jobs, %v", len(jobs), err)
		}
		b.handle("k", ok)
		b.run()
		b.expect(b.wait(next), store.Completed, "")
		b.expect(b.wait(last), store.Failed, store.ReasonCrashLoop)
		synctest.Wait() // the rescuer wakes the nodes first
		log.Only(t, "WARN", "job taken from a dead node", map[string]string{
			"job": next.String(), "kind": "k", "queue": "default", "dead_node": "1", "node": "2", "state": "retryable", "retry_at": "",
		})
		log.Only(t, "ERROR", "job failed: its node died", map[string]string{"job": last.String(), "reason": "crash_loop", "dead_node": "1"})
	})
}

// TestOutcomesThatAreNotStoredAreLogged: with their jobs.
func TestOutcomesThatAreNotStoredAreLogged(t *testing.T) {
	var log logstest.Book
	inBed(t, Config{Logger: log.Logger(t, slog.LevelInfo)}, func(b *bed) {
		refusal := fmt.Errorf("%w: too large", store.ErrInvalid)
		var once sync.Once
		b.st.hook(func(p *probe) {
			p.instead = func(batch *store.Batch) (err error) {
				for _, o := range batch.Outcomes {
					once.Do(func() { o.Err, err = refusal, errApplied })
				}
				return err
			}
		})
		b.handle("k", ok)
		b.run()
		id := b.enqueue(b.job("k"))
		b.expect(b.wait(id), store.Failed, store.ReasonTerminal)
		synctest.Wait() // for the pen to write
		log.Only(t, "ERROR", "the outcome of a job was refused", map[string]string{"state": "completed", "error": "too large"}).
			Whose(t, id, "k", 1)
	})
}

// TestLoggerOfRuns: nil means the engine's logger, and each adds the attributes of its run once.
func TestLoggerOfRuns(t *testing.T) {
	var own, given logstest.Book
	inBed(t, Config{Logger: own.Logger(t, slog.LevelInfo)}, func(b *bed) {
		b.handle("k", func(_ context.Context, r Attempt) ([]byte, error) {
			r.Logger(r.Main(), nil).Info("to its own")
			r.Logger(r.Main(), given.Logger(t, slog.LevelInfo)).Info("to another")
			return nil, nil
		})
		b.run()
		id := b.enqueue(b.job("k"))
		b.expect(b.wait(id), store.Completed, "")
		synctest.Wait() // for the pen to write
		own.Only(t, "INFO", "to its own", nil).Whose(t, id, "k", 1)
		given.Only(t, "INFO", "to another", nil).Whose(t, id, "k", 1)
		if n := len(own.Lines(t, "to another")) + len(given.Lines(t, "to its own")); n > 0 {
			t.Errorf("%d lines went elsewhere", n)
		}
		if text := own.Text.String(); strings.Count(text, `"node":1`) != len(own.Lines(t, "")) {
			t.Errorf("a line has no node, or two: %s", text)
		}
	})
}
