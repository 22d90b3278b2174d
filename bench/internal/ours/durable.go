package ours

import (
	"context"
	"fmt"
	"time"

	"github.com/holdfastdev/holdfast/bench/internal/system"
	"github.com/holdfastdev/holdfast/store"
)

// Flow enqueues a durable function and waits for its end, which is told when it is committed.
func (c *client) Flow(ctx context.Context) error {
	job, err := flow.Enqueue(ctx, c.hf, c.steps)
	if err != nil {
		return err
	}
	_, err = job.Wait(ctx)
	return err
}

// FanOut runs a parent that calls so many children and waits for all of them.
func (c *client) FanOut(ctx context.Context, children int) error {
	job, err := parent.Enqueue(ctx, c.hf, children)
	if err != nil {
		return err
	}
	got, err := job.Wait(ctx)
	if err == nil && got != children {
		err = fmt.Errorf("the parent got %d results of %d children", got, children)
	}
	return err
}

// Park enqueues runs and waits until none of them runs or is about to.
func (c *client) Park(ctx context.Context, runs int) error {
	ins := make([]int, 1000)
	for i := range ins {
		ins[i] = i
	}
	for sent := 0; sent < runs; sent += len(ins) {
		if _, err := park.EnqueueMany(ctx, c.hf, ins[:min(len(ins), runs-sent)]); err != nil {
			return err
		}
	}
	for {
		queues, err := c.hf.Queues(ctx)
		if err != nil {
			return err
		}
		busy := 0
		for _, q := range queues {
			busy += q.Counts[store.Available].N + q.Counts[store.Running].N
		}
		if busy == 0 {
			return nil
		}
		if err := system.Pause(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
}
