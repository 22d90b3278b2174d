package holdfast_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/sqlitetest"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/sqlite"
	"github.com/holdfastdev/holdfast/store/storetest/model"
)

// misuses is a client with a node, for runs that are misused.
type misuses struct {
	t    *testing.T
	hf   *holdfast.Client
	kept *holdfast.Run // of another job, whose handler has returned
	by   foreigners    // made by that run
}

// foreigners are objects made by another run.
type foreigners struct {
	future   *holdfast.Future[int]
	timer    holdfast.Waitable
	callback *holdfast.Callback
	child    *holdfast.Child[int]
}

var (
	misuseChild  = holdfast.NewKind[int, int]("misuse.child")
	misuseSignal = holdfast.NewSignal[int]("misuse")
	misuseUpdate = holdfast.NewUpdate[int, int]("misuse")
)

func openMisuses(t *testing.T, source store.Source) *misuses {
	t.Helper()
	hf, err := holdfast.Open(t.Context(), source)
	if err != nil {
		t.Fatal(err)
	}
	m := &misuses{t: t, hf: hf}
	if err := misuseChild.Handle(hf, func(_ *holdfast.Run, n int) (int, error) { return n, nil }); err != nil {
		t.Fatal(err)
	}
	return m
}

// run starts the node, and a job that leaks its run and its objects.
func (m *misuses) run() {
	m.t.Helper()
	keeper := holdfast.NewKind[int, int]("misuse.keeper")
	err := keeper.Handle(m.hf, func(run *holdfast.Run, _ int) (n int, err error) {
		m.kept = run
		future, err1 := holdfast.Go(run, "other", func(*holdfast.Run) (int, error) { return 1, nil })
		timer, err2 := run.Timer(0)
		callback, err3 := run.Callback("other")
		child, err4 := misuseChild.Start(run, 1)
		m.by = foreigners{future, timer, callback, child}
		return 1, errors.Join(err1, err2, err3, err4)
	})
	if err != nil {
		m.t.Fatal(err)
	}
	ran := make(chan error, 1)
	go func() { ran <- m.hf.Run(context.WithoutCancel(m.t.Context())) }()
	m.t.Cleanup(func() {
		if err := errors.Join(m.hf.Close(context.Background()), <-ran); err != nil {
			m.t.Error(err)
		}
	})
	job, err := keeper.Enqueue(m.t.Context(), m.hf, 0)
	if err != nil {
		m.t.Fatal(err)
	}
	if _, err := job.Wait(m.t.Context()); err != nil {
		m.t.Fatal(err)
	}
}

// misuse is a mistake of a handler between its first step and its last, until the code is fixed.
type misuse struct {
	do   func(m *misuses, run *holdfast.Run) error
	want string // in the job's error
}

// operationsOf are all operations of a run, to be called where they must not be.
var operationsOf = map[string]func(*holdfast.Run) error{
	"holdfast.Step": func(run *holdfast.Run) error {
		_, err := holdfast.Step(run, "inner", func(context.Context) (int, error) { return 1, nil })
		return err
	},
	"run.Sleep":         func(run *holdfast.Run) error { return run.Sleep(time.Millisecond) },
	"run.Now":           func(run *holdfast.Run) error { _, err := run.Now(); return err },
	"run.Random":        func(run *holdfast.Run) error { _, err := run.Random(); return err },
	"run.UUID":          func(run *holdfast.Run) error { _, err := run.UUID(); return err },
	"run.Patched":       func(run *holdfast.Run) error { _, err := run.Patched("change"); return err },
	"run.Publish":       func(run *holdfast.Run) error { return run.Publish("key", 1) },
	"run.Append":        func(run *holdfast.Run) error { return run.Append("stream", 1) },
	"run.Timer":         func(run *holdfast.Run) error { _, err := run.Timer(time.Hour); return err },
	"run.Callback":      func(run *holdfast.Run) error { _, err := run.Callback("inner"); return err },
	"run.OnFailure":     func(run *holdfast.Run) error { return run.OnFailure("undo", func(*holdfast.Run) error { return nil }) },
	"holdfast.Select":   func(run *holdfast.Run) error { _, err := holdfast.Select(run, misuseSignal.Into(new(int))); return err },
	"Signal.Wait":       func(run *holdfast.Run) error { _, err := misuseSignal.Wait(run); return err },
	"Signal.TryReceive": func(run *holdfast.Run) error { _, _, err := misuseSignal.TryReceive(run); return err },
	"Kind.Start":        func(run *holdfast.Run) error { _, err := misuseChild.Start(run, 1); return err },
	"Kind.CallAll": func(run *holdfast.Run) error {
		_, err := misuseChild.CallAll(run, []int{1, 2}, holdfast.FanOut{})
		return err
	},
	"run.WaitUntil": func(run *holdfast.Run) error { return run.WaitUntil("it", func() bool { return true }) },
	"Update.Handle": func(run *holdfast.Run) error {
		return misuseUpdate.Handle(run, nil, func(*holdfast.Run, int) (int, error) { return 1, nil })
	},
	"holdfast.Go": func(run *holdfast.Run) error {
		_, err := holdfast.Go(run, "inner", func(*holdfast.Run) (int, error) { return 1, nil })
		return err
	},
}

// inStep misuses a run inside one of its steps, which then succeeds or fails with the misuse.
func inStep(op func(*holdfast.Run) error, drops bool) func(*misuses, *holdfast.Run) error {
	return func(m *misuses, run *holdfast.Run) error {
		_, err := holdfast.Step(run, "outer", func(context.Context) (int, error) {
			err := op(run)
			if !errors.Is(err, holdfast.ErrInvalid) {
				m.t.Errorf("not an ErrInvalid: %v", err)
			}
			if drops {
				return 1, nil
			}
			return 0, fmt.Errorf("inside: %w", err)
		}, holdfast.MaxAttempts(5), holdfast.Backoff(time.Millisecond, time.Millisecond))
		return err
	}
}

func misusesOf() map[string]misuse {
	all := map[string]misuse{}
	for name, op := range operationsOf {
		want := name + " "
		all["in a step that fails: "+name] = misuse{do: inStep(op, false), want: want}
		all["in a step that succeeds: "+name] = misuse{do: inStep(op, true), want: want}
		all["kept: "+name] = misuse{do: func(m *misuses, _ *holdfast.Run) error { return op(m.kept) }, want: want}
	}
	for name, await := range map[string]func(*misuses, *holdfast.Run) error{
		"future":   func(m *misuses, run *holdfast.Run) error { _, err := m.by.future.Wait(run); return err },
		"callback": func(m *misuses, run *holdfast.Run) error { return m.by.callback.Wait(run, nil) },
		"child":    func(m *misuses, run *holdfast.Run) error { _, err := m.by.child.Wait(run); return err },
		"timer":    func(m *misuses, run *holdfast.Run) error { _, err := holdfast.Select(run, m.by.timer); return err },
		"choice": func(m *misuses, run *holdfast.Run) error {
			_, err := holdfast.Select(run, m.by.future, m.by.child)
			return err
		},
		"made by hand": func(_ *misuses, run *holdfast.Run) error { _, err := (&holdfast.Child[int]{}).Wait(run); return err },
	} {
		all["foreign "+name] = misuse{do: await, want: "which this run did not make"}
	}
	all["the run of a strand that has returned"] = misuse{want: "run.Now was called on a run that is over", do: strandKept}
	all["two goroutines"] = misuse{want: `run.Sleep was called during holdfast.Step "long"`, do: twoGoroutines}
	all["the run around a strand"] = misuse{want: "use a run in one goroutine only", do: aroundStrand}
	all["a step that continues as new"] = misuse{want: "ContinueAsNew", do: func(_ *misuses, run *holdfast.Run) error {
		_, err := holdfast.Step(run, "outer", func(context.Context) (int, error) { return 0, continueAsNew(run, 1) })
		return err
	}}
	all["whatever the handler returns"] = misuse{want: "run.Sleep", do: func(m *misuses, run *holdfast.Run) error {
		return holdfast.Fail(inStep(operationsOf["run.Sleep"], true)(m, run))
	}}
	all["whatever the handler handles"] = misuse{want: "run.Sleep", do: func(m *misuses, run *holdfast.Run) error {
		_ = inStep(operationsOf["run.Sleep"], true)(m, run)
		_ = run.Sleep(time.Millisecond)
		return run.Publish("key", "what is published after a misuse")
	}}
	all["SendFrom in a step"] = misuse{want: `Signal.SendFrom "misuse"`, do: inStep(func(run *holdfast.Run) error {
		return misuseSignal.SendFrom(run, run.ID(), 1)
	}, true)}
	all["asked whether to retry"] = misuse{want: "run.Now", do: func(m *misuses, run *holdfast.Run) error {
		_, err := holdfast.Step(run, "outer", func(context.Context) (int, error) { return 0, errors.New("no") },
			holdfast.MaxAttempts(2), holdfast.RetryIf(func(error) bool {
				_, err := run.Now()
				if !errors.Is(err, holdfast.ErrInvalid) {
					m.t.Errorf("not an ErrInvalid: %v", err)
				}
				return true
			}))
		return err
	}}
	return all
}

// twoGoroutines uses the run in a second goroutine during a step.
func twoGoroutines(m *misuses, run *holdfast.Run) error {
	inside, slept := make(chan struct{}), make(chan error, 1)
	go func() {
		<-inside
		slept <- run.Sleep(time.Hour)
	}()
	_, err := holdfast.Step(run, "long", func(context.Context) (int, error) {
		close(inside)
		if err := <-slept; !errors.Is(err, holdfast.ErrInvalid) {
			m.t.Errorf("not an ErrInvalid: %v", err)
		}
		return 1, nil
	})
	return err
}

// strandKept uses the run of a strand after that has returned.
func strandKept(_ *misuses, run *holdfast.Run) error {
	f, err := holdfast.Go(run, "kept", func(run *holdfast.Run) (*holdfast.Run, error) { return run, nil })
	if err != nil {
		return err
	}
	kept, err := f.Wait(run)
	if err != nil {
		return err
	}
	_, err = kept.Now()
	return err
}

// aroundStrand uses the handler's run in a function that has one of its own.
func aroundStrand(_ *misuses, run *holdfast.Run) error {
	beside, err := holdfast.Go(run, "beside", func(*holdfast.Run) (int, error) { return 1, run.Sleep(time.Hour) })
	if err != nil {
		return err
	}
	_, err = beside.Wait(run)
	return err
}

// handle registers a handler that misuses its run between two steps, until the code is fixed.
func (m *misuses) handle(name string, mistake misuse) (check func(t *testing.T)) {
	m.t.Helper()
	var mended atomic.Bool
	kind := holdfast.NewKind[int, int](name)
	err := kind.Handle(m.hf, func(run *holdfast.Run, _ int) (int, error) {
		if _, err := holdfast.Step(run, "first", func(context.Context) (int, error) { return 1, nil }); err != nil {
			return 0, err
		}
		if !mended.Load() {
			return 0, mistake.do(m, run)
		}
		return holdfast.Step(run, "last", func(context.Context) (int, error) { return 7, nil })
	}, holdfast.MaxAttempts(1))
	if err != nil {
		m.t.Fatal(err)
	}
	return func(t *testing.T) {
		t.Helper()
		job, err := kind.Enqueue(t.Context(), m.hf, 0)
		if err != nil {
			t.Fatal(err)
		}
		_, err = job.Wait(t.Context())
		if err == nil || !strings.Contains(err.Error(), "invalid request: ") || !strings.Contains(err.Error(), mistake.want) {
			t.Fatalf("the job ended with %v; its error should hold %q and %q", err, holdfast.ErrInvalid, mistake.want)
		}
		if got := kindsOf(t, m.hf, job.ID); got != "step 1" {
			t.Errorf("the journal holds %s", got)
		}
		mended.Store(true)
		if results, err := m.hf.Retry(t.Context(), "", job.ID); err != nil || results[0].Err != nil {
			t.Fatal(results, err)
		}
		if got, err := job.Wait(t.Context()); err != nil || got != 7 {
			t.Errorf("the code is mended, and the job ends with %d, %v", got, err)
		}
		if got := kindsOf(t, m.hf, job.ID); got != "step 1, step 2" {
			t.Errorf("the journal holds %s", got)
		}
	}
}

func kindsOf(t *testing.T, hf *holdfast.Client, id holdfast.ID) string {
	t.Helper()
	j, err := hf.Journal(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	list := make([]string, len(j.Entries))
	for i, e := range j.Entries {
		list[i] = strings.TrimSpace(e.Kind + " " + e.Path)
	}
	return strings.Join(list, ", ")
}

func playMisuses(t *testing.T, source store.Source, all map[string]misuse) {
	t.Helper()
	m := openMisuses(t, source)
	checks := map[string]func(*testing.T){}
	for name, mistake := range all {
		checks[name] = m.handle(name, mistake)
	}
	m.run()
	for _, name := range slices.Sorted(maps.Keys(checks)) {
		t.Run(name, checks[name])
	}
}

func TestMisuse(t *testing.T) {
	t.Parallel()
	playMisuses(t, memorySource{model.New(time.Now)}, misusesOf())
}

// inTransaction are misuses in the transaction of a step, which is rolled back.
func inTransaction[Tx any](l ledger[Tx]) map[string]misuse {
	all := misusesOf()
	for _, drops := range []bool{false, true} {
		all[fmt.Sprint("in a transaction, dropped: ", drops)] = misuse{want: "run.Sleep", do: func(m *misuses, run *holdfast.Run) error {
			_, err := holdfast.StepTx(run, "outer", l.db, func(ctx context.Context, tx Tx) (int, error) {
				err := errors.Join(l.add(ctx, tx, "misused"), run.Sleep(time.Hour))
				if !errors.Is(err, holdfast.ErrInvalid) {
					m.t.Errorf("not an ErrInvalid: %v", err)
				}
				if drops {
					err = nil
				}
				return 1, err
			})
			if n := l.count("misused"); n != 0 {
				m.t.Errorf("%d notes", n)
			}
			return err
		}}
	}
	return all
}

func TestMisuseOnSQLite(t *testing.T) {
	t.Parallel()
	file := sqlitetest.File(t)
	db, err := sql.Open("sqlite", "file:"+file+"?_txlock=immediate&_pragma=busy_timeout(10000)&_pragma=journal_mode(wal)")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	l := sqlLedger(t, db, sqlite.Begin(db), "INSERT INTO ledger VALUES (?)")
	playMisuses(t, sqlite.File(file), inTransaction(l))
}

// TestMisuseIsMended: a job that misuses its run is retried until its code is fixed.
func TestMisuseIsMended(t *testing.T) {
	t.Parallel()
	inFlow(t, func(t *testing.T, f *flow) {
		var mended, undone atomic.Bool
		job := begin(f, 0, func(run *holdfast.Run, _ int) (int, error) {
			err := run.OnFailure("undo", func(*holdfast.Run) error { undone.Store(true); return nil })
			if err != nil {
				return 0, err
			}
			n, err := holdfast.Step(run, "outer", func(context.Context) (int, error) {
				if mended.Load() {
					return 7, nil
				}
				return 0, run.Sleep(time.Hour)
			})
			if err != nil {
				return 0, holdfast.Fail(err) // a permanent failure would be compensated
			}
			return n, run.Sleep(time.Hour)
		})
		time.Sleep(time.Minute)
		record, err := job.Get(t.Context())
		if err != nil || record.State != store.Retryable || !strings.Contains(record.Error, "run.Sleep") {
			t.Fatalf("%v (%s: %s), %v", record.State, record.Reason, record.Error, err)
		}
		mended.Store(true)
		if got := result(f, job); got != 7 || undone.Load() {
			t.Errorf("%d, undone: %v", got, undone.Load())
		}
		if got := f.kinds(job.ID); got != "step 1, timer 2" {
			t.Error(got)
		}
	})
}

// TestMisuseInCompensation: it is a failure of the compensation, which is retried.
func TestMisuseInCompensation(t *testing.T) {
	t.Parallel()
	for name, wrong := range map[string]func(outer, run *holdfast.Run) error{
		"the run around it": func(outer, _ *holdfast.Run) error { _, err := outer.Now(); return err },
		"the run around it, in a step": func(outer, run *holdfast.Run) error {
			_, err := holdfast.Step(run, "refund", func(context.Context) (int, error) { return 1, outer.Sleep(time.Hour) },
				holdfast.MaxAttempts(3))
			return err
		},
		"in a step": func(_, run *holdfast.Run) error {
			_, err := holdfast.Step(run, "refund", func(context.Context) (int, error) {
				_ = run.Sleep(time.Hour)
				return 1, nil
			})
			return err
		},
		"dropped": func(_, run *holdfast.Run) error {
			_, _ = holdfast.Step(run, "refund", func(context.Context) (int, error) { return 1, run.Sleep(time.Hour) })
			return nil
		},
		"another compensation": func(_, run *holdfast.Run) error {
			return run.OnFailure("again", func(*holdfast.Run) error { return nil })
		},
		"a new beginning": func(_, run *holdfast.Run) error { return continueAsNew(run, 1) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inFlow(t, func(t *testing.T, f *flow) {
				tries := 0
				job := begin(f, 0, func(run *holdfast.Run, _ int) (int, error) {
					err := run.OnFailure("undo", func(own *holdfast.Run) error {
						if tries++; tries < 3 {
							return wrong(run, own)
						}
						_, err := holdfast.Step(own, "refund", func(context.Context) (int, error) { return 1, nil })
						return err
					})
					if err != nil {
						return 0, err
					}
					return 0, holdfast.Fail(errors.New("enough"))
				})
				if _, err := job.Wait(t.Context()); err == nil || strings.Contains(err.Error(), "compensation") {
					t.Errorf("%v", err)
				}
				if tries != 3 {
					t.Errorf("it was tried %d times", tries)
				}
				if got := f.kinds(job.ID); got != "closing ~, step retry ~1, step retry ~1, step ~1.1, compensated ~1" {
					t.Error(got)
				}
			})
		})
	}
}

// TestMisuseThatBeganFirst: the handler's operation is refused, and what the other one has recorded
// is dropped.
func TestMisuseThatBeganFirst(t *testing.T) {
	t.Parallel()
	inFlow(t, func(t *testing.T, f *flow) {
		var mended atomic.Bool
		job := begin(f, 0, func(run *holdfast.Run, _ int) (int, error) {
			beside, err := holdfast.Go(run, "beside", func(own *holdfast.Run) (int, error) {
				if mended.Load() {
					return 7, own.Sleep(time.Hour)
				}
				return 7, run.Sleep(time.Hour)
			})
			if err != nil {
				return 0, err
			}
			<-time.After(time.Second)
			return beside.Wait(run)
		}, holdfast.MaxAttempts(1))
		if _, err := job.Wait(t.Context()); err == nil || !strings.Contains(err.Error(), "Future.Await was called while run.Sleep") {
			t.Fatal(err)
		}
		if got := f.kinds(job.ID); got != "" {
			t.Errorf("the journal holds %s", got)
		}
		mended.Store(true)
		if results, err := f.hf.Retry(t.Context(), "", job.ID); err != nil || results[0].Err != nil {
			t.Fatal(results, err)
		}
		if got := result(f, job); got != 7 {
			t.Error(got)
		}
		if got := f.kinds(job.ID); got != "timer 1.1" {
			t.Errorf("the journal holds %s", got)
		}
	})
}

// TestMisuseOfStrands: a misuse in one strand ends the waits of the others, and their results stay
// recorded.
func TestMisuseOfStrands(t *testing.T) {
	t.Parallel()
	inFlow(t, func(t *testing.T, f *flow) {
		var mended atomic.Bool
		var right atomic.Int64
		job := begin(f, 0, func(run *holdfast.Run, _ int) (int, error) {
			inside := make(chan struct{})
			beside, err := holdfast.Go(run, "right", func(run *holdfast.Run) (int64, error) {
				return holdfast.Step(run, "right", func(context.Context) (int64, error) {
					close(inside)
					time.Sleep(time.Minute)
					return right.Add(1), nil
				})
			})
			if err != nil {
				return 0, err
			}
			_, err = holdfast.Go(run, "wrong", func(run *holdfast.Run) (int, error) {
				return holdfast.Step(run, "wrong", func(context.Context) (int, error) {
					if !mended.Load() {
						<-inside
						_ = run.Sleep(time.Hour)
					}
					return 1, nil
				})
			})
			if err != nil {
				return 0, err
			}
			// It would wait for ever.
			if !mended.Load() {
				if _, err := misuseSignal.Wait(run); err != nil {
					<-time.After(2 * time.Minute)
					return 0, err
				}
			}
			n, err := beside.Wait(run)
			return int(n), err
		})
		time.Sleep(5 * time.Second)
		record, err := job.Get(t.Context())
		if err != nil || record.State != store.Running {
			t.Fatalf("%v, %v", record.State, err)
		}
		time.Sleep(2*time.Minute - 4*time.Second)
		if record, err = job.Get(t.Context()); err != nil || !strings.Contains(record.Error, "run.Sleep") {
			t.Fatalf("%v (%s), %v", record.State, record.Error, err)
		}
		if got := f.kinds(job.ID); got != "step 1.1" {
			t.Error(got)
		}
		mended.Store(true)
		if got := result(f, job); got != 1 {
			t.Errorf("what was right ran %d times", got)
		}
	})
}

// TestMisuseOfCancelled: cancelling the job does not hide the mistake in its code.
func TestMisuseOfCancelled(t *testing.T) {
	t.Parallel()
	inFlow(t, func(t *testing.T, f *flow) {
		job := begin(f, 0, func(run *holdfast.Run, _ int) (int, error) {
			return holdfast.Step(run, "outer", func(ctx context.Context) (int, error) {
				<-ctx.Done()
				return 0, run.Sleep(time.Hour)
			})
		})
		time.Sleep(time.Second)
		if _, err := f.hf.Cancel(t.Context(), "enough", job.ID); err != nil {
			t.Fatal(err)
		}
		_, err := job.Wait(t.Context())
		if !errors.Is(err, holdfast.ErrCancelled) || !strings.Contains(err.Error(), "enough") || !strings.Contains(err.Error(), "run.Sleep") {
			t.Error(err)
		}
	})
}

// TestUsesThatLookLikeMisuse: they are correct.
func TestUsesThatLookLikeMisuse(t *testing.T) {
	t.Parallel()
	inFlow(t, func(t *testing.T, f *flow) {
		other := holdfast.NewKind[int, int]("other")
		if err := other.Handle(f.hf, func(_ *holdfast.Run, n int) (int, error) { return n, nil }); err != nil {
			t.Fatal(err)
		}
		var deferred atomic.Int64
		job := begin(f, 0, func(run *holdfast.Run, _ int) (sum int, err error) {
			// Deferred functions run when the run parks, and when it returns.
			defer func() {
				deferred.Add(1)
				if published := run.Publish("deferred", 1); err == nil {
					err = published
				}
			}()
			n, err := holdfast.Step(run, "harmless", func(ctx context.Context) (int, error) {
				run.Progress(50, "half")
				run.Logger(slog.New(slog.DiscardHandler)).Info("half")
				key, err := run.IdempotencyKey("harmless")
				if err != nil || key == "" {
					return 0, err
				}
				if _, err := run.IdempotencyKey(""); !errors.Is(err, holdfast.ErrInvalid) {
					return 0, fmt.Errorf("the key of no name: %w", err)
				}
				if err := run.SaveCheckpoint(1); err != nil {
					return 0, err
				}
				job, err := other.Enqueue(ctx, run.Client(), 2)
				if err != nil {
					return 0, err
				}
				if _, err := misuseSignal.Send(ctx, run.Client(), run.ID(), 3); err != nil {
					return 0, err
				}
				return job.Wait(ctx)
			})
			if err != nil {
				return 0, err
			}
			sum += n
			var beside []holdfast.Waitable
			var futures []*holdfast.Future[int]
			for i := range 5 {
				future, err := holdfast.Go(run, "beside", func(run *holdfast.Run) (int, error) {
					for range 10 {
						if err := run.Sleep(time.Duration(i) * time.Minute); err != nil {
							return 0, err
						}
						if _, err := holdfast.Step(run, "step", func(context.Context) (int, error) { return 1, nil }); err != nil {
							return 0, err
						}
					}
					// A strand waits for a future made by another one.
					if i > 0 {
						return futures[i-1].Wait(run)
					}
					return 10, nil
				})
				if err != nil {
					return 0, err
				}
				futures, beside = append(futures, future), append(beside, future)
			}
			if _, err := holdfast.Select(run, beside...); err != nil {
				return 0, err
			}
			n, err = misuseSignal.Wait(run)
			if err != nil {
				return 0, err
			}
			sum += n
			n, err = futures[4].Wait(run)
			return sum + n, err
		})
		if got := result(f, job); got != 2+3+10 {
			t.Error(got)
		}
		if deferred.Load() < 2 {
			t.Error("it was not parked")
		}
	})
}
