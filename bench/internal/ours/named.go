package ours

import (
	"context"
	"errors"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/bench/internal/system"
	"github.com/holdfastdev/holdfast/store"
)

// InsertInto stores jobs in the queues that are named for them.
func (c *client) InsertInto(ctx context.Context, args []system.Args, queue func(i int) string) error {
	return c.insertItems(ctx, args, func(i int) holdfast.EnqueueOption { return holdfast.Queue(queue(i)) })
}

// insertItems stores jobs with an option each.
func (c *client) insertItems(ctx context.Context, args []system.Args, option func(i int) holdfast.EnqueueOption) error {
	items := make([]holdfast.BatchItem, len(args))
	for i := range items {
		items[i] = noop.Item(args[i], option(i))
	}
	_, err := c.hf.EnqueueBatch(ctx, items)
	return err
}

// uniqueByNum makes jobs different whose numbers differ.
var uniqueByNum = holdfast.Unique{ByFields: []string{"num"}}

// InsertUnique stores those jobs whose numbers are free.
func (c *client) InsertUnique(ctx context.Context, args []system.Args, after time.Duration) error {
	opts := []holdfast.EnqueueOption{uniqueByNum}
	if after > 0 {
		opts = append(opts, holdfast.Delay(after))
	}
	var err error
	if len(args) == 1 {
		_, err = noop.Enqueue(ctx, c.hf, args[0], opts...)
	} else {
		_, err = noop.EnqueueMany(ctx, c.hf, args, opts...)
	}
	return told(err)
}

// InsertOrdered stores jobs with ordering keys.
func (c *client) InsertOrdered(ctx context.Context, args []system.Args, key func(i int) string) error {
	return c.insertItems(ctx, args, func(i int) holdfast.EnqueueOption { return holdfast.OrderingKey(key(i)) })
}

// Running counts.
func (c *client) Running(ctx context.Context) (n int64, err error) {
	queues, err := c.hf.Queues(ctx)
	for _, q := range queues {
		n += int64(q.Counts[store.Running].N)
	}
	return n, err
}

// told is an error in the words of scenarios.
func told(err error) error {
	if errors.Is(err, holdfast.ErrUnavailable) {
		return errors.Join(system.ErrUnavailable, err)
	}
	return err
}
