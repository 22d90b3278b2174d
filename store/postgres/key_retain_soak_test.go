//go:build soak

package postgres_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest"
)

// TestWhatBelongsToADroppedDay: keys that are not kept, and requests, go after the jobs of their
// day, and not while everybody waits: what another transaction has of them then goes with the next
// day. Those of a job that outlives its day stay.
func TestWhatBelongsToADroppedDay(t *testing.T) {
	t.Parallel()
	config := fresh(t)
	clock := storetest.NewClock()
	config.Clock = clock.Now
	s := open(t, config)
	conn := connect(t, config.URL)
	day := clock.Now()
	jobs := []*store.Enqueue{newJob(at(clock), named("a", 0)), newJob(at(clock), named("b", 0)), newJob(at(clock), named("c", 0))}
	enqueue(t, s, jobs...)
	lives := jobs[2].Job.ID
	var sends []*store.Send
	for _, q := range jobs {
		for i := range 700 { // more than a portion
			message := store.Message{Kind: store.MessageUpdate, Name: "u", Data: []byte("1")}
			sends = append(sends, &store.Send{Job: q.Job.ID, Key: fmt.Sprint("request ", i), Message: message})
		}
	}
	if err := store.ApplyEach(t.Context(), s, &store.Batch{Sends: sends}); err != nil {
		t.Fatal(err)
	}
	for _, q := range sends {
		if q.Err != nil {
			t.Fatal(q.Err)
		}
	}
	over := []store.ID{jobs[0].Job.ID, jobs[1].Job.ID}
	if _, _, err := s.Cancel(t.Context(), store.CancelParams{Jobs: over}); err != nil {
		t.Fatal(err)
	}
	requests, keys := "SELECT count(*) FROM "+config.SchemaName+".job_update", "SELECT count(*) FROM "+config.SchemaName+".job_key"
	clock.Advance(48 * time.Hour)
	holding, err := conn.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, sql := range []string{".job_update WHERE id = $1 AND key = 'request 1' FOR UPDATE", ".job_key WHERE id = $1 FOR UPDATE"} {
		if tag, err := holding.Exec(t.Context(), "SELECT 1 FROM "+config.SchemaName+sql, over[1]); err != nil || tag.RowsAffected() != 1 {
			t.Fatalf("%s: %v, %v", sql, tag, err)
		}
	}
	retention := store.Retention{Completed: time.Hour, Cancelled: time.Hour}
	look := connect(t, config.URL)
	if retained, err := s.Retain(t.Context(), retention); err != nil || retained.Jobs != 2 {
		t.Fatalf("Retain: %+v, %v", retained, err)
	}
	if got := tablesOf(t, look, config.SchemaName, day); got != "" {
		t.Fatalf("the day still has the tables %q", got)
	}
	if r, k := value[int](t, look, requests), value[int](t, look, keys); r != 701 || k != 2 {
		t.Errorf("%d requests are left, and %d keys", r, k)
	}
	if _, err := s.Find(t.Context(), jobs[1].Job.Key()); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("the key of a job that is gone: %v", err)
	}
	if err := holding.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	clock.Advance(24 * time.Hour)
	if _, err := s.Retain(t.Context(), retention); err != nil {
		t.Fatal(err)
	}
	if r, k := value[int](t, look, requests), value[int](t, look, keys); r != 700 || k != 1 {
		t.Errorf("with the next day %d requests are left, and %d keys", r, k)
	}
	if u, err := s.GetUpdate(t.Context(), "", lives, "request 1"); err != nil || u.Key != "request 1" {
		t.Errorf("a request to the job that outlives its day: %+v, %v", u, err)
	}
	if id, err := s.Find(t.Context(), jobs[2].Job.Key()); err != nil || id != lives {
		t.Errorf("the key of the job that outlives its day is that of %v (%v)", id, err)
	}
}
