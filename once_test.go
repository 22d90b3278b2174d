package holdfast_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/saidonce"
	"github.com/holdfastdev/holdfast/store"
)

// TestJobsSayOnceWhyTheyFailed: the error of a wait names the job and the package once, whatever
// the handler has returned.
func TestJobsSayOnceWhyTheyFailed(t *testing.T) {
	t.Parallel()
	handlers := map[string]struct {
		handle func(run *holdfast.Run) error
		says   string
	}{
		"an error":       {func(*holdfast.Run) error { return errors.New("boom") }, "failed (attempts_exhausted): boom"},
		"nothing to say": {func(*holdfast.Run) error { return holdfast.Fail(nil) }, "failed (terminal): failed by its handler"},
		"a panic":        {func(*holdfast.Run) error { panic("boom") }, "failed (attempts_exhausted): panic: boom"},
		"a timeout": {func(run *holdfast.Run) error {
			<-run.Done()
			return context.Cause(run)
		}, "failed (heartbeat): timed out: no heartbeat"},
		"an error of its own job": {func(run *holdfast.Run) error {
			return store.About(run.ID(), "looking at", holdfast.ErrNotFound)
		}, "failed (attempts_exhausted): looking at not found"},
		"a misuse": {func(run *holdfast.Run) error {
			return holdfast.Do(run, "outer", func(context.Context) error { return run.Sleep(1) })
		}, `failed (attempts_exhausted): invalid request: run.Sleep was called during holdfast.Step "outer"`},
		"a step that is late": {func(run *holdfast.Run) error {
			return holdfast.Do(run, "slow", func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() },
				holdfast.Timeout(time.Second))
		}, "failed (attempts_exhausted): step slow: timed out after 1s"},
		"a step that is silent": {func(run *holdfast.Run) error {
			return holdfast.Do(run, "slow", func(ctx context.Context) error { <-ctx.Done(); return context.Cause(ctx) },
				holdfast.HeartbeatTimeout(time.Second))
		}, "failed (attempts_exhausted): step slow: no heartbeat for 1s"},
		"a child that failed": {func(run *holdfast.Run) error {
			_, err := holdfast.NewKind[string, int]("an error", holdfast.MaxAttempts(1)).Call(run, "an error")
			return err
		}, "failed (attempts_exhausted): job "},
		"a full journal": {func(run *holdfast.Run) error {
			for {
				if err := holdfast.Do(run, "step", func(context.Context) error { return nil }); err != nil {
					return err
				}
			}
		}, "failed (terminal): the journal is full: the job has 50 of 50 entries"},
		"a bad message": {func(run *holdfast.Run) error {
			_, err := holdfast.NewSignal[int]("bad").Wait(run)
			return err
		}, `failed (attempts_exhausted): invalid request: cannot decode message 1 (signal "bad")`},
		"a middleware": {
			func(*holdfast.Run) error { return nil }, "failed (attempts_exhausted): invalid request: middleware: next was called twice",
		},
	}
	inFlow(t, func(t *testing.T, f *flow) {
		hf, err := holdfast.Open(t.Context(), memorySource{f.st}, holdfast.WithMaxJournal(50, 1<<20))
		if err != nil {
			t.Fatal(err)
		}
		if err := f.hf.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		f.hf = hf
		twice := func(run *holdfast.Run, next func(*holdfast.Run) error) error {
			if run.Kind() != "a middleware" {
				return next(run)
			}
			return cmp.Or(next(run), next(run))
		}
		for name, c := range handlers {
			kind := holdfast.NewKind[string, int](name)
			err := kind.Handle(hf, func(run *holdfast.Run, _ string) (int, error) { return 1, c.handle(run) },
				holdfast.WithMiddleware(twice), holdfast.HeartbeatTimeout(time.Minute))
			if err != nil {
				t.Fatal(err)
			}
		}
		f.run()
		for name, c := range handlers {
			job, err := holdfast.NewKind[string, int](name).Enqueue(t.Context(), hf, name, holdfast.MaxAttempts(1))
			if err != nil {
				t.Fatal(err)
			}
			if name == "a bad message" {
				if _, err := hf.SendSignal(t.Context(), job.ID, "bad", []byte(`"no number"`)); err != nil {
					t.Fatal(err)
				}
			}
			_, err = job.Wait(t.Context())
			if err == nil || !strings.Contains(err.Error(), "holdfast: job "+job.ID.String()+" "+c.says) {
				t.Errorf("%s says\n     %v\nnot  %s", name, err, c.says)
			} else if twice := saidonce.Twice(err.Error()); twice != "" {
				t.Errorf("%s says %q twice: %v", name, twice, err)
			}
		}
	})
}

// TestCallsSayOnceWhyTheyFailed: so do the errors of calls, of which each layer says its own.
func TestCallsSayOnceWhyTheyFailed(t *testing.T) {
	t.Parallel()
	onDatabases(t, func(t *testing.T, source store.Source) {
		ctx := t.Context()
		hf := openOn(t, source)
		kind := holdfast.NewKind[any, int]("work")
		handle := func(*holdfast.Run, any) (int, error) { return 0, nil }
		if err := kind.Handle(hf, handle); err != nil {
			t.Fatal(err)
		}
		beyond := time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC)
		id := holdfast.NewID()
		if _, err := kind.Enqueue(ctx, hf, 1, holdfast.JobID(id)); err != nil {
			t.Fatal(err)
		}
		in, err := hf.In("other")
		if err != nil {
			t.Fatal(err)
		}
		over, stop := context.WithCancel(ctx)
		stop()
		_, batch := hf.EnqueueBatch(ctx, []holdfast.BatchItem{kind.Item(1, holdfast.Queue("")), kind.Item(make(chan int)), kind.Item(1)})
		_, many := kind.EnqueueMany(ctx, hf, []any{1, make(chan int)})
		for what, err := range map[string]error{
			"a kind without a name":    holdfast.NewKind[int, int]("").Handle(hf, func(*holdfast.Run, int) (int, error) { return 0, nil }),
			"a second handler":         kind.Handle(hf, handle),
			"no handler":               kind.Handle(hf, nil),
			"an option of a handler":   kind.Handle(hf, handle, holdfast.MaxAttempts(0)),
			"args":                     second(kind.Enqueue(ctx, hf, make(chan int))),
			"many args":                many,
			"items":                    batch,
			"a queue":                  second(kind.Enqueue(ctx, hf, 1, holdfast.Queue("\n"))),
			"options":                  second(kind.Enqueue(ctx, hf, 1, holdfast.Options(holdfast.Priority(9)))),
			"a time":                   second(kind.Enqueue(ctx, hf, 1, holdfast.RunAt(beyond))),
			"an id that is taken":      second(kind.Enqueue(ctx, in, 1, holdfast.JobID(id))),
			"a context that has ended": second(kind.Enqueue(over, hf, 1)),
			"a wait that has ended":    hf.Wait(over, id),
			"no transaction":           second(kind.EnqueueTx(ctx, hf, nil, 1)),
			"a signal":                 second(holdfast.NewSignal[int]("").Send(ctx, hf, id, 1)),
			"no node":                  in.Start(ctx),
			"no source":                second(holdfast.Open(ctx, nil)),
			"health":                   hf.Health().Err(),
		} {
			if err == nil {
				t.Errorf("%s is no error", what)
				continue
			}
			if twice := saidonce.Twice(err.Error()); twice != "" {
				t.Errorf("%s says %q twice: %v", what, twice, err)
			}
			t.Logf("%s: %v", what, err)
		}
	})
}

// TestJobErrorSaysOnce: also what a message of another program says.
func TestJobErrorSaysOnce(t *testing.T) {
	t.Parallel()
	id := holdfast.NewID()
	e := &holdfast.JobError{ID: id, State: store.Failed, Reason: store.ReasonError, Message: fmt.Sprintf("holdfast: lease lost: job %s", id)}
	if want := fmt.Sprintf("holdfast: job %s failed (error): lease lost: the job", id); e.Error() != want {
		t.Errorf("%v, and not %s", e, want)
	}
}
