package postgres_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres"
)

// TestRescueOfANodeOfALaterProgram: of what it has written of itself counts what can be read, and
// others are rescued with it.
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
	if err != nil || len(rescued.Jobs) != 4 {
		t.Fatalf("rescued %+v, %v", rescued.Jobs, err)
	}
	failed := 0
	for _, r := range rescued.Jobs {
		if r.State == store.Failed {
			failed++
		}
	}
	if failed != 1 {
		t.Errorf("%d jobs failed, want that of which it was promised: %+v", failed, rescued.Jobs)
	}
}

// TestOnlyConnectionsOfNodesAreEnded because they are silent: those of the same schema, and not
// what a program has beside them.
func TestOnlyConnectionsOfNodesAreEnded(t *testing.T) {
	t.Parallel()
	config := fresh(t)
	s := open(t, config)
	named := func(name string) pgx.Tx {
		t.Helper()
		settings, err := pgx.ParseConfig(config.URL)
		if err != nil {
			t.Fatal(err)
		}
		settings.RuntimeParams["application_name"] = name
		conn, err := pgx.ConnectConfig(t.Context(), settings)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close(context.Background()) })
		tx, err := conn.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return tx
	}
	ours := named("holdfast:" + config.SchemaName)
	deaf := named("holdfast:" + config.SchemaName) // takes no answer
	rows, err := deaf.Query(t.Context(), "SELECT repeat('x', 1000000) FROM generate_series(1, 100)")
	if err != nil {
		t.Fatal(err)
	}
	others := []pgx.Tx{named("holdfast-api"), named("holdfast:" + config.SchemaName + "2"), named("holdfast")}
	observer := connect(t, config.URL)
	const connections = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = $1"
	if n := value[int](t, observer, connections, "holdfast:"+config.SchemaName); n < 2 {
		t.Error("the store's connections have another name")
	}
	time.Sleep(200 * time.Millisecond) //nolint:forbidigo // they are silent
	if err := postgres.EndSilent(t.Context(), s, 100*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	if _, err := ours.Exec(t.Context(), "SELECT 1"); err == nil {
		t.Error("a silent connection to the schema lives on")
	}
	for rows.Next() { // what was sent before
	}
	if rows.Err() == nil {
		t.Error("a connection to the schema that takes no answer lives on")
	}
	for i, tx := range others {
		if _, err := tx.Exec(t.Context(), "SELECT 1"); err != nil {
			t.Errorf("connection %d, which is none of ours, was ended: %v", i, err)
		}
	}
}
