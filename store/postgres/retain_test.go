package postgres_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres"
	"github.com/holdfastdev/holdfast/store/storetest"
)

// tablesOf lists the tables of a day.
func tablesOf(t *testing.T, conn *pgx.Conn, schema string, day time.Time) string {
	t.Helper()
	return value[string](t, conn, `SELECT coalesce(string_agg(c.relname, ' ' ORDER BY c.relname), '') FROM pg_class c
		JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = $1 AND c.relkind = 'r' AND c.relname LIKE '%' || $2`,
		schema, day.UTC().Format("20060102"))
}

// at gives a job an id of the clock's time.
func at(clock *storetest.Clock) func(*store.Enqueue) {
	return func(q *store.Enqueue) {
		ms := clock.Now().UnixMilli()
		q.Job.ID = uuid.New()
		for i := range 6 {
			q.Job.ID[i] = byte(ms >> (40 - 8*i))
		}
	}
}

func TestRetentionDropsDays(t *testing.T) {
	t.Parallel()
	config := fresh(t)
	clock := storetest.NewClock()
	config.Clock = clock.Now
	s := open(t, config)
	conn := connect(t, config.URL)
	day := clock.Now()
	if got := tablesOf(t, conn, config.SchemaName, day); strings.Count(got, "_") != 5 {
		t.Fatalf("the tables of the day are %q", got)
	}
	node := join(t, s)
	var jobs []*store.Enqueue
	for range 200 {
		jobs = append(jobs, newJob(at(clock)))
	}
	held := newJob(at(clock), withKey("held"), func(q *store.Enqueue) { q.Job.UniqueStates = store.SetOf(store.States...) })
	waiting := newJob(at(clock), withKey("waits"), func(q *store.Enqueue) { q.Delay = 1000 * time.Hour })
	enqueue(t, s, append(jobs, held, waiting)...)
	runs, err := s.Claim(t.Context(), demand(node, 1, 1000))
	if err != nil || len(runs) != 201 {
		t.Fatalf("claimed %d, %v", len(runs), err)
	}
	batch := &store.Batch{}
	for i, run := range runs {
		o := completed(run)
		if i == 0 {
			o.State, o.Reason, o.Error = store.Failed, store.ReasonError, "kept longer"
		}
		batch.Outcomes = append(batch.Outcomes, o)
	}
	if err := store.ApplyEach(t.Context(), s, batch); err != nil {
		t.Fatal(err)
	}
	failed := runs[0].Job.ID
	remembering := newJob(at(clock))
	enqueue(t, s, remembering)
	again, err := s.Claim(t.Context(), demand(node, 100, 1))
	if err != nil || len(again) != 1 {
		t.Fatalf("claimed %d, %v", len(again), err)
	}
	// What waits is remembered as long as it waits; what a completed job remembers is dropped with
	// it.
	for _, batch := range []*store.Batch{
		{
			Appends:  []*store.Append{{Lease: again[0].Lease, Entries: []store.Entry{step(1), step(2)}}},
			Sends:    []*store.Send{signal(remembering.Job.ID, "dropped"), signal(waiting.Job.ID, "kept")},
			Outcomes: []*store.Outcome{completed(again[0])},
		},
	} {
		if err := store.ApplyEach(t.Context(), s, batch); err != nil {
			t.Fatal(err)
		}
	}

	clock.Advance(48 * time.Hour)
	params := store.Retention{Completed: time.Hour, Failed: 90 * 24 * time.Hour}
	// Somebody reads a table of the day: dropping waits for a moment and lets go, and nobody is
	// stuck behind it.
	reading, err := conn.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := reading.Exec(t.Context(), "SELECT count(*) FROM "+config.SchemaName+".job"); err != nil {
		t.Fatal(err)
	}
	if retained, err := s.Retain(t.Context(), params); err != nil || retained.Jobs != 0 {
		t.Fatalf("Retain beside a reader: %+v, %v", retained, err)
	}
	if err := reading.Rollback(context.Background()); err != nil {
		t.Fatal(err)
	}
	clock.Advance(time.Hour)
	retained, err := s.Retain(t.Context(), params)
	if err != nil || retained.Jobs != 201 {
		t.Fatalf("Retain: %+v, %v", retained, err)
	}
	if got := tablesOf(t, conn, config.SchemaName, day); got != "" {
		t.Fatalf("the day still has the tables %q", got)
	}
	if record, err := s.Get(t.Context(), "", failed); err != nil || record.Error != "kept longer" || len(record.Attempts) != 1 {
		t.Fatalf("the failed job: %+v, %v", record, err)
	}
	wantState(t, s, waiting.Job.ID, store.Scheduled)
	for _, table := range []string{"job", "finished", "attempt", "journal", "inbox"} {
		want := map[string]int{"job": 2, "finished": 1, "attempt": 1, "journal": 0, "inbox": 1}[table]
		if n := value[int](t, conn, "SELECT count(*) FROM "+config.SchemaName+"."+table); n != want {
			t.Fatalf("%d rows are left in %s, want %d", n, table, want)
		}
	}
	// The key of what is gone is free, that of what is left is not.
	enqueue(t, s, newJob(at(clock), withKey("held")))
	repeated := newJob(at(clock), withKey("waits"))
	enqueue(t, s, repeated)
	if repeated.Result.ID != waiting.Job.ID {
		t.Fatalf("result: %+v", repeated.Result)
	}
	// The days to come are there.
	for n := range 2 {
		if got := tablesOf(t, conn, config.SchemaName, clock.Now().Add(time.Duration(n)*24*time.Hour)); got == "" {
			t.Fatalf("there are no tables for the day in %d days", n)
		}
	}
	// Row by row: the failed one is in the default partition now.
	clock.Advance(90 * 24 * time.Hour)
	if retained, err := s.Retain(t.Context(), params); err != nil || retained.Jobs != 1 {
		t.Fatalf("Retain: %+v, %v", retained, err)
	}
}

// TestRetentionMovesOnlySoMuch: everybody waits while it moves what a job of the day has streamed
// since.
func TestRetentionMovesOnlySoMuch(t *testing.T) {
	t.Parallel()
	config := fresh(t)
	clock := storetest.NewClock()
	config.Clock = clock.Now
	s := open(t, config)
	postgres.MoveAtMost(s, 4)
	node := join(t, s)
	enqueue(t, s, newJob(at(clock)), newJob(at(clock)))
	runs, err := s.Claim(t.Context(), demand(node, 1, 10))
	if err != nil || len(runs) != 2 {
		t.Fatalf("claimed %d, %v", len(runs), err)
	}
	err = store.ApplyEach(t.Context(), s, &store.Batch{
		Appends:  []*store.Append{{Lease: runs[0].Lease, Entries: []store.Entry{step(1), step(2), step(3), step(4), step(5)}}},
		Outcomes: []*store.Outcome{completed(runs[1])},
	})
	if err != nil {
		t.Fatal(err)
	}
	clock.Advance(72 * time.Hour)
	params := store.Retention{Completed: time.Hour}
	if retained, err := s.Retain(t.Context(), params); err != nil || retained.Jobs != 0 {
		t.Fatalf("Retain beside a journal of 5 entries: %+v, %v", retained, err)
	}
	postgres.MoveAtMost(s, 5)
	clock.Advance(2 * time.Hour)
	if retained, err := s.Retain(t.Context(), params); err != nil || retained.Jobs != 1 {
		t.Fatalf("Retain: %+v, %v", retained, err)
	}
	journals, err := s.Journals(t.Context(), "", []store.ID{runs[0].Job.ID})
	if err != nil || len(journals[0].Entries) != 5 {
		t.Fatalf("%+v, %v", journals, err)
	}
}

// TestPartitionAroundJobs: ids from the future are in the default partition until their day has
// tables of its own.
func TestPartitionAroundJobs(t *testing.T) {
	t.Parallel()
	config := fresh(t)
	clock := storetest.NewClock()
	config.Clock = clock.Now
	s := open(t, config)
	start := clock.Now()
	clock.Advance(10 * 24 * time.Hour)
	early := newJob(at(clock))
	clock.Set(start)
	enqueue(t, s, early)
	clock.Advance(10 * 24 * time.Hour)
	node := join(t, s)
	if _, err := s.Beat(t.Context(), store.BeatParams{Node: node}); err != nil {
		t.Fatal(err)
	}
	conn := connect(t, config.URL)
	table := config.SchemaName + ".job_" + clock.Now().UTC().Format("20060102")
	if n := value[int](t, conn, "SELECT count(*) FROM "+table); n != 1 {
		t.Fatalf("%d jobs are in %s", n, table)
	}
	if runs, err := s.Claim(t.Context(), demand(node, 1, 10)); err != nil || len(runs) != 1 {
		t.Fatalf("claimed %d, %v", len(runs), err)
	}
}

// TestRefusedRequestsGoByPortions: so many of those that were refused long enough ago go at once,
// the oldest first, and it is told that there are more.
func TestRefusedRequestsGoByPortions(t *testing.T) {
	t.Parallel()
	config := fresh(t)
	clock := storetest.NewClock()
	config.Clock = clock.Now
	s := open(t, config)
	conn := connect(t, config.URL)
	q := newJob(at(clock))
	enqueue(t, s, q)
	now := clock.Now().UnixMicro()
	_, err := conn.Exec(t.Context(), `INSERT INTO `+config.SchemaName+`.job_update (id, at, answered_at, codec, verdict, key, name)
		SELECT $1, $2::bigint, $2::bigint + 10 - i, 0, $3::int, 'key ' || i, 'u' FROM generate_series(1, 5) i`,
		q.Job.ID, now, store.UpdateRefused)
	if err != nil {
		t.Fatal(err)
	}
	clock.Advance(store.RefusedKept + time.Second)
	for _, want := range []string{"key 1 key 2 key 3", "key 1", ""} {
		retained, err := s.Retain(t.Context(), store.Retention{Limit: 2})
		if err != nil || retained.More != (want != "") {
			t.Fatalf("Retain: %+v, %v", retained, err)
		}
		left := value[string](t, conn, "SELECT coalesce(string_agg(key, ' ' ORDER BY key), '') FROM "+config.SchemaName+".job_update")
		if left != want {
			t.Errorf("the requests %q are left, want %q", left, want)
		}
	}
}
