package operate

import (
	"context"

	"github.com/holdfastdev/holdfast/store/postgres/internal/pg"
	"github.com/holdfastdev/holdfast/store/postgres/internal/schema"
	"github.com/holdfastdev/holdfast/store/postgres/internal/write"
)

const (
	// retireAfter is for how many days before the oldest partition no job may have been put into a
	// lane that is removed. A job is inserted into the partition of the day of its id, which its
	// maker's clock told, and there are partitions for as many days ahead as schema.DaysAhead says;
	// what moves from the default partition into a new one has its lanes marked as used on that
	// day.
	retireAfter = schema.DaysAhead + 1
	// retireLimit is how many lanes are removed in one go.
	retireLimit = 1000
	// actionsAtOnce is how many records of what people did are looked at in one go.
	actionsAtOnce = 1000
)

// retireLanes removes lanes, and queues without lanes, that nothing refers to any more: no job of
// theirs is left. That is looked at once a day, and costs a scan of the default partition, which
// has only what outlived its day.
func (s *Store) retireLanes(ctx context.Context) error {
	list, err := s.days(ctx)
	if err != nil {
		return err
	}
	days := list.OfJobs()
	if len(days) == 0 {
		return nil
	}
	before := pg.DayOf(days[0].Start.UnixMicro()) - retireAfter
	if today := s.Today(); s.retired.Load() == int64(today)<<32|int64(before) {
		return nil
	} else if before >= today {
		return nil
	}
	for {
		var old []int32
		removed := 0
		err := pg.RetryOnConflict(ctx, func() error {
			old, removed = nil, 0
			return s.InTx(ctx, pg.BeginBulk, func(t pg.Session) error {
				if err := t.RunAll(ctx, []pg.Statement{pg.WaitAtMost(write.Briefly)}); err != nil {
					return err
				}
				err := t.Run(ctx, "lanes_old", func(r pg.Row) error {
					var lane int32
					err := r.Scan(&lane)
					old = append(old, lane)
					return err
				}, before, int32(retireLimit))
				if err != nil {
					return err
				}
				if err := t.Run(ctx, "lanes_retire", func(pg.Row) error { removed++; return nil }, old); err != nil {
					return err
				}
				return t.Run(ctx, "queues_retire", nil, int64(before)*pg.Day.Microseconds(), s.Micros())
			})
		})
		if err != nil {
			return err
		}
		if len(old) < retireLimit || removed == 0 {
			s.retired.Store(int64(s.Today())<<32 | int64(before))
			return nil
		}
	}
}

// forgetActions removes what people did that is not kept any more. Each call looks at the next of
// it, and the one after the last starts over: what was done to jobs that live for long stays at the
// beginning, and is not to hide the rest.
func (s *Store) forgetActions(ctx context.Context, r retention) error {
	if r.Audit <= 0 {
		return nil
	}
	until, after := r.now.Add(-r.Audit).UnixMicro(), s.forgotten.Load()
	last, old := int64(0), false
	look := pg.Statement{Name: "actions_looked_at", Args: []any{until, after, int32(actionsAtOnce)}}
	look.Each = func(row pg.Row) error { return row.Scan(&last, &old) }
	if err := s.Send(ctx, look, pg.Statement{Name: "forget_actions", Args: []any{until, after, int32(actionsAtOnce)}}); err != nil {
		return err
	}
	if !old {
		last = 0
	}
	s.forgotten.Store(last)
	return nil
}
