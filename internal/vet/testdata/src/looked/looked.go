// Package looked has functions that are looked at, and functions that are not.
package looked

import (
	"context"
	"time"

	"github.com/holdfastdev/holdfast"
)

// A plain background job may do anything.
func plain(run *holdfast.Run, in int) (int, error) {
	go func() {}()
	time.Sleep(time.Second)
	if err := run.SaveCheckpoint(time.Now()); err != nil {
		return 0, err
	}
	run.Progress(50, "half")
	<-run.Done()
	return helper(run), nil
}

// A helper without durable operations is not looked at, whatever calls it.
func helper(run *holdfast.Run) int { return time.Now().Second() + run.Attempt() }

func ordinary() time.Time { return time.Now() }

// It performs operations through others.
func indirect(run *holdfast.Run, in int) (int, error) {
	_ = time.Now() // want `time\.Now`
	return helper(run), even(run, in)
}

func even(run *holdfast.Run, n int) error {
	_ = time.Now() // want `time\.Now`
	if n == 0 {
		return run.Sleep(1)
	}
	return odd(run, n-1)
}

func odd(run *holdfast.Run, n int) error {
	_ = time.Now() // want `time\.Now`
	return even(run, n-1)
}

// A method whose run is in a field.
type flow[T any] struct {
	run *holdfast.Run
	in  T
}

func (f *flow[T]) do() error {
	_ = time.Now() // want `time\.Now`
	return f.run.Publish("in", f.in)
}

func methods(run *holdfast.Run, in string) (int, error) {
	_ = time.Now() // want `time\.Now`
	return 0, (&flow[string]{run, in}).do()
}

// Runs by other names.
type (
	alias     = holdfast.Run
	embedding struct{ *holdfast.Run }
)

func named(run *alias) error {
	_ = time.Now() // want `time\.Now`
	return run.Sleep(1)
}

func embedded(e embedding) error {
	_ = time.Now() // want `time\.Now`
	return e.Sleep(1)
}

func expression(run *holdfast.Run) error {
	_ = time.Now() // want `time\.Now`
	return (*holdfast.Run).Sleep(run, 1)
}

// Generic handlers.
func generic[In, Out any](run *holdfast.Run, in In) (Out, error) {
	_ = time.Now() // want `time\.Now`
	return holdfast.Step[Out](run, "generic", func(context.Context) (Out, error) {
		_ = time.Now()
		var out Out
		return out, nil
	})
}

func instance(run *holdfast.Run, in int) (string, error) {
	_ = time.Now() // want `time\.Now`
	return generic[int, string](run, in)
}

func inferred[T any](kind holdfast.Kind[T, T], run *holdfast.Run, in T) (T, error) {
	_ = time.Now() // want `time\.Now`
	return kind.Call(run, in)
}

// Literals.
var (
	kind = holdfast.NewKind[int, int]("kind")
	late = func(run *holdfast.Run, in int) (int, error) {
		_ = time.Now() // want `time\.Now`
		return 0, run.Sleep(1)
	}
)

func register(c *holdfast.Client) error {
	_ = time.Now() // it is no handler
	done := make(chan int)
	go func() { close(done) }()
	<-done
	if err := kind.Handle(c, late); err != nil {
		return err
	}
	return kind.Handle(c, func(run *holdfast.Run, in int) (int, error) {
		_ = time.Now() // want `time\.Now`
		return 0, run.Sleep(1)
	})
}

func logged[In any](handler func(*holdfast.Run, In) (int, error)) func(*holdfast.Run, In) (int, error) {
	return func(run *holdfast.Run, in In) (int, error) {
		_ = time.Now() // it cannot be known what the handler does
		return handler(run, in)
	}
}

func around(run *holdfast.Run, in int) (int, error) {
	_ = time.Now() // want `time\.Now`
	return within(run, func(run *holdfast.Run) error { return run.Sleep(1) })
}

func within(run *holdfast.Run, f func(*holdfast.Run) error) (int, error) { return 0, f(run) }

func parts(run *holdfast.Run, in int) (int, error) {
	defer func() {
		_ = time.Now() // want `time\.Now`
	}()
	clock := func(ctx context.Context) time.Time { return time.Now() } // want `time\.Now`
	_ = clock(run)
	return 0, run.Sleep(1)
}

// What a strand does is replayed even if it performs nothing.
func strands(run *holdfast.Run, in int) (int, error) {
	f, err := holdfast.Go(run, "literal", func(*holdfast.Run) (int, error) {
		return time.Now().Second(), nil // want `time\.Now`
	})
	if err != nil {
		return 0, err
	}
	if err := run.OnFailure("declared", compensate); err != nil {
		return 0, err
	}
	return f.Wait(run)
}

func compensate(*holdfast.Run) error {
	_ = time.Now() // want `time\.Now`
	return nil
}

// What comes to a Step by other ways.
func steps(run *holdfast.Run, in int) (int, error) {
	charge := func(context.Context) (int, error) { return time.Now().Second(), nil }
	if _, err := holdfast.Step(run, "variable", charge); err != nil {
		return 0, err
	}
	if err := twice(run, func(context.Context) error {
		_ = time.Now()
		return nil
	}); err != nil {
		return 0, err
	}
	for _, s := range []struct {
		name string
		fn   func(context.Context) (int, error)
	}{
		{"first", func(context.Context) (int, error) { return time.Now().Second(), nil }},
		{"second", count},
	} {
		if _, err := holdfast.Step(run, s.name, s.fn); err != nil {
			return 0, err
		}
	}
	return holdfast.Step(run, "retried", count, holdfast.RetryIf(func(error) bool { return time.Now().Hour() < 12 }))
}

func count(context.Context) (int, error) { return time.Now().Second(), nil }

func twice(run *holdfast.Run, f func(context.Context) error) error {
	for _, name := range []string{"first", "second"} {
		if _, err := holdfast.Step(run, name, func(ctx context.Context) (int, error) { return 0, f(ctx) }); err != nil {
			return err
		}
	}
	return nil
}

// A variable that is assigned again may be anything.
func assigned(run *holdfast.Run, in int) error {
	f := func() error { return run.Sleep(1) }
	if in > 0 {
		f = func() error { return nil }
	}
	f()
	return f()
}
