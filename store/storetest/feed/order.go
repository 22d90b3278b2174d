package feed

import (
	"errors"
	"sync"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

var orderTests = env.Tests{
	"positions_do_not_change":                       stable,
	"old_changes_are_removed_and_late_readers_told": retained,
	"what_is_kept_for_ever_stays":                   keptForEver,
	"a_clock_that_was_far_ahead_keeps_nothing":      wrongClock,
}

func stable(e *env.Env) {
	e.Tell(true)
	var seen []store.Change
	var at store.FeedPosition
	for n := range 5 {
		e.Enqueue(e.Many(n)...)
		e.Add(env.Delay(time.Hour))
		more, next := e.Changes(at)
		e.WantDense(more, at)
		seen, at = append(seen, more...), next
	}
	all, next := e.Changes(fromTheBeginning)
	e.Equal("all changes", all, seen)
	e.Equal("the position after them", next, at)
	e.Equal("how many", len(all), 15)
}

func twoSequencers(e *env.Env) {
	e.Competes()
	e.Tell(true)
	const writers, each = 4, 25
	var wait sync.WaitGroup
	stop := make(chan struct{})
	errs := make(chan error, 3*writers)
	for range writers {
		wait.Go(func() {
			for range each {
				if err := enqueueOne(e); err != nil {
					errs <- err
					return
				}
			}
		})
	}
	var sequencers sync.WaitGroup
	for range 3 {
		sequencers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if err := e.Store.OrderFeed(e.Ctx); err != nil {
					errs <- err
					return
				}
			}
		})
	}
	wait.Wait()
	close(stop)
	sequencers.Wait()
	close(errs)
	for err := range errs {
		e.NoError("a writer or a sequencer", err)
	}
	changes, _ := e.Changes(fromTheBeginning)
	e.WantDense(changes, fromTheBeginning)
	jobs := map[store.ID]bool{}
	for _, c := range changes {
		jobs[c.Job] = true
	}
	if len(changes) != writers*each || len(jobs) != len(changes) {
		e.Fatalf("%d changes of %d jobs; %d were enqueued", len(changes), len(jobs), writers*each)
	}
}

// enqueueOne enqueues a job as a committer does: what another one has held is tried again.
func enqueueOne(e *env.Env) error {
	for q := e.Job(); ; {
		err := e.Store.Apply(e.Ctx, &store.Batch{Enqueues: []*store.Enqueue{q}})
		if err == nil {
			err = q.Err
		}
		if !errors.Is(err, store.ErrBusy) {
			return err
		}
		q.Err = nil
	}
}

func retained(e *env.Env) {
	e.Tell(true)
	e.Enqueue(e.Many(3)...)
	old, at := e.Changes(fromTheBeginning)
	e.Clock.Advance(2 * time.Hour)
	young := e.Add()
	_, next := e.Changes(at)
	e.Retain(store.Retention{Feed: time.Hour})
	kept, _ := e.Changes(fromTheBeginning)
	if len(kept) != 1 || kept[0].Job != young || kept[0].Position != next {
		e.Fatalf("kept: %+v", kept)
	}
	if same, _ := e.Changes(at); len(same) != 1 {
		e.Fatalf("after what was removed: %+v", same)
	}
	_, err := e.Store.ReadFeed(e.Ctx, store.FeedParams{After: old[0].Position, Limit: 1})
	if reset, ok := errors.AsType[*store.FeedResetError](err); !ok || reset.Oldest != at || reset.Newest != next {
		e.Fatalf("a position whose successors were removed: %v", err)
	}
	e.Clock.Advance(2 * time.Hour)
	e.Retain(store.Retention{Feed: time.Hour})
	status, err := e.Store.FeedStatus(e.Ctx)
	e.NoError("FeedStatus", err)
	e.Equal("the last position, with nothing young", status.Newest, next)
	e.Add()
	last, _ := e.Changes(next)
	e.WantDense(last, next)
	e.Equal("changes after it", len(last), 1)
}

func keptForEver(e *env.Env) {
	e.Tell(true)
	e.Add()
	e.Clock.Advance(1000 * time.Hour)
	e.Add()
	e.Retain(store.Retention{})
	changes, _ := e.Changes(fromTheBeginning)
	e.Equal("changes", len(changes), 2)
	e.Add()
	e.Retain(store.Retention{}) // gives positions, too
	status, err := e.Store.FeedStatus(e.Ctx)
	e.NoError("FeedStatus", err)
	e.Equal("the last position", status.Newest.Count, int64(3))
}

// wrongClock: what was stamped far ahead does not keep all that comes behind it until then.
func wrongClock(e *env.Env) {
	e.Tell(true)
	e.Add()
	e.Changes(fromTheBeginning)
	e.Clock.Advance(1000 * time.Hour)
	e.Add()
	_, wrong := e.Changes(fromTheBeginning)
	e.Clock.Advance(-1000 * time.Hour)
	e.Add()
	e.Changes(wrong)
	e.Clock.Advance(2 * time.Hour)
	young := e.Add()
	e.Changes(wrong)
	e.Retain(store.Retention{Feed: time.Hour})
	if kept, _ := e.Changes(fromTheBeginning); len(kept) != 1 || kept[0].Job != young {
		e.Fatalf("kept: %+v", kept)
	}
}
