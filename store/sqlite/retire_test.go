package sqlite_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/sqlite"
	"github.com/holdfastdev/holdfast/store/storetest"
)

var briefly = store.Retention{Completed: time.Hour, Failed: time.Hour, Cancelled: time.Hour, Audit: time.Hour}

// TestQueuesGo: queues and lanes that nobody has used for days are removed, in bounded steps; one
// that is paused stays.
func TestQueuesGo(t *testing.T) {
	a := openAged(t)
	const n = 700
	for i := range n {
		a.add(a.store, fmt.Sprintf("tenant %03d", i), func(q *store.Enqueue) { q.Job.Priority = 1 + i%4 })
	}
	for _, name := range []string{"paused", "resumed"} {
		pause := store.PauseParams{Namespace: "default", Queue: name, Paused: true, Actor: "ada"}
		must(t, a.store.Pause(t.Context(), pause))
		if pause.Paused = false; name == "resumed" {
			must(t, a.store.Pause(t.Context(), pause))
		}
	}
	a.end(a.claim(n), store.Outcome{State: store.Completed})
	a.clock.Advance(oneDay)
	a.retain(briefly)
	if jobs, queues := a.count("SELECT count(*) FROM holdfast_job"), len(a.queues()); jobs != 0 || queues != n+2 {
		t.Fatalf("after a day: %d jobs, %d queues", jobs, queues)
	}
	if rows := a.count("SELECT count(*) FROM holdfast_audit"); rows != 0 {
		t.Errorf("%d records of what people did", rows)
	}
	a.clock.Advance(2 * oneDay)
	a.add(a.store, "tenant 005")
	limited := briefly
	limited.Limit = 100
	if calls := a.retain(limited); calls < n/100 {
		t.Errorf("a limit of 100 did all in %d calls", calls)
	}
	for range 10 { // some hundred queues in each
		a.retain(briefly)
	}
	want := []string{"paused", "tenant 005"}
	if got := a.queues(); !slices.Equal(got, want) {
		t.Errorf("left are the queues %q", got)
	}
	if lanes := a.count("SELECT count(*) FROM holdfast_lane"); lanes != 1 {
		t.Errorf("%d lanes are left", lanes)
	}
}

// TestLanesInUseStay: a lane stays as long as any job is in it, in whatever state, and even if
// other jobs go.
func TestLanesInUseStay(t *testing.T) {
	forever := store.Retention{Completed: -1, Failed: -1, Cancelled: -1}
	for _, test := range []struct {
		name string
		keep store.Retention
		make func(a *aged) store.ID
	}{
		{"available", briefly, func(a *aged) store.ID { return a.add(a.store, "old") }},
		{"scheduled", briefly, func(a *aged) store.ID {
			return a.add(a.store, "old", func(q *store.Enqueue) { q.Job.RunAt = a.clock.Now().Add(1000 * oneDay) })
		}},
		{"blocked", briefly, func(a *aged) store.ID {
			keyed := func(q *store.Enqueue) { q.Job.OrderingKey = "key" }
			a.add(a.store, "old", func(q *store.Enqueue) { keyed(q); q.Job.Priority = 1 })
			a.claim(1)
			return a.add(a.store, "old", keyed)
		}},
		{"running", briefly, func(a *aged) store.ID {
			id := a.add(a.store, "old")
			a.claim(1)
			return id
		}},
		{"retryable", briefly, func(a *aged) store.ID {
			id := a.add(a.store, "old")
			a.end(a.claim(1), store.Outcome{State: store.Retryable, Delay: 1000 * oneDay})
			return id
		}},
		{"held", briefly, func(a *aged) store.ID {
			id := a.add(a.store, "old")
			_, _, err := a.store.PauseJobs(a.Context(), store.PauseJobsParams{Jobs: []store.ID{id}})
			must(a.T, err)
			return id
		}},
		{"failed", store.Retention{Completed: time.Hour}, func(a *aged) store.ID {
			id := a.add(a.store, "old")
			a.end(a.claim(1), store.Outcome{State: store.Failed})
			return id
		}},
		{"cancelled", store.Retention{Completed: time.Hour}, func(a *aged) store.ID {
			id := a.add(a.store, "old")
			_, _, err := a.store.Cancel(a.Context(), store.CancelParams{Jobs: []store.ID{id}})
			must(a.T, err)
			return id
		}},
		{"completed", forever, func(a *aged) store.ID {
			id := a.add(a.store, "old")
			a.end(a.claim(1), store.Outcome{State: store.Completed})
			return id
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			a := openAged(t)
			id := test.make(a)
			for range 5 {
				a.clock.Advance(3 * oneDay)
				a.retain(test.keep)
			}
			// A store that remembers nothing describes it.
			record, err := a.open().Get(t.Context(), "", id)
			if err != nil || record.Queue != "old" || record.Kind != "send" || record.Priority != 2 || record.Namespace != "default" {
				t.Errorf("%+v, %v", record.Job, err)
			}
		})
	}
}

// TestFailedJobsOfOthersHoldNothing: a job that is kept for ever keeps its own lane, and no other.
func TestFailedJobsOfOthersHoldNothing(t *testing.T) {
	a := openAged(t)
	a.add(a.store, "kept")
	a.end(a.claim(1), store.Outcome{State: store.Failed})
	a.add(a.store, "gone")
	a.end(a.claim(1), store.Outcome{State: store.Completed})
	a.add(a.store, "scheduled", func(q *store.Enqueue) { q.Job.RunAt = a.clock.Now().Add(1000 * oneDay) })
	a.clock.Advance(3 * oneDay)
	a.retain(store.Retention{Completed: time.Hour})
	if got, want := a.queues(), []string{"kept", "scheduled"}; !slices.Equal(got, want) {
		t.Errorf("left are the queues %q", got)
	}
	// Run again, and completed at last, it lets go of it.
	if _, _, err := a.store.Retry(t.Context(), store.RetryParams{Jobs: a.failed()}); err != nil {
		t.Fatal(err)
	}
	a.end(a.claim(1), store.Outcome{State: store.Completed})
	for range 2 {
		a.clock.Advance(3 * oneDay)
		a.retain(store.Retention{Completed: time.Hour})
	}
	if got, want := a.queues(), []string{"scheduled"}; !slices.Equal(got, want) {
		t.Errorf("left are the queues %q", got)
	}
}

// TestRetiredLaneIsUsedAgain: by a process that remembers it, even if the clock has gone back to
// the day on which it did last, and in a transaction of the caller.
func TestRetiredLaneIsUsedAgain(t *testing.T) {
	ctx := t.Context()
	a := openAged(t)
	other := a.open()
	before := a.clock.Now()
	a.add(other, "old") // both remember the lane now
	a.end(a.claim(1), store.Outcome{State: store.Completed})
	a.clock.Advance(4 * oneDay)
	a.retain(briefly)
	if lanes := a.count("SELECT count(*) FROM holdfast_lane"); lanes != 0 {
		t.Fatalf("%d lanes are left", lanes)
	}
	a.clock.Set(before)
	// The id of the lane that is gone is nobody else's.
	a.add(a.store, "new")
	a.add(other, "old")
	tx := begin(t, a.db)
	q := newJob()
	q.Job.Queue = "old"
	if err := other.EnqueueTx(ctx, sqlite.Tx(tx), []*store.Enqueue{q}); err != nil || q.Err != nil {
		t.Fatal(err, q.Err)
	}
	must(t, tx.Commit())
	claimed := a.claim(10)
	for i, queue := range []string{"new", "old", "old"} {
		if len(claimed) != 3 || claimed[i].Job.Queue != queue {
			t.Fatalf("claimed %+v", claimed)
		}
		record, err := other.Get(ctx, "", claimed[i].Job.ID)
		if err != nil || record.Queue != queue {
			t.Errorf("%+v, %v", record.Job, err)
		}
	}
}

// TestIdleLaneIsUsedAgain: one that is to be removed soon, on the day on which it was last used, to
// which the clock was set back.
func TestIdleLaneIsUsedAgain(t *testing.T) {
	a := openAged(t)
	before := a.clock.Now()
	a.add(a.store, "old")
	a.end(a.claim(1), store.Outcome{State: store.Completed})
	a.clock.Advance(4 * oneDay)
	a.add(a.store, "other")
	a.end(a.claim(1), store.Outcome{State: store.Completed})
	a.retain(briefly)
	if idle := a.count("SELECT count(*) FROM holdfast_lane WHERE idle_since IS NOT NULL"); idle != 1 {
		t.Fatalf("%d lanes are idle", idle)
	}
	a.clock.Set(before)
	id := a.add(a.store, "old")
	a.clock.Advance(5 * oneDay)
	a.retain(briefly)
	if record, err := a.open().Get(t.Context(), "", id); err != nil || record.Queue != "old" {
		t.Errorf("%+v, %v", record.Job, err)
	}
}

// TestNoJobWithoutLane: whatever two processes do, whenever one of them removes what is over, and
// however the clock is set meanwhile.
func TestNoJobWithoutLane(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	a := openAged(t)
	stores := []store.Store{a.store, a.open(), a.open()}
	outcomes := []store.Outcome{
		{State: store.Completed},
		{State: store.Completed},
		{State: store.Failed},
		{State: store.Retryable},
		{State: store.Scheduled, Delay: 3 * oneDay},
		{State: store.Available, Version: "v2"},
	}
	for step := range 600 {
		s := stores[random.IntN(len(stores))]
		switch random.IntN(10) {
		case 0, 1, 2:
			a.add(s, fmt.Sprintf("q%d", random.IntN(6)), func(q *store.Enqueue) {
				if q.Job.Priority = 1 + random.IntN(2); random.IntN(3) == 0 {
					q.Job.OrderingKey = "key"
				}
			})
		case 3, 4, 5:
			a.end(a.claim(1+random.IntN(3)), outcomes[random.IntN(len(outcomes))])
		case 6:
			_, err := s.Promote(t.Context(), 100)
			must(t, err)
		case 7:
			a.clock.Set(a.clock.Now().Add(time.Duration(random.IntN(9)-3) * oneDay))
		case 8:
			keep := briefly
			if random.IntN(2) == 0 {
				keep.Failed = -1
			}
			a.retain(keep)
		case 9:
			if failed := a.failed(); len(failed) > 0 {
				_, _, err := s.Retry(t.Context(), store.RetryParams{Jobs: failed[:1]})
				must(t, err)
			}
		}
		lost := a.count("SELECT count(*) FROM holdfast_job WHERE lane NOT IN (SELECT id FROM holdfast_lane)") +
			a.count("SELECT count(*) FROM holdfast_lane WHERE queue NOT IN (SELECT id FROM holdfast_queue)")
		if lost != 0 {
			t.Fatalf("step %d: %d jobs without a lane, or lanes without a queue", step, lost)
		}
	}
	if ids := a.count("SELECT seq FROM sqlite_sequence WHERE name = 'holdfast_lane'"); ids <= 12 {
		t.Errorf("no lane was ever removed: %d ids were used", ids)
	}
}

// TestAuditGoes: what people did is told with a job as long as there is one, and kept for its time.
func TestAuditGoes(t *testing.T) {
	ctx := t.Context()
	a := openAged(t)
	cancelled, held := a.add(a.store, "mail"), a.add(a.store, "mail")
	_, _, err := a.store.Cancel(ctx, store.CancelParams{Jobs: []store.ID{cancelled}, Actor: "ada"})
	must(t, err)
	_, _, err = a.store.PauseJobs(ctx, store.PauseJobsParams{Jobs: []store.ID{held}, Actor: "ada"})
	must(t, err)
	must(t, a.store.Pause(ctx, store.PauseParams{Namespace: "default", Queue: "mail", Paused: true, Actor: "ada"}))
	keep := store.Retention{Cancelled: time.Hour, Audit: 10 * oneDay}
	for _, step := range []struct {
		days, rows int
	}{{1, 3}, {5, 3}, {10, 1}, {100, 1}} { // the cancelled job is gone after the first
		a.clock.Set(storetest.NewClock().Now().Add(time.Duration(step.days) * oneDay))
		a.retain(keep)
		if rows := a.count("SELECT count(*) FROM holdfast_audit"); rows != step.rows {
			t.Errorf("after %d days there are %d records", step.days, rows)
		}
	}
	if record, err := a.store.Get(ctx, "", held); err != nil || len(record.Actions) != 1 {
		t.Errorf("%+v, %v", record.Actions, err)
	}
	// Whoever takes the id of a removed job has nothing to do with what was done to that.
	a.add(a.store, "mail", func(q *store.Enqueue) { q.Job.ID = cancelled })
	if record, err := a.store.Get(ctx, "", cancelled); err != nil || len(record.Actions) != 0 {
		t.Errorf("%+v, %v", record.Actions, err)
	}
}

// TestLanesAreForgotten: what a process remembers of lanes is bounded, and does not decide what it
// can do.
func TestLanesAreForgotten(t *testing.T) {
	a := openAged(t)
	sqlite.RememberLanes(t, 10)
	const n = 50
	batch := &store.Batch{}
	for range 2 {
		for i := range n {
			q := newJob()
			q.Job.Queue = fmt.Sprint("queue ", i)
			batch.Enqueues = append(batch.Enqueues, q)
		}
	}
	must(t, store.ApplyEach(t.Context(), a.store, batch))
	if lanes := sqlite.LanesRemembered(a.store); lanes > 20 {
		t.Errorf("%d lanes are remembered", lanes)
	}
	seen := map[uuid.UUID]bool{}
	for _, c := range a.claim(2 * n) {
		seen[c.Job.ID] = true
	}
	if len(seen) != 2*n || a.count("SELECT count(*) FROM holdfast_lane") != n {
		t.Errorf("claimed %d jobs", len(seen))
	}
}
