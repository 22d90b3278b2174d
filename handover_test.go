package holdfast_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/store"
)

// handedOver waits until a job is.
func handedOver(t *testing.T, hf *holdfast.Client, id holdfast.ID) (record store.Record) {
	t.Helper()
	eventually(t, "handed over", func() bool {
		var err error
		if record, err = hf.Get(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		return record.State == store.Waiting && record.Wait.HandedOver
	})
	return record
}

// TestHandOver: a job that was handed over is finished from outside as its handler would have.
func TestHandOver(t *testing.T) {
	t.Parallel()
	hf := open(t, holdfast.WithActor("the bank"))
	pay := holdfast.NewKind[order, receipt]("pay")
	var called atomic.Int64
	handle := func(_ *holdfast.Run, _ order) (receipt, error) {
		called.Add(1)
		return receipt{}, holdfast.HandOver(0)
	}
	parent := holdfast.NewKind[order, receipt]("parent")
	err := errors.Join(pay.Handle(hf, handle), parent.Handle(hf, func(run *holdfast.Run, in order) (receipt, error) {
		return pay.Call(run, in)
	}))
	if err != nil {
		t.Fatal(err)
	}
	run(t, hf)
	ctx := t.Context()
	enqueue := func() *holdfast.Job[receipt] {
		t.Helper()
		job, err := pay.Enqueue(ctx, hf, order{ID: 1})
		if err != nil {
			t.Fatal(err)
		}
		handedOver(t, hf, job.ID)
		return job
	}

	first := enqueue()
	if err := pay.Complete(ctx, hf, first.ID, receipt{Total: 7}); err != nil {
		t.Fatal(err)
	}
	if got, err := first.Wait(ctx); err != nil || got.Total != 7 {
		t.Errorf("%+v, %v", got, err)
	}
	err = pay.Complete(ctx, hf, first.ID, receipt{})
	if !errors.Is(err, holdfast.ErrConflict) || !strings.Contains(err.Error(), "completed") {
		t.Errorf("completed twice: %v", err)
	}
	done, err := hf.Get(ctx, first.ID)
	if err != nil || len(done.Actions) != 1 || done.Actions[0].Kind != store.ActionComplete || done.Actions[0].Actor != "the bank" {
		t.Errorf("%+v, %v", done.Actions, err)
	}

	second := enqueue()
	var failed *holdfast.JobError
	if err := hf.Fail(ctx, second.ID, errors.New("no money")); err != nil {
		t.Fatal(err)
	}
	if _, err := second.Wait(ctx); !errors.As(err, &failed) || failed.State != store.Failed || failed.Reason != store.ReasonTerminal ||
		failed.Message != "no money" {
		t.Errorf("%v", err)
	}

	above, err := parent.Enqueue(ctx, hf, order{ID: 2})
	if err != nil {
		t.Fatal(err)
	}
	var child holdfast.ID
	for child == (holdfast.ID{}) {
		page, err := hf.List(ctx, store.Filter{Kinds: []string{"pay"}, States: []store.State{store.Waiting}}, "", 10)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range page.Jobs {
			child = r.ID
		}
	}
	if err := hf.Complete(ctx, child, json.RawMessage(`{"total": 9}`)); err != nil {
		t.Fatal(err)
	}
	if got, err := above.Wait(ctx); err != nil || got.Total != 9 {
		t.Errorf("the parent: %+v, %v", got, err)
	}
	if called.Load() != 3 {
		t.Errorf("the handler was called %d times", called.Load())
	}
}

// TestFinishRefuses what cannot be, before and after it asks the database.
func TestFinishRefuses(t *testing.T) {
	t.Parallel()
	hf := open(t)
	pay, other := holdfast.NewKind[order, receipt]("pay"), holdfast.NewKind[order, struct{}]("other")
	if err := pay.Handle(hf, func(*holdfast.Run, order) (receipt, error) { return receipt{}, holdfast.HandOver(time.Hour) }); err != nil {
		t.Fatal(err)
	}
	run(t, hf)
	ctx := t.Context()
	job, err := pay.Enqueue(ctx, hf, order{})
	if err != nil {
		t.Fatal(err)
	}
	record := handedOver(t, hf, job.ID)
	if left := time.Until(record.Wait.Until); left < 59*time.Minute || left > time.Hour {
		t.Errorf("its limit is in %v", left)
	}
	later, err := pay.Enqueue(ctx, hf, order{}, holdfast.Delay(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	for what, c := range map[string]struct {
		err, want error
		says      string
	}{
		"another kind":      {other.Complete(ctx, hf, job.ID, struct{}{}), holdfast.ErrConflict, "pay"},
		"no such job":       {hf.Complete(ctx, store.NewID(), nil), holdfast.ErrNotFound, ""},
		"fail no such job":  {hf.Fail(ctx, store.NewID(), errors.New("x")), holdfast.ErrNotFound, ""},
		"no JSON":           {hf.Complete(ctx, job.ID, json.RawMessage(`{`)), holdfast.ErrInvalid, "JSON"},
		"no error":          {hf.Fail(ctx, job.ID, nil), holdfast.ErrInvalid, "nil"},
		"an error of runs":  {hf.Fail(ctx, job.ID, holdfast.Snooze(time.Hour)), holdfast.ErrInvalid, "Snooze"},
		"not handed over":   {hf.Complete(ctx, later.ID, nil), holdfast.ErrConflict, "scheduled"},
		"no transaction":    {hf.CompleteTx(ctx, nil, job.ID, nil), holdfast.ErrInvalid, "transaction"},
		"no tx of a cancel": {second(hf.CancelTx(ctx, nil, "", job.ID)), holdfast.ErrInvalid, "transaction"},
		"no tx of a retry":  {second(hf.RetryTx(ctx, nil, "", job.ID)), holdfast.ErrInvalid, "transaction"},
	} {
		if !errors.Is(c.err, c.want) || !strings.Contains(c.err.Error(), c.says) {
			t.Errorf("%s: %v", what, c.err)
		}
	}
	if err := pay.Complete(ctx, hf, job.ID, receipt{}); err != nil {
		t.Errorf("in the end: %v", err)
	}
}

// TestHandedOverFailsAndCompensates: what the handler has done is undone when the outside system
// fails the job.
func TestHandedOverFailsAndCompensates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hf := open(t)
		pay := holdfast.NewKind[order, receipt]("pay")
		var reserved, undone, handed int
		err := pay.Handle(hf, func(run *holdfast.Run, _ order) (receipt, error) {
			if _, err := holdfast.Step(run, "reserve", func(context.Context) (int, error) { reserved++; return 1, nil }); err != nil {
				return receipt{}, err
			}
			if err := run.OnFailure("release", func(*holdfast.Run) error { undone++; return nil }); err != nil {
				return receipt{}, err
			}
			handed++
			return receipt{}, holdfast.HandOver(0)
		})
		if err != nil {
			t.Fatal(err)
		}
		run(t, hf)
		job, err := pay.Enqueue(t.Context(), hf, order{})
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if err := hf.Fail(t.Context(), job.ID, errors.New("no money")); err != nil {
			t.Fatal(err)
		}
		var failed *holdfast.JobError
		if _, err := job.Wait(t.Context()); !errors.As(err, &failed) || failed.Message != "no money" || failed.Reason != store.ReasonTerminal {
			t.Errorf("%v", err)
		}
		if reserved != 1 || undone != 1 || handed != 2 {
			t.Errorf("reserved %d times, undone %d times, handed over %d times", reserved, undone, handed)
		}
	})
}
