package archive

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/maintain"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/sqlite"
)

// TestOptions: without an option a job is archived with its journal, and leaves no stub.
func TestOptions(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		opts           []Option
		journal, stubs bool
	}{
		"none":             {nil, true, false},
		"without journals": {[]Option{WithoutJournals()}, false, false},
		"both":             {[]Option{WithoutJournals(), Stubs()}, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, dir, file := t.Context(), t.TempDir(), filepath.Join(t.TempDir(), "holdfast.db")
			id := completed(t, file)
			hf, err := holdfast.Open(ctx, sqlite.File(file), To(Dir(dir), c.opts...), holdfast.WithLogger(slog.New(slog.DiscardHandler)),
				holdfast.WithRetention(store.Retention{Completed: time.Microsecond}))
			if err != nil {
				t.Fatal(err)
			}
			defer hf.Close(context.WithoutCancel(ctx))
			if _, err := maintain.Once(ctx, hf, time.Minute, maintain.Retain); err != nil {
				t.Fatal(err)
			}
			line := archived(t, dir)[id]
			if line == nil || (line.Journal != nil) != c.journal {
				t.Errorf("the line is %+v, with a journal: %v", line, c.journal)
			}
			_, err = hf.Get(ctx, id)
			var is *store.ArchivedError
			if !errors.Is(err, store.ErrNotFound) || errors.As(err, &is) != c.stubs {
				t.Errorf("%v, a stub: %v", err, c.stubs)
			}
		})
	}
}

// completed runs a job with a step in a database, and closes it.
func completed(t *testing.T, file string) store.ID {
	t.Helper()
	ctx := t.Context()
	hf, err := holdfast.Open(ctx, sqlite.File(file), holdfast.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		t.Fatal(err)
	}
	kind := holdfast.NewKind[int, int]("k")
	err = kind.Handle(hf, func(run *holdfast.Run, n int) (int, error) {
		return holdfast.Step(run, "add", func(context.Context) (int, error) { return n + 1, nil })
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := hf.Start(ctx); err != nil {
		t.Fatal(err)
	}
	job, err := kind.Enqueue(ctx, hf, 1)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := job.Wait(ctx); err != nil {
		t.Fatal(err)
	}
	if err := hf.Close(ctx); err != nil {
		t.Fatal(err)
	}
	return job.ID
}
