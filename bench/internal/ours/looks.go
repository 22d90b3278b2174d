package ours

import (
	"context"

	"github.com/holdfastdev/holdfast"
)

// pageSize is that of a dashboard.
const pageSize = 50

// Looks are pages of jobs by the filters that people use, and the counts of the queues.
func (c *client) Looks() map[string]func(context.Context) error {
	list := func(filter holdfast.Filter) func(context.Context) error {
		return func(ctx context.Context) error {
			_, err := c.hf.List(ctx, filter, "", pageSize)
			return err
		}
	}
	second := "" // the cursor of the second page, once the first was read
	return map[string]func(context.Context) error{
		"list":           list(holdfast.Filter{}),
		"list_completed": list(holdfast.Filter{States: []holdfast.State{holdfast.Completed}}),
		"list_failed":    list(holdfast.Filter{States: []holdfast.State{holdfast.Failed}}),
		"list_kind":      list(holdfast.Filter{Kinds: []string{noop.Name()}}),
		"list_queue":     list(holdfast.Filter{Queues: []string{"default"}}),
		"list_second": func(ctx context.Context) error {
			page, err := c.hf.List(ctx, holdfast.Filter{}, second, pageSize)
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
