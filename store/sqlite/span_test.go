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

// bare are the bodies without spans, of those from which on there are any.
const bare = `SELECT count(*) FROM holdfast_job j
	WHERE hex(j.id) >= upper(coalesce((SELECT value FROM holdfast_meta WHERE name = 'spans_from'), ''))
	AND NOT EXISTS (SELECT 1 FROM holdfast_lane_span s WHERE s.lane = j.lane AND s.bucket = substr(hex(j.id), 1, 11))`

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

// takeBack makes a file one of the version before spans.
func takeBack(t *testing.T, path string) {
	t.Helper()
	db := database(t, path)
	var undone []string
	for _, u := range undo {
		if u.to >= 43 {
			undone = append(undone, u.texts...)
		}
	}
	for _, text := range append([]string{"DELETE FROM holdfast_migration WHERE version > 43"}, undone...) {
		if _, err := db.ExecContext(t.Context(), text); err != nil {
			t.Fatal(text, err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestSpansOfOldBodies: bodies from before the migration are found as before, while retention gives
// them their spans, and then.
func TestSpansOfOldBodies(t *testing.T) {
	const jobs = 5000
	source := sqlite.File(file(t))
	source.Synchronous = sqlite.Normal
	s := open(t, source)
	for range jobs / 1000 {
		if err := enqueue(t.Context(), s, 1000); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	takeBack(t, source.Path)
	s = open(t, source)
	if err := enqueue(t.Context(), s, 10); err != nil {
		t.Fatal(err)
	}
	db := database(t, source.Path)
	for round := 0; ; round++ {
		if n := storetest.ListedBoth(t, s); n != jobs+10 {
			t.Fatalf("round %d: %d jobs are listed", round, n)
		}
		wantSpans(t, source.Path)
		left := one[int](t, db, "SELECT count(*) FROM holdfast_meta WHERE name = 'spans_from'")
		if spans := one[int](t, db, "SELECT count(*) FROM holdfast_lane_span"); left == 0 && spans < 2 || round > 5 {
			t.Fatalf("round %d: there are %d spans", round, spans)
		}
		if left == 0 {
			break
		}
		if retained, err := s.Retain(t.Context(), store.Retention{Limit: 200}); err != nil || round == 0 && !retained.More {
			t.Fatalf("%+v, %v", retained, err)
		}
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
