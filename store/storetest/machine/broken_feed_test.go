package machine

import (
	"context"
	"testing"

	"github.com/holdfastdev/holdfast/store"
)

// TestTheMachineNoticesTheFeed breaks what the feed tells.
func TestTheMachineNoticesTheFeed(t *testing.T) {
	t.Parallel()
	each := func(change func(*store.Change)) func(store.Store) store.Store {
		return func(s store.Store) store.Store { return &feedOther{s, change} }
	}
	for name, breaks := range map[string]func(store.Store) store.Store{
		"a position is left out": each(func(c *store.Change) { c.Position.Count += c.Position.Count / 5 }),
		"ends are not told": each(func(c *store.Change) {
			if c.State == store.Cancelled {
				c.State = store.Available
			}
		}),
		"claims are not told": each(func(c *store.Change) {
			if c.State == store.Running {
				c.State = store.Available
			}
		}),
	} {
		noticesSoon(t, name, breaks, mode{})
	}
}

// feedOther tells other changes.
type feedOther struct {
	store.Store

	change func(*store.Change)
}

func (s *feedOther) ReadFeed(ctx context.Context, params store.FeedParams) (store.FeedPage, error) {
	page, err := s.Store.ReadFeed(ctx, params)
	for i := range page.Changes {
		s.change(&page.Changes[i])
	}
	return page, err
}
