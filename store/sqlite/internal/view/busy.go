package view

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/core"
)

// Busy implements store.Claims. It walks from lane to lane, as a claim does.
func (v Verbs) Busy(ctx context.Context, namespace string) (queues []store.BusyQueue, err error) {
	err = v.d.Read(ctx, "look which queues have jobs", func(t *core.Tx) error {
		paused, err := t.PausedQueues()
		if err != nil {
			return err
		}
		queues = nil
		s := t.Stmt("next_head")
		for after := int64(math.MinInt64); ; {
			s.BindInt(after)
			more, err := s.Next()
			if err != nil || !more {
				return err
			}
			after = s.ReadInt()
			s.Done()
			l, err := t.LaneOf(after)
			if err != nil {
				return err
			}
			if l.Namespace == namespace && !slices.Contains(paused, l.Queue) {
				kind := store.ParseLaneName(l.Kind).Claimed()
				queues = append(queues, store.BusyQueue{Name: l.QueueName, Kind: kind})
			}
		}
	})
	slices.SortFunc(queues, func(a, b store.BusyQueue) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Kind, b.Kind))
	})
	return slices.Compact(queues), err
}
