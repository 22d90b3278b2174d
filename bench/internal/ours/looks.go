package ours

import (
	"context"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/bench/internal/system"
	"github.com/holdfastdev/holdfast/store"
)

// pageSize is that of a dashboard.
const pageSize = 50

// Looks are pages of jobs by the filters that people use, and the counts of the queues.
func (c *client) Looks() map[string]func(context.Context) error {
	list := func(filter store.Filter) func(context.Context) error {
		return func(ctx context.Context) error {
			_, err := c.hf.List(ctx, filter, "", pageSize)
			return err
		}
	}
	second := "" // the cursor of the second page, once the first was read
	return map[string]func(context.Context) error{
		"list":           list(store.Filter{}),
		"list_completed": list(store.Filter{States: []store.State{store.Completed}}),
		"list_failed":    list(store.Filter{States: []store.State{store.Failed}}),
		"list_kind":      list(store.Filter{Kinds: []string{noop.Name()}}),
		"list_queue":     list(store.Filter{Queues: []string{"default"}}),
		"list_second": func(ctx context.Context) error {
			page, err := c.hf.List(ctx, store.Filter{}, second, pageSize)
			if second == "" {
				second = page.Next
			}
			return err
		},
		"count": func(ctx context.Context) error {
			_, err := c.hf.Queues(ctx)
			return err
		},
	}
}

// SomeWaiting lists jobs that are available.
func (c *client) SomeWaiting(ctx context.Context, most int) (jobs []system.ID, err error) {
	page, err := c.hf.List(ctx, store.Filter{States: []store.State{store.Available}}, "", most)
	for i := range page.Jobs {
		jobs = append(jobs, system.ID(page.Jobs[i].ID))
	}
	return jobs, err
}

// Why asks.
func (c *client) Why(ctx context.Context, job system.ID) error {
	_, err := c.hf.Why(ctx, holdfast.ID(job))
	return err
}
