//go:build soak

package postgres_test

import (
	"testing"

	"github.com/google/uuid"

	"github.com/holdfastdev/holdfast/store/postgres/internal/pg"
)

// TestSQLEnqueueReadsIndexes: a session that has called the function when the tables were empty
// does not read all of them when they are large.
func TestSQLEnqueueReadsIndexes(t *testing.T) {
	t.Parallel()
	config := fresh(t)
	if s, err := config.Open(t.Context()); err != nil || s.Close() != nil {
		t.Fatal(err)
	}
	conn, watch := connect(t, config.URL), connect(t, config.URL)
	// What a session has read is counted when it ends, or some seconds later.
	eventually(t, "the sessions of the store have ended", func() bool {
		name := pg.ApplicationName(config.SchemaName)
		return value[int](t, watch, "SELECT count(*)::int FROM pg_stat_activity WHERE application_name = $1", name) == 0
	})
	for range 8 {
		enqueued(t, conn, config.SchemaName, `'send', unique_by => '{args}', ordering_key => 'k'`)
		enqueued(t, conn, config.SchemaName, `'send', key => 'k'`)
	}
	_, err := conn.Exec(t.Context(), "SELECT "+config.SchemaName+".enqueue('send', i, unique_by => '{args}'), "+
		config.SchemaName+".enqueue('send', i, key => i::text) FROM generate_series(1, 2000) i")
	if err != nil {
		t.Fatal(err)
	}
	scans := func() int {
		t.Helper()
		if _, err := conn.Exec(t.Context(), "SELECT pg_stat_force_next_flush()"); err != nil {
			t.Skip("this server cannot be asked to count at once") // before 15
		}
		_ = value[string](t, conn, "SELECT 'flushed'")
		return value[int](t, watch, `SELECT coalesce(sum(seq_scan), 0)::int FROM pg_stat_user_tables
			WHERE schemaname = $1 AND relname ~ '^(job|ready|deferred|keyed|unique_key|finished)'`, config.SchemaName)
	}
	before := scans()
	for range 20 {
		enqueued(t, conn, config.SchemaName, `'send', 1, unique_by => '{args}', job_id => $1`, uuid.Must(uuid.NewV7()).String())
		enqueued(t, conn, config.SchemaName, `'send', 1, unique_by => '{args}', on_conflict => 'replace'`)
		enqueued(t, conn, config.SchemaName, `'send', 1, ordering_key => 'k'`)
		enqueued(t, conn, config.SchemaName, `'send', 1, key => '1'`)
		enqueued(t, conn, config.SchemaName, `'other', 1, key => '1'`)
	}
	if after := scans(); after != before {
		t.Errorf("tables were read as a whole %d times", after-before)
	}
}
