package ours

import (
	"context"

	"github.com/holdfastdev/holdfast"
)

var decides = holdfast.NewKind[int, struct{}]("bench.decides")

// decide is a durable function that looks at the clock many times, all of which is stored before
// its step begins.
func decide(run *holdfast.Run, decisions int) (struct{}, error) {
	for range decisions {
		if _, err := run.Now(); err != nil {
			return struct{}{}, err
		}
	}
	return holdfast.Step(run, "after them", func(context.Context) (struct{}, error) { return struct{}{}, nil })
}

// Remember runs it.
func (c *client) Remember(ctx context.Context, decisions int) error {
	job, err := decides.Enqueue(ctx, c.hf, decisions)
	if err != nil {
		return err
	}
	_, err = job.Wait(ctx)
	return err
}
