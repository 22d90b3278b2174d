package batch_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/after"
	"github.com/holdfastdev/holdfast/batch"
	"github.com/holdfastdev/holdfast/internal/sqlitetest"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/sqlite"
)

var (
	load   = holdfast.NewKind[string, string]("load", holdfast.MaxAttempts(1))
	report = holdfast.NewKind[string, string]("report")
)

// open returns a client on a file of its own.
func open(t *testing.T) *holdfast.Client {
	t.Helper()
	c, err := holdfast.Open(t.Context(), sqlite.File(sqlitetest.File(t)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return c
}

func get[T any](t *testing.T) func(T, error) T {
	t.Helper()
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// TestBatch: members add members, some fail, and the jobs for the end are told.
func TestBatch(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	c := open(t)
	reported := make(chan string, 10)
	err := errors.Join(
		load.Handle(c, func(run *holdfast.Run, in string) (string, error) {
			switch in {
			case "more":
				b := batch.Of(c, run)
				if _, err := b.Add(run, load.Item("ok"), load.Item("bad")); err != nil {
					return "", err
				}
				return "", b.Close(run)
			case "bad":
				return "", errors.New("it is broken")
			}
			return "", nil
		}),
		report.Handle(c, func(run *holdfast.Run, in string) (string, error) {
			result, ok := batch.Result(run)
			reported <- fmt.Sprintf("%s: %t, %+v", in, ok, result.BatchCounts)
			return "", nil
		}))
	if err != nil {
		t.Fatal(err)
	}
	go c.Run(ctx) //nolint:errcheck // it ends with the test
	b := get[*batch.Batch](t)(batch.New(ctx, c, batch.Name("import"),
		batch.OnFailure(report.Item("failure")), batch.OnSuccess(report.Item("success"))))
	get[[]holdfast.EnqueueResult](t)(b.Add(ctx, load.Item("ok"), load.Item("more")))
	done := get[store.JobBatch](t)(b.Wait(ctx))
	want := store.BatchCounts{Completed: 3, Failed: 1}
	if done.Counts != want || done.Name != "import" {
		t.Errorf("the batch: %+v", done)
	}
	if got, want := <-reported, fmt.Sprintf("failure: true, %+v", want); got != want {
		t.Errorf("reported %q, want %q", got, want)
	}
	members := get[store.Page](t)(c.List(ctx, store.Filter{Batch: b.ID, States: []store.State{store.Failed}}, "", 10))
	if len(members.Jobs) != 1 || string(members.Jobs[0].Args) != `"bad"` || members.Jobs[0].Batch != b.ID {
		t.Errorf("failed members: %+v", members.Jobs)
	}
	var closed *store.BatchClosedError
	_, err = load.Enqueue(ctx, c, "late", batch.Member(b.ID))
	if !errors.As(err, &closed) || closed.Batch != b.ID || !errors.Is(err, holdfast.ErrConflict) {
		t.Errorf("a late one: %v", err)
	}
	select {
	case got := <-reported:
		t.Errorf("reported %q as well", got)
	default:
	}
}

// TestCancel: the members that have not finished are cancelled, and the batch is called back.
func TestCancel(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	c := open(t)
	runs := make(chan struct{})
	err := load.Handle(c, func(run *holdfast.Run, _ string) (string, error) {
		close(runs)
		<-run.Done()
		return "", context.Cause(run)
	})
	if err != nil {
		t.Fatal(err)
	}
	go c.Run(ctx) //nolint:errcheck // it ends with the test
	b := get[*batch.Batch](t)(batch.New(ctx, c, batch.OnEnd(report.Item(""))))
	get[[]holdfast.EnqueueResult](t)(b.Add(ctx, load.Item(""), report.Item(""), load.Item("", holdfast.Delay(time.Hour))))
	<-runs
	if n, err := b.Cancel(ctx, "not needed"); err != nil || n != 3 {
		t.Errorf("Cancel: %d, %v", n, err)
	}
	if done := get[store.JobBatch](t)(b.Wait(ctx)); done.Counts != (store.BatchCounts{Cancelled: 3}) {
		t.Errorf("the batch: %+v", done)
	}
}

// TestRefused: what cannot be, is refused, and nothing is enqueued.
func TestRefused(t *testing.T) {
	t.Parallel()
	ctx, c := t.Context(), open(t)
	for what, opt := range map[string]batch.Option{
		"nil":           nil,
		"it is missing": batch.OnEnd(holdfast.BatchItem{}),
		"unique":        batch.OnEnd(report.Item("", holdfast.Unique{ByArgs: true})),
		"id":            batch.OnEnd(report.Item("", holdfast.JobID(holdfast.NewID()))),
		"batch":         batch.OnEnd(report.Item("", batch.Member(holdfast.NewID()))),
		"option Key":    batch.OnEnd(report.Item("", holdfast.Key("k"))),
		"not valid":     batch.Name("\xff"),
		"limit of 200":  batch.Name(strings.Repeat("n", 201)),
	} {
		if _, err := batch.New(ctx, c, opt); !errors.Is(err, holdfast.ErrInvalid) || !strings.Contains(err.Error(), what) {
			t.Errorf("%s: %v", what, err)
		}
	}
	missing := batch.In(c, holdfast.NewID())
	for what, err := range map[string]error{
		"Close": missing.Close(ctx),
		"Get":   second(batch.Get(ctx, c, missing.ID)),
		"Add":   second(missing.Add(ctx, load.Item(""))),
		"Wait":  second(missing.Wait(ctx)),
	} {
		if !errors.Is(err, holdfast.ErrNotFound) {
			t.Errorf("%s: %v", what, err)
		}
	}
	b := get[*batch.Batch](t)(batch.New(ctx, c))
	if again := get[*batch.Batch](t)(batch.New(ctx, c, batch.ID(b.ID))); again.ID != b.ID {
		t.Errorf("the same once more: %v", again.ID)
	}
	for what, err := range map[string]error{
		"NewTx":       second(batch.NewTx(ctx, c, nil)),
		"CloseTx":     b.CloseTx(ctx, nil),
		"a follow-up": second(load.Enqueue(ctx, c, "", after.End(load.Item("", batch.Member(b.ID))))),
		"an edit":     c.Edit(ctx, "", holdfast.NewID(), batch.Member(b.ID)),
		"no limit":    second(batch.List(ctx, c, store.BatchFilter{})),
	} {
		if !errors.Is(err, holdfast.ErrInvalid) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if all, err := c.List(ctx, store.Filter{}, "", 10); err != nil || len(all.Jobs) != 0 {
		t.Errorf("there are %v, %v", all, err)
	}
}

func second[T any](_ T, err error) error { return err }
