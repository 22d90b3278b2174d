package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/sqlite"
	"github.com/holdfastdev/holdfast/store/storetest"
)

// newer is a file as a program uses it that has one migration more, and what that does to the
// programs of the version before.
func newer(source sqlite.Config, serves int) sqlite.Config {
	version := len(source.Migrations()) + 1
	return sqlite.Later(source, store.Migration{Version: version, Name: "later", SQL: fmt.Sprintf(`
ALTER TABLE holdfast_job ADD COLUMN note TEXT NOT NULL DEFAULT 'none';
CREATE TABLE holdfast_later (id INTEGER PRIMARY KEY, note TEXT NOT NULL);
INSERT INTO holdfast_later (note) VALUES ('made');
INSERT INTO holdfast_migration (version, name, applied_at, serves) VALUES (%d, 'later', 0, %d);`, version, serves)})
}

// TestUpgrade migrates a database that has jobs in every state. Those of them that are not over go
// on, whichever program goes on with them: the newer one, and, as the migration serves it, the one
// that has made the database, whether it has it open or opens it now.
func TestUpgrade(t *testing.T) {
	for name, next := range map[string]func(t *testing.T, source sqlite.Config, s store.Store) store.Store{
		"the newer program": func(t *testing.T, source sqlite.Config, _ store.Store) store.Store {
			t.Helper()
			return open(t, newer(source, len(source.Migrations())))
		},
		"the older program, at work": func(_ *testing.T, _ sqlite.Config, s store.Store) store.Store { return s },
		"the older program, restarted": func(t *testing.T, source sqlite.Config, _ store.Store) store.Store {
			t.Helper()
			return open(t, source)
		},
	} {
		t.Run(name, func(t *testing.T) {
			source := sqlite.File(file(t))
			storetest.Upgrade(t, func(t *testing.T, clock *storetest.Clock) store.Store {
				source.Clock = clock.Now
				return open(t, source)
			}, func(t *testing.T, s store.Store) store.Store {
				version := len(source.Migrations())
				schema, err := newer(source, version).Migrate(t.Context())
				if err != nil || schema.Version != version+1 {
					t.Fatalf("%+v, %v", schema, err)
				}
				return next(t, source, s)
			})
			db := database(t, source.Path)
			if n := one[int](t, db, "SELECT count(*) FROM holdfast_job WHERE note <> 'none'"); n != 0 {
				t.Errorf("%d jobs have no note", n)
			}
		})
	}
}

// TestUpgradeOfMany: of the programs that migrate at once one does it, with older ones at work.
func TestUpgradeOfMany(t *testing.T) {
	source := sqlite.File(file(t))
	older := open(t, source)
	var all sync.WaitGroup
	errs := make([]error, 8)
	for i := range errs {
		all.Go(func() {
			s, err := newer(source, len(source.Migrations())).Open(context.WithoutCancel(t.Context()))
			if errs[i] = err; err == nil {
				errs[i] = errors.Join(enqueue(t.Context(), older, 1), enqueue(t.Context(), s, 1), s.Close())
			}
		})
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Error(err)
	}
	db := database(t, source.Path)
	made, jobs := one[int](t, db, "SELECT count(*) FROM holdfast_later"), one[int](t, db, "SELECT count(*) FROM holdfast_job")
	if made != 1 || jobs != 16 {
		t.Errorf("the migration was made %d times, and there are %d jobs", made, jobs)
	}
}

// TestUpgradeThatDoesNotServe: who does not know the migration refuses the database, and says which
// programs know it.
func TestUpgradeThatDoesNotServe(t *testing.T) {
	source := sqlite.File(file(t))
	version := len(source.Migrations())
	if err := open(t, newer(source, version+1)).Close(); err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf("version %d, which serves programs from version %d on", version+1, version+1)
	for _, source.NoMigrate = range []bool{false, true} {
		if _, err := source.Open(t.Context()); !errors.Is(err, store.ErrSchema) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v", err)
		}
	}
}

// TestMigrationThatFails: the error says which one it is, what was before it stays, and when what
// was in its way is gone it is made.
func TestMigrationThatFails(t *testing.T) {
	source := sqlite.File(file(t))
	if err := open(t, source).Close(); err != nil {
		t.Fatal(err)
	}
	version := len(source.Migrations())
	source = newer(source, version)
	run(t, source, "CREATE TABLE holdfast_later (mine INTEGER)")
	_, err := source.Migrate(t.Context())
	if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("migration %d (later): ", version+1)) ||
		!strings.Contains(err.Error(), "holdfast_later already exists") {
		t.Errorf("%v", err)
	}
	if schema, err := source.Schema(t.Context()); err != nil || schema.Version != version {
		t.Errorf("%+v, %v", schema, err)
	}
	run(t, source, "DROP TABLE holdfast_later")
	if schema, err := source.Migrate(t.Context()); err != nil || schema.Version != version+1 {
		t.Errorf("%+v, %v", schema, err)
	}
}

// TestResetOfSeveralMigrations: what all migrations have made goes, and is made again.
func TestResetOfSeveralMigrations(t *testing.T) {
	source := filled(t)
	source = newer(source, len(source.Migrations()))
	if err := open(t, source).Close(); err != nil {
		t.Fatal(err)
	}
	run(t, source, "INSERT INTO holdfast_later (note) VALUES ('more')")
	reset(t, source)
	if n := one[int](t, database(t, source.Path), "SELECT count(*) FROM holdfast_later"); n != 1 {
		t.Errorf("the table has %d rows", n)
	}
	wantJobs(t, source, 0)
}
