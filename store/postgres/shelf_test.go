package postgres_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfastdev/holdfast/internal/pgtest"
	"github.com/holdfastdev/holdfast/store/postgres"
)

// shelf keeps schemas that tests have used and left as good as new. To make one takes longer than
// most stories of the conformance suite do.
var shelf struct {
	mu   sync.Mutex
	free map[time.Time][]shelved // by the day on which they are opened, of which they have partitions
}

type shelved struct {
	config    postgres.Config
	day       time.Time
	relations string // all of the schema, when it was new
}

// used returns the source of a schema that is the test's own until its end. It has the tables, and
// nothing in them. clock is that of the stores, nil for the time of day. The test may do what it
// likes with rows; one that does something else to the schema takes a fresh one.
func used(t *testing.T, clock func() time.Time) postgres.Config {
	t.Helper()
	now := time.Now
	if clock != nil {
		now = clock
	}
	day := now().UTC().Truncate(24 * time.Hour)
	s, ok := takeShelved(day)
	if !ok {
		s.day = day
		url, schema := pgtest.Shared(t).Schema(t)
		s.config = postgres.Config{URL: url, SchemaName: schema, MaxConns: 4}
		dated := s.config
		dated.Clock = func() time.Time { return day }
		fresh, err := dated.Open(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := fresh.Close(); err != nil {
			t.Fatal(err)
		}
		conn := connect(t, url)
		s.relations = relations(t, conn, schema)
	}
	t.Cleanup(func() { putBack(t, s) })
	return s.config
}

func takeShelved(day time.Time) (s shelved, ok bool) {
	shelf.mu.Lock()
	defer shelf.mu.Unlock()
	free := shelf.free[day]
	if ok = len(free) > 0; ok {
		s, shelf.free[day] = free[0], free[1:]
	}
	return s, ok
}

func relations(t *testing.T, conn *pgx.Conn, schema string) string {
	t.Helper()
	var all string
	err := conn.QueryRow(context.Background(), `SELECT string_agg(relname || ' ' || relkind::text, ',' ORDER BY relname)
		FROM pg_class WHERE relnamespace = $1::text::regnamespace`, schema).Scan(&all)
	if err != nil {
		t.Error(err)
	}
	return all
}

// putBack empties a schema. One whose tables are not those that it had, such as after days of
// retention, is not used again, nor is one in which something may still be at work.
func putBack(t *testing.T, s shelved) {
	t.Helper()
	if t.Failed() {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	conn, err := pgx.Connect(ctx, s.config.URL)
	if err != nil {
		t.Error(err)
		return
	}
	defer conn.Close(ctx)
	var alone bool
	for range 50 {
		err := conn.QueryRow(ctx, `SELECT NOT EXISTS (SELECT FROM pg_stat_activity
			WHERE datname = current_database() AND application_name = 'holdfast:' || $1::text)
			AND NOT EXISTS (SELECT FROM pg_locks l JOIN pg_class c ON c.oid = l.relation
			WHERE c.relnamespace = $1::text::regnamespace AND l.pid <> pg_backend_pid())
			FROM pg_sleep(0.005)`, s.config.SchemaName).Scan(&alone)
		if err != nil {
			t.Error(err)
			return
		}
		if alone {
			break
		}
	}
	if !alone || relations(t, conn, s.config.SchemaName) != s.relations {
		return
	}
	if _, err := conn.Exec(ctx, `SELECT set_config('shelf.schema', $1, false)`, s.config.SchemaName); err != nil {
		t.Error(err)
		return
	}
	if _, err := conn.Exec(ctx, emptied); err != nil {
		t.Error(err)
		return
	}
	shelf.mu.Lock()
	defer shelf.mu.Unlock()
	if shelf.free == nil {
		shelf.free = map[time.Time][]shelved{}
	}
	shelf.free[s.day] = append(shelf.free[s.day], s)
}

// emptied deletes what is in the tables of a schema, and lets numbers begin again.
const emptied = `DO $$
DECLARE r record; space oid := current_setting('shelf.schema')::regnamespace;
BEGIN
  FOR r IN SELECT oid::regclass AS name, relkind FROM pg_class WHERE relnamespace = space
    AND (relkind IN ('r', 'p') AND NOT relispartition AND relname <> 'migration' OR relkind = 'S')
    ORDER BY oid DESC LOOP -- what was made later may refer to what was there
    IF r.relkind = 'S' THEN
      PERFORM setval(r.name, 1, false);
    ELSE
      EXECUTE format('DELETE FROM %s', r.name);
    END IF;
  END LOOP;
END $$`
