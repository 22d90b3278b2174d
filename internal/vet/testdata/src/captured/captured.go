// Package captured has functions that start others with Go and OnFailure.
package captured

import (
	"context"
	"time"

	"github.com/holdfastdev/holdfast"
)

type order struct {
	run *holdfast.Run
	n   int
}

type embedding struct{ *holdfast.Run }

var global *holdfast.Run

var update = holdfast.NewUpdate[int, int]("update")

func wrong(run *holdfast.Run, in int) (int, error) {
	o, e := &order{run, in}, embedding{run}
	runs, all := []*holdfast.Run{run}, []order{*o}
	f, err := holdfast.Go(run, "a", func(inner *holdfast.Run) (int, error) {
		if err := inner.Sleep(time.Hour); err != nil {
			return 0, err
		}
		return in, run.Sleep(time.Hour) // want `^run is the run of the enclosing function; use the run passed to this function$`
	})
	if err != nil {
		return 0, err
	}
	if err := run.OnFailure("undo", func(*holdfast.Run) error {
		_, err := holdfast.Step(run, "undo", func(ctx context.Context) (int, error) { return 0, nil }) // want `^run is the run`
		return err
	}); err != nil {
		return 0, err
	}
	body := func(inner *holdfast.Run) (int, error) {
		defer func() {
			_ = run.ID() // want `^run is the run`
		}()
		if err := o.run.Sleep(1); err != nil { // want `^o\.run is the run`
			return 0, err
		}
		if err := e.Sleep(1); err != nil { // want `^e\.Sleep is the run`
			return 0, err
		}
		helper(global)      // want `^global is the run`
		helper(runs[0])     // want `^runs\[0\] is the run`
		helper((*o).run)    // want `^\(\*o\)\.run is the run`
		helper(all[in].run) // want `^all\[in\]\.run is the run`
		g, err := holdfast.Go(inner, "c", func(innermost *holdfast.Run) (int, error) {
			return 0, inner.Sleep(1) // want `^inner is the run`
		})
		if err != nil {
			return 0, err
		}
		return g.Wait(inner)
	}
	if err := update.Handle(run, func(int) error { o.n++; return nil }, func(inner *holdfast.Run, n int) (int, error) {
		return n, run.Sleep(1) // want `^run is the run`
	}); err != nil {
		return 0, err
	}
	if _, err := holdfast.Go(run, "b", body); err != nil {
		return 0, err
	}
	return f.Wait(run)
}

func find(n int) *holdfast.Run { return nil }

func helper(run *holdfast.Run) {}

func right(run *holdfast.Run, in int) (int, error) {
	o := &order{run, in}
	f, err := holdfast.Go(run, "a", func(run *holdfast.Run) (int, error) {
		mine, runs := order{run: run, n: o.n}, []*holdfast.Run{run}
		helper(runs[0])
		helper(find(mine.n))
		if err := mine.run.Sleep(1); err != nil {
			return 0, err
		}
		g, err := holdfast.Go(run, "b", func(run *holdfast.Run) (int, error) { return 0, run.Sleep(1) })
		if err != nil {
			return 0, err
		}
		return g.Wait(run)
	})
	if err != nil {
		return 0, err
	}
	if _, err := holdfast.Go(run, "declared", sleep); err != nil {
		return 0, err
	}
	log := func() { run.Progress(1, "") } // no strand
	log()
	if err := run.OnFailure("undo", func(run *holdfast.Run) error { return run.Publish("undone", true) }); err != nil {
		return 0, err
	}
	return f.Wait(run)
}

func sleep(run *holdfast.Run) (int, error) { return 0, run.Sleep(1) }
