//go:build soak

package postgres_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/holdfastdev/holdfast/store"
)

// TestRetryBesideManyKeys: more keys are held than are waited for in one transaction. What comes
// after them in the list runs again, and when another job has got the keys it is named.
func TestRetryBesideManyKeys(t *testing.T) {
	t.Parallel()
	config := fresh(t)
	s := open(t, config)
	const n = 40
	var held []*store.Enqueue
	var ids []store.ID
	for i := range n {
		held = append(held, newJob(withKey(strings.Repeat("k", i+1))))
		ids = append(ids, held[i].Job.ID)
	}
	last := newJob()
	ids = append(ids, last.Job.ID)
	commit, _ := failedBesideKeys(t, s, config.URL, config.SchemaName, held, []*store.Enqueue{last})
	results, _, err := s.Retry(t.Context(), store.RetryParams{Jobs: ids})
	if err != nil || len(results) != len(ids) {
		t.Fatalf("Retry: %d results, %v", len(results), err)
	}
	for _, r := range results[:n] {
		wantErr(t, "to retry a job whose key is held", r.Err, store.ErrBusy)
	}
	if r := results[n]; r.Err != nil || r.State != store.Available {
		t.Errorf("the job after them: %+v", r)
	}
	if err := commit(); err != nil {
		t.Fatal(err)
	}
	if results, _, err = s.Retry(t.Context(), store.RetryParams{Jobs: ids[:n]}); err != nil {
		t.Fatal(err)
	}
	for _, r := range results {
		if taken, is := errors.AsType[*store.UniqueError](r.Err); !is || taken.Holder == (store.ID{}) {
			t.Errorf("a job whose key is taken: %+v", r)
		}
	}
}
