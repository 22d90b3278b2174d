package holdfast_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/pgtest"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres"
	"github.com/holdfastdev/holdfast/store/storetest/model"
)

func TestMain(m *testing.M) {
	slog.SetDefault(slog.New(slog.DiscardHandler)) // most tests provoke failures
	code := pgtest.Main(m)
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// memory is a source without a database, for tests of the public API itself.
type memory struct{}

func (memory) Open(context.Context) (store.Store, error)     { return model.New(time.Now), nil }
func (memory) Migrate(context.Context) (store.Schema, error) { return store.Schema{}, nil }
func (memory) Schema(context.Context) (store.Schema, error)  { return store.Schema{}, nil }
func (memory) Migrations() []store.Migration                 { return nil }
func (memory) String() string                                { return "memory" }

func open(t *testing.T, opts ...holdfast.Option) *holdfast.Client {
	t.Helper()
	hf, err := holdfast.Open(t.Context(), memory{}, opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := hf.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return hf
}

// run makes the client a node until the test ends.
func run(t *testing.T, hf *holdfast.Client) {
	t.Helper()
	ran := make(chan error, 1)
	go func() { ran <- hf.Run(context.Background()) }()
	t.Cleanup(func() {
		if err := hf.Stop(context.Background()); err != nil {
			t.Error(err)
		}
		if err := <-ran; err != nil {
			t.Error(err)
		}
	})
}

type order struct {
	ID   int      `json:"id"`
	Name string   `json:"name,omitempty"`
	Tags []string `json:"tags,omitempty"`
}

type receipt struct {
	Total int `json:"total"`
}

// continueAsNew is Kind.ContinueAsNew for a handler whose kind has no variable in the test.
func continueAsNew[In any](run *holdfast.Run, in In) error {
	return holdfast.NewKind[In, struct{}](run.Kind()).ContinueAsNew(in)
}

// resume resumes one job.
func resume(ctx context.Context, hf *holdfast.Client, reason string, id holdfast.ID) (store.State, error) {
	results, err := hf.Resume(ctx, reason, id)
	if err != nil {
		return 0, err
	}
	return results[0].State, results[0].Err
}

// deadAfter is how long a node is silent that is dead, in tests on a real clock that wait for it:
// far longer than a busy machine lets one that lives stand still.
const deadAfter = 8 * time.Second

// eventually waits for a condition.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	late := time.NewTimer(5 * time.Minute)
	defer late.Stop()
	look := time.NewTicker(time.Millisecond)
	defer look.Stop()
	for !condition() {
		select {
		case <-look.C:
		case <-late.C:
			t.Fatalf("%s: not within five minutes", what)
		}
	}
}

// server returns the source of a schema of the server that is the test's own.
func server(t *testing.T) postgres.Config {
	t.Helper()
	url, schema := pgtest.Shared(t).Schema(t)
	return postgres.Config{URL: url, SchemaName: schema}
}

// openOn opens a client on a database until the test ends.
func openOn(t *testing.T, source store.Source, opts ...holdfast.Option) *holdfast.Client {
	t.Helper()
	hf, err := holdfast.Open(t.Context(), source, opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := hf.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return hf
}
