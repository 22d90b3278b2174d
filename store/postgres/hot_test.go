package postgres_test

import (
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres"
)

// ofTenant makes a limit per key that does not bind, and a job that counts in it.
func ofTenant(t *testing.T, s store.Store) *store.Enqueue {
	t.Helper()
	settings := store.LimitSettings{Capacity: 10, PerKey: true}
	if _, err := s.SaveLimit(t.Context(), store.Limit{Namespace: "default", Name: "tenants", LimitSettings: settings}, 0, ""); err != nil {
		t.Fatal(err)
	}
	return newJob(func(q *store.Enqueue) { q.Job.Options.Limit, q.Job.Options.LimitKey = "tenants", "a" })
}

// TestAClaimOfKeysIsThreeRoundTrips: it begins and takes jobs, looks at their gates, and writes its
// records and commits.
func TestAClaimOfKeysIsThreeRoundTrips(t *testing.T) {
	t.Parallel()
	s, count := tripping(t, fresh(t))
	first := ofTenant(t, s)
	node := join(t, s)
	for seq := range int64(3) {
		job := newJob(func(q *store.Enqueue) { q.Job.Options = first.Job.Options })
		enqueue(t, s, job)
		count.n.Store(0)
		runs, err := s.Claim(t.Context(), demand(node, 1+seq, 1))
		if err != nil || len(runs) != 1 {
			t.Fatal(runs, err)
		}
		if n := count.n.Load(); seq > 0 && n != 3 { // at first the statements are prepared
			t.Errorf("it was %d round trips, want 3", n)
		}
	}
}

// TestAClaimThatFailsLeavesNothing: whichever of its statements fails, nothing of the claim has
// happened, and its connection is in no transaction and serves the next one.
func TestAClaimThatFailsLeavesNothing(t *testing.T) {
	t.Parallel()
	for _, statement := range []string{"claim_gated", "gates_look", "claim_records"} {
		t.Run(statement, func(t *testing.T) {
			t.Parallel()
			config := fresh(t)
			s := open(t, config)
			job := ofTenant(t, s)
			enqueue(t, s, job)
			node := join(t, s)
			s.Claim(t.Context(), demand(node, 1, 0)) //nolint:errcheck // so that it is known that there are jobs with keys
			mend := postgres.Break(s, statement)
			if runs, err := s.Claim(t.Context(), demand(node, 2, 1)); err == nil {
				t.Fatal("it has not failed:", runs)
			}
			mend()
			conn := connect(t, config.URL)
			if n := value[int](t, conn, `SELECT count(*) FROM pg_stat_activity
				WHERE state LIKE 'idle in transaction%' AND datname = current_database() AND query LIKE '%' || $1 || '%'`, config.SchemaName); n != 0 {
				t.Errorf("%d connections are in a transaction", n)
			}
			if n := value[int](t, conn, "SELECT count(*) FROM "+pgx.Identifier{config.SchemaName, "ready"}.Sanitize()); n != 1 {
				t.Errorf("%d jobs are ready, want 1", n)
			}
			runs, err := s.Claim(t.Context(), demand(node, 3, 1))
			if err != nil || len(runs) != 1 || runs[0].Job.ID != job.Job.ID {
				t.Errorf("then it took %v, %v", runs, err)
			}
		})
	}
}

// TestGatesBesideOldRows: an old snapshot keeps the rows of jobs that have waited. A claim does not
// read them to find out that none waits now.
func TestGatesBesideOldRows(t *testing.T) {
	t.Parallel()
	config := fresh(t)
	s := open(t, config)
	ofTenant(t, s)
	old := connect(t, config.URL)
	tx, err := old.BeginTx(t.Context(), pgx.TxOptions{IsoLevel: pgx.RepeatableRead})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(t.Context()) }()
	if _, err := tx.Exec(t.Context(), "SELECT 1"); err != nil {
		t.Fatal(err)
	}
	gated := pgx.Identifier{config.SchemaName, "gated"}.Sanitize()
	conn := connect(t, config.URL)
	for _, text := range []string{
		"INSERT INTO " + gated + " (gate, priority, run_at, id, lane) SELECT i, 2, i, gen_random_uuid(), 1 FROM generate_series(1, 20000) i",
		"DELETE FROM " + gated,
	} {
		if _, err := conn.Exec(t.Context(), text); err != nil {
			t.Fatal(err)
		}
	}
	lines, err := postgres.GatesPlan(t.Context(), s, "tenants", 1_000_000)
	if err != nil {
		t.Fatal(err)
	}
	plan := strings.Join(lines, "\n")
	found := regexp.MustCompile(`Buffers: shared hit=(\d+)`).FindStringSubmatch(plan) // of the whole, which is on top
	if found == nil {
		t.Fatalf("no buffers:\n%s", plan)
	}
	if n, _ := strconv.Atoi(found[1]); n > 60 {
		t.Errorf("it reads %d pages:\n%s", n, plan)
	}
}

// TestAClaimWhoseAnswerIsLost: the connection ends in place of an answer to the claim of a job with
// a key. It has happened or not; repeated with its number it gives the job once, under one lease.
func TestAClaimWhoseAnswerIsLost(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{"before it counts": "quiet AS MATERIALIZED", "as it commits": "COMMIT\x00"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config := used(t, nil)
			s := open(t, config)
			p := newProxy(t, config.URL)
			// Each statement is sent with its text, by which the proxy knows it.
			dying := open(t, postgres.Config{URL: p.url, SchemaName: config.SchemaName, NoSession: true})
			job := ofTenant(t, s)
			node := join(t, s)
			enqueue(t, s, newJob(func(q *store.Enqueue) { q.Job.Options = job.Job.Options }))
			if runs, err := dying.Claim(t.Context(), demand(node, 1, 1)); err != nil || len(runs) != 1 { // learns that there are keys
				t.Fatal(runs, err)
			}
			enqueue(t, s, job)
			p.cut.Store(&text)
			if runs, err := dying.Claim(t.Context(), demand(node, 2, 1)); err == nil {
				t.Fatal("nothing was cut:", runs)
			}
			again := demand(node, 2, 1)
			again.Repeat = true
			runs, err := dying.Claim(t.Context(), again)
			if err != nil || len(runs) != 1 || runs[0].Job.ID != job.Job.ID || runs[0].Lease.Number != 1 {
				t.Fatalf("repeated: %+v, %v", runs, err)
			}
			if runs, err := s.Claim(t.Context(), demand(node, 3, 1)); err != nil || len(runs) > 0 {
				t.Errorf("another one took it, too: %v, %v", runs, err)
			}
		})
	}
}
