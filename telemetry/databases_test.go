package telemetry_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/pgtest"
	"github.com/holdfastdev/holdfast/internal/pgtest/ready"
	"github.com/holdfastdev/holdfast/internal/sqlitetest"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres"
	"github.com/holdfastdev/holdfast/store/sqlite"
	"github.com/holdfastdev/holdfast/telemetry"
)

func onDatabases(t *testing.T, test func(t *testing.T, source store.Source)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		test(t, sqlite.File(sqlitetest.File(t)))
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		pgtest.InSoak(t)
		test(t, postgres.URL(ready.Database(t)))
	})
}

func open(t *testing.T, source store.Source, opts ...holdfast.Option) *holdfast.Client {
	t.Helper()
	hf, err := holdfast.Open(t.Context(), source, append(opts, holdfast.WithLogger(slog.New(slog.DiscardHandler)))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = hf.Close(context.Background()) })
	return hf
}

// until waits for a condition.
func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(5 * time.Minute); !is(); <-time.After(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it waited in vain for " + what)
		}
	}
}

// TestTheJobCarriesItsTrace: from one process through another one, whatever becomes of the job: it
// continues as new, fails, and a person lets it run again, or forks it.
func TestTheJobCarriesItsTrace(t *testing.T) {
	t.Parallel()
	onDatabases(t, func(t *testing.T, source store.Source) {
		t.Helper()
		sent, worked := newTraced(), newTraced()
		sender := open(t, source, telemetry.With(telemetry.Config{Tracers: sent.provider}))
		node := open(t, source, telemetry.With(telemetry.Config{Tracers: worked.provider}))
		kind := holdfast.NewKind[int, int]("round", holdfast.MaxAttempts(1))
		err := kind.Handle(node, func(run *holdfast.Run, round int) (int, error) {
			if _, err := holdfast.Step(run, "look", func(context.Context) (int, error) { return round, nil }); err != nil {
				return 0, err
			}
			if round == 1 {
				return 0, kind.ContinueAsNew(2)
			}
			return 0, errors.New("it is over")
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := node.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		job, err := kind.Enqueue(t.Context(), sender, 1)
		if err != nil {
			t.Fatal(err)
		}
		fails := func(id holdfast.ID) {
			t.Helper()
			if _, err := kind.Job(sender, id).Wait(t.Context()); !errors.Is(err, holdfast.ErrFailed) {
				t.Fatal(err)
			}
		}
		fails(job.ID)
		if _, err := sender.Retry(t.Context(), "again", job.ID); err != nil {
			t.Fatal(err)
		}
		until(t, "the second failure", func() bool { return len(worked.named("round run")) == 3 })
		fails(job.ID)
		forked, err := sender.Fork(t.Context(), "again", job.ID, holdfast.Fork{})
		if err != nil {
			t.Fatal(err)
		}
		fails(forked)
		until(t, "the fourth run", func() bool { return len(worked.named("round run")) == 4 })
		enqueued := sent.one(t, "round enqueue").SpanContext()
		for i, run := range worked.named("round run") {
			links := run.Links()
			if len(links) == 0 || links[0].SpanContext.TraceID() != enqueued.TraceID() || links[0].SpanContext.SpanID() != enqueued.SpanID() {
				t.Errorf("run %d links to %v", i, links)
			}
			if i == 1 || i == 2 { // those that have one before them
				if before := worked.named("round run")[i-1].SpanContext(); len(links) != 2 || links[1].SpanContext.SpanID() != before.SpanID() {
					t.Errorf("run %d does not link to the one before: %v", i, links)
				}
			}
		}
	})
}
