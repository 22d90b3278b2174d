package postgres_test

import (
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/holdfastdev/holdfast/store"
)

// TestRescueOfANodeOfALaterProgram: of what it has written of itself counts what can be read, and others
// are rescued with it.
func TestRescueOfANodeOfALaterProgram(t *testing.T) {
	t.Parallel()
	config := fresh(t)
	s := open(t, config)
	for range 2 {
		enqueue(t, s, newJob(), newJob(func(q *store.Enqueue) { q.Job.Kind, q.Job.MaxAttempts = "once", 0 }))
		params := demand(join(t, s), 1, 2)
		params.Kinds = append(params.Kinds, "once")
		if runs, err := s.Claim(t.Context(), params); err != nil || len(runs) != 2 {
			t.Fatal(len(runs), err)
		}
	}
	const later = `{"slots": "many", "policies": {"send": {"delays": ["1s"]}, "once": {"max_attempts": 1}}}`
	sql := fmt.Sprintf(`UPDATE %s.node SET info = $1 WHERE id = 1`, pgx.Identifier{config.SchemaName}.Sanitize())
	if _, err := connect(t, config.URL).Exec(t.Context(), sql, later); err != nil {
		t.Fatal(err)
	}
	if nodes, err := s.Nodes(t.Context()); err != nil || len(nodes) != 2 {
		t.Fatalf("%d nodes, %v", len(nodes), err)
	}
	rescued, err := s.Rescue(t.Context(), allDead(t, s))
	if err != nil || len(rescued) != 4 {
		t.Fatalf("rescued %+v, %v", rescued, err)
	}
	failed := 0
	for _, r := range rescued {
		if r.State == store.Failed {
			failed++
		}
	}
	if failed != 1 {
		t.Errorf("%d jobs failed, want that of which it was promised: %+v", failed, rescued)
	}
}
