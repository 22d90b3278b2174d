package postgres_test

import (
	"testing"

	"github.com/holdfastdev/holdfast/store"
)

// TestAClaimOfFewMeetsManyOverTheirLimit: others wait for the rules of the limit until it commits,
// so it does not send statements for each of them. What it had no room for stays ready.
func TestAClaimOfFewMeetsManyOverTheirLimit(t *testing.T) {
	t.Parallel()
	s, count := asking(t, used(t, nil))
	settings := store.LimitSettings{Capacity: 1, PerKey: true}
	if _, err := s.SaveLimit(t.Context(), store.Limit{Namespace: "default", Name: "tenant", LimitSettings: settings}, 0); err != nil {
		t.Fatal(err)
	}
	by := func(key string) *store.Enqueue {
		return newJob(func(q *store.Enqueue) { q.Job.Options.Limit, q.Job.Options.LimitKey = "tenant", key })
	}
	node, seq := join(t, s), int64(0)
	claim := func() []store.Claimed {
		seq++
		runs, err := s.Claim(t.Context(), demand(node, seq, 1))
		if err != nil {
			t.Fatal(err)
		}
		return runs
	}
	enqueue(t, s, by("a"))
	if n := len(claim()); n != 1 {
		t.Fatalf("%d jobs were claimed", n)
	}
	var jobs []*store.Enqueue
	for range 1000 {
		jobs = append(jobs, by("a"))
	}
	jobs = append(jobs, several(300)...)
	enqueue(t, s, jobs...)
	count.n.Store(0)
	runs := claim()
	if len(runs) != 1 || runs[0].Job.ID != jobs[1000].Job.ID {
		t.Fatalf("claimed %v", runs)
	}
	if n := count.n.Load(); n > 70 {
		t.Errorf("%d statements for a claim that met 1,000 jobs over their limit", n)
	}
	for i := 1001; i < len(jobs); i++ {
		if runs = claim(); len(runs) != 1 || runs[0].Job.ID != jobs[i].Job.ID {
			t.Fatalf("claim %d took %v, want job %d", i, runs, i)
		}
	}
	if runs = claim(); len(runs) != 0 {
		t.Fatalf("claimed %v beside one that runs", runs)
	}
}
