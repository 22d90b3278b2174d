package postgres_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfastdev/holdfast/internal/pgtest"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres"
)

// shelf keeps schemas that tests have used and left as good as new. To make one takes longer than
// most stories of the conformance suite do.
var shelf struct {
	mu   sync.Mutex
	free map[kept][]shelved
}

// kept is what tests look for.
type kept struct {
	day       time.Time // on which it is opened, of which it has partitions
	connected bool
}

type shelved struct {
	kept

	config      postgres.Config
	connections *postgres.Lasting // if it is connected
	relations   string            // all of the schema, when it was new
}

// closeShelf closes the connections of all that is kept.
func closeShelf() (err error) {
	for _, free := range shelf.free {
		for _, s := range free {
			if s.connected {
				err = errors.Join(err, s.connections.Close())
			}
		}
	}
	return err
}

// used returns the source of a schema that is the test's own until its end. It has the tables, and
// nothing in them. clock is that of the stores, nil for the time of day. The test may do what it
// likes with rows; one that does something else to the schema takes a fresh one.
func used(t *testing.T, clock func() time.Time) postgres.Config {
	t.Helper()
	return take(t, clock, false).config
}

// reopened returns a store like one of used, on the connections of stores before it.
func reopened(t *testing.T, clock func() time.Time) store.Store {
	t.Helper()
	s, err := take(t, clock, true).connections.Open(t.Context(), clock)
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return s
}

// take takes what there is, or makes one, and puts it back when the test ends.
func take(t *testing.T, clock func() time.Time, connected bool) shelved {
	t.Helper()
	now := time.Now
	if clock != nil {
		now = clock
	}
	wanted := kept{now().UTC().Truncate(24 * time.Hour), connected}
	s, ok := takeShelved(wanted)
	if !ok {
		s = newShelved(t, wanted)
	}
	t.Cleanup(func() { putBack(t, s) })
	return s
}

func newShelved(t *testing.T, wanted kept) shelved {
	t.Helper()
	url, schema := pgtest.Shared(t).Schema(t)
	s := shelved{kept: wanted, config: postgres.Config{URL: url, SchemaName: schema, MaxConns: 4}}
	dated := s.config
	dated.Clock = func() time.Time { return wanted.day }
	fresh, err := dated.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := fresh.Close(); err != nil {
		t.Fatal(err)
	}
	s.relations = relations(t, connect(t, url), schema)
	if wanted.connected {
		if s.connections, err = postgres.Connect(context.Background(), s.config); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func takeShelved(wanted kept) (s shelved, ok bool) {
	shelf.mu.Lock()
	defer shelf.mu.Unlock()
	free := shelf.free[wanted]
	if ok = len(free) > 0; ok {
		s, shelf.free[wanted] = free[0], free[1:]
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
	back := false
	defer func() {
		if !back && s.connected {
			_ = s.connections.Close() // never fails
		}
	}()
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
			WHERE datname = current_database() AND application_name = 'holdfast:' || $1::text AND ($2 IS FALSE OR state <> 'idle'))
			AND NOT EXISTS (SELECT FROM pg_locks l JOIN pg_class c ON c.oid = l.relation
			WHERE c.relnamespace = $1::text::regnamespace AND l.pid <> pg_backend_pid())
			FROM pg_sleep(0.005)`, s.config.SchemaName, s.connected).Scan(&alone)
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
		shelf.free = map[kept][]shelved{}
	}
	shelf.free[s.kept] = append(shelf.free[s.kept], s)
	back = true
}

// emptied deletes what is in the tables of a schema, and lets numbers begin again.
const emptied = `DO $$
DECLARE r record; space oid := current_setting('shelf.schema')::regnamespace;
BEGIN
  FOR r IN SELECT oid::regclass AS name, relkind, relname FROM pg_class WHERE relnamespace = space
    AND (relkind IN ('r', 'p') AND NOT relispartition AND relname <> 'migration' OR relkind = 'S')
    ORDER BY oid DESC LOOP -- what was made later may refer to what was there
    IF r.relkind = 'S' THEN
      PERFORM setval(r.name, 1, false);
    ELSE
      EXECUTE format('DELETE FROM %s', r.name) || CASE WHEN r.relname = 'meta' THEN $q$ WHERE name <> 'database_id'$q$ ELSE '' END;
    END IF;
  END LOOP;
END $$`
