package holdfast_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/model"
)

// enqueueMiddleware is what WithEnqueueMiddleware takes.
type enqueueMiddleware = func(ctx context.Context, jobs []*store.Job, next func(context.Context) error) error

// changing is a middleware that gives each child other args and another queue, whenever it is
// called.
type changing struct{ calls atomic.Int64 }

func (c *changing) around(ctx context.Context, jobs []*store.Job, next func(context.Context) error) error {
	if _, ok := holdfast.RunFrom(ctx); ok {
		for _, job := range jobs {
			job.Args, job.Queue = json.RawMessage(strconv.FormatInt(c.calls.Add(1), 10)), "changed"
		}
	}
	return next(ctx)
}

var (
	changedParent = holdfast.NewKind[int, []int]("changed parent")
	changedChild  = holdfast.NewKind[int, int]("changed child")
)

// changeChildren starts children, whose args a middleware changes, in processes that die at the
// given writes, and returns how many writes the last one has made.
func changeChildren(t *testing.T, deaths []death) (writes int) {
	t.Helper()
	st, c, id := model.New(time.Now), &changing{}, holdfast.NewID()
	for n := 0; n <= len(deaths); n++ {
		m := &mortal{Store: st, left: -1, died: make(chan struct{})}
		if n < len(deaths) {
			m.left, m.after = deaths[n].write, deaths[n].after
		}
		ended := inProcess(t, m, id, func(ctx context.Context, hf *holdfast.Client) {
			err := errors.Join(changedChild.Handle(hf, func(_ *holdfast.Run, n int) (int, error) { return n, nil }),
				changedParent.Handle(hf, func(run *holdfast.Run, n int) ([]int, error) {
					child, err := changedChild.Start(run, n)
					if err != nil {
						return nil, err
					}
					if err := run.Sleep(time.Minute); err != nil {
						return nil, err
					}
					one, err := child.Wait(run)
					if err != nil {
						return nil, err
					}
					results, err := changedChild.CallAll(run, []int{n, n, n}, holdfast.FanOut{AtOnce: 2})
					all := []int{one}
					for _, r := range results {
						all = append(all, r.Value)
						err = errors.Join(err, r.Err)
					}
					return all, err
				}))
			if err != nil {
				t.Fatal(err)
			}
			_, _ = changedParent.Enqueue(ctx, hf, 0, holdfast.JobID(id), holdfast.MaxAttempts(1000)) // a dead process fails
		}, holdfast.WithEnqueueMiddleware(c.around), holdfast.WithQueue("changed", 2), holdfast.WithQueue("default", 2))
		if writes = m.writes; ended {
			break
		}
	}
	record, err := st.Get(t.Context(), "", id)
	var results []int
	if err != nil || json.Unmarshal(record.Result, &results) != nil || len(results) != 4 {
		t.Fatalf("the parent is %s with %s, %v", record.State, record.Result, err)
	}
	children, err := st.List(t.Context(), store.ListParams{Filter: store.Filter{Parent: id}, Limit: 100})
	if err != nil || len(children.Jobs) != 4 {
		t.Fatalf("it has %d children, %v", len(children.Jobs), err)
	}
	args := map[string]bool{}
	for _, r := range children.Jobs {
		if args[string(r.Args)] = true; r.Queue != "changed" || r.State != store.Completed {
			t.Errorf("a child is %s in queue %s", r.State, r.Queue)
		}
	}
	for _, n := range results {
		if !args[strconv.Itoa(n)] {
			t.Errorf("the parent was answered %v, and its children had the args %v", results, args)
		}
	}
	return writes
}

// TestChildrenThatAreChanged kills the process at every write in turn, before it and after it: the
// children that are there are those that the parent remembers, whatever the middleware would make
// of them the next time.
func TestChildrenThatAreChanged(t *testing.T) {
	t.Parallel()
	writes := 0
	synctest.Test(t, func(t *testing.T) { writes = changeChildren(t, nil) })
	for write := range writes {
		for _, after := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) { changeChildren(t, []death{{write, after}, {write / 2, !after}}) })
			if t.Failed() {
				t.Fatalf("death at write %d, after it %v", write, after)
			}
		}
	}
}

// TestChildrenThatAreRefused: a middleware that gives a child a business key, fails, does not call
// next, panics or ends its goroutine fails the attempt, also of a handler that goes on from that,
// and the next attempt starts the child. No child is there before, and the run is not held.
func TestChildrenThatAreRefused(t *testing.T) {
	t.Parallel()
	errClosed := errors.New("closed on Sundays")
	starts := map[string]func(run *holdfast.Run, kind holdfast.Kind[int, int]) (int, error){
		"Start": func(run *holdfast.Run, kind holdfast.Kind[int, int]) (int, error) { return kind.Call(run, 1) },
		"CallAll": func(run *holdfast.Run, kind holdfast.Kind[int, int]) (int, error) {
			results, err := kind.CallAll(run, []int{1, 1, 1}, holdfast.FanOut{})
			if err != nil {
				return 0, err
			}
			return results[2].Value, results[2].Err
		},
	}
	for name, refuse := range map[string]enqueueMiddleware{
		"a business key": func(ctx context.Context, jobs []*store.Job, next func(context.Context) error) error {
			jobs[0].Options.Key = "order-42"
			return next(ctx)
		},
		"an error": func(context.Context, []*store.Job, func(context.Context) error) error { return errClosed },
		"no next":  func(context.Context, []*store.Job, func(context.Context) error) error { return nil },
		"a panic":  func(context.Context, []*store.Job, func(context.Context) error) error { panic(errClosed) },
		"wrong args": func(ctx context.Context, jobs []*store.Job, next func(context.Context) error) error {
			jobs[0].Args = json.RawMessage(`{`)
			return next(ctx)
		},
		"an error after next": func(ctx context.Context, _ []*store.Job, next func(context.Context) error) error {
			return errors.Join(next(ctx), errClosed)
		},
	} {
		for how, start := range starts {
			for _, goesOn := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s, %s, goes on %t", name, how, goesOn), func(t *testing.T) {
					t.Parallel()
					inFlow(t, func(t *testing.T, f *flow) {
						var passed atomic.Int64
						f.close()
						f.open(holdfast.WithEnqueueMiddleware(func(ctx context.Context, jobs []*store.Job, next func(context.Context) error) error {
							run, ok := holdfast.RunFrom(ctx)
							if ok && run.Attempt() == 1 && (how == "Start" || passed.Add(1) == 2) {
								return refuse(ctx, jobs, next)
							}
							return next(ctx)
						}))
						if err := quick.Handle(f.hf, func(_ *holdfast.Run, n int) (int, error) { return n, nil }); err != nil {
							t.Fatal(err)
						}
						var fallbacks atomic.Int64
						job := begin(f, 0, func(run *holdfast.Run, _ int) (int, error) {
							if _, err := holdfast.Step(run, "before", func(context.Context) (int, error) { return 1, nil }); err != nil {
								return 0, err
							}
							n, err := recovered(goesOn, func() (int, error) { return start(run, quick) })
							if err != nil && !goesOn {
								return 0, err
							}
							if err != nil {
								n, err = holdfast.Step(run, "fallback", func(context.Context) (int, error) {
									fallbacks.Add(1)
									return 2, nil
								})
								if err != nil {
									return 0, err
								}
							}
							return n, run.Sleep(time.Hour) // and a replay
						})
						if n := result(f, job); n != 1 {
							t.Errorf("the result is %d", n)
						}
						record, err := job.Get(t.Context())
						if err != nil || len(record.Attempts) != 1 {
							t.Fatalf("%+v, %v", record.Attempts, err)
						}
						if text := record.Attempts[0].Error; !strings.Contains(text, map[string]string{
							"a business key": "a child cannot have a business key", "no next": "nor called next", "wrong args": "args",
						}[name]) {
							t.Errorf("the first attempt ended with %s: %s", record.Attempts[0].Reason, text)
						}
						page, err := f.hf.List(t.Context(), store.Filter{Parent: job.ID}, "", 10)
						if want := map[string]int{"Start": 1, "CallAll": 3}[how]; err != nil || len(page.Jobs) != want || fallbacks.Load() != 0 {
							t.Errorf("it has %d children and has gone on %d times, %v", len(page.Jobs), fallbacks.Load(), err)
						}
					})
				})
			}
		}
	}
}

// recovered makes an error of a panic, for a handler that goes on from it.
func recovered(goesOn bool, f func() (int, error)) (n int, err error) {
	if goesOn {
		defer func() {
			if p := recover(); p != nil {
				err = fmt.Errorf("it panicked: %v", p)
			}
		}()
	}
	return f()
}

// TestEnqueueMiddlewareThatPanics: the panic is the caller's, and leaves nothing that the next
// enqueue, or the transaction, would meet.
func TestEnqueueMiddlewareThatPanics(t *testing.T) {
	t.Parallel()
	onDatabasesWithTx(t, func(t *testing.T, source store.Source, begin func(t *testing.T) (*sql.Tx, store.Tx)) {
		ctx := t.Context()
		panics := true
		hf := openOn(t, source, holdfast.WithEnqueueMiddleware(
			func(ctx context.Context, _ []*store.Job, next func(context.Context) error) error {
				if panics {
					panic("broken")
				}
				return next(ctx)
			}))
		kind, signal := holdfast.NewKind[int, int]("panics"), holdfast.NewSignal[int]("panics")
		item := kind.Item(1, holdfast.Key("key"))
		caught := func(name string, enqueue func() error) {
			t.Helper()
			defer func() {
				if p := recover(); p != "broken" {
					t.Errorf("%s: the panic is %v", name, p)
				}
			}()
			t.Errorf("%s: it returned %v", name, enqueue())
		}
		caught("one", func() error { _, err := kind.Enqueue(ctx, hf, 1); return err })
		caught("many", func() error { _, err := kind.EnqueueMany(ctx, hf, []int{1, 2}); return err })
		caught("a batch", func() error { _, err := hf.EnqueueBatch(ctx, []holdfast.BatchItem{item}); return err })
		caught("send or start", func() error { _, err := signal.SendOrStart(ctx, hf, item, 1); return err })
		tx, wrapped := begin(t)
		caught("a transaction", func() error { _, err := kind.EnqueueTx(ctx, hf, wrapped, 1); return err })
		panics = false
		if _, err := kind.EnqueueTx(ctx, hf, wrapped, 1); err != nil {
			t.Error(err)
		}
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
		if sent, err := signal.SendOrStart(ctx, hf, item, 1); err != nil || !sent.Started {
			t.Errorf("%+v, %v", sent, err)
		}
		if page, err := hf.List(ctx, store.Filter{}, "", 10); err != nil || len(page.Jobs) != 2 {
			t.Errorf("%d jobs were stored, %v", len(page.Jobs), err)
		}
	})
}

// TestEnqueuesWithinEnqueues: a middleware that notes each enqueue with a job of another namespace
// is called for that one as well, in a run as elsewhere, and a replay of the run enqueues nothing
// again.
func TestEnqueuesWithinEnqueues(t *testing.T) {
	t.Parallel()
	onDatabases(t, func(t *testing.T, source store.Source) {
		ctx := t.Context()
		note := holdfast.NewKind[string, int]("note")
		var audit *holdfast.Client
		var mu sync.Mutex
		var passed []string
		hf := openOn(t, source, holdfast.WithEnqueueMiddleware(
			func(ctx context.Context, jobs []*store.Job, next func(context.Context) error) error {
				mu.Lock()
				passed = append(passed, jobs[0].Namespace+" "+jobs[0].Kind)
				mu.Unlock()
				if jobs[0].Namespace == "audit" {
					return next(ctx)
				}
				_, err := note.Enqueue(ctx, audit, jobs[0].Kind)
				return errors.Join(err, next(ctx))
			}))
		tenant, err := hf.In("tenant")
		if err != nil {
			t.Fatal(err)
		}
		if audit, err = hf.In("audit"); err != nil {
			t.Fatal(err)
		}
		err = errors.Join(
			quick.Handle(tenant, func(_ *holdfast.Run, n int) (int, error) { return n, nil }),
			changedParent.Handle(tenant, func(run *holdfast.Run, n int) ([]int, error) {
				n, err := quick.Call(run, n)
				return []int{n}, errors.Join(err, run.Sleep(60*time.Millisecond))
			}))
		if err != nil {
			t.Fatal(err)
		}
		run(t, tenant)
		job, err := changedParent.Enqueue(ctx, tenant, 7)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := job.Wait(ctx); err != nil || len(got) != 1 || got[0] != 7 {
			t.Errorf("%v, %v", got, err)
		}
		children, err := tenant.List(ctx, store.Filter{Parent: job.ID}, "", 10)
		if err != nil || len(children.Jobs) != 1 || children.Jobs[0].Namespace != "tenant" {
			t.Errorf("its children: %+v, %v", children.Jobs, err)
		}
		notes, err := audit.List(ctx, store.Filter{}, "", 10)
		if err != nil || len(notes.Jobs) != 2 {
			t.Errorf("%d notes, %v", len(notes.Jobs), err)
		}
		mu.Lock()
		defer mu.Unlock()
		want := []string{"tenant changed parent", "audit note", "tenant quick", "audit note"}
		if !slices.Equal(passed, want) {
			t.Errorf("the middleware was called with %q, want %q", passed, want)
		}
	})
}
