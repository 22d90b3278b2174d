package postgres_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest"
)

// byKeys are jobs of so many keys of the limit tenant.
func byKeys(keys int) (jobs []*store.Enqueue) {
	for i := range keys {
		jobs = append(jobs, newJob(func(q *store.Enqueue) { q.Job.Options.Limit, q.Job.Options.LimitKey = "tenant", strconv.Itoa(i) }))
	}
	return jobs
}

// saveRated makes the limit tenant, of one job of each key every ten seconds.
func saveRated(t *testing.T, s store.Store) {
	t.Helper()
	settings := store.LimitSettings{PerKey: true, Uncapped: true, Rate: &store.Rate{Count: 6, Per: time.Minute, Burst: 1}}
	if _, err := s.SaveLimit(t.Context(), store.Limit{Namespace: "default", Name: "tenant", LimitSettings: settings}, 0, ""); err != nil {
		t.Fatal(err)
	}
}

// TestRatesOfManyKeysAreOneStatement: a claim writes where the rates of its keys stand in one
// statement, however many keys they are, and claims of limits without a rate in none.
func TestRatesOfManyKeysAreOneStatement(t *testing.T) {
	t.Parallel()
	s, count := asking(t, used(t, nil))
	node, seq := join(t, s), int64(0)
	claim := func(want int) int64 {
		seq += 10
		count.n.Store(0)
		runs, err := s.Claim(t.Context(), demand(node, seq, 500))
		if err != nil || len(runs) != want {
			t.Fatalf("%d jobs were claimed, want %d: %v", len(runs), want, err)
		}
		return count.n.Load()
	}
	enqueue(t, s, byKeys(400)...)
	claim(400) // without a limit
	enqueue(t, s, byKeys(400)...)
	plain := claim(400)
	saveRated(t, s)
	enqueue(t, s, byKeys(400)...)
	if rated := claim(400); rated != plain+1 {
		t.Errorf("%d statements for a claim of 400 keys that have a rate, and %d without one", rated, plain)
	}
}

// TestIdleKeysAreForgotten: a key of which the burst is whole again has no row, those at which jobs
// wait excepted.
func TestIdleKeysAreForgotten(t *testing.T) {
	t.Parallel()
	clock := storetest.NewClock()
	config := used(t, clock.Now)
	config.Clock = clock.Now
	s, err := config.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	conn := connect(t, config.URL)
	rows := func() int { return value[int](t, conn, "SELECT count(*) FROM "+config.SchemaName+".key_rate") }
	saveRated(t, s)
	node := join(t, s)
	enqueue(t, s, byKeys(300)...)
	enqueue(t, s, byKeys(1)...)
	if runs, err := s.Claim(t.Context(), demand(node, 1, 1000)); err != nil || len(runs) != 300 {
		t.Fatalf("%d jobs were claimed: %v", len(runs), err)
	}
	retain := func() {
		for more := true; more; {
			retained, err := s.Retain(t.Context(), store.Retention{Limit: 70})
			if err != nil {
				t.Fatal(err)
			}
			more = retained.More
		}
	}
	if retain(); rows() != 300 {
		t.Fatalf("%d keys are kept of which permits are taken, of 300", rows())
	}
	clock.Advance(10 * time.Second)
	if retain(); rows() != 1 {
		t.Fatalf("%d keys are kept, and a job waits at one", rows())
	}
	if _, err := s.Promote(t.Context(), 100); err != nil {
		t.Fatal(err)
	}
	if runs, err := s.Claim(t.Context(), demand(node, 100, 1000)); err != nil || len(runs) != 1 {
		t.Fatalf("%d jobs were claimed: %v", len(runs), err)
	}
	clock.Advance(10 * time.Second)
	if retain(); rows() != 0 {
		t.Fatalf("%d keys are kept", rows())
	}
}
