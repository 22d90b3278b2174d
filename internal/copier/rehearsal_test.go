package copier_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/copier"
	"github.com/holdfastdev/holdfast/store"
)

// shop has durable functions, and counts how often their steps run.
type shop struct {
	mu    sync.Mutex
	steps map[string]int

	sleeper  holdfast.Kind[string, string]
	waiter   holdfast.Kind[string, string]
	parent   holdfast.Kind[string, string]
	child    holdfast.Kind[string, string]
	undoes   holdfast.Kind[string, string]
	goes     holdfast.Signal[string]
	inStep   chan struct{}
	stepping holdfast.Kind[string, string]
}

func newShop() *shop {
	return &shop{
		steps:   map[string]int{},
		sleeper: holdfast.NewKind[string, string]("sleeper"), waiter: holdfast.NewKind[string, string]("waiter"),
		parent: holdfast.NewKind[string, string]("parent"), child: holdfast.NewKind[string, string]("child"),
		undoes: holdfast.NewKind[string, string]("undoes"), stepping: holdfast.NewKind[string, string]("stepping"),
		goes: holdfast.NewSignal[string]("go"), inStep: make(chan struct{}, 1),
	}
}

func (s *shop) did(step string) func(context.Context) (string, error) {
	return func(context.Context) (string, error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.steps[step]++
		return step, nil
	}
}

func (s *shop) count(step string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.steps[step]
}

var errRefused = errors.New("the order is refused")

// handle registers the functions. Before the copy the child waits, and the step in the middle does
// not end.
func (s *shop) handle(hf *holdfast.Client, after bool) error {
	var errs [6]error
	errs[0] = s.sleeper.Handle(hf, func(run *holdfast.Run, _ string) (string, error) {
		first, err := holdfast.Step(run, "before sleep", s.did("before sleep"))
		if err == nil {
			err = run.Sleep(3 * time.Second)
		}
		return first + " and slept", err
	})
	errs[1] = s.waiter.Handle(hf, func(run *holdfast.Run, _ string) (string, error) {
		first, err := holdfast.Step(run, "before signal", s.did("before signal"))
		if err != nil {
			return "", err
		}
		got, err := s.goes.Wait(run)
		return first + " and got " + got, err
	})
	errs[2] = s.child.Handle(hf, func(run *holdfast.Run, _ string) (string, error) {
		got, err := s.goes.Wait(run)
		return "child with " + got, err
	})
	errs[3] = s.parent.Handle(hf, func(run *holdfast.Run, _ string) (string, error) {
		if _, err := holdfast.Step(run, "before child", s.did("before child")); err != nil {
			return "", err
		}
		return s.child.Call(run, "x")
	})
	errs[4] = s.undoes.Handle(hf, func(run *holdfast.Run, _ string) (string, error) {
		err := run.OnFailure("refund", func(run *holdfast.Run) error {
			_, err := holdfast.Step(run, "give back", s.did("refund"))
			return err
		})
		if err != nil {
			return "", err
		}
		if _, err := holdfast.Step(run, "charge", s.did("charge")); err != nil {
			return "", err
		}
		if _, err := s.goes.Wait(run); err != nil {
			return "", err
		}
		return "", holdfast.Fail(errRefused)
	})
	errs[5] = s.stepping.Handle(hf, func(run *holdfast.Run, _ string) (string, error) {
		if _, err := holdfast.Step(run, "one", s.did("one")); err != nil {
			return "", err
		}
		return holdfast.Step(run, "two", func(ctx context.Context) (string, error) {
			if !after {
				s.inStep <- struct{}{}
				<-ctx.Done()
				return "", ctx.Err()
			}
			return s.did("two")(ctx)
		})
	})
	return errors.Join(errs[:]...)
}

// node opens a database and runs a node on it until the function that is returned is called.
func node(t *testing.T, s *shop, source store.Source, after bool) (hf *holdfast.Client, stop func()) {
	t.Helper()
	hf, err := holdfast.Open(t.Context(), source, holdfast.WithStopTimeout(time.Second))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.handle(hf, after); err != nil {
		t.Fatal(err)
	}
	ran := make(chan error, 1)
	go func() { ran <- hf.Run(context.WithoutCancel(t.Context())) }()
	return hf, func() {
		t.Helper()
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 5*time.Minute)
		defer cancel()
		if err := errors.Join(hf.Stop(ctx), <-ran, hf.Close(ctx)); err != nil {
			t.Error(err)
		}
	}
}

// until waits for a condition that others bring about.
func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	deadline, tick := time.After(5*time.Minute), time.NewTicker(5*time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("waited in vain: %s", what)
		}
	}
}

// TestRunsGoOnAfterTheCopy: durable functions sleep, wait for a signal and a child, are in the
// middle of a step, and have compensations when their node stops. After the copy they go on, and
// what they remember is not done again.
func TestRunsGoOnAfterTheCopy(t *testing.T) {
	t.Parallel()
	for name, move := range map[string]struct{ from, to func(*testing.T) store.Source }{
		"SQLite to PostgreSQL": {func(t *testing.T) store.Source { return file(t) }, func(t *testing.T) store.Source { return server(t) }},
		"PostgreSQL to SQLite": {func(t *testing.T) store.Source { return server(t) }, func(t *testing.T) store.Source { return file(t) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rehearse(t, move.from(t), move.to(t))
		})
	}
}

func rehearse(t *testing.T, from, to store.Source) {
	s := newShop()
	hf, stop := node(t, s, from, false)
	ids := map[string]holdfast.ID{}
	for _, kind := range []holdfast.Kind[string, string]{s.sleeper, s.waiter, s.parent, s.undoes, s.stepping} {
		job, err := kind.Enqueue(t.Context(), hf, "in")
		if err != nil {
			t.Fatal(err)
		}
		ids[kind.Name()] = job.ID
	}
	<-s.inStep
	waiting := func() int {
		page, err := hf.List(t.Context(), store.Filter{States: []store.State{store.Waiting}}, "", 100)
		if err != nil {
			t.Fatal(err)
		}
		return len(page.Jobs)
	}
	until(t, "sleeper, waiter, parent, child and one that may undo wait", func() bool { return waiting() == 5 })
	stop()
	save(t, opened(t, from), "nightly", 0)
	fired(t, opened(t, from), "nightly", 0, time.Hour)

	if _, err := to.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	copied, err := copier.Copy(t.Context(), opened(t, from), opened(t, to), quietly)
	if err != nil || copied.Target[store.Waiting] != 5 || copied.Target[store.Available] != 1 {
		t.Fatalf("the copy: %+v, %v", copied, err)
	}
	wantSameSchedules(t, opened(t, from), opened(t, to))
	fired(t, opened(t, to), "nightly", 2*time.Hour) // from the version that it had

	hf, stop = node(t, s, to, true)
	defer stop()
	finish(t, s, hf, ids)
}

// finish lets everything go on, and checks how it ends.
func finish(t *testing.T, s *shop, hf *holdfast.Client, ids map[string]holdfast.ID) {
	t.Helper()
	page, err := hf.List(t.Context(), store.Filter{Parent: ids["parent"]}, "", 10)
	if err != nil || len(page.Jobs) != 1 {
		t.Fatalf("the children: %v, %v", page.Jobs, err)
	}
	for _, id := range []holdfast.ID{ids["waiter"], page.Jobs[0].ID, ids["undoes"]} {
		if _, err := s.goes.Send(t.Context(), hf, id, "news"); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		kind holdfast.Kind[string, string]
		want string
	}{
		{s.sleeper, "before sleep and slept"},
		{s.waiter, "before signal and got news"},
		{s.parent, "child with news"},
		{s.stepping, "two"},
	} {
		if got, err := c.kind.Job(hf, ids[c.kind.Name()]).Wait(t.Context()); err != nil || got != c.want {
			t.Errorf("%s returned %q, %v", c.kind.Name(), got, err)
		}
	}
	if _, err := s.undoes.Job(hf, ids["undoes"]).Wait(t.Context()); err == nil || !strings.Contains(err.Error(), errRefused.Error()) {
		t.Errorf("what is undone: %v", err)
	}
	for _, step := range []string{"before sleep", "before signal", "before child", "charge", "refund", "one", "two"} {
		if n := s.count(step); n != 1 {
			t.Errorf("step %q ran %d times", step, n)
		}
	}
}
