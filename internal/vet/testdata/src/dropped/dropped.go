// Package dropped has functions that drop errors.
package dropped

import (
	"context"
	"errors"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/store"
)

func wrong(run *holdfast.Run, in int) (int, error) {
	run.Sleep(1)                                           // want `^the error of run\.Sleep is dropped; return it, or handle it$`
	_ = run.Publish("x", 1)                                // want `^the error of run\.Publish is dropped`
	now, _ := run.Now()                                    // want `^the error of run\.Now is dropped`
	n, _ := holdfast.Step(run, "x", one)                   // want `^the error of holdfast\.Step is dropped`
	holdfast.Do(run, "x", none)                            // want `^the error of holdfast\.Do is dropped`
	holdfast.Task[int]{}.Call(run, 1)                      // want `^the error of Task\.Call is dropped`
	f, _ := holdfast.Go[int](run, "x", strand)             // want `^the error of holdfast\.Go is dropped`
	_, _ = f.Wait(run)                                     // want `^the error of Future\.Wait is dropped`
	_, _, _ = holdfast.NewSignal[int]("x").TryReceive(run) // want `^the error of Signal\.TryReceive is dropped`
	var id, _ = run.UUID()                                 // want `^the error of run\.UUID is dropped`
	defer run.Publish("done", true)                        // want `^the error of run\.Publish is dropped`
	helper(run)                                            // want `^the error of helper is dropped`
	a, _ := 1, run.Append("x", 1)                          // want `^the error of run\.Append is dropped`
	save := func() error { return run.Publish("saved", true) }
	save()                                 // want `^the error of save is dropped`
	(run.Sleep(1))                         // want `^the error of run\.Sleep is dropped`
	generic(run, 1)                        // want `^the error of generic is dropped`
	func() error { return run.Sleep(1) }() // want `^the error of the function literal is dropped`
	_, _ = now, id
	return n + a, nil
}

func ends(run *holdfast.Run, tx store.Tx) error {
	run.CompleteTx(tx, 1) // want `^the error of run\.CompleteTx is dropped; return it, or handle it$`
	_ = time.Now()        // it is not replayed
	return run.FailTx(tx, other())
}

func one(context.Context) (int, error) { return 1, nil }

func none(context.Context) error { return nil }

func strand(run *holdfast.Run) (int, error) { return 1, run.Sleep(1) }

func helper(run *holdfast.Run) error { return run.Sleep(1) }

func generic[T any](run *holdfast.Run, v T) error { return run.Publish("v", v) }

func other() error { return nil }

func quiet(run *holdfast.Run) { // it has nothing to drop
	if err := run.Sleep(1); err != nil {
		panic(err)
	}
}

func right(run *holdfast.Run, in int) (int, error) {
	other()
	_ = other()
	_ = run.SaveCheckpoint(1)
	quiet(run)
	err := run.Sleep(1)
	_, now := run.Now()
	_ = errors.Join(err, now, run.Publish("x", 1))
	_, err = holdfast.Step(run, "x", func(context.Context) (int, error) {
		_ = other()
		return 0, nil
	})
	return 0, err
}
