package postgres_test

import (
	"testing"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres"
	"github.com/holdfastdev/holdfast/store/storetest"
)

// TestRetentionThinsDays: of a day of which too many jobs are kept the others are removed one by
// one, in as many calls as that takes, and the day goes when the kept ones are over.
func TestRetentionThinsDays(t *testing.T) {
	t.Parallel()
	config := fresh(t)
	clock := storetest.NewClock()
	config.Clock = clock.Now
	s := open(t, config)
	postgres.KeepAtMost(s, 10)
	conn := connect(t, config.URL)
	ctx, day := t.Context(), clock.Now()
	_, err := s.SetRetention(ctx, store.RetentionClass{Name: "long", Completed: 30 * 24 * time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.SetQueue(ctx, store.SetQueueParams{Namespace: "default", Queue: "long", Set: store.AttemptSettings{Retention: "long"}})
	if err != nil {
		t.Fatal(err)
	}
	var jobs []*store.Enqueue
	for i := range 60 {
		jobs = append(jobs, newJob(at(clock), func(q *store.Enqueue) {
			if i%3 == 0 {
				q.Job.Queue = "long"
			}
		}))
	}
	enqueue(t, s, jobs...)
	runs, err := s.Claim(ctx, demand(join(t, s), 1, 1000))
	if err != nil || len(runs) != 60 {
		t.Fatalf("claimed %d, %v", len(runs), err)
	}
	batch := &store.Batch{}
	for _, run := range runs {
		batch.Outcomes = append(batch.Outcomes, completed(run))
	}
	if err := store.ApplyEach(ctx, s, batch); err != nil {
		t.Fatal(err)
	}
	left := func() int { return value[int](t, conn, "SELECT count(*) FROM "+config.SchemaName+".finished") }
	params := store.Retention{Completed: time.Hour, Limit: 7}
	clock.Advance(48 * time.Hour)
	total, calls := 0, 0
	for more := true; more; calls++ {
		retained, err := s.Retain(ctx, params)
		if err != nil || retained.Jobs > 7 {
			t.Fatalf("%+v, %v", retained, err)
		}
		total, more = total+retained.Jobs, retained.More
	}
	if total != 40 || left() != 20 || calls < 6 {
		t.Fatalf("removed %d in %d calls, %d are left", total, calls, left())
	}
	// It is left alone while none of the others is over: nothing is found to do, though another job
	// that would be over is there now.
	later := newJob(at(clock))
	later.Job.ID = runs[0].Job.ID // of that day
	later.Job.ID[15] ^= 1
	enqueue(t, s, later)
	clock.Advance(time.Hour)
	if retained, err := s.Retain(ctx, params); err != nil || retained.Jobs != 0 || retained.More {
		t.Fatalf("%+v, %v", retained, err)
	}
	if _, _, err := s.Cancel(ctx, store.CancelParams{Namespace: "default", Jobs: []store.ID{later.Job.ID}}); err != nil {
		t.Fatal(err)
	}
	clock.Advance(33 * 24 * time.Hour)
	for more := true; more; {
		retained, err := s.Retain(ctx, store.Retention{Completed: time.Hour, Cancelled: time.Hour, Limit: 7})
		if err != nil {
			t.Fatal(err)
		}
		more = retained.More
	}
	if left() != 0 || tablesOf(t, conn, config.SchemaName, day) != "" {
		t.Fatalf("%d are left, and the tables %q", left(), tablesOf(t, conn, config.SchemaName, day))
	}
	removed, err := s.Removed(ctx, store.RemovedParams{Namespace: "default", Limit: 100})
	if err != nil || len(removed) != 3 || removed[0].Jobs+removed[1].Jobs+removed[2].Jobs != 61 {
		t.Fatalf("counted %+v, %v", removed, err)
	}
}

// TestArchivedDaysGoWhenEmpty: where jobs are archived a day is dropped once none of its jobs is
// left, and not before.
func TestArchivedDaysGoWhenEmpty(t *testing.T) {
	t.Parallel()
	config := fresh(t)
	clock := storetest.NewClock()
	config.Clock = clock.Now
	s := open(t, config)
	conn := connect(t, config.URL)
	ctx, day := t.Context(), clock.Now()
	waits := newJob(at(clock), func(q *store.Enqueue) { q.Delay = 1000 * time.Hour })
	done := newJob(at(clock))
	enqueue(t, s, waits, done)
	cancel := func(id store.ID) {
		t.Helper()
		if _, _, err := s.Cancel(ctx, store.CancelParams{Namespace: "default", Jobs: []store.ID{id}}); err != nil {
			t.Fatal(err)
		}
	}
	cancel(done.Job.ID)
	params := store.Retention{Completed: time.Hour, Cancelled: time.Hour, Archived: true}
	for i, id := range []store.ID{done.Job.ID, waits.Job.ID} {
		clock.Advance(72 * time.Hour)
		jobs, _, err := s.Expired(ctx, params)
		if err != nil || len(jobs) != 1 || jobs[0].ID != id {
			t.Fatalf("expired %+v, %v", jobs, err)
		}
		for range 2 {
			if retained, err := s.Retain(ctx, params); err != nil || retained.Jobs != 0 {
				t.Fatalf("%+v, %v", retained, err)
			}
			if tablesOf(t, conn, config.SchemaName, day) == "" {
				t.Fatal("NoLoss: the tables of a day with jobs were dropped")
			}
		}
		if n, err := s.RemoveExpired(ctx, jobs); err != nil || n != 1 {
			t.Fatal(n, err)
		}
		if i == 0 {
			cancel(waits.Job.ID)
		}
	}
	if _, err := s.Retain(ctx, params); err != nil || tablesOf(t, conn, config.SchemaName, day) != "" {
		t.Fatalf("the tables %q are left, %v", tablesOf(t, conn, config.SchemaName, day), err)
	}
}
