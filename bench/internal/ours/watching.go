package ours

import (
	"context"
	"encoding/json"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/bench/internal/system"
)

// streaming are the args of a function that appends.
type streaming struct {
	Items int           `json:"items"`
	Every time.Duration `json:"every"`
}

var streams = holdfast.NewKind[streaming, struct{}]("bench.streams")

// stream appends the time to a stream, again and again.
func (c *client) stream(run *holdfast.Run, s streaming) (struct{}, error) {
	for range s.Items {
		if err := system.Pause(run, s.Every); err != nil {
			return struct{}{}, err
		}
		at := time.Now()
		if err := run.Append("items", at.UnixNano()); err != nil {
			return struct{}{}, err
		}
		if appended := c.appended.Load(); appended != nil {
			(*appended)(time.Since(at))
		}
	}
	return struct{}{}, nil
}

// Stream starts it.
func (c *client) Stream(ctx context.Context, items int, every time.Duration, appended func(took time.Duration)) (system.ID, error) {
	c.appended.Store(&appended)
	job, err := streams.Enqueue(ctx, c.hf, streaming{items, every})
	if err != nil {
		return system.ID{}, err
	}
	return system.ID(job.ID), nil
}

// Follow follows it.
func (c *client) Follow(ctx context.Context, job system.ID, each func(appended time.Time)) error {
	for item, err := range c.hf.Follow(ctx, holdfast.ID(job), "items", 0) {
		var at int64
		if err == nil {
			err = json.Unmarshal(item.Value, &at)
		}
		if err != nil {
			return err
		}
		each(time.Unix(0, at))
	}
	return nil
}

// InsertNamed stores jobs.
func (c *client) InsertNamed(ctx context.Context, args []system.Args) ([]system.ID, error) {
	jobs, err := noop.EnqueueMany(ctx, c.hf, args)
	ids := make([]system.ID, len(jobs))
	for i, job := range jobs {
		ids[i] = system.ID(job.ID)
	}
	return ids, err
}

// Await waits for one.
func (c *client) Await(ctx context.Context, job system.ID) error {
	return c.hf.Wait(ctx, holdfast.ID(job))
}
