package machine

import (
	"context"
	"testing"

	"github.com/holdfastdev/holdfast/store"
)

// TestTheMachineNoticesLogs breaks what is kept of what runs log.
func TestTheMachineNoticesLogs(t *testing.T) {
	t.Parallel()
	each := func(change func(*store.LogChunk)) func(store.Store) store.Store {
		return func(s store.Store) store.Store { return &logsOther{s, change} }
	}
	for name, breaks := range map[string]func(store.Store) store.Store{
		"nothing is trimmed":       each(func(c *store.LogChunk) { c.Keep = 0 }),
		"too much is trimmed":      each(func(c *store.LogChunk) { c.Keep = min(c.Keep, 1) * (c.Keep + 1) }),
		"all runs are kept":        each(func(c *store.LogChunk) { c.Opens = false }),
		"each chunk drops runs":    each(func(c *store.LogChunk) { c.Opens = true }),
		"lines of another attempt": each(func(c *store.LogChunk) { c.Attempt++ }),
		"lines are lost":           func(s store.Store) store.Store { return &logsLess{s} },
	} {
		noticesSoon(t, name, breaks, mode{logged: true})
	}
}

// logsOther keeps other chunks than it is given.
type logsOther struct {
	store.Store

	change func(*store.LogChunk)
}

func (s *logsOther) KeepLogs(ctx context.Context, chunks []store.LogChunk) error {
	other := append([]store.LogChunk(nil), chunks...)
	for i := range other {
		s.change(&other[i])
	}
	return s.Store.KeepLogs(ctx, other)
}

// logsLess keeps the first of several chunks.
type logsLess struct{ store.Store }

func (s *logsLess) KeepLogs(ctx context.Context, chunks []store.LogChunk) error {
	return s.Store.KeepLogs(ctx, chunks[:1])
}
