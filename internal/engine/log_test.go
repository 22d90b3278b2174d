package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// logbook keeps the lines of a log.
type logbook struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *logbook) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

// logger logs into the book. What it says must be as docs/logging.md has it.
func (b *logbook) logger(t *testing.T, level slog.Level) *slog.Logger {
	t.Helper()
	t.Cleanup(func() {
		p := readPage(t)
		for _, e := range b.lines(t, "") {
			p.check(t, e)
		}
	})
	return slog.New(slog.NewJSONHandler(b, &slog.HandlerOptions{Level: level}))
}

// entry is a line as who reads it has it.
type entry map[string]any

func (e entry) text(key string) string { s, _ := e[key].(string); return s }

// lines are those that begin with the message, all if it is "".
func (b *logbook) lines(t *testing.T, message string) (found []entry) {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for line := range bytes.Lines(b.text.Bytes()) {
		var e entry
		if err := json.Unmarshal(line, &e); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		if strings.HasPrefix(e.text("msg"), message) {
			found = append(found, e)
		}
	}
	return found
}

// only is the one line that begins with the message. It has the level, and all keys that are wanted
// with something of what is wanted.
func (b *logbook) only(t *testing.T, level, message string, want map[string]string) entry {
	t.Helper()
	found := b.lines(t, message)
	if len(found) != 1 {
		t.Fatalf("%d lines begin with %q:\n%s", len(found), message, b.text.String())
	}
	e := found[0]
	if e.text("level") != level {
		t.Errorf("the level is not %s: %v", level, e)
	}
	for key, part := range want {
		if _, there := e[key]; !there || !strings.Contains(fmt.Sprint(e[key]), part) {
			t.Errorf("%s is not %q: %v", key, part, e)
		}
	}
	return e
}

// again is how long after the line the job or step is tried again.
func (e entry) again(t *testing.T) time.Duration {
	t.Helper()
	at, err := time.Parse(time.RFC3339Nano, e.text("time"))
	if err != nil {
		t.Fatal(err)
	}
	retry, err := time.Parse(time.RFC3339Nano, e.text("retry_at"))
	if err != nil {
		t.Fatalf("%v: %v", err, e)
	}
	return retry.Sub(at)
}

// whose checks that a line names its job, and its node.
func (e entry) whose(t *testing.T, id store.ID, kind string, attempt int) {
	t.Helper()
	have := fmt.Sprint(e["job"], e["kind"], e["queue"], e["attempt"], e["node"])
	if want := fmt.Sprint(id, kind, "default", attempt, 1); have != want {
		t.Errorf("the line is about %s, and not %s: %v", have, want, e)
	}
}

// TestFailuresAreLogged at INFO, whatever they are, with what one needs to know; and nothing else
// is.
func TestFailuresAreLogged(t *testing.T) {
	var log logbook
	inBed(t, Config{Logger: log.logger(t, slog.LevelInfo), Node: NodeConfig{StuckAfter: time.Second}}, func(b *bed) {
		once := func(f func() ([]byte, error)) func(context.Context, *Run) ([]byte, error) {
			return func(_ context.Context, r *Run) ([]byte, error) {
				if r.Job().Attempt > 1 {
					return nil, nil
				}
				return f()
			}
		}
		b.handle("fails", once(func() ([]byte, error) { return nil, &RetryError{4 * time.Second, errBoom} }))
		b.handle("panics", once(func() ([]byte, error) { panic("a hiccup") }))
		b.handle("gives up", once(func() ([]byte, error) { return nil, &FailError{errBoom} }))
		b.handle("last", func(context.Context, *Run) ([]byte, error) { return nil, errBoom }).MaxAttempts = 1
		b.handle("last panics", func(context.Context, *Run) ([]byte, error) { panic("a hiccup") }).MaxAttempts = 1
		deaf := b.handle("deaf", once(func() ([]byte, error) { time.Sleep(time.Minute); return nil, nil }))
		deaf.Timeout = time.Second
		b.handle("fine", ok)
		b.handle("snoozes", once(func() ([]byte, error) { return nil, &SnoozeError{time.Hour} }))
		b.handle("cancels", once(func() ([]byte, error) { return nil, &CancelError{"enough"} }))
		b.run()
		ids := map[string]store.ID{}
		for kind := range b.e.handlers {
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
				of := log.ofKind(t, kind)
				i := slices.IndexFunc(of, func(e entry) bool { return strings.HasPrefix(e.text("msg"), line.msg) })
				if i < 0 || len(of) != len(lines) {
					t.Errorf("%s: no line %q among %v", kind, line.msg, of)
					continue
				}
				e := of[i]
				e.whose(t, ids[kind], kind, 1)
				for key, part := range line.want {
					if e.text("level") != line.level || !strings.Contains(e.text(key), part) {
						t.Errorf("%s: not %s with %q in %s: %v", kind, line.level, part, key, e)
					}
				}
			}
		}
		if wait := log.ofKind(t, "fails")[0].again(t); wait != 4*time.Second {
			t.Errorf("it is to be tried again after %v", wait)
		}
		for _, kind := range []string{"fine", "snoozes", "cancels"} {
			if of := log.ofKind(t, kind); len(of) > 0 {
				t.Errorf("all is well with %q: %v", kind, of)
			}
		}
		log.only(t, "INFO", "node started", map[string]string{"node": "1", "slots": "100"})
		b.halt()
		log.only(t, "INFO", "node stopped", map[string]string{"node": "1"})
	})
}

func (b *logbook) ofKind(t *testing.T, kind string) []entry {
	t.Helper()
	return slices.DeleteFunc(b.lines(t, ""), func(e entry) bool { return e["kind"] != kind })
}

// TestDurableFailuresAreLogged: of steps, of compensations, and of code that does not fit.
func TestDurableFailuresAreLogged(t *testing.T) {
	var log logbook
	inBed(t, Config{Logger: log.logger(t, slog.LevelInfo)}, func(b *bed) {
		twice := StepPolicy{Attempts: 2, Backoff: store.Backoff{Base: 3 * time.Second}}
		tries := 0
		b.handle("steps", func(_ context.Context, r *Run) ([]byte, error) {
			return r.Main().Step("charge", twice, func(context.Context, int) ([]byte, error) {
				if tries++; tries == 1 {
					return nil, errBoom
				}
				return nil, nil
			})
		})
		undos := 0
		b.handle("undoes", func(_ context.Context, r *Run) ([]byte, error) {
			s := r.Main()
			if err := s.OnFailure("refund", func(*Strand) error {
				if undos++; undos == 1 {
					panic("no money")
				}
				return errBoom
			}); err != nil {
				return nil, err
			}
			return nil, &CancelError{"enough"}
		})
		runs := 0
		b.handle("changes", func(_ context.Context, r *Run) ([]byte, error) {
			runs++
			if _, err := r.Main().Step(fmt.Sprint("step", runs), StepPolicy{}, nothingStep); err != nil {
				return nil, err
			}
			return nil, errBoom
		})
		b.run()
		id := b.enqueue(b.job("steps"))
		b.expect(b.wait(id), store.Completed, "")
		synctest.Wait() // for the pen
		e := log.only(t, "WARN", "step failed", map[string]string{"step": "charge", "tries": "1", "error": "boom"})
		e.whose(t, id, "steps", 1)
		if e.again(t) != 3*time.Second {
			t.Errorf("it is tried again after %v", e.again(t))
		}
		id = b.enqueue(b.job("undoes"))
		b.expect(b.wait(id), store.Cancelled, store.ReasonCancelled)
		synctest.Wait() // for the pen
		undone := log.lines(t, "compensation failed")
		if len(undone) != undoPolicy.Attempts-1 || undone[0].text("level") != "ERROR" ||
			!strings.Contains(undone[0].text("stack"), "log_test.go") || undone[1].text("level") != "WARN" ||
			undone[1].text("compensation") != "refund" {
			t.Errorf("%d lines of failed compensations: %v", len(undone), undone)
		}
		log.only(t, "ERROR", "compensation given up", map[string]string{"compensation": "refund", "tries": "10", "error": "boom"}).
			whose(t, id, "undoes", 1)
		id = b.enqueue(b.job("changes"))
		time.Sleep(time.Minute)
		log.only(t, "ERROR", "run held", map[string]string{"reason": "nondeterminism", "error": `the code asks for step "step2"`}).
			whose(t, id, "changes", 2)
	})
}

// TestDebugTellsOfEachRun, with what a person wants to know of it.
func TestDebugTellsOfEachRun(t *testing.T) {
	var log logbook
	inBed(t, Config{Logger: log.logger(t, slog.LevelDebug)}, func(b *bed) {
		b.handle("k", func(_ context.Context, r *Run) ([]byte, error) {
			time.Sleep(12 * time.Millisecond)
			if r.Job().Attempt == 1 {
				return nil, &RetryError{2 * time.Second, errBoom}
			}
			r.Logger(nil).Info("said by the handler")
			return nil, nil
		})
		b.run()
		id := b.enqueue(b.job("k"))
		b.expect(b.wait(id), store.Completed, "")
		synctest.Wait()
		began, ended := log.lines(t, "job started"), log.lines(t, "job ended")
		if len(began) != 2 || len(ended) != 2 {
			t.Fatalf("%v, %v", began, ended)
		}
		for i := range 2 {
			began[i].whose(t, id, "k", i+1)
			ended[i].whose(t, id, "k", i+1)
			if took, _ := ended[i]["took"].(float64); time.Duration(took) != 12*time.Millisecond {
				t.Errorf("it took %v", ended[i]["took"])
			}
		}
		if e := ended[0]; e.text("state") != "retryable" || e.text("error") != "boom" || e.again(t) != 2*time.Second {
			t.Errorf("the first attempt: %v", e)
		}
		if e := ended[1]; e.text("state") != "completed" || e["error"] != nil || e["retry_at"] != nil {
			t.Errorf("the second attempt: %v", e)
		}
		log.only(t, "INFO", "said by the handler", nil).whose(t, id, "k", 2)
	})
}

// TestJobsOfADeadNodeAreLogged, at ERROR where that was their end.
func TestJobsOfADeadNodeAreLogged(t *testing.T) {
	var log logbook
	inBed(t, Config{Logger: log.logger(t, slog.LevelInfo)}, func(b *bed) {
		ctx := b.t.Context()
		other, err := b.st.Join(ctx, store.NodeInfo{Name: "other", Kinds: []string{"k"}})
		if err != nil {
			b.t.Fatal(err)
		}
		last := b.enqueue(b.job("k", func(e *store.Enqueue) { e.Job.MaxAttempts = 1 }))
		next := b.enqueue(b.job("k"))
		if jobs, err := b.st.Claim(ctx, store.ClaimParams{
			Node: other, Seq: 1, Namespace: "default", Kinds: []string{"k"}, Limit: 10,
		}); err != nil || len(jobs) != 2 {
			b.t.Fatalf("%d jobs, %v", len(jobs), err)
		}
		b.handle("k", ok)
		b.run()
		b.expect(b.wait(next), store.Completed, "")
		b.expect(b.wait(last), store.Failed, store.ReasonCrashLoop)
		synctest.Wait() // whoever rescued them wakes the nodes first
		log.only(t, "WARN", "job taken from a dead node", map[string]string{
			"job": next.String(), "kind": "k", "queue": "default", "dead_node": "1", "node": "2", "state": "retryable", "retry_at": "",
		})
		log.only(t, "ERROR", "job failed: its node died", map[string]string{"job": last.String(), "reason": "crash_loop", "dead_node": "1"})
	})
}

// TestOutcomesThatAreNotStoredAreLogged with their jobs.
func TestOutcomesThatAreNotStoredAreLogged(t *testing.T) {
	var log logbook
	inBed(t, Config{Logger: log.logger(t, slog.LevelInfo)}, func(b *bed) {
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
		synctest.Wait() // for the pen
		log.only(t, "ERROR", "the outcome of a job was refused", map[string]string{"state": "completed", "error": "too large"}).
			whose(t, id, "k", 1)
	})
}

// TestLoggerOfRuns: nil means the engine's, and each says whose run it is, once.
func TestLoggerOfRuns(t *testing.T) {
	var own, given logbook
	inBed(t, Config{Logger: own.logger(t, slog.LevelInfo)}, func(b *bed) {
		b.handle("k", func(_ context.Context, r *Run) ([]byte, error) {
			r.Logger(nil).Info("to its own")
			r.Logger(given.logger(t, slog.LevelInfo)).Info("to another")
			return nil, nil
		})
		b.run()
		id := b.enqueue(b.job("k"))
		b.expect(b.wait(id), store.Completed, "")
		synctest.Wait() // for the pen
		own.only(t, "INFO", "to its own", nil).whose(t, id, "k", 1)
		given.only(t, "INFO", "to another", nil).whose(t, id, "k", 1)
		if n := len(own.lines(t, "to another")) + len(given.lines(t, "to its own")); n > 0 {
			t.Errorf("%d lines went elsewhere", n)
		}
		if text := own.text.String(); strings.Count(text, `"node":1`) != len(own.lines(t, "")) {
			t.Errorf("a line has no node, or two: %s", text)
		}
	})
}
