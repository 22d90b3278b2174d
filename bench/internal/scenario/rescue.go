package scenario

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/holdfastdev/holdfast/bench/internal/figures"
	"github.com/holdfastdev/holdfast/bench/internal/system"
)

// beat is how often a node of ours says that it lives. A kill comes anywhere between two.
const beat = 5 * time.Second

// rescue kills a node, a process with all its slots at work, and measures how long it takes until
// the last of its jobs runs on another one. The node that is killed leads, or it does not.
func rescue(leads bool) func(context.Context, *Env) (figures.Sample, error) {
	return func(ctx context.Context, e *Env) (figures.Sample, error) {
		return e.try(ctx, 0, system.Options{Quiet: true}, func(t *trial) (int64, error) {
			r := &rescuer{trial: t, gate: make(chan struct{}), all: make(chan struct{})}
			var ok bool
			if r.counting, ok = t.client.(system.Counting); !ok {
				return 0, fmt.Errorf("counting: %w", system.ErrUnsupported)
			}
			order := []func(context.Context) error{r.occupy, r.victim}
			if leads {
				order = []func(context.Context) error{r.victim, r.survivor}
			}
			for _, step := range order {
				if err := step(ctx); err != nil {
					return 0, err
				}
			}
			close(r.gate)
			// Both have been at it for a while.
			if err := system.Pause(ctx, 2*beat+rand.N(beat)); err != nil {
				return 0, err
			}
			if err := t.begin(ctx); err != nil {
				return 0, err
			}
			began := time.Now()
			if err := r.node.Kill(); err != nil {
				return 0, err
			}
			select {
			case <-r.all:
			case <-ctx.Done():
				return 0, ctx.Err()
			}
			t.figures["rescue_s"] = time.Since(began).Seconds()
			t.span.Mark()
			return r.stay.Load(), t.finished(ctx)
		})
	}
}

// rescuer is a node in this process that takes up what another one leaves.
type rescuer struct {
	trial    *trial
	counting system.Counting
	node     Node          // the one that is killed
	gate     chan struct{} // closed when the jobs that occupy this node may end
	stay     atomic.Int64  // jobs of the other node that have begun here
	all      chan struct{} // closed when all have
}

func (r *rescuer) handle(args system.Args) {
	if !args.Stay {
		<-r.gate
	} else if r.stay.Add(1) == defaultSlots {
		close(r.all)
	}
}

// survivor starts the node that stays.
func (r *rescuer) survivor(ctx context.Context) error {
	_, err := r.trial.work(ctx, r.handle)
	return err
}

// occupy starts it and gives it so much to do that it has no room for the jobs of the other one.
func (r *rescuer) occupy(ctx context.Context) error {
	if err := r.survivor(ctx); err != nil {
		return err
	}
	return r.run(ctx, defaultSlots, system.Args{})
}

// victim starts the node that is killed, and waits until its slots are full.
func (r *rescuer) victim(ctx context.Context) (err error) {
	if r.node, err = r.trial.env.StartNode(ctx, r.trial.env.Databases[0]); err != nil {
		return fmt.Errorf("starting a node: %w", err)
	}
	if err := r.node.Go(); err != nil {
		return err
	}
	running, err := r.counting.Running(ctx)
	if err != nil {
		return err
	}
	return r.run(ctx, running+defaultSlots, system.Args{Stay: true})
}

// run inserts as many jobs as a node has slots, and waits until so many run in all.
func (r *rescuer) run(ctx context.Context, want int64, args system.Args) error {
	batch := make([]system.Args, defaultSlots)
	for i := range batch {
		batch[i] = args
	}
	if err := r.trial.client.InsertMany(ctx, batch); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		running, err := r.counting.Running(ctx)
		if err != nil || running == want {
			return err
		}
		if err := system.Pause(ctx, 10*time.Millisecond); err != nil {
			return errors.Join(err, fmt.Errorf("%d jobs run, and not %d", running, want))
		}
	}
}
