package scenario

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/holdfastdev/holdfast/bench/internal/figures"
	"github.com/holdfastdev/holdfast/bench/internal/system"
)

// hold lets a transaction do something that others may have to wait for.
type hold func(ctx context.Context, client system.Holding) (release func(context.Context) error, err error)

func holdSend(ctx context.Context, c system.Holding) (func(context.Context) error, error) {
	return c.HoldSend(ctx)
}

func holdStep(ctx context.Context, c system.Holding) (func(context.Context) error, error) {
	return c.HoldStep(ctx)
}

// wanted is the number of the job whose unique key is held. Those of others begin behind it.
const wanted = 1

func holdUnique(ctx context.Context, c system.Holding) (func(context.Context) error, error) {
	return c.HoldUnique(ctx, wanted)
}

// heldScenario is about what others see of a transaction that is held open.
func heldScenario(name, what string, do hold) Scenario {
	return Scenario{
		Name: name, Title: "p99 of others while " + what + " is held open ÷ before",
		Stores:  []string{system.Postgres},
		measure: map[string]figures.Measure{"": {Figure: "during_over_before", Unit: "during ÷ before", Less: true}},
		run:     whileHeld(do),
	}
}

// whileHeld measures others before and while a transaction is held open. Half of them use unique
// keys of their own. Once a second somebody wants the key that one of the scenarios holds: who does
// may have to wait, and is told of apart.
func whileHeld(do hold) func(context.Context, *Env) (figures.Sample, error) {
	return func(ctx context.Context, e *Env) (figures.Sample, error) {
		return e.try(ctx, 0, system.Options{}, func(t *trial) (int64, error) {
			client, ok := t.client.(system.Holding)
			naming, named := t.client.(system.Naming)
			if !ok || !named {
				return 0, fmt.Errorf("holding transactions: %w", system.ErrUnsupported)
			}
			var last atomic.Int64
			last.Store(wanted)
			o := t.others(t.plainly(), way{"unique", func(ctx context.Context, args system.Args) error {
				args.Num = int(last.Add(1))
				return naming.InsertUnique(ctx, []system.Args{args}, 0)
			}})
			if _, err := t.work(ctx, o.handle); err != nil {
				return 0, err
			}
			if err := o.during(ctx, "warm", e.Sizes.Phase/4); err != nil {
				return 0, err
			}
			if err := t.begin(ctx); err != nil {
				return 0, err
			}
			if err := o.during(ctx, "before", e.Sizes.Phase); err != nil {
				return 0, err
			}
			release, err := do(ctx, client)
			if err != nil {
				return 0, fmt.Errorf("holding: %w", err)
			}
			wants := t.want(ctx, naming)
			end := o.begin(ctx, "during")
			err = system.Pause(ctx, seconds(cmp.Or(e.Sizes.Pin, e.Sizes.Phase)))
			t.span.Mark()
			// The end of the phase waits for those who wait for the transaction, if any do.
			err = errors.Join(err, release(ctx), end(), wants())
			if err != nil {
				return 0, err
			}
			o.watch.tell(t.figures)
			t.figures["during_over_before"] = o.compare("during", "before")
			t.figures["gave_up"] = float64(o.gaveUp.Load())
			return o.put.Load(), t.finished(ctx)
		})
	}
}

// want inserts a job with the wanted key once a second, until it is told to end. Then it tells how
// often, and how many gave up.
func (t *trial) want(ctx context.Context, client system.Naming) (end func() error) {
	running, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() {
		results := make(chan error)
		var tries, gaveUp int
		for system.Pause(running, time.Second) == nil {
			tries++
			go func() { results <- client.InsertUnique(ctx, []system.Args{{Num: wanted}}, 0) }()
		}
		var failed error
		for range tries {
			err := <-results
			if errors.Is(err, system.ErrUnavailable) {
				gaveUp, err = gaveUp+1, nil
			}
			failed = errors.Join(failed, err)
		}
		t.figures["wanted_tries"], t.figures["wanted_gave_up"] = float64(tries), float64(gaveUp)
		ended <- failed
	}()
	return func() error {
		stop()
		return <-ended
	}
}
