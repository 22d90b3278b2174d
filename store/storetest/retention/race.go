package retention

import (
	"errors"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/crowd"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

var raceTests = env.Tests{
	"a_class_is_deleted_while_queues_begin_to_name_it":              raceNamed,
	"NoLoss_jobs_that_are_removed_by_many_at_once_are_counted_once": raceRemoved,
}

// raceNamed: whatever comes first, no queue names a class that is not there.
func raceNamed(e *env.Env) {
	for range 20 {
		e.SetRetention(store.RetentionClass{Name: "short", Completed: hour})
		var named, deleted bool
		crowd.Together(e, 2, func(i int) error {
			if i == 0 {
				err := e.Store.DeleteRetention(e.Ctx, store.RetentionClass{Name: "short"})
				deleted = err == nil
				return unless(err, store.ErrConflict)
			}
			_, err := e.Store.SetQueue(e.Ctx, store.SetQueueParams{
				Namespace: env.Namespace, Queue: "mail", Set: store.AttemptSettings{Retention: "short"},
			})
			named = err == nil
			return unless(err, store.ErrNotFound)
		})
		if named == deleted {
			e.Fatalf("named: %v, deleted: %v", named, deleted)
		}
		e.NameRetention("mail", "")
	}
}

// unless returns an error, but for one that is expected.
func unless(err, expected error) error {
	if errors.Is(err, expected) {
		return nil
	}
	return err
}

// raceRemoved: several processes believe that they lead, and people retry jobs meanwhile.
func raceRemoved(e *env.Env) {
	const n = 120
	e.SetRetention(store.RetentionClass{Name: "short", Cancelled: hour})
	e.NameRetention("mail", "short")
	var ids []store.ID
	for range n {
		id := e.Add()
		e.Cancel(id)
		ids = append(ids, id)
	}
	e.Clock.Advance(hour + env.Slack)
	params := times
	params.Limit = 10
	crowd.Together(e, 4, func(i int) error {
		if i == 0 {
			_, _, err := e.Store.Retry(e.Ctx, store.RetryParams{Jobs: ids[n/3 : n/2], Namespace: env.Namespace})
			return err
		}
		for range 20 {
			// One may find that another has the tables locked.
			if _, err := e.Store.Retain(e.Ctx, params); unless(err, store.ErrUnavailable) != nil {
				return err
			}
		}
		return nil
	})
	e.Clock.Advance(hour + env.Slack)
	e.Retain(params)
	left := int64(len(e.ListIDs(store.Filter{})))
	if removed := e.Removed("mail"); left > n/6 || len(removed) == 0 {
		e.Fatalf("%d jobs are left, and %+v were removed", left, removed)
	}
	sum := left
	for _, r := range e.Removed("mail") {
		sum += r.Jobs
	}
	e.Equal("jobs that are left or counted", sum, int64(n))
}
