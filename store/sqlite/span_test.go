package sqlite_test

import (
	"database/sql"
	"fmt"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/sqlite"
	"github.com/holdfastdev/holdfast/store/storetest"
)

// bare are the bodies without spans.
const bare = `SELECT count(*) FROM holdfast_job j
	WHERE NOT EXISTS (SELECT 1 FROM holdfast_lane_span s WHERE s.lane = j.lane AND s.bucket = substr(hex(j.id), 1, 11))`

// wantSpans looks whether each body in a file has its span.
func wantSpans(t *testing.T, path string) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path+"?mode=ro")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	n := 0
	if err := db.QueryRow(bare).Scan(&n); err != nil || n > 0 {
		t.Errorf("%d bodies have no span, %v", n, err)
	}
}

func one[T any](t *testing.T, db *sql.DB, text string, args ...any) (v T) {
	t.Helper()
	if err := db.QueryRowContext(t.Context(), text, args...).Scan(&v); err != nil {
		t.Fatal(text, err)
	}
	return v
}

// madeAt is an id as if it had been made at a time.
func madeAt(id store.ID, at time.Time) store.ID {
	ms := at.UnixMilli()
	for i := range 6 {
		id[i] = byte(ms >> (40 - 8*i))
	}
	return id
}

// TestSpansOfDeletedJobsGo: if all is kept for ever, spans go of jobs that people deleted, and no
// others.
func TestSpansOfDeletedJobsGo(t *testing.T) {
	clock := storetest.NewClock()
	source := sqlite.File(file(t))
	source.Clock = clock.Now
	s := open(t, source)
	db := database(t, source.Path)
	kept, lone := newJob(), newJob()
	kept.Job.ID = madeAt(kept.Job.ID, clock.Now())
	lone.Job.Kind, lone.Job.ID = "lone", madeAt(lone.Job.ID, clock.Now())
	if err := store.ApplyEach(t.Context(), s, &store.Batch{Enqueues: []*store.Enqueue{kept, lone}}); err != nil {
		t.Fatal(err)
	}
	const count = "SELECT count(*) FROM holdfast_lane_span"
	if n := one[int](t, db, count); n != 2 {
		t.Fatalf("two lanes have %d spans", n)
	}
	ids := []store.ID{lone.Job.ID}
	if _, _, err := s.Cancel(t.Context(), store.CancelParams{Jobs: ids}); err != nil {
		t.Fatal(err)
	}
	if results, _, err := s.Delete(t.Context(), store.DeleteParams{Jobs: ids}); err != nil || results[0].Err != nil {
		t.Fatal(results, err)
	}
	clock.Advance(time.Hour)
	for range 3 {
		if _, err := s.Retain(t.Context(), store.Retention{}); err != nil {
			t.Fatal(err)
		}
	}
	if n := one[int](t, db, count); n != 1 {
		t.Errorf("%d spans are left, want that of the job that is there", n)
	}
	wantSpans(t, source.Path)
}

// TestSpansGo: spans without bodies go when their jobs are over, of lanes that are gone as well,
// and those with bodies stay; however many there are.
func TestSpansGo(t *testing.T) {
	clock := storetest.NewClock()
	source := sqlite.File(file(t))
	source.Clock = clock.Now
	s := open(t, source)
	db := database(t, source.Path)
	made := func(ago time.Duration) {
		q := newJob()
		q.Job.ID = madeAt(q.Job.ID, clock.Now().Add(-ago))
		if err := store.ApplyEach(t.Context(), s, &store.Batch{Enqueues: []*store.Enqueue{q}}); err != nil {
			t.Fatal(err)
		}
	}
	made(48 * time.Hour)
	made(0)
	lane := one[int64](t, db, "SELECT lane FROM holdfast_job LIMIT 1")
	for i := range 3000 {
		ms := clock.Now().Add(-30*time.Hour + time.Duration(i)*time.Second).UnixMilli()
		text := fmt.Sprintf("%011X", ms>>4)
		const insert = "INSERT INTO holdfast_lane_span (lane, bucket) VALUES (?, ?), (?, ?)"
		if _, err := db.ExecContext(t.Context(), insert, lane, text, lane+100, text); err != nil {
			t.Fatal(err)
		}
	}
	for round := 0; ; round++ {
		retained, err := s.Retain(t.Context(), store.Retention{Completed: time.Hour})
		if err != nil || round > 20 {
			t.Fatal(round, err)
		}
		if !retained.More && round > 3 {
			break
		}
	}
	if n := one[int](t, db, "SELECT count(*) FROM holdfast_lane_span"); n != 2 {
		t.Errorf("%d spans are left", n)
	}
	wantSpans(t, source.Path)
}
