package holdfast_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/store"
)

// diary has what happened, in order.
type diary struct {
	mu    sync.Mutex
	lines []string
}

func (d *diary) note(line string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lines = append(d.lines, line)
}

func (d *diary) String() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return strings.Join(d.lines, ", ")
}

// tender is a kind whose jobs sleep for very long, and take an hour to undo that.
func tender(f *flow, d *diary) holdfast.Kind[string, int] {
	f.t.Helper()
	kind := holdfast.NewKind[string, int]("tender")
	err := kind.Handle(f.hf, func(run *holdfast.Run, name string) (int, error) {
		err := run.OnFailure("undo", func(run *holdfast.Run) error {
			if err := run.Sleep(time.Hour); err != nil {
				return err
			}
			return holdfast.Do(run, "undo", func(context.Context) error { d.note(name + " undone"); return nil })
		})
		if err != nil {
			return 0, err
		}
		return 0, run.Sleep(1000 * time.Hour)
	})
	if err != nil {
		f.t.Fatal(err)
	}
	return kind
}

// TestCancelAndWait: the children with that policy have ended before their parent compensates, and
// it ends after that; others end afterwards.
func TestCancelAndWait(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fail  bool // the parent fails by itself
		again bool // it continues as new after it has started the children
		undo  bool // it has something to undo
	}{
		"cancelled": {undo: true}, "failed": {fail: true, undo: true}, "nothing to undo": {}, "failed with nothing to undo": {fail: true},
		"of an earlier generation": {again: true, undo: true}, "of an earlier generation, with nothing to undo": {again: true, fail: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inFlow(t, func(t *testing.T, f *flow) {
				var d diary
				children := tender(f, &d)
				var ids sync.Map
				start := func(run *holdfast.Run) error {
					policies := []store.ClosePolicy{store.CancelAndWait, store.CancelAndWait, store.CancelChild, store.AbandonChild}
					for i, name := range []string{"first", "second", "other", "free"} {
						child, err := children.Start(run, name, holdfast.OnParentClose(policies[i]))
						if err != nil {
							return err
						}
						ids.Store(name, child.ID)
					}
					return nil
				}
				parent := begin(f, 0, func(run *holdfast.Run, round int) (int, error) {
					if c.undo {
						err := run.OnFailure("undo", func(run *holdfast.Run) error {
							return holdfast.Do(run, "undo", func(context.Context) error { d.note("parent undone"); return nil })
						})
						if err != nil {
							return 0, err
						}
					}
					if round == 0 {
						if err := start(run); err != nil {
							return 0, err
						}
						if c.again {
							return 0, continueAsNew(run, 1)
						}
					}
					if err := run.Sleep(time.Hour); err != nil {
						return 0, err
					}
					if c.fail {
						return 0, holdfast.Fail(errors.New("it failed"))
					}
					return 0, run.Sleep(1000 * time.Hour)
				})
				time.Sleep(2 * time.Hour)
				if !c.fail {
					if err := parent.Cancel(t.Context(), "not needed"); err != nil {
						t.Fatal(err)
					}
				}
				why := map[bool]string{true: "it failed", false: "not needed"}[c.fail]
				if _, err := parent.Wait(t.Context()); err == nil || !strings.Contains(err.Error(), why) {
					t.Errorf("the parent: %v", err)
				}
				d.note("parent ended")
				time.Sleep(2 * time.Hour)
				lines := strings.Split(d.String(), ", ")
				slices.Sort(lines[:2])
				want := "first undone, second undone, parent undone, parent ended, other undone"
				if !c.undo {
					want = "first undone, second undone, parent ended, other undone"
				}
				if got := strings.Join(lines, ", "); got != want {
					t.Errorf("%s\nwant %s", got, want)
				}
				for name, state := range map[string]store.State{
					"first": store.Cancelled, "second": store.Cancelled, "other": store.Cancelled, "free": store.Waiting,
				} {
					id, _ := ids.Load(name)
					record, err := f.hf.Get(t.Context(), id.(holdfast.ID)) //nolint:errcheck,forcetypeassert // an id
					if err != nil || record.State != state {
						t.Errorf("%s is %v, %v", name, record.State, err)
					}
					if name == "first" && len(record.Actions) != 0 {
						t.Errorf("actions of people: %+v", record.Actions)
					}
				}
			})
		})
	}
}

// TestCancelAndWaitOfACompletedParent: it does not wait.
func TestCancelAndWaitOfACompletedParent(t *testing.T) {
	t.Parallel()
	inFlow(t, func(t *testing.T, f *flow) {
		var d diary
		children := tender(f, &d)
		parent := begin(f, 0, func(run *holdfast.Run, _ int) (holdfast.ID, error) {
			child, err := children.Start(run, "child", holdfast.OnParentClose(store.CancelAndWait))
			if err != nil {
				return holdfast.ID{}, err
			}
			return child.ID, run.Sleep(time.Hour)
		})
		child := result(f, parent)
		if d.String() != "" {
			t.Error(&d)
		}
		if err := f.hf.Wait(t.Context(), child); !errors.Is(err, holdfast.ErrCancelled) || d.String() != "child undone" {
			t.Errorf("%v, %s", err, &d)
		}
	})
}

// TestCancelAndWaitGoesOn: while the parent waits for its children it is parked, says so, and may
// be terminated.
func TestCancelAndWaitGoesOn(t *testing.T) {
	t.Parallel()
	inFlow(t, func(t *testing.T, f *flow) {
		var d diary
		children := tender(f, &d)
		parent := begin(f, 0, func(run *holdfast.Run, _ int) (int, error) {
			if _, err := children.Start(run, "child", holdfast.OnParentClose(store.CancelAndWait)); err != nil {
				return 0, err
			}
			return 0, run.Sleep(1000 * time.Hour)
		})
		time.Sleep(time.Hour)
		if err := parent.Cancel(t.Context(), "not needed"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		record, err := parent.Get(t.Context())
		if err != nil || record.State != store.Waiting || !record.Closing {
			t.Fatalf("%+v, %v", record, err)
		}
		if !strings.Contains(string(record.Wait.For), "the end of 1 child that it has cancelled") {
			t.Errorf("it waits for %s", record.Wait.For)
		}
		if err := f.hf.ContinueAsNew(t.Context(), "", parent.ID, nil); !errors.Is(err, holdfast.ErrConflict) {
			t.Errorf("it continues as new while it ends: %v", err)
		}
		if _, err := f.hf.Terminate(t.Context(), "now", parent.ID); err != nil {
			t.Fatal(err)
		}
		if err := f.hf.Wait(t.Context(), parent.ID); !errors.Is(err, holdfast.ErrCancelled) || d.String() != "" {
			t.Errorf("%v, %s", err, &d)
		}
	})
}

// TestContinueAsNewByPeople: the job starts over with other args, and knows which generation it is.
func TestContinueAsNewByPeople(t *testing.T) {
	t.Parallel()
	inFlow(t, func(t *testing.T, f *flow) {
		ask := holdfast.NewUpdate[int, string]("ask")
		job := begin(f, "first", func(run *holdfast.Run, name string) (string, error) {
			err := ask.Handle(run, nil, func(_ *holdfast.Run, n int) (string, error) { return fmt.Sprint(name, " ", n), nil })
			if err != nil {
				return "", err
			}
			said, err := holdfast.Step(run, "say", func(context.Context) (string, error) { return "I am " + name, nil })
			if err != nil {
				return "", err
			}
			if _, err = goOn.Wait(run); err == nil && name == "fails" {
				err = holdfast.Fail(errors.New("it fails"))
			}
			return said, err
		})
		if _, err := ask.Call(t.Context(), f.hf, job.ID, 1, holdfast.DedupKey("one")); err != nil {
			t.Fatal(err)
		}
		again := func(args string) {
			t.Helper()
			var data []byte
			if args != "" {
				data = []byte(args)
			}
			time.Sleep(time.Minute) // it is parked
			ada, err := f.hf.As("ada")
			if err != nil {
				t.Fatal(err)
			}
			if err := ada.ContinueAsNew(t.Context(), "mended", job.ID, data); err != nil {
				t.Fatal(err)
			}
		}
		again(`"fails"`)
		if said, err := ask.Call(t.Context(), f.hf, job.ID, 2, holdfast.DedupKey("two")); said != "fails 2" || err != nil {
			t.Errorf("%s, %v", said, err)
		}
		if said, err := ask.Call(t.Context(), f.hf, job.ID, 1, holdfast.DedupKey("one")); said != "first 1" || err != nil {
			t.Errorf("the same id has another answer after it has continued as new: %s, %v", said, err)
		}
		if _, err := goOn.Send(t.Context(), f.hf, job.ID, ""); err != nil {
			t.Fatal(err)
		}
		if _, err := job.Wait(t.Context()); !errors.Is(err, holdfast.ErrFailed) {
			t.Fatal(err)
		}
		again("")
		time.Sleep(time.Minute)
		again(`"last"`)
		if _, err := goOn.Send(t.Context(), f.hf, job.ID, ""); err != nil {
			t.Fatal(err)
		}
		if got := result(f, job); got != "I am last" {
			t.Error(got)
		}
		entries, err := f.hf.JournalEntries(t.Context(), job.ID, 0, 100)
		if err != nil || len(entries) != 3 || entries[0].Kind != "continued" || string(entries[0].Data) != `{"times":3}` {
			t.Errorf("%+v, %v", entries, err)
		}
		record, err := job.Get(t.Context())
		last := record.Actions[len(record.Actions)-1]
		if err != nil || last.Kind != store.ActionContinue || last.Actor != "ada" || last.Reason != "mended" {
			t.Errorf("%+v, %v", record.Actions, err)
		}
		for what, err := range map[string]error{
			"a completed job":     f.hf.ContinueAsNew(t.Context(), "", job.ID, nil),
			"a job that is not":   f.hf.ContinueAsNew(t.Context(), "", holdfast.NewID(), nil),
			"args that are wrong": f.hf.ContinueAsNew(t.Context(), "", job.ID, []byte("{")),
		} {
			want := map[string]error{
				"a completed job": holdfast.ErrConflict, "a job that is not": holdfast.ErrNotFound, "args that are wrong": holdfast.ErrInvalid,
			}[what]
			if !errors.Is(err, want) {
				t.Errorf("%s: %v", what, err)
			}
		}
	})
}

// TestCancelAndWaitOfAHandedOverParent: one that is failed from outside waits, too.
func TestCancelAndWaitOfAHandedOverParent(t *testing.T) {
	t.Parallel()
	inFlow(t, func(t *testing.T, f *flow) {
		var d diary
		children := tender(f, &d)
		parent := begin(f, 0, func(run *holdfast.Run, _ int) (int, error) {
			if _, err := children.Start(run, "child", holdfast.OnParentClose(store.CancelAndWait)); err != nil {
				return 0, err
			}
			return 0, holdfast.HandOver(0)
		})
		time.Sleep(time.Hour)
		if err := f.hf.Fail(t.Context(), parent.ID, errors.New("the bank said no")); err != nil {
			t.Fatal(err)
		}
		if err := f.hf.Wait(t.Context(), parent.ID); !errors.Is(err, holdfast.ErrFailed) || d.String() != "child undone" {
			t.Errorf("%v, %s", err, &d)
		}
	})
}

// TestTreesOnDatabases: what a cancel has done is told job by job, the parent compensates when its
// children have, and a person lets a job start over.
func TestTreesOnDatabases(t *testing.T) {
	t.Parallel()
	onDatabases(t, func(t *testing.T, source store.Source) {
		ctx := t.Context()
		hf := openOn(t, source)
		var d diary
		undoes := func(run *holdfast.Run, name string, slow bool) error {
			return run.OnFailure("undo", func(run *holdfast.Run) error {
				if slow {
					if err := run.Sleep(60 * time.Millisecond); err != nil { // it is parked
						return err
					}
				}
				return holdfast.Do(run, "undo", func(context.Context) error { d.note(name + " undone"); return nil })
			})
		}
		child := holdfast.NewKind[string, int]("child")
		err := child.Handle(hf, func(run *holdfast.Run, name string) (int, error) {
			if err := undoes(run, name, true); err != nil {
				return 0, err
			}
			return 0, run.Sleep(1000 * time.Hour)
		})
		if err != nil {
			t.Fatal(err)
		}
		parent := holdfast.NewKind[string, string]("parent")
		err = parent.Handle(hf, func(run *holdfast.Run, name string) (string, error) {
			if name != "parent" {
				_, err := goOn.Wait(run)
				return "I am " + name, err
			}
			if err := undoes(run, name, false); err != nil {
				return "", err
			}
			for _, name := range []string{"first", "second"} {
				if _, err := child.Start(run, name, holdfast.OnParentClose(store.CancelAndWait)); err != nil {
					return "", err
				}
			}
			return "", run.Sleep(1000 * time.Hour)
		})
		if err != nil {
			t.Fatal(err)
		}
		run(t, hf)
		enqueue := func(name string, opts ...holdfast.EnqueueOption) *holdfast.Job[string] {
			t.Helper()
			job, err := parent.Enqueue(ctx, hf, name, opts...)
			if err != nil {
				t.Fatal(err)
			}
			return job
		}
		waits := func(id holdfast.ID) func() bool {
			return func() bool { record, err := hf.Get(ctx, id); return err == nil && record.State == store.Waiting }
		}
		tree, other, later := enqueue("parent"), enqueue("astray"), enqueue("later", holdfast.Delay(time.Hour))
		for _, job := range []*holdfast.Job[string]{tree, other} {
			eventually(t, "it waits", waits(job.ID))
		}

		if err := hf.ContinueAsNew(ctx, "it went astray", other.ID, []byte(`"mended"`)); err != nil {
			t.Fatal(err)
		}
		if _, err := goOn.Send(ctx, hf, other.ID, ""); err != nil {
			t.Fatal(err)
		}
		if said, err := other.Wait(ctx); said != "I am mended" || err != nil {
			t.Errorf("%q, %v", said, err)
		}

		missing := holdfast.NewID()
		results, err := hf.Cancel(ctx, "not needed", tree.ID, missing, other.ID, later.ID)
		if err != nil || len(results) != 4 {
			t.Fatalf("%+v, %v", results, err)
		}
		for i, want := range []store.Result{
			{Job: tree.ID, State: store.Available}, // its next run ends it
			{Job: missing, Err: store.ErrNotFound},
			{Job: other.ID, State: store.Completed},
			{Job: later.ID, State: store.Cancelled, Ended: true},
		} {
			got := results[i]
			if got.Job != want.Job || got.State != want.State || got.Ended != want.Ended || !errors.Is(got.Err, want.Err) {
				t.Errorf("result %d is %+v, want %+v", i, got, want)
			}
		}
		if _, err := tree.Wait(ctx); !errors.Is(err, holdfast.ErrCancelled) {
			t.Error(err)
		}
		lines := strings.Split(d.String(), ", ")
		if len(lines) == 3 {
			slices.Sort(lines[:2])
		}
		if got := strings.Join(lines, ", "); got != "first undone, second undone, parent undone" {
			t.Error(got)
		}
	})
}
