package after_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/after"
	"github.com/holdfastdev/holdfast/internal/sqlitetest"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/sqlite"
	"github.com/holdfastdev/holdfast/why"
)

var (
	first = holdfast.NewKind[string, string]("first")
	then  = holdfast.NewKind[string, string]("then")
)

// open returns a client whose handlers are these, on a file of its own.
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

// TestAfterOneThatRuns: a run that began before others came after its job does not know of them.
func TestAfterOneThatRuns(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	c := open(t)
	runs, end := make(chan struct{}), make(chan error)
	err := errors.Join(
		first.Handle(c, func(*holdfast.Run, string) (string, error) {
			close(runs)
			return "", <-end
		}),
		then.Handle(c, func(_ *holdfast.Run, in string) (string, error) { return in, nil }),
	)
	if err != nil {
		t.Fatal(err)
	}
	running, stop := context.WithCancel(ctx)
	stopped := make(chan error, 1)
	go func() { stopped <- c.Run(running) }()
	one := get[*holdfast.Job[string]](t)(first.Enqueue(ctx, c, ""))
	<-runs
	no := get[*holdfast.Job[string]](t)(then.Enqueue(ctx, c, "no", after.Completed(one.ID)))
	yes := get[*holdfast.Job[string]](t)(then.Enqueue(ctx, c, "yes", after.Finished(one.ID)))
	last := get[*holdfast.Job[string]](t)(then.Enqueue(ctx, c, "last", after.CompletedOrHeld(no.ID, yes.ID)))
	end <- holdfast.Fail(errors.New("it is broken"))
	if got, err := yes.Wait(ctx); err != nil || got != "yes" {
		t.Errorf("the one that runs anyway: %q, %v", got, err)
	}
	if _, err := no.Wait(ctx); !errors.Is(err, holdfast.ErrCancelled) || !strings.Contains(err.Error(), one.ID.String()) {
		t.Errorf("the one that is cancelled: %v", err)
	}
	// It waits for a person, who resumes it.
	for {
		e := get[why.Explanation](t)(c.Why(ctx, last.ID))
		if e.Causes[0].Code != why.Dependency || e.State != store.Waiting {
			t.Fatalf("why it waits: %+v", e)
		}
		if len(e.Causes) == 1 && e.Causes[0].Job == no.ID && strings.Contains(e.Causes[0].Text, "was cancelled; retry that one") {
			break
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
			t.Fatalf("why it waits: %+v", e)
		}
	}
	if results, err := c.Resume(ctx, "", last.ID); err != nil || results[0].Err != nil {
		t.Fatal(results, err)
	}
	if got, err := last.Wait(ctx); err != nil || got != "last" {
		t.Errorf("the one that was resumed: %q, %v", got, err)
	}
	stop()
	if err := <-stopped; err != nil {
		t.Error(err)
	}
}

// TestAdd: jobs that have not started wait from then on, and cycles are refused.
func TestAdd(t *testing.T) {
	t.Parallel()
	ctx, c := t.Context(), open(t)
	enqueue := func(opts ...holdfast.EnqueueOption) holdfast.ID {
		t.Helper()
		return get[*holdfast.Job[string]](t)(first.Enqueue(ctx, c, "", opts...)).ID
	}
	a, b := enqueue(), enqueue()
	if state, err := after.Add(ctx, c, b, store.HoldIfFailed, a); err != nil || state != store.Waiting {
		t.Fatalf("Add: %v, %v", state, err)
	}
	e := get[why.Explanation](t)(c.Why(ctx, b))
	if e.Causes[0].Code != why.Dependency || e.Causes[0].Job != a || !strings.Contains(e.Causes[0].Text, "which is available") {
		t.Errorf("why it waits: %+v", e)
	}
	_, err := after.Add(ctx, c, a, store.RunIfFailed, b)
	var fault *store.DependencyError
	want := store.DependencyError{Job: a, On: b, Fault: store.CyclicDependency}
	if !errors.As(err, &fault) || *fault != want || !errors.Is(err, holdfast.ErrInvalid) {
		t.Errorf("a cycle: %v", err)
	}
	missing := holdfast.NewID()
	_, err = first.Enqueue(ctx, c, "", after.Completed(a, missing))
	if !errors.As(err, &fault) || fault.Fault != store.MissingPredecessor || fault.On != missing || !errors.Is(err, holdfast.ErrNotFound) {
		t.Errorf("a missing one: %v", err)
	}
	results, err := c.EnqueueBatch(ctx, []holdfast.BatchItem{first.Item("", after.Completed(a)), first.Item("", after.Finished(missing))})
	if err == nil || results[0].Err != nil || !errors.Is(results[1].Err, holdfast.ErrNotFound) {
		t.Errorf("a batch: %+v, %v", results, err)
	}
	if err := c.Edit(ctx, "", b, after.Completed(a)); !errors.Is(err, holdfast.ErrInvalid) {
		t.Errorf("an edit: %v", err)
	}
}
