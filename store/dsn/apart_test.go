package dsn_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/holdfastdev/holdfast/internal/pgtest"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/dsn"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

// TestApart: the named database is not touched, and nothing is left.
func TestApart(t *testing.T) {
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		apart(t, filepath.Join(dir, "x.db")+"?synchronous=normal")
		if found, err := filepath.Glob(filepath.Join(dir, "*")); err != nil || len(found) > 0 {
			t.Errorf("it left %v, %v", found, err)
		}
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		apart(t, pgtest.Shared(t).Database(t))
	})
	if _, err := dsn.Apart("oracle://x", "y"); !errors.Is(err, store.ErrInvalid) {
		t.Errorf("%v", err)
	}
}

func apart(t *testing.T, text string) {
	t.Helper()
	ctx := t.Context()
	scratch, err := dsn.Apart(text, "apart_1")
	if err != nil {
		t.Fatal(err)
	}
	s, err := scratch.Open(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Join(ctx, store.NodeInfo{Name: "n", Kinds: []string{"k"}}); err != nil {
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	named, err := dsn.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // dropping twice is no error
		if err := scratch.Drop(ctx); err != nil {
			t.Fatal(err)
		}
	}
	for _, source := range []store.Source{scratch, named} {
		if schema, err := source.Schema(ctx); err == nil && schema.Version != 0 || err != nil && !errors.Is(err, store.ErrSchema) {
			t.Errorf("%s has schema version %d, %v", source, schema.Version, err)
		}
	}
}
