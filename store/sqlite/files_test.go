package sqlite_test

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/sqlite"
)

func TestFilesThatCannotBeOpened(t *testing.T) {
	ctx := t.Context()
	dir := t.TempDir()
	write := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for _, test := range []struct {
		name, path string
		want       error
		says       string
	}{
		{"no path", "", store.ErrInvalid, "empty"},
		{"missing directory", filepath.Join(dir, "missing", "holdfast.db"), store.ErrInvalid, "directory"},
		{"a directory", dir, store.ErrInvalid, "not a regular file"},
		{"not a database", write("text.db", strings.Repeat("this is no database. ", 100)), store.ErrInvalid, "not an SQLite database"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := sqlite.File(test.path).Open(ctx)
			if !errors.Is(err, test.want) || !strings.Contains(err.Error(), test.says) {
				t.Errorf("error is %v", err)
			}
		})
	}
}

func TestDamagedFile(t *testing.T) {
	ctx := t.Context()
	path := file(t)
	s := open(t, sqlite.File(path))
	if err := enqueue(ctx, s, 500); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	spoil(t, path)
	if _, err := sqlite.File(path).Open(ctx); !errors.Is(err, store.ErrInvalid) || !strings.Contains(err.Error(), "damaged") {
		t.Errorf("error is %v", err)
	}
}

// TestWordsOfBadFiles checks that the error of a file that is no database, or a damaged one, names
// the file, and says nothing in the words of a Go package.
func TestWordsOfBadFiles(t *testing.T) {
	ctx := t.Context()
	text, broken := file(t)+".txt", file(t)
	if err := os.WriteFile(text, []byte(strings.Repeat("this is no database. ", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	s := open(t, sqlite.File(broken))
	if err := enqueue(ctx, s, 500); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	spoil(t, broken)
	for path, want := range map[string]string{
		text: "holdfast: invalid request: " + text + " is not an SQLite database; check the path",
		broken: "holdfast: invalid request: the database file " + broken +
			" is damaged; restore a backup, or save what can be read with: sqlite3 FILE .recover",
	} {
		for what, config := range map[string]sqlite.Config{"": sqlite.File(path), "without migration": {Path: path, NoMigrate: true}} {
			if _, err := config.Open(ctx); !errors.Is(err, store.ErrInvalid) || err.Error() != want {
				t.Errorf("Open %s says\n     %v\nnot  %s", what, err, want)
			}
		}
		for what, f := range map[string]func(context.Context) (store.Schema, error){
			"Schema": sqlite.File(path).Schema, "Migrate": sqlite.File(path).Migrate,
		} {
			if _, err := f(ctx); !errors.Is(err, store.ErrInvalid) || err.Error() != want {
				t.Errorf("%s says\n     %v\nnot  %s", what, err, want)
			}
		}
	}
}

// spoil overwrites all but the first page of a file.
func spoil(t *testing.T, path string) {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := 4096; i < len(content); i++ {
		content[i] = 0x5a
	}
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestReadOnly: without the right to write the file, or its directory. Root has every right, so
// that another user tries.
func TestReadOnly(t *testing.T) {
	for _, test := range []struct {
		name            string
		file, directory os.FileMode
	}{
		{"file", 0o444, 0o777},
		{"directory", 0o666, 0o555},
	} {
		t.Run(test.name, func(t *testing.T) {
			// The parents of t.TempDir are closed to others.
			dir, err := os.MkdirTemp("", "holdfast-readonly-") //nolint:usetesting // see above
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = os.RemoveAll(dir) })
			path := filepath.Join(dir, "holdfast.db")
			if err := open(t, sqlite.File(path)).Close(); err != nil {
				t.Fatal(err)
			}
			binary := filepath.Join(dir, "test")
			if err := copyFile(os.Args[0], binary); err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(os.Chmod(path, test.file), os.Chmod(dir, test.directory)); err != nil {
				t.Fatal(err)
			}
			command := exec.Command(binary, path)
			command.Env = append(os.Environ(), part+"=open")
			asNobody(t, command)
			output, err := command.CombinedOutput()
			_ = os.Chmod(dir, 0o700)
			if err != nil || !strings.HasPrefix(string(output), "true ") {
				t.Errorf("%v: %s", err, output)
			}
		})
	}
}

func copyFile(from, to string) error {
	content, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, content, 0o755)
}

func TestNewerSchema(t *testing.T) {
	ctx := t.Context()
	path := file(t)
	if err := open(t, sqlite.File(path)).Close(); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec("INSERT INTO holdfast_migration (version, name, applied_at) VALUES (9999, 'future', 0)"); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := sqlite.File(path).Open(ctx); !errors.Is(err, store.ErrSchema) || !strings.Contains(err.Error(), "9999") {
		t.Errorf("Open: %v", err)
	}
	if _, err := sqlite.File(path).Migrate(ctx); !errors.Is(err, store.ErrSchema) {
		t.Errorf("Migrate: %v", err)
	}
	if schema, err := sqlite.File(path).Schema(ctx); err != nil || schema.Version != 9999 {
		t.Errorf("Schema: %+v, %v", schema, err)
	}
}

func TestMigrate(t *testing.T) {
	ctx := t.Context()
	source := sqlite.File(file(t))
	latest := len(source.Migrations())
	if schema, err := source.Schema(ctx); err != nil || schema != (store.Schema{Latest: latest}) {
		t.Fatalf("before: %+v, %v", schema, err)
	}
	if _, err := os.Stat(source.Path); !errors.Is(err, os.ErrNotExist) {
		t.Fatalf("asking for the schema made a file: %v", err)
	}
	source.NoMigrate = true
	if _, err := source.Open(ctx); !errors.Is(err, store.ErrSchema) {
		t.Fatalf("Open without a schema: %v", err)
	}
	for range 2 {
		if schema, err := source.Migrate(ctx); err != nil || schema != (store.Schema{Version: latest, Latest: latest}) {
			t.Fatalf("Migrate: %+v, %v", schema, err)
		}
	}
	open(t, source)
}

// TestMigrateAtOnce: any number of processes may open a new file at the same time.
func TestMigrateAtOnce(t *testing.T) {
	path := file(t)
	failed := make(chan error)
	const n = 8
	for range n {
		go func() {
			s, err := sqlite.File(path).Open(context.Background())
			if err == nil {
				err = s.Close()
			}
			failed <- err
		}()
	}
	for range n {
		if err := <-failed; err != nil {
			t.Error(err)
		}
	}
}

func TestMemory(t *testing.T) {
	ctx := t.Context()
	one, two := open(t, sqlite.File(sqlite.Memory)), open(t, sqlite.File(sqlite.Memory))
	if err := enqueue(ctx, one, 1); err != nil {
		t.Fatal(err)
	}
	if page, err := one.List(ctx, store.ListParams{Limit: 10}); err != nil || len(page.Jobs) != 1 {
		t.Errorf("%d jobs, %v", len(page.Jobs), err)
	}
	if page, err := two.List(ctx, store.ListParams{Limit: 10}); err != nil || len(page.Jobs) != 0 {
		t.Errorf("the other one has %d jobs, %v", len(page.Jobs), err)
	}
	if err := one.Close(); err != nil {
		t.Error(err)
	}
	if err := enqueue(ctx, one, 1); !errors.Is(err, store.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
	if err := one.Close(); err != nil {
		t.Errorf("second Close: %v", err)
	}
}

// TestFullDisk: nothing of what did not fit has happened, and all is well once there is room.
func TestFullDisk(t *testing.T) {
	ctx := t.Context()
	s := open(t, sqlite.File(file(t)))
	if err := enqueue(ctx, s, 1); err != nil {
		t.Fatal(err)
	}
	sqlite.LimitPages(t, s, 1) // no page more than there are
	err := enqueue(ctx, s, 5000)
	if !errors.Is(err, store.ErrFull) || !store.IsRetryable(err) {
		t.Fatalf("error is %v", err)
	}
	if page, err := s.List(ctx, store.ListParams{Limit: 10}); err != nil || len(page.Jobs) != 1 {
		t.Fatalf("%d jobs, %v", len(page.Jobs), err)
	}
	sqlite.LimitPages(t, s, 0)
	if err := enqueue(ctx, s, 5000); err != nil {
		t.Fatal(err)
	}
}

// TestOtherEncoding: the file may be the user's, with settings of its own.
func TestOtherEncoding(t *testing.T) {
	ctx := t.Context()
	path := file(t)
	db := database(t, path)
	if _, err := db.ExecContext(ctx, "PRAGMA encoding = 'UTF-16le'; PRAGMA auto_vacuum = FULL; CREATE TABLE users (name TEXT)"); err != nil {
		t.Fatal(err)
	}
	s := open(t, sqlite.File(path))
	q := fancy()
	q.Job.Args, q.Job.Kind = []byte(`{"name":"Ærø €"}`), "größe"
	if err := store.ApplyEach(ctx, s, &store.Batch{Enqueues: []*store.Enqueue{q}}); err != nil || q.Err != nil {
		t.Fatal(err, q.Err)
	}
	if record, err := s.Get(ctx, "", q.Job.ID); err != nil || string(record.Args) != string(q.Job.Args) || record.Kind != q.Job.Kind {
		t.Fatalf("%+v, %v", record, err)
	}
}

func TestStatements(t *testing.T) {
	if err := sqlite.PrepareAll(t, open(t, sqlite.File(sqlite.Memory))); err != nil {
		t.Error(err)
	}
}
