package postgres_test

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres"
	"github.com/holdfastdev/holdfast/store/storetest"
)

// newer is a database as a program uses it that has one migration more, and what that does to the
// programs of the version before.
func newer(config postgres.Config, serves int) postgres.Config {
	version := len(config.Migrations()) + 1
	return postgres.Later(config, store.Migration{Version: version, Name: "later", SQL: fmt.Sprintf(`
ALTER TABLE {schema}.job ADD COLUMN note text NOT NULL DEFAULT 'none';
CREATE TABLE {schema}.later (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, note text NOT NULL);
INSERT INTO {schema}.later (note) VALUES ('made');
INSERT INTO {schema}.migration (version, name, applied_at, serves) VALUES (%d, 'later', {schema}.clock(NULL), %d);`, version, serves)})
}

// TestUpgrade migrates a database that has jobs in every state. Those of them that are not over go
// on, whichever program goes on with them: the newer one, and, as the migration serves it, the one
// that has made the database, whether it has it open or opens it now.
func TestUpgrade(t *testing.T) {
	t.Parallel()
	for name, next := range map[string]func(t *testing.T, config postgres.Config, s store.Store) store.Store{
		"the newer program": func(t *testing.T, config postgres.Config, _ store.Store) store.Store {
			t.Helper()
			return open(t, newer(config, len(config.Migrations())))
		},
		"the older program, at work": func(_ *testing.T, _ postgres.Config, s store.Store) store.Store { return s },
		"the older program, restarted": func(t *testing.T, config postgres.Config, _ store.Store) store.Store {
			t.Helper()
			return open(t, config)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config := fresh(t)
			storetest.Upgrade(t, func(t *testing.T, clock *storetest.Clock) store.Store {
				config.Clock = clock.Now
				return open(t, config)
			}, func(t *testing.T, s store.Store) store.Store {
				version := len(config.Migrations())
				schema, err := newer(config, version).Migrate(t.Context())
				if err != nil || schema.Version != version+1 {
					t.Fatalf("%+v, %v", schema, err)
				}
				return next(t, config, s)
			})
			conn := connect(t, config.URL)
			if n := value[int](t, conn, "SELECT count(*) FROM "+config.SchemaName+".job WHERE note <> 'none'"); n != 0 {
				t.Errorf("%d jobs have no note", n)
			}
		})
	}
}

// TestUpgradeThatDoesNotServe: who does not know the migration refuses the database, and says which
// programs know it.
func TestUpgradeThatDoesNotServe(t *testing.T) {
	t.Parallel()
	config := fresh(t)
	version := len(config.Migrations())
	open(t, newer(config, version+1))
	want := fmt.Sprintf("version %d, which serves programs from version %d on", version+1, version+1)
	for _, config.NoMigrate = range []bool{false, true} {
		if _, err := config.Open(t.Context()); !errors.Is(err, store.ErrSchema) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v", err)
		}
	}
}

// TestMigrationThatFails: the error says which one it is, what was before it stays, and when what
// was in its way is gone it is made.
func TestMigrationThatFails(t *testing.T) {
	t.Parallel()
	config := fresh(t)
	open(t, config)
	conn := connect(t, config.URL)
	exec := func(sql string) {
		t.Helper()
		if _, err := conn.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	version := len(config.Migrations())
	config = newer(config, version)
	exec("CREATE TABLE " + config.SchemaName + ".later (mine int)")
	_, err := config.Migrate(t.Context())
	if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("migration %d (later): ", version+1)) ||
		!strings.Contains(err.Error(), `relation "later" already exists`) {
		t.Errorf("%v", err)
	}
	if schema, err := config.Schema(t.Context()); err != nil || schema.Version != version {
		t.Errorf("%+v, %v", schema, err)
	}
	exec("DROP TABLE " + config.SchemaName + ".later")
	if schema, err := config.Migrate(t.Context()); err != nil || schema.Version != version+1 {
		t.Errorf("%+v, %v", schema, err)
	}
}

// TestResetOfSeveralMigrations: what all migrations have made goes, and is made again.
func TestResetOfSeveralMigrations(t *testing.T) {
	t.Parallel()
	config := fresh(t)
	config = newer(config, len(config.Migrations()))
	enqueue(t, open(t, config), newJob())
	if found, err := config.Reset(t.Context()); err != nil || found.Version != found.Latest || found.Version != len(config.Migrations()) {
		t.Fatalf("%+v, %v", found, err)
	}
	conn := connect(t, config.URL)
	for table, want := range map[string]int{"later": 1, "job": 0} {
		if n := value[int](t, conn, "SELECT count(*) FROM "+config.SchemaName+"."+table); n != want {
			t.Errorf("the table %s has %d rows", table, n)
		}
	}
}

// TestTimesOfEveryDay: the partitions of days that come later have the index of times, too.
func TestTimesOfEveryDay(t *testing.T) {
	t.Parallel()
	config := fresh(t)
	conn := connect(t, config.URL)
	if _, err := config.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, err := conn.Exec(t.Context(), strings.ReplaceAll("CREATE TABLE {schema}.finished_01900000 PARTITION OF {schema}.finished "+
		"FOR VALUES FROM ('01900000-0000-7000-8000-000000000000') TO ('01900000-ffff-7fff-bfff-ffffffffffff')", "{schema}", config.SchemaName))
	if err != nil {
		t.Fatal(err)
	}
	rows, err := conn.Query(t.Context(), `SELECT t.relname || ' ' || array_to_string(i.reloptions, ' ')
		FROM pg_index x JOIN pg_class i ON i.oid = x.indexrelid JOIN pg_class t ON t.oid = x.indrelid JOIN pg_am a ON a.oid = i.relam
		WHERE a.amname = 'brin' AND t.relnamespace = $1::regnamespace ORDER BY 1`, config.SchemaName)
	if err != nil {
		t.Fatal(err)
	}
	got, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, table := range []string{"finished", "finished_01900000", "finished_default"} {
		want = append(want, table+" pages_per_range=128 autosummarize=on")
	}
	if !slices.Equal(got, want) {
		t.Errorf("the indexes are %q, want %q", got, want)
	}
}

// TestLaterSchemaThatServes: a later version of the schema is opened if every step that the program
// does not know serves it, and refused otherwise.
func TestLaterSchemaThatServes(t *testing.T) {
	t.Parallel()
	config := fresh(t)
	open(t, config)
	conn := connect(t, config.URL)
	latest := len(config.Migrations())
	ours := strconv.Itoa(latest)
	for _, step := range []struct {
		serves string
		fits   bool
	}{{ours, true}, {ours, true}, {"NULL", false}} {
		latest++
		insert := fmt.Sprintf("INSERT INTO %s.migration (version, name, applied_at, serves) VALUES (%d, 'later', 0, %s)",
			config.SchemaName, latest, step.serves)
		if _, err := conn.Exec(t.Context(), insert); err != nil {
			t.Fatal(err)
		}
		for _, noMigrate := range []bool{false, true} {
			config.NoMigrate = noMigrate
			s, err := config.Open(t.Context())
			if err == nil {
				_ = s.Close()
			}
			if fits := err == nil; fits != step.fits || err != nil && !errors.Is(err, store.ErrSchema) {
				t.Errorf("a step that serves %s: error %v", step.serves, err)
			}
		}
		schema, err := config.Schema(t.Context())
		if err != nil || schema.Version != latest || schema.IsServed() != step.fits {
			t.Errorf("a step that serves %s: %+v, error %v", step.serves, schema, err)
		}
	}
}
