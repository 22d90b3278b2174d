//go:build soak

package faulttest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/store"
)

// TestStormOfUniqueKeys lets two processes' worth of goroutines enqueue with keys of a small
// set, alone and several at once, while the jobs finish and free the keys. A server that is not
// next door lets more of that happen between two statements. Nobody gets an error but that it
// waited too long for a lock, which depends on the machine and is over when it asks again; no key
// has two jobs at a time, and PostgreSQL finds no two transactions that wait for each other.
func TestStormOfUniqueKeys(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, db *database) {
		const clients, rounds, keys, most = 2, 9, 48, 5
		const writers = 24 // so many more wait for each other's locks for longer than an enqueue waits, under the race detector
		far := db
		if db.url != "" {
			far = db.slow(t, 2*time.Millisecond)
			// So that it finds them before anybody gives up waiting.
			name := value[string](t, pool(t, db.url), "SELECT quote_ident(current_database())")
			execute(t, pool(t, db.url), "ALTER DATABASE "+name+" SET deadlock_timeout = '20ms'")
		}
		var again atomic.Int64 // how many jobs were enqueued once more
		var mu sync.Mutex
		running, runs := map[int]int{}, 0
		kind := holdfast.NewKind[int, int]("storm")
		handler := func(_ *holdfast.Run, key int) (int, error) {
			mu.Lock()
			running[key]++
			runs++
			if running[key] > 1 {
				t.Errorf("%d jobs hold key %d", running[key], key)
			}
			mu.Unlock()
			defer func() {
				mu.Lock()
				running[key]--
				mu.Unlock()
			}()
			return key, nil
		}
		before := deadlocks(t, db)
		var all [clients]*holdfast.Client
		var nodes [clients]*node
		for i := range all {
			all[i] = far.open(t)
			register(t, all[i], kind, handler)
			nodes[i] = work(t, all[i])
		}
		seed := random(t).Uint64()
		err := together(clients*writers, func(i int) error {
			rnd := rand.New(rand.NewPCG(seed, uint64(i)))
			for round := range rounds {
				items := make([]holdfast.BatchItem, 1+round%2*rnd.IntN(most))
				for n := range items {
					key := rnd.IntN(keys)
					conflict := store.ReturnExisting
					if rnd.IntN(4) == 0 {
						conflict = store.Replace
					}
					unique := holdfast.Unique{ByKey: fmt.Sprint("key ", key), OnConflict: conflict}
					items[n] = kind.Item(key, unique)
				}
				if err := enqueuePatiently(t, all[i%clients], items, &again); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			lines := strings.Split(err.Error(), "\n")
			t.Errorf("%d of %d writers got an error: %s", len(lines), clients*writers, lines[0])
		}
		eventually(t, "all jobs have run", func() bool {
			page, err := all[0].List(t.Context(), store.Filter{States: unfinished}, "", 1)
			return err == nil && len(page.Jobs) == 0
		})
		mu.Lock()
		t.Logf("%d jobs ran", runs)
		mu.Unlock()
		if n := again.Load(); n > clients*rounds*int64(writers)/10 {
			t.Errorf("%d of at least %d jobs waited too long for a lock", n, clients*rounds*writers)
		}
		for i := range all {
			nodes[i].stop()
			closeClient(t, all[i]) // whose connections then tell what they counted
		}
		if n := deadlocks(t, db) - before; n > 0 {
			t.Errorf("PostgreSQL has ended %d deadlocks", n)
		}
	})
}

// enqueuePatiently enqueues jobs, and those again for whose locks it waited too long, which it
// counts.
func enqueuePatiently(t *testing.T, client *holdfast.Client, items []holdfast.BatchItem, repeated *atomic.Int64) error {
	t.Helper()
	for range 20 {
		results, err := client.EnqueueBatch(t.Context(), items)
		if err != nil && !errors.Is(err, store.ErrUnavailable) {
			return err
		}
		var again []holdfast.BatchItem
		for i := range results {
			switch err := results[i].Err; {
			case errors.Is(err, store.ErrUnavailable):
				again = append(again, items[i])
			case err != nil:
				return err
			}
		}
		if err != nil && len(results) == 0 {
			again = items
		}
		if items = again; len(items) == 0 {
			return nil
		}
		repeated.Add(int64(len(items)))
	}
	return fmt.Errorf("after 20 tries %d jobs are not enqueued: %w", len(items), store.ErrUnavailable)
}

// unfinished are the states of jobs that are still to finish.
var unfinished = []store.State{
	store.Scheduled, store.Available, store.Running, store.Retryable, store.Waiting,
}

// deadlocks is how many the database has counted, once nobody is connected who has not told.
func deadlocks(t *testing.T, db *database) int {
	t.Helper()
	if db.url == "" {
		return 0
	}
	goneFrom(t, db)
	return value[int](t, pool(t, db.url), "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()")
}

// goneFrom waits until no client is connected to the database: with the end of their
// connections they have told what they counted.
func goneFrom(t *testing.T, db *database) {
	t.Helper()
	p := pool(t, db.url)
	eventually(t, "the others have left", func() bool {
		const others = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name LIKE 'holdfast:%'"
		return value[int](t, p, others) == 0
	})
}
