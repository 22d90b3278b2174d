package sqlite_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/sqlite"
)

// playResetting resets a file, and hangs in the middle.
func playResetting(ctx context.Context, args []string) error {
	sqlite.Resetting(func(int) {
		fmt.Println("in the middle")
		select {}
	})
	_, err := sqlite.File(args[0]).Reset(ctx)
	return err
}

// filled returns a file with jobs and a table of the user's.
func filled(t *testing.T) sqlite.Config {
	t.Helper()
	source := sqlite.File(file(t))
	s := open(t, source)
	if err := enqueue(t.Context(), s, 2); err != nil {
		t.Fatal(err)
	}
	node, err := s.Join(t.Context(), store.NodeInfo{Name: "worker"})
	if err != nil {
		t.Fatal(err)
	}
	left(t, s, node)
	run(t, source, "CREATE TABLE mine (id INTEGER)", "CREATE TABLE holdfast_mine (id INTEGER)", "INSERT INTO mine VALUES (7)",
		"INSERT INTO holdfast_mine VALUES (7)")
	return source
}

// left lets a node leave and closes its store.
func left(t *testing.T, s store.Store, node int64) {
	t.Helper()
	_, err := s.Leave(t.Context(), node)
	if err = errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
}

// run runs statements as a user would.
func run(t *testing.T, source sqlite.Config, texts ...string) {
	t.Helper()
	db, err := sql.Open("sqlite", source.Path)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range texts {
		if _, err := db.ExecContext(t.Context(), text); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

// wantJobs opens a database and counts.
func wantJobs(t *testing.T, source sqlite.Config, n int) {
	t.Helper()
	s, err := source.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	page, err := s.List(t.Context(), store.ListParams{Limit: 10})
	if err = errors.Join(err, s.Close()); err != nil || len(page.Jobs) != n {
		t.Errorf("%d jobs are left, not %d, %v", len(page.Jobs), n, err)
	}
	db, err := sql.Open("sqlite", source.Path)
	if err != nil {
		t.Fatal(err)
	}
	var mine int
	row := db.QueryRowContext(t.Context(), "SELECT m.id + h.id FROM mine m, holdfast_mine h")
	if err := errors.Join(row.Scan(&mine), db.Close()); err != nil || mine != 14 {
		t.Errorf("the user's tables have %d, %v", mine, err)
	}
}

func reset(t *testing.T, source sqlite.Config) {
	t.Helper()
	found, err := source.Reset(t.Context())
	if err != nil || found.Version != found.Latest || found.Version == 0 {
		t.Fatalf("%+v, %v", found, err)
	}
}

// TestReset: nothing of what was there is left but what is the user's, and the database works; also
// the second time. It is another database than before.
func TestReset(t *testing.T) {
	source := filled(t)
	seen := map[string]bool{}
	for range 2 {
		reset(t, source)
		wantJobs(t, source, 0)
		s, err := source.Open(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		copies, _ := s.(store.Copies) // nil panics, and fails the test
		survey, err := copies.Survey(t.Context())
		if err = errors.Join(err, enqueue(t.Context(), s, 1), s.Close()); err != nil {
			t.Fatal(err)
		}
		if o := survey.Origin; seen[o.Database] || o.Nodes != 0 || o.Actions != 0 || len(survey.Queues) != 0 {
			t.Errorf("%+v", survey)
		}
		seen[survey.Origin.Database] = true
	}
	wantJobs(t, source, 1)
}

// TestResetIsRefused: while a node lives, without a schema, and with one of a newer program. Then
// everything is as it was.
func TestResetIsRefused(t *testing.T) {
	source := filled(t)
	refused := func(what string, class error) {
		t.Helper()
		if _, err := source.Reset(t.Context()); !errors.Is(err, class) {
			t.Errorf("%s: %v", what, err)
		}
	}
	s := open(t, source)
	node, err := s.Join(t.Context(), store.NodeInfo{Name: "worker"})
	if err != nil {
		t.Fatal(err)
	}
	refused("a node lives", store.ErrConflict)
	left(t, s, node)
	run(t, source, "INSERT INTO holdfast_migration (version, name, applied_at) VALUES (999, 'later', 0)")
	refused("a newer schema", store.ErrSchema)
	run(t, source, "DELETE FROM holdfast_migration WHERE version = 999")
	wantJobs(t, source, 2)

	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := source.Reset(ended); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	wantJobs(t, source, 2)

	source = sqlite.File(file(t))
	refused("no file", store.ErrSchema)
	if _, err := os.Stat(source.Path); err == nil {
		t.Error("a reset that was refused has made a file")
	}
	run(t, source, "CREATE TABLE mine (id INTEGER)")
	refused("no schema", store.ErrSchema)
}

// TestResetIsKilled: one that ends in the middle has changed nothing.
func TestResetIsKilled(t *testing.T) {
	source := filled(t)
	command, output := process(t, "reset", source.Path)
	if !output.Scan() {
		t.Fatal("the process said nothing")
	}
	if err := command.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = command.Wait()
	wantJobs(t, source, 2)
	reset(t, source)
	wantJobs(t, source, 0)
}
