//go:build soak

package postgres_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/holdfastdev/holdfast/store"
)

// TestSQLEnqueueKeyRace: of many who want one key at once, by the library and by the function, one
// makes the job: of a key that is new, and of one that a finished job has left.
func TestSQLEnqueueKeyRace(t *testing.T) {
	t.Parallel()
	b := newKeyBed(t, used(t, nil))
	for round := range 20 {
		key := fmt.Sprint("key ", round/2)
		var all sync.WaitGroup
		var mu sync.Mutex
		ids, made := map[store.ID]bool{}, 0
		note := func(id store.ID, existing bool) {
			mu.Lock()
			defer mu.Unlock()
			if ids[id] = true; !existing {
				made++
			}
		}
		for n := range 8 {
			if n%2 == 0 {
				all.Go(func() {
					for {
						q := newJob(named(key, 0))
						err := errors.Join(b.s.Apply(t.Context(), &store.Batch{Enqueues: []*store.Enqueue{q}}), q.Err)
						if !errors.Is(err, store.ErrUnavailable) && !errors.Is(err, store.ErrBusy) {
							if err != nil {
								t.Errorf("the library: %v", err)
							}
							note(q.Result.ID, q.Result.Existing)
							return
						}
					}
				})
				continue
			}
			conn := connect(t, b.config.URL)
			all.Go(func() {
				r, _, err := sqlKeyed(t, conn, b.config.SchemaName, "{}", key, "")
				if err != nil {
					t.Errorf("the function: %v", err)
				}
				note(r.id, r.existing)
			})
		}
		if all.Wait(); len(ids) != 1 || made != 1 {
			t.Fatalf("round %d: %d jobs have the key, and %d were made", round, len(ids), made)
		}
		for id := range ids {
			b.complete(id)
		}
	}
}
