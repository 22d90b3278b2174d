package holdfast_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/store"
)

// TestNothingWhereSomethingIsNeeded: a nil function, option or Waitable is an ErrInvalid at the
// call.
func TestNothingWhereSomethingIsNeeded(t *testing.T) {
	t.Parallel()
	hf := open(t)
	type none = struct{}
	step := func(context.Context) (none, error) { return none{}, nil }
	inside := map[string]func(*holdfast.Run) error{
		"Step":      func(r *holdfast.Run) error { _, err := holdfast.Step[none](r, "x", nil); return err },
		"Step, opt": func(r *holdfast.Run) error { _, err := holdfast.Step(r, "x", step, nil); return err },
		"StepTx": func(r *holdfast.Run) error {
			_, err := holdfast.StepTx[none, store.Tx](r, "x", transactor{}, nil)
			return err
		},
		"StepTx, db": func(r *holdfast.Run) error {
			_, err := holdfast.StepTx(r, "x", nil, func(context.Context, store.Tx) (none, error) { return none{}, nil })
			return err
		},
		"Go":              func(r *holdfast.Run) error { _, err := holdfast.Go[none](r, "x", nil); return err },
		"OnFailure":       func(r *holdfast.Run) error { return r.OnFailure("x", nil) },
		"Select":          func(r *holdfast.Run) error { _, err := holdfast.Select(r, nil); return err },
		"Select future":   func(r *holdfast.Run) error { _, err := holdfast.Select(r, (*holdfast.Future[int])(nil)); return err },
		"Select child":    func(r *holdfast.Run) error { _, err := holdfast.Select(r, (*holdfast.Child[int])(nil)); return err },
		"Select callback": func(r *holdfast.Run) error { _, err := holdfast.Select(r, (*holdfast.Callback)(nil)); return err },
		"Signal.Wait":     func(r *holdfast.Run) error { _, err := holdfast.NewSignal[int]("s").Wait(r, nil); return err },
	}
	kind := holdfast.NewKind[string, int]("k")
	handle := func(r *holdfast.Run, what string) (int, error) { return 0, inside[what](r) }
	if err := kind.Handle(hf, handle, holdfast.MaxAttempts(1)); err != nil {
		t.Fatal(err)
	}
	_, enqueued := kind.Enqueue(t.Context(), hf, "x", nil)
	_, opened := holdfast.Open(t.Context(), memory{}, nil)
	_, nowhere := holdfast.Open(t.Context(), nil)
	_, sent := holdfast.NewSignal[int]("s").Send(t.Context(), hf, holdfast.NewID(), 1, nil)
	_, named := holdfast.NewKind[int, int]("n", nil).Enqueue(t.Context(), hf, 1)
	for what, err := range map[string]error{
		"Enqueue": enqueued, "Open": opened, "Open, source": nowhere, "Send": sent, "NewKind": named,
		"Handle": holdfast.NewKind[int, int]("h").Handle(hf, func(*holdfast.Run, int) (int, error) { return 0, nil }, nil),
	} {
		if !errors.Is(err, holdfast.ErrInvalid) || !strings.Contains(err.Error(), "nil") {
			t.Errorf("%s: %v", what, err)
		}
	}
	run(t, hf)
	for what := range inside {
		job, err := kind.Enqueue(t.Context(), hf, what)
		if err != nil {
			t.Fatal(err)
		}
		_, err = job.Wait(t.Context())
		var ended *holdfast.JobError
		if !errors.As(err, &ended) || !strings.HasPrefix(ended.Message, holdfast.ErrInvalid.Error()) || !strings.Contains(ended.Message, "nil") {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// transactor is never called.
type transactor struct{}

func (transactor) Transact(context.Context, func(store.Tx, store.Tx) error) error {
	panic("it was called")
}

// TestFollowNothing: a job that does not exist differs from a finished one.
func TestFollowNothing(t *testing.T) {
	t.Parallel()
	hf := open(t)
	id := holdfast.NewID()
	_, waited := hf.WaitPublished(t.Context(), id, "key", 0)
	var followed error
	for item, err := range hf.Follow(t.Context(), id, "stream", 0) {
		if followed = err; err == nil {
			t.Errorf("item %+v", item)
		}
	}
	for what, err := range map[string]error{"WaitPublished": waited, "Follow": followed} {
		if !errors.Is(err, holdfast.ErrNotFound) || !strings.Contains(err.Error(), id.String()) || strings.Contains(err.Error(), "finished") {
			t.Errorf("%s: %v", what, err)
		}
	}
	for _, err := range hf.Follow(t.Context(), id, "", 0) {
		if !errors.Is(err, holdfast.ErrInvalid) || strings.Contains(err.Error(), "following") {
			t.Errorf("a stream without a name: %v", err)
		}
	}
	if _, err := hf.WaitPublished(t.Context(), id, "", 0); !errors.Is(err, holdfast.ErrInvalid) || strings.Contains(err.Error(), "waiting") {
		t.Errorf("a key without a name: %v", err)
	}
}

// TestEndsSayHowManyAreLeft: when ctx ends.
func TestEndsSayHowManyAreLeft(t *testing.T) {
	t.Parallel()
	hf := open(t)
	kind := holdfast.NewKind[int, int]("k")
	jobs, err := kind.EnqueueMany(t.Context(), hf, make([]int, 5))
	if err != nil {
		t.Fatal(err)
	}
	ids := make([]holdfast.ID, len(jobs))
	for i, job := range jobs {
		ids[i] = job.ID
	}
	if _, err := hf.Cancel(t.Context(), "", ids[:3]...); err != nil {
		t.Fatal(err)
	}
	// One who has had no time to look waits for all of them: the next one has more.
	for wait := 20 * time.Millisecond; ; wait *= 2 {
		ctx, cancel := context.WithTimeout(t.Context(), wait)
		_, err = hf.WaitAll(ctx, ids...)
		cancel()
		if errors.Is(err, context.DeadlineExceeded) && strings.Contains(err.Error(), "waiting for 2 of 5 jobs") {
			return
		}
		if wait > 10*time.Second || !errors.Is(err, context.DeadlineExceeded) {
			t.Fatal(err)
		}
	}
}
