// Package nested has steps that perform durable operations.
package nested

import (
	"context"
	"errors"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/store"
)

type flow struct{ run *holdfast.Run }

func (f flow) charge(context.Context) (int, error) { return 1, f.run.Sleep(1) }

func (f flow) price(context.Context) (int, error) { return f.run.Attempt(), nil }

type database struct{}

func (database) Transact(ctx context.Context, fn func(tx string, wrapped store.Tx) error) error {
	return nil
}

func wait(run *holdfast.Run) error { return run.Sleep(1) }

func generic[T any](run *holdfast.Run, v T) error { return run.Publish("v", v) }

var approved = holdfast.NewSignal[string]("approved")

func wrong(run *holdfast.Run, in int) (int, error) {
	if _, err := holdfast.Step(run, "outer", func(ctx context.Context) (int, error) {
		if _, err := run.Now(); err != nil { // want `^steps do not nest: run\.Now is a durable operation inside a Step; perform it before or after the Step$`
			return 0, err
		}
		inner := func() error {
			_, err := approved.Wait(run) // want `^steps do not nest: Signal\.Wait is`
			return err
		}
		if err := errors.Join(inner(), wait(run), generic(run, 1)); err != nil { // want `^steps do not nest: wait is` `^steps do not nest: generic is`
			return 0, err
		}
		with(func(ctx context.Context) { _ = run.Publish("x", 1) })                              // want `^steps do not nest: run\.Publish`
		return holdfast.Step(run, "inner", func(context.Context) (int, error) { return 1, nil }) // want `^steps do not nest: holdfast\.Step is`
	}); err != nil {
		return 0, err
	}
	if _, err := holdfast.StepTx(run, "transaction", database{}, func(ctx context.Context, tx string) (int, error) {
		return 0, run.Sleep(1) // want `^steps do not nest: run\.Sleep`
	}); err != nil {
		return 0, err
	}
	if _, err := holdfast.Step(run, "end", func(context.Context) (int, error) {
		return 1, run.CompleteTx(nil, 1) // want `^steps do not nest: run\.CompleteTx`
	}); err != nil {
		return 0, err
	}
	if err := holdfast.Do(run, "without a result", func(ctx context.Context) error {
		return run.Sleep(1) // want `^steps do not nest: run\.Sleep`
	}); err != nil {
		return 0, err
	}
	fn := func(context.Context) (int, error) { return 1, run.Sleep(1) } // want `^steps do not nest: run\.Sleep`
	if _, err := holdfast.Step(run, "variable", fn); err != nil {
		return 0, err
	}
	return holdfast.Step(run, "method", flow{run}.charge) // want `^steps do not nest: charge performs durable operations and is passed to a Step; call it directly$`
}

func with(func(ctx context.Context)) {}

func right(run *holdfast.Run, in int) (int, error) {
	if _, err := holdfast.Step(run, "harmless", func(context.Context) (int, error) {
		run.Progress(50, "half")
		if _, err := run.IdempotencyKey("harmless"); err != nil {
			return 0, err
		}
		return run.Attempt(), run.SaveCheckpoint(1)
	}); err != nil {
		return 0, err
	}
	if err := wait(run); err != nil {
		return 0, err
	}
	return holdfast.Step(run, "method", flow{run}.price, holdfast.RetryIf(func(error) bool { return run.Attempt() > 0 }))
}
