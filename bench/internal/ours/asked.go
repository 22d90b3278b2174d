package ours

import (
	"context"
	"fmt"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/bench/internal/system"
	"github.com/holdfastdev/holdfast/store"
)

var (
	asked = holdfast.NewKind[int, struct{}]("bench.asked")
	ask   = holdfast.NewUpdate[int, int]("ask")
)

// answer is a durable function that adds up what it is asked to, for ever.
func answer(run *holdfast.Run, sum int) (struct{}, error) {
	err := ask.Handle(run, nil, func(_ *holdfast.Run, n int) (int, error) { sum += n; return sum, nil })
	if err != nil {
		return struct{}{}, err
	}
	_, err = goOn.Wait(run)
	return struct{}{}, err
}

// Asked starts one.
func (c *client) Asked(ctx context.Context) (system.ID, error) {
	job, err := asked.Enqueue(ctx, c.hf, 0)
	if err != nil {
		return system.ID{}, err
	}
	return system.ID(job.ID), nil
}

// Parked waits until it is parked.
func (c *client) Parked(ctx context.Context, job system.ID) error {
	for {
		record, err := c.hf.Get(ctx, holdfast.ID(job))
		switch {
		case err != nil:
			return err
		case record.State == store.Waiting:
			return nil
		case record.State.Finished():
			return fmt.Errorf("the function is %s: %s", record.State, record.Error)
		}
		if err := system.Pause(ctx, time.Millisecond); err != nil {
			return err
		}
	}
}

// Ask asks it to add one.
func (c *client) Ask(ctx context.Context, job system.ID) error {
	_, err := ask.Call(ctx, c.hf, holdfast.ID(job), 1)
	return err
}
