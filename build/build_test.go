package build_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"strings"
	"testing"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/build"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/sqlite"
)

// A job tells by which program it was run.
//
//nolint:gocritic // an example is as short as what it shows
func Example() {
	ctx := context.Background()
	hf, err := holdfast.Open(ctx, sqlite.File(sqlite.Memory),
		build.As("shop 2026-11-27 4f1c2d9"), holdfast.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		log.Fatal(err)
	}
	defer hf.Close(ctx)
	greet := holdfast.NewKind[string, string]("greet")
	if err := greet.Handle(hf, func(_ *holdfast.Run, name string) (string, error) { return "Hello, " + name, nil }); err != nil {
		log.Fatal(err)
	}
	if err := hf.Start(ctx); err != nil {
		log.Fatal(err)
	}
	job, err := greet.Enqueue(ctx, hf, "Ada")
	if err != nil {
		log.Fatal(err)
	}
	if _, err := job.Wait(ctx); err != nil {
		log.Fatal(err)
	}
	record, err := hf.Get(ctx, job.ID)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(record.State, "by", record.Build.Program)
	// Output:
	// completed by shop 2026-11-27 4f1c2d9
}

func TestWhatGoSays(t *testing.T) {
	ctx := t.Context()
	for name, opts := range map[string][]holdfast.Option{"no option": nil, "an empty one": {build.As("")}} {
		hf, err := holdfast.Open(ctx, sqlite.File(sqlite.Memory), append(opts, holdfast.WithLogger(slog.New(slog.DiscardHandler)))...)
		if err != nil {
			t.Fatal(err)
		}
		kind := holdfast.NewKind[string, string]("k")
		if err := kind.Handle(hf, func(*holdfast.Run, string) (string, error) { return "", nil }); err != nil {
			t.Fatal(err)
		}
		if err := hf.Start(ctx); err != nil {
			t.Fatal(err)
		}
		job, err := kind.Enqueue(ctx, hf, "")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := job.Wait(ctx); err != nil {
			t.Fatal(err)
		}
		record, err := hf.Get(ctx, job.ID)
		if err != nil || record.Build != build.Current() || record.Build == (store.Build{}) {
			t.Errorf("%s: %+v, %v; want %+v", name, record.Build, err, build.Current())
		}
		if err := hf.Close(ctx); err != nil {
			t.Error(err)
		}
	}
}

func TestInvalid(t *testing.T) {
	for _, name := range []string{strings.Repeat("a", build.MostBytes+1), "a\nb", "\x00", "\xff", "\x7f"} {
		hf, err := holdfast.Open(t.Context(), sqlite.File(sqlite.Memory), build.As(name))
		if !errors.Is(err, holdfast.ErrInvalid) {
			t.Errorf("%q: %v", name, err)
		}
		if err == nil {
			_ = hf.Close(t.Context())
		}
	}
}
